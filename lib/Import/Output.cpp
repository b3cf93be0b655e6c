//===- Output.cpp -------------------------------------------------------------------------------------------------===//
#include "Output.h"

namespace mopt {

OutputFile::~OutputFile() {
  out.reset();
  if (file)
    llvm::consumeError(file->discard());
}

LogicalResult OutputFile::broken(const Twine &reason) {
  return fail(location, Diag::CannotWrite, quote(path) + " cannot be written: " + reason);
}

LogicalResult OutputFile::open() {
  auto created = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!created)
    return broken(llvm::toString(created.takeError()));
  file.emplace(std::move(*created));
  out = std::make_unique<llvm::raw_fd_ostream>(file->FD, /*shouldClose=*/false);
  return success();
}

LogicalResult OutputFile::finish() {
  out->flush();
  if (!out->has_error())
    return success();
  std::error_code error = out->error();
  out->clear_error();
  return broken(error.message());
}

LogicalResult OutputFile::commit() {
  if (failed(finish()))
    return failure();
  out.reset();
  if (llvm::Error error = file->keep(path))
    return broken(llvm::toString(std::move(error)));
  file.reset();
  return success();
}

} // namespace mopt
