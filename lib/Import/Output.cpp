//===- Output.cpp -------------------------------------------------------------------------------------------------===//
#include "Output.h"
#include "Files.h"
#include "mopt/Dialect/Mopt/WeightStore.h"

namespace mopt {

OutputStream::OutputStream(StringRef path, Location location) : path(path.str()), location(location), file(this->path) {
  SetBufferSize(size_t(1) << 16);
}

LogicalResult OutputStream::checkBeside(StringRef main, StringRef beside, Location location) {
  if (main == beside)
    return fail(location, Diag::CannotWrite, quote(main) + " cannot be written: its weights go to the file of this name");
  if (MappedFile::isMapped(beside.str()))
    return fail(location, Diag::CannotWrite,
                quote(beside) + ", where weights are to go, cannot be written: the model's own weights are there");
  return success();
}

LogicalResult OutputStream::checked(bool good) {
  return good ? success() : fail(location, Diag::CannotWrite, quote(path) + " cannot be written: " + file.reason());
}

void OutputStream::writeWeight(ArrayRef<uint8_t> bytes, const WeightStore &store) {
  constexpr size_t pieceBytes = size_t(1) << 20;
  for (; !bytes.empty(); bytes = bytes.drop_front(std::min(pieceBytes, bytes.size()))) {
    ArrayRef<uint8_t> piece = bytes.take_front(pieceBytes);
    write(reinterpret_cast<const char *>(piece.data()), piece.size());
    store.release(piece);
  }
}

LogicalResult OutputStream::finish() {
  flush();
  return checked(file.ok());
}

LogicalResult OutputStream::commit() {
  flush();
  return checked(file.commit());
}

} // namespace mopt
