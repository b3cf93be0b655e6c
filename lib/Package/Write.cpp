//===- Write.cpp - the file: code, weights, trailer ---------------------------------------------------------------===//
//
// Weights go from where they are straight into the file, hashed on the way: memory stays at what the caller holds. The file
// is written beside its destination and renamed, so that a reader sees the old one or the new one, never a part.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"
#define XXH_INLINE_ALL
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

using namespace llvm;

namespace mopt {
namespace {

const uint8_t zeros[4096] = {};

/// A file that takes its place only on commit().
class Output {
public:
  Output(StringRef path, unsigned mode, std::string &error) : path(path.str()), error(error) { open(mode); }
  ~Output() {
    if (fd >= 0)
      close(fd);
    if (!temporary.empty())
      unlink(temporary.c_str());
  }
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  bool ok() const { return fd >= 0; }
  uint64_t position() const { return written; }
  /// Asks for the space at once: a full disk is found before the long copy.
  bool reserve(uint64_t bytes) {
    if (bytes == 0 || fallocate(fd, 0, 0, bytes) == 0 || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
      return true;
    return fail(errno, "reserving " + std::to_string(bytes) + " bytes for");
  }
  bool write(const void *data, size_t bytes) {
    const char *at = static_cast<const char *>(data);
    while (bytes) {
      ssize_t n = ::write(fd, at, bytes);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return fail(n < 0 ? errno : EIO, "writing");
      at += n;
      bytes -= n;
      written += n;
    }
    return true;
  }
  bool commit() {
    int descriptor = std::exchange(fd, -1);
    if (close(descriptor) != 0) // network file systems report late
      return fail(errno, "writing");
    if (rename(temporary.c_str(), path.c_str()) != 0)
      return fail(errno, "naming");
    temporary.clear();
    return true;
  }

private:
  bool fail(int number, StringRef what) {
    bool full = number == ENOSPC || number == EDQUOT;
    bool place = number == ENOENT || number == EACCES || number == EROFS || number == ENOTDIR || number == EPERM ||
                 number == ENAMETOOLONG || number == ELOOP || number == EISDIR;
    error = (Twine(full    ? "MOPT-P002"
                   : place ? "MOPT-P001"
                           : "MOPT-P004") +
             ": " + what + " '" + path + "' failed: " + strerror(number) +
             (full    ? "; free space or choose another place"
              : place ? "; check that the folder exists and can be written"
                      : ""))
                .str();
    return false;
  }
  void open(unsigned mode) {
    struct stat st;
    if (path.empty() || StringRef(path).contains('\0')) {
      error = "MOPT-P001: the output has no usable name";
      return;
    }
    if (stat(path.c_str(), &st) == 0) {
      if (!S_ISREG(st.st_mode)) {
        error = "MOPT-P003: '" + path + "' exists and is not a regular file; choose another name";
        return;
      }
      if (char *real = realpath(path.c_str(), nullptr)) { // a link stays a link
        path = real;
        free(real);
      }
    }
    static std::atomic<unsigned> counter{0};
    StringRef folder = sys::path::parent_path(path);
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string name = (folder.empty() ? "." : folder.str()) + "/.mopt-" + std::to_string(getpid()) + "-" +
                         std::to_string(counter++) + ".tmp";
      fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); // the kernel applies the umask
      if (fd >= 0) {
        temporary = name;
        return;
      }
      if (errno != EEXIST)
        break;
    }
    fail(errno, "creating");
  }

  std::string path, temporary;
  std::string &error;
  int fd = -1;
  uint64_t written = 0;
};

/// Writes the weights and collects the hash of each chunk of them.
class WeightWriter {
public:
  explicit WeightWriter(Output &out) : out(out) { XXH3_128bits_reset(&state); }
  bool write(const uint8_t *data, uint64_t bytes) {
    while (bytes) {
      size_t n = std::min<uint64_t>(bytes, MOPT_WEIGHT_CHUNK - inChunk);
      XXH3_128bits_update(&state, data, n); // first: then the write finds the bytes in the cache
      if (!out.write(data, n))
        return false;
      inChunk += n;
      data += n;
      bytes -= n;
      if (inChunk == MOPT_WEIGHT_CHUNK)
        finishChunk();
    }
    return true;
  }
  bool fill(uint64_t bytes) {
    for (; bytes; bytes -= std::min<uint64_t>(bytes, sizeof zeros))
      if (!write(zeros, std::min<uint64_t>(bytes, sizeof zeros)))
        return false;
    return true;
  }
  void finishChunk() {
    if (inChunk == 0)
      return;
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    hashes.push_back(hash.low64);
    hashes.push_back(hash.high64);
    XXH3_128bits_reset(&state);
    inChunk = 0;
  }
  std::vector<uint64_t> hashes;

private:
  Output &out;
  alignas(64) XXH3_state_t state;
  uint64_t inChunk = 0;
};

void hashOf(const void *data, size_t bytes, uint64_t hash[2]) {
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  hash[0] = h.low64;
  hash[1] = h.high64;
}

} // namespace

bool writeArtifact(ArrayRef<char> code, const Plan &plan, StringRef path, unsigned mode, uint64_t &fileBytes,
                   std::string &error) {
  Output out(path, mode, error);
  if (!out.ok())
    return false;
  mopt_trailer trailer = {};
  trailer.magic = MOPT_TRAILER_MAGIC;
  trailer.abi_version = MOPT_ABI_VERSION;
  trailer.weights_offset = code.size();
  trailer.weights_bytes = plan.weightBytes;
  hashOf(code.data(), code.size(), trailer.code_hash);
  uint64_t chunks = plan.weightBytes / MOPT_WEIGHT_CHUNK + (plan.weightBytes % MOPT_WEIGHT_CHUNK != 0);
  uint64_t end = code.size() + plan.weightBytes, gap = (16 - end % 16) % 16;
  trailer.file_bytes = end + gap + chunks * 16 + sizeof trailer;
  if (!out.reserve(trailer.file_bytes) || !out.write(code.data(), code.size()))
    return false;
  WeightWriter weights(out);
  uint64_t at = 0;
  std::vector<uint8_t> made;
  for (const PlanWeight &piece : plan.weights) {
    const uint8_t *data = piece.bytes.data();
    if (piece.make) {
      made.resize(piece.size());
      piece.make(made.data());
      data = made.data();
    }
    if (!weights.fill(piece.offset - at) || !weights.write(data, piece.size()))
      return false;
    at = piece.offset + piece.size();
  }
  if (!weights.fill(plan.weightBytes - at) || !out.write(zeros, gap))
    return false;
  weights.finishChunk();
  hashOf(weights.hashes.data(), weights.hashes.size() * sizeof(uint64_t), trailer.hashes_hash);
  if (!out.write(weights.hashes.data(), weights.hashes.size() * sizeof(uint64_t)) || !out.write(&trailer, sizeof trailer))
    return false;
  fileBytes = out.position();
  return out.commit();
}

bool writeFile(ArrayRef<char> bytes, StringRef path, unsigned mode, std::string &error) {
  Output out(path, mode, error);
  return out.ok() && out.write(bytes.data(), bytes.size()) && out.commit();
}

} // namespace mopt
