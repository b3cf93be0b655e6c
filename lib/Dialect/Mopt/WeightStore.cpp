//===- WeightStore.cpp --------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/WeightStore.h"
#include "mopt/Support/Checked.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mopt {

struct WeightStore::Source {
  ArrayRef<uint8_t> bytes;
  std::shared_ptr<void> keepAlive;
};

WeightStore::WeightStore() = default;
WeightStore::~WeightStore() = default;

void WeightStore::add(StringRef name, ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive) {
  std::lock_guard<std::mutex> lock(mutex);
  sources[name.str()] = std::make_unique<Source>(Source{bytes, std::move(keepAlive)});
}

bool WeightStore::addFile(StringRef name, StringRef path, std::string &reason) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    reason = buffer.getError().message();
    return false;
  }
  std::shared_ptr<llvm::MemoryBuffer> owner = std::move(*buffer);
  add(name, {reinterpret_cast<const uint8_t *>(owner->getBufferStart()), owner->getBufferSize()}, owner);
  return true;
}

bool WeightStore::contains(StringRef name) const {
  std::lock_guard<std::mutex> lock(mutex);
  return name == memorySource || sources.find(name) != sources.end();
}

std::optional<ArrayRef<uint8_t>> WeightStore::get(StringRef name, int64_t offset, int64_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  if (offset < 0 || bytes < 0)
    return std::nullopt;
  if (name == memorySource) {
    auto found = memory.find(offset);
    if (found == memory.end() || static_cast<int64_t>(found->second.size()) != bytes)
      return std::nullopt;
    return ArrayRef<uint8_t>(found->second);
  }
  auto found = sources.find(name);
  auto end = checked::add(offset, bytes);
  if (found == sources.end() || !end || static_cast<uint64_t>(*end) > found->second->bytes.size())
    return std::nullopt;
  return found->second->bytes.slice(offset, bytes);
}

int64_t WeightStore::keep(std::vector<uint8_t> bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  int64_t offset = memoryEnd;
  memoryEnd += static_cast<int64_t>((bytes.size() + 64) / 64 * 64); // distinct even when empty
  memory.emplace(offset, std::move(bytes));
  return offset;
}

} // namespace mopt
