//===- Write.cpp - the file: code, weights, trailer ---------------------------------------------------------------===//
//
// Weights go from where they are straight into the file, hashed on the way: memory stays at what the caller holds.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "mopt/Support/OutputFile.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace llvm;

namespace mopt {
namespace {

const uint8_t zeros[4096] = {};

/// Writes the weights and collects the hash of each chunk of them.
class WeightWriter {
public:
  WeightWriter(OutputFile &out, const std::function<void(ArrayRef<uint8_t>)> &copied) : out(out), copied(copied) {
    XXH3_128bits_reset(&state);
  }
  bool write(ArrayRef<uint8_t> bytes) {
    while (!bytes.empty()) {
      ArrayRef<uint8_t> piece = bytes.take_front(MOPT_WEIGHT_CHUNK - inChunk);
      if (!put(piece))
        return false;
      if (copied)
        copied(piece);
      bytes = bytes.drop_front(piece.size());
    }
    return true;
  }
  /// Bytes that were made from `source`.
  bool writeMade(ArrayRef<uint8_t> bytes, ArrayRef<uint8_t> source) {
    while (!bytes.empty()) {
      ArrayRef<uint8_t> piece = bytes.take_front(MOPT_WEIGHT_CHUNK - inChunk);
      if (!put(piece))
        return false;
      bytes = bytes.drop_front(piece.size());
    }
    if (copied)
      copied(source);
    return true;
  }
  bool fill(uint64_t bytes) {
    while (bytes) {
      ArrayRef<uint8_t> piece = ArrayRef<uint8_t>(zeros).take_front(std::min<uint64_t>(bytes, MOPT_WEIGHT_CHUNK - inChunk));
      if (!put(piece))
        return false;
      bytes -= piece.size();
    }
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
  /// At most to the end of the chunk.
  bool put(ArrayRef<uint8_t> piece) {
    XXH3_128bits_update(&state, piece.data(), piece.size()); // first: then the write finds the bytes in the cache
    inChunk += piece.size();
    bool ok = out.write(piece.data(), piece.size());
    if (inChunk == MOPT_WEIGHT_CHUNK)
      finishChunk();
    return ok;
  }

  OutputFile &out;
  const std::function<void(ArrayRef<uint8_t>)> &copied;
  alignas(64) XXH3_state_t state;
  uint64_t inChunk = 0;
};

void hashOf(const void *data, size_t bytes, uint64_t hash[2]) {
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  hash[0] = h.low64;
  hash[1] = h.high64;
}

bool report(const OutputFile &out, std::string &error) {
  error = outputError(out);
  return false;
}

/// The last thing before a file gets its name.
bool commit(OutputFile &out, const PackageOptions &options, std::string &error) {
  if (options.beforeCommit && !options.beforeCommit(error))
    return false;
  return out.commit() || report(out, error);
}

} // namespace

std::string outputError(const OutputFile &file) {
  const char *code = "MOPT-P004";
  switch (file.fault()) {
  case OutputFile::Fault::place:
    code = "MOPT-P001";
    break;
  case OutputFile::Fault::full:
    code = "MOPT-P002";
    break;
  case OutputFile::Fault::notRegular:
    code = "MOPT-P003";
    break;
  default:
    break;
  }
  StringRef advice = file.advice();
  return (Twine(code) + ": " + file.error() + (advice.empty() ? "" : "; ") + advice).str();
}

bool writeArtifact(ArrayRef<char> code, const Plan &plan, StringRef path, const PackageOptions &options, uint64_t &fileBytes,
                   std::string &error) {
  OutputFile out(path.str(), options.mode, options.descriptor);
  mopt_trailer trailer = {};
  trailer.magic = MOPT_TRAILER_MAGIC;
  trailer.abi_version = MOPT_ABI_VERSION;
  trailer.weights_offset = code.size();
  trailer.weights_bytes = plan.weightBytes;
  hashOf(code.data(), code.size(), trailer.code_hash);
  uint64_t chunks = plan.weightBytes / MOPT_WEIGHT_CHUNK + (plan.weightBytes % MOPT_WEIGHT_CHUNK != 0);
  uint64_t end = code.size() + plan.weightBytes, gap = (16 - end % 16) % 16;
  trailer.file_bytes = end + gap + chunks * 16 + sizeof trailer;
  bool ok = out.reserve(trailer.file_bytes) && out.write(code.data(), code.size());
  WeightWriter weights(out, options.copied);
  uint64_t at = 0;
  std::vector<uint8_t> made;
  for (const PlanWeight &piece : plan.weights) {
    if (piece.make) {
      made.resize(piece.size());
      piece.make(made.data());
    }
    ok = ok && weights.fill(piece.offset - at) &&
         (piece.make ? weights.writeMade(made, piece.bytes) : weights.write(piece.bytes));
    at = piece.offset + piece.size();
  }
  ok = ok && weights.fill(plan.weightBytes - at) && out.write(zeros, gap);
  weights.finishChunk();
  hashOf(weights.hashes.data(), weights.hashes.size() * sizeof(uint64_t), trailer.hashes_hash);
  ok = ok && out.write(weights.hashes.data(), weights.hashes.size() * sizeof(uint64_t)) &&
       out.write(&trailer, sizeof trailer);
  fileBytes = out.position();
  return ok ? commit(out, options, error) : report(out, error);
}

bool writeFile(ArrayRef<char> bytes, StringRef path, const PackageOptions &options, std::string &error) {
  OutputFile out(path.str(), options.mode, options.descriptor);
  return out.write(bytes.data(), bytes.size()) ? commit(out, options, error) : report(out, error);
}

} // namespace mopt
