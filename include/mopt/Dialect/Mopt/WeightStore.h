//===- WeightStore.h - where the bytes of weights are -------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_WEIGHTSTORE_H
#define MOPT_DIALECT_MOPT_WEIGHTSTORE_H

#include "mopt/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mopt {

/// Named byte sources that `#mopt.weight` handles point into: mapped files, and memory that passes made.
/// Files are read through read-only maps, so weights cost address space, not memory. Thread safe.
class WeightStore {
public:
  static constexpr llvm::StringLiteral memorySource = "<memory>";

  WeightStore();
  ~WeightStore();
  /// Lets the pages of a range leave memory; they are read again when somebody needs them.
  using Forget = std::function<void(uint64_t offset, uint64_t bytes)>;

  /// Makes `bytes` readable under `name`; `keepAlive` owns them. `forget` is for maps of files.
  void add(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive, Forget forget = {});
  bool contains(llvm::StringRef name) const;
  /// The range, or nothing when the source is unknown or too short.
  std::optional<llvm::ArrayRef<uint8_t>> get(llvm::StringRef name, int64_t offset, int64_t bytes) const;
  /// Says that `bytes`, which lie in a source, are not needed soon: without this, a map that has been read through counts
  /// as memory of the process. Bytes that are not of a mapped file stay.
  void release(llvm::ArrayRef<uint8_t> bytes) const;
  /// Keeps `bytes` and returns their offset in `memorySource`. Offsets are 64-byte aligned and follow the order of calls.
  int64_t keep(std::vector<uint8_t> bytes);

private:
  struct Source;
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<Source>, std::less<>> sources;
  std::map<int64_t, std::vector<uint8_t>> memory;
  int64_t memoryEnd = 0;
};

} // namespace mopt
#endif
