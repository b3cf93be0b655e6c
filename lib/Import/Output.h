//===- Output.h - files that appear whole or not at all -----------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_OUTPUT_H
#define MOPT_LIB_IMPORT_OUTPUT_H

#include "Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mopt {

/// A file written aside, under its own name only when `commit` is called.
class OutputFile {
public:
  OutputFile(StringRef path, Location location) : path(path.str()), location(location) {}
  ~OutputFile();
  LogicalResult open();
  llvm::raw_ostream &stream() { return *out; }
  /// Flushes and checks; the file keeps its temporary name.
  LogicalResult finish();
  LogicalResult commit();

private:
  LogicalResult broken(const Twine &reason);
  std::string path;
  Location location;
  std::optional<llvm::sys::fs::TempFile> file;
  std::unique_ptr<llvm::raw_fd_ostream> out;
};

} // namespace mopt
#endif
