//===- OutputFile.h - files that appear whole or not at all -------------------------------------------------------===//
//
// The one way in which compiler, importer and Python module write files. Standard library only: the Python module uses it
// also where it is built without the compiler.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_SUPPORT_OUTPUTFILE_H
#define MOPT_SUPPORT_OUTPUTFILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace mopt {

/// A file that has its name only after commit(): before, readers see the old file or none. Where the file system can, it
/// has no name at all until then, so that nothing is left behind even by a process that is killed.
class OutputFile {
public:
  enum class Fault {
    none,
    place,      // the folder is missing or cannot be written, or the name is impossible
    full,       // no space
    notRegular, // the name belongs to a folder, a device, ...
    other
  };

  /// The file gets the permissions `mode`, less the umask. With a `descriptor`, bytes go to that open file, which stays
  /// the caller's; commit() names nothing then, and `path` is only for messages.
  explicit OutputFile(const std::string &path, unsigned mode = 0644, int descriptor = -1);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  // Each returns false after a failure, also one of an earlier call; the first one is kept.
  bool ok() const { return failure == Fault::none; }
  /// Asks for the space at once: a full disk is found before a long copy.
  bool reserve(uint64_t bytes);
  bool write(const void *data, size_t bytes);
  bool commit();

  uint64_t position() const { return written; }
  Fault fault() const { return failure; }
  /// "writing 'm.so' failed: No space left on device", and the last part alone.
  std::string error() const { return during + " '" + path + "' failed: " + why; }
  const std::string &reason() const { return why; }
  /// What the user can do about it, or "".
  const char *advice() const;

private:
  bool fail(int number, const std::string &what);
  bool fail(Fault fault, const std::string &what, const std::string &reason);
  void open();
  bool openNamed();
  bool giveName();
  bool copyToNamed();
  std::string asideName();

  std::string path, temporary; // temporary: a name on disk that is not the final one
  unsigned mode;
  int fd;
  bool borrowed;
  uint64_t written = 0;
  Fault failure = Fault::none;
  std::string during, why;
};

/// An unnamed file in the folder for temporary files, open for writing and reading; -1 with errno when there can be none.
/// It is gone when its last descriptor is closed.
int openUnnamedFile();

} // namespace mopt
#endif
