// Tensors and attributes for calling reference functions.
#ifndef MOPT_TEST_REFERENCE_TENSORS_H
#define MOPT_TEST_REFERENCE_TENSORS_H
#include "mopt/Reference/Reference.h"
extern "C" {
#include "mopt/Reference/Slots.h.inc"
}
#include <cstring>
#include <memory>
#include <vector>

namespace mopt_test {
template <class E> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr int32_t value = MOPT_F32;
};
template <> struct TypeOf<double> {
  static constexpr int32_t value = MOPT_F64;
};
template <> struct TypeOf<int8_t> {
  static constexpr int32_t value = MOPT_I8;
};
template <> struct TypeOf<uint8_t> {
  static constexpr int32_t value = MOPT_U8;
};
template <> struct TypeOf<int16_t> {
  static constexpr int32_t value = MOPT_I16;
};
template <> struct TypeOf<uint16_t> {
  static constexpr int32_t value = MOPT_U16;
};
template <> struct TypeOf<int32_t> {
  static constexpr int32_t value = MOPT_I32;
};
template <> struct TypeOf<int64_t> {
  static constexpr int32_t value = MOPT_I64;
};
template <> struct TypeOf<uint64_t> {
  static constexpr int32_t value = MOPT_U64;
};

/// Elements with room before and behind that must stay as it is: writes outside show.
template <class E> struct Buffer {
  static constexpr size_t guard = 16;
  std::vector<E> storage;
  mopt_tensor tensor = {};

  Buffer(std::vector<int64_t> dims, std::vector<E> elements = {}, int32_t type = TypeOf<E>::value) {
    int64_t n = 1;
    tensor.rank = (int32_t)dims.size();
    for (size_t i = dims.size(); i-- > 0; n *= dims[i]) {
      tensor.dims[i] = dims[i];
      tensor.strides[i] = n;
    }
    storage.assign(n + 2 * guard, (E)0x5a);
    for (int64_t i = 0; i < n; ++i) storage[guard + i] = i < (int64_t)elements.size() ? elements[i] : (E)0;
    tensor.type = type;
    tensor.data = storage.data() + guard;
  }
  Buffer(const Buffer &) = delete;
  E *begin() { return storage.data() + guard; }
  std::vector<E> elements() { return {storage.begin() + guard, storage.end() - guard}; }
  bool guardsHold() {
    for (size_t i = 0; i < guard; ++i)
      if (storage[i] != (E)0x5a || storage[storage.size() - 1 - i] != (E)0x5a) return false;
    return true;
  }
};
inline mopt_tensor absent() { return {}; }

/// Attributes by slot; integers and floats.
struct Attributes {
  std::vector<mopt_attr> slots;
  std::vector<std::unique_ptr<std::vector<int64_t>>> integers;
  std::vector<std::unique_ptr<std::vector<double>>> floats;
  explicit Attributes(size_t n = 16) : slots(n, mopt_attr{nullptr, 0}) {}
  Attributes &set(int slot, std::vector<int64_t> values) {
    integers.push_back(std::make_unique<std::vector<int64_t>>(std::move(values)));
    slots[slot] = {integers.back()->data(), (int64_t)integers.back()->size()};
    return *this;
  }
  Attributes &setFloat(int slot, double value) {
    floats.push_back(std::make_unique<std::vector<double>>(1, value));
    slots[slot] = {floats.back()->data(), 1};
    return *this;
  }
};
inline int64_t countOf(const mopt_tensor &t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t.rank; ++i) n *= t.dims[i];
  return n;
}
/// Runs all elements of result 0, in two pieces: what is split must fit together.
inline int32_t call(mopt_reference f, std::vector<mopt_tensor> in, std::vector<mopt_tensor> out,
                    const Attributes &attr = Attributes(), mopt_fault *fault = nullptr, bool serial = false) {
  mopt_fault local;
  int64_t n = countOf(out[0]), half = serial ? 0 : n / 3;
  if (!fault) fault = &local;
  if (half)
    if (int32_t status =
            f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), 0, half, fault))
      return status;
  return f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), half, n, fault);
}
} // namespace mopt_test
#endif
