//===- WeightStore.cpp --------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/WeightStore.h"
#include "mopt/Support/Checked.h"

namespace mopt {

struct WeightStore::Source {
  ArrayRef<uint8_t> bytes;
  std::shared_ptr<void> keepAlive;
  Forget forget;
};

WeightStore::WeightStore() = default;
WeightStore::~WeightStore() = default;

void WeightStore::add(StringRef name, ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive, Forget forget) {
  std::lock_guard<std::mutex> lock(mutex);
  sources[name.str()] = std::make_unique<Source>(Source{bytes, std::move(keepAlive), std::move(forget)});
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

void WeightStore::release(ArrayRef<uint8_t> bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto address = [](const uint8_t *p) { return reinterpret_cast<uintptr_t>(p); };
  for (const auto &[name, source] : sources)
    if (source->forget && !bytes.empty() && address(bytes.begin()) >= address(source->bytes.begin()) &&
        address(bytes.end()) <= address(source->bytes.end())) {
      source->forget(address(bytes.begin()) - address(source->bytes.begin()), bytes.size());
      return;
    }
}

int64_t WeightStore::keep(std::vector<uint8_t> bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  int64_t offset = memoryEnd;
  memoryEnd += static_cast<int64_t>((bytes.size() + 64) / 64 * 64); // distinct even when empty
  memory.emplace(offset, std::move(bytes));
  return offset;
}

} // namespace mopt
