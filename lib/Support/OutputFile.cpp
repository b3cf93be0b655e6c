//===- OutputFile.cpp - files that appear whole or not at all -----------------------------------------------------===//
#include "mopt/Support/OutputFile.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mopt {
namespace {

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Descriptors can be named through /proc only, and a file without a name gets one through that.
std::string procName(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int openUnnamed(const std::string &folder, unsigned mode) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd >= 0 && ::access(procName(fd).c_str(), F_OK) != 0) {
    ::close(fd);
    errno = ENOSYS;
    return -1;
  }
  return fd;
}

} // namespace

OutputFile::OutputFile(const std::string &path, unsigned mode, int descriptor)
    : path(path), mode(mode), fd(descriptor), borrowed(descriptor >= 0) {
  if (!borrowed)
    open();
}

OutputFile::~OutputFile() {
  if (fd >= 0 && !borrowed)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

bool OutputFile::fail(Fault fault, const std::string &what, const std::string &reason) {
  if (ok()) {
    failure = fault;
    during = what;
    why = reason;
  }
  return false;
}

bool OutputFile::fail(int number, const std::string &what) {
  Fault fault = Fault::other;
  switch (number) {
  case ENOSPC:
  case EDQUOT:
    fault = Fault::full;
    break;
  case ENOENT:
  case EACCES:
  case EROFS:
  case ENOTDIR:
  case EPERM:
  case ENAMETOOLONG:
  case ELOOP:
  case EISDIR:
    fault = Fault::place;
    break;
  }
  return fail(fault, what, std::strerror(number));
}

const char *OutputFile::advice() const {
  switch (failure) {
  case Fault::place:
    return "check that the folder exists and can be written";
  case Fault::full:
    return "free space or choose another place";
  case Fault::notRegular:
    return "choose another name";
  default:
    return "";
  }
}

std::string OutputFile::asideName() {
  static std::atomic<unsigned> counter{0};
  return folderOf(path) + "/.mopt-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".tmp";
}

bool OutputFile::openNamed() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = asideName();
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); // the kernel applies the umask
    if (fd >= 0) {
      temporary = name;
      return true;
    }
    if (errno != EEXIST)
      break;
  }
  return fail(errno, "creating");
}

void OutputFile::open() {
  struct stat st;
  size_t slash = path.rfind('/'), nameBytes = path.size() - (slash == std::string::npos ? 0 : slash + 1);
  if (nameBytes == 0 || path.find('\0') != std::string::npos)
    fail(Fault::place, "creating", "that is no name of a file");
  else if (nameBytes > NAME_MAX) // the system would say so only when the file gets its name, after the work
    fail(ENAMETOOLONG, "creating");
  else if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode))
    fail(Fault::notRegular, "creating", "it exists and is not a regular file");
  if (!ok())
    return;
  if (char *real = realpath(path.c_str(), nullptr)) { // a link stays a link
    path = real;
    std::free(real);
  }
  fd = openUnnamed(folderOf(path), mode);
  if (fd < 0)
    openNamed();
}

bool OutputFile::reserve(uint64_t bytes) {
  if (!ok())
    return false;
  if (bytes == 0 || fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 ||
      (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
    return true;
  return fail(errno, "reserving " + std::to_string(bytes) + " bytes for");
}

bool OutputFile::write(const void *data, size_t bytes) {
  if (!ok())
    return false;
  const char *at = static_cast<const char *>(data);
  while (bytes) {
    ssize_t n = ::write(fd, at, bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail(n < 0 ? errno : EIO, "writing");
    at += n;
    bytes -= static_cast<size_t>(n);
    written += static_cast<uint64_t>(n);
  }
  return true;
}

/// For file systems that make files without names and cannot name them later.
bool OutputFile::copyToNamed() {
  int source = std::exchange(fd, -1);
  std::vector<char> block(1 << 20);
  bool good = openNamed();
  for (off_t at = 0; good;) {
    ssize_t n = ::pread(source, block.data(), block.size(), at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      good = fail(errno, "writing");
    if (n <= 0)
      break;
    good = write(block.data(), static_cast<size_t>(n));
    at += n;
  }
  ::close(source);
  return good;
}

/// Afterwards the file is named `path`, or `temporary`.
bool OutputFile::giveName() {
  std::string source = procName(fd), name = path;
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      if (name != path)
        temporary = name;
      return true;
    }
    if (errno != EEXIST)
      return copyToNamed();
    name = asideName(); // only a rename replaces the old file
  }
  return fail(EEXIST, "naming");
}

bool OutputFile::commit() {
  if (!ok() || borrowed)
    return ok();
  bool unnamed = temporary.empty();
  if (unnamed && !giveName())
    return false;
  bool renames = !temporary.empty();
  int descriptor = std::exchange(fd, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) { // network file systems report late
    int number = errno;
    if (!renames)
      ::unlink(path.c_str());
    return fail(number, "writing");
  }
  if (renames && ::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(errno, "naming");
  temporary.clear();
  return true;
}

int openUnnamedFile() {
  const char *base = std::getenv("TMPDIR");
  std::string folder = base && *base ? base : "/tmp";
  int fd = openUnnamed(folder, 0600);
  if (fd >= 0)
    return fd;
  std::string name = folder + "/mopt-XXXXXX";
  fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0)
    ::unlink(name.c_str());
  return fd;
}

} // namespace mopt
