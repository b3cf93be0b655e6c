//===- Output.h - output files as streams, with the importer's codes ----------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_OUTPUT_H
#define MOPT_LIB_IMPORT_OUTPUT_H

#include "Diagnostics.h"
#include "mopt/Support/OutputFile.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt {
class WeightStore;

/// An OutputFile that is written through a stream. Errors go to the diagnostics of the location's context.
class OutputStream : public llvm::raw_ostream {
public:
  OutputStream(StringRef path, Location location);
  ~OutputStream() override { flush(); }
  /// Refuses what would make a model on disk useless: the file beside `main` may be none that this process reads weights from.
  static LogicalResult checkBeside(StringRef main, StringRef beside, Location location);
  /// Whether there is a file to write to.
  LogicalResult opened() { return checked(file.ok()); }
  /// Bytes of a weight. What has been copied does not stay in memory.
  void writeWeight(ArrayRef<uint8_t> bytes, const WeightStore &store);
  /// Flushes and checks; the file has no name yet.
  LogicalResult finish();
  LogicalResult commit();

private:
  void write_impl(const char *data, size_t bytes) override { (void)file.write(data, bytes); }
  uint64_t current_pos() const override { return file.position(); }
  LogicalResult checked(bool good);
  std::string path;
  Location location;
  OutputFile file;
};

} // namespace mopt
#endif
