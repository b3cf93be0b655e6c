//===- Files.h - files that a model names -------------------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_FILES_H
#define MOPT_LIB_IMPORT_FILES_H

#include "mopt/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include <atomic>
#include <memory>

namespace mopt {

/// A file descriptor that closes itself.
class Handle {
public:
  explicit Handle(int fd = -1) : fd(fd) {}
  Handle(Handle &&other) noexcept : fd(other.fd) { other.fd = -1; }
  Handle &operator=(Handle &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Handle();
  explicit operator bool() const { return fd >= 0; }
  int get() const { return fd; }

private:
  int fd;
};

/// Opens a folder whose name the user gave.
Handle openFolder(StringRef path, std::string &reason);
/// Opens a file whose name the user gave.
Handle openFile(StringRef path, std::string &reason);

/// The only function that opens a file named by a model. `relative` stays beneath `folder`, passes no link, and names a
/// regular file with one name: a second name could be a file elsewhere. Invalid with a reason otherwise.
Handle openBeneath(const Handle &folder, StringRef relative, std::string &reason);

class WeightStore;

/// A file mapped read-only. Its pages cost no memory until they are read. A file that shrinks while mapped would end the
/// process with SIGBUS; here the lost page reads as zeros and `damaged` says so.
class MappedFile {
public:
  static std::shared_ptr<MappedFile> map(const Handle &file, std::string &reason);
  ~MappedFile();
  ArrayRef<uint8_t> bytes() const { return {data, size}; }
  bool damaged() const;
  /// Lets the kernel take back the pages of a range that was read.
  void forget(uint64_t offset, uint64_t length) const;
  /// Makes the file a source of weights, which it outlives.
  static void addTo(WeightStore &store, StringRef name, const std::shared_ptr<MappedFile> &file);
  /// Whether the file at `path` is mapped now.
  static bool isMapped(const std::string &path);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

private:
  MappedFile(uint8_t *data, size_t size, uint64_t device, uint64_t inode);
  uint8_t *data;
  size_t size;
  int slot = -1;
};

} // namespace mopt
#endif
