//===- Files.cpp --------------------------------------------------------------------------------------------------===//
#include "Files.h"
#include "mopt/Dialect/Mopt/WeightStore.h"
#include "mopt/Import/Import.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mopt {

Handle::~Handle() {
  if (fd >= 0)
    ::close(fd);
}

static std::string errorText(int error) { return std::generic_category().message(error); }

Handle openFolder(StringRef path, std::string &reason) {
  Handle handle(::open(path.empty() ? "." : path.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle)
    reason = errorText(errno);
  return handle;
}

/// Regular files only: reading a pipe or a device may wait for ever.
static bool isRegular(const Handle &handle, bool oneName, std::string &reason) {
  struct stat info;
  if (::fstat(handle.get(), &info) != 0)
    reason = errorText(errno);
  else if (!S_ISREG(info.st_mode))
    reason = "it is not a regular file";
  else if (oneName && info.st_nlink != 1)
    reason = "it has more than one name (hard links)";
  else
    return true;
  return false;
}

Handle openFile(StringRef path, std::string &reason) {
  Handle handle(::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!handle)
    reason = errorText(errno);
  else if (isRegular(handle, false, reason))
    return handle;
  return Handle();
}

/// For kernels without openat2: one component after the other, each without following links.
static Handle openByComponents(const Handle &folder, ArrayRef<StringRef> parts, int flags) {
  Handle current(::dup(folder.get()));
  for (auto [i, part] : llvm::enumerate(parts)) {
    bool last = i + 1 == parts.size();
    Handle next(::openat(current.get(), part.str().c_str(), last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next)
      return next;
    current = std::move(next);
  }
  return current;
}

Handle openBeneath(const Handle &folder, StringRef relative, std::string &reason) {
  constexpr size_t longest = 4096;
  reason.clear();
  if (relative.empty())
    reason = "the path is empty";
  else if (relative.size() >= longest)
    reason = "the path is too long";
  else if (relative.contains('\0'))
    reason = "the path holds a NUL byte";
  else if (relative.front() == '/' || relative.contains('\\') || (relative.size() > 1 && relative[1] == ':'))
    reason = "the path is absolute or not portable";
  SmallVector<StringRef> all, parts;
  relative.split(all, '/');
  for (StringRef part : all) {
    if (part == "..")
      reason = "the path leaves the model's folder";
    if (!part.empty() && part != ".")
      parts.push_back(part);
  }
  if (parts.empty() && reason.empty())
    reason = "the path names no file";
  if (!folder && reason.empty())
    reason = "a model from memory has no folder";
  if (!reason.empty())
    return Handle();
  int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  std::string path = llvm::join(parts, "/");
  struct open_how how;
  std::memset(&how, 0, sizeof how);
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Handle handle(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
  if (!handle && (errno == ENOSYS || errno == EPERM))
    handle = openByComponents(folder, parts, flags);
  if (!handle) {
    reason = errno == ELOOP ? "the path passes a symbolic link" : errorText(errno);
    return Handle();
  }
  return isRegular(handle, true, reason) ? std::move(handle) : Handle();
}

//===----------------------------------------------------------------------===//
// Maps that survive a file being cut
//===----------------------------------------------------------------------===//
namespace {
struct Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<uint64_t> device{0}, inode{0};
  std::atomic<bool> damaged{false};
};
constexpr unsigned numSlots = 128; // maps beyond these are not guarded
Slot slots[numSlots];
std::atomic<bool> anyDamaged{false};
struct sigaction previous;

void onBusError(int signal, siginfo_t *info, void *context) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot &slot : slots)
    if (address >= slot.begin && address < slot.end) {
      auto page = static_cast<uintptr_t>(4096);
      void *start = reinterpret_cast<void *>(address & ~(page - 1));
      if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start) {
        slot.damaged = true;
        anyDamaged = true;
        return;
      }
    }
  // Not ours: as if we were not here.
  if ((previous.sa_flags & SA_SIGINFO) && previous.sa_sigaction)
    previous.sa_sigaction(signal, info, context);
  else
    ::sigaction(SIGBUS, &previous, nullptr); // the access repeats and meets the old action
}

void installHandler() {
  static const bool installed = [] {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &previous) == 0;
  }();
  (void)installed;
}
} // namespace

bool anyMappedFileDamaged() { return anyDamaged; }

std::shared_ptr<MappedFile> MappedFile::map(const Handle &file, std::string &reason) {
  struct stat info;
  if (::fstat(file.get(), &info) != 0) {
    reason = errorText(errno);
    return nullptr;
  }
  size_t size = static_cast<size_t>(info.st_size);
  uint8_t *data = nullptr;
  if (size) {
    void *mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) {
      reason = errorText(errno);
      return nullptr;
    }
    data = static_cast<uint8_t *>(mapped);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(data, size, info.st_dev, info.st_ino));
}

MappedFile::MappedFile(uint8_t *data, size_t size, uint64_t device, uint64_t inode) : data(data), size(size) {
  if (!data)
    return;
  installHandler();
  for (unsigned i = 0; i < numSlots; ++i) {
    uintptr_t expected = 0;
    if (slots[i].begin.compare_exchange_strong(expected, reinterpret_cast<uintptr_t>(data))) {
      slots[i].damaged = false;
      slots[i].device = device;
      slots[i].inode = inode;
      slots[i].end = reinterpret_cast<uintptr_t>(data) + size;
      slot = static_cast<int>(i);
      break;
    }
  }
}

MappedFile::~MappedFile() {
  if (slot >= 0) {
    slots[slot].end = 0;
    slots[slot].begin = 0;
  }
  if (data)
    ::munmap(data, size);
}

bool MappedFile::damaged() const { return slot >= 0 && slots[slot].damaged; }

void MappedFile::forget(uint64_t offset, uint64_t length) const {
  constexpr uint64_t page = 4096;
  uint64_t begin = (offset + page - 1) / page * page, end = std::min<uint64_t>(offset + length, size) / page * page;
  if (data && begin < end)
    ::madvise(data + begin, end - begin, MADV_DONTNEED);
}

bool MappedFile::isMapped(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return false;
  return llvm::any_of(slots,
                      [&](const Slot &slot) { return slot.end && slot.device == info.st_dev && slot.inode == info.st_ino; });
}

void MappedFile::addTo(WeightStore &store, StringRef name, const std::shared_ptr<MappedFile> &file) {
  store.add(name, file->bytes(), file,
            [map = file.get()](uint64_t offset, uint64_t length) { map->forget(offset, length); });
}

} // namespace mopt
