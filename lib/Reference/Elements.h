//===- Elements.h - elements that only move: their size is all that counts ----------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_ELEMENTS_H
#define MOPT_LIB_REFERENCE_ELEMENTS_H
#include "Common.h"

namespace mopt {
namespace ref {

/// The elements of a tensor as unsigned integers of their size.
template <class E> struct Elements {
  using Value = E;
  E *data;
  E get(int64_t offset) const { return data[offset]; }
  void set(int64_t offset, E value) const { data[offset] = value; }
};
template <int bits> struct PackedElements {
  using Value = uint8_t;
  void *data;
  uint8_t get(int64_t offset) const { return (uint8_t)loadPacked<bits>(data, offset); }
  void set(int64_t offset, uint8_t value) const { storePacked<bits>(data, offset, value); }
};
struct Wide {
  uint64_t low, high;
};
template <class E> struct ElementKind {
  Elements<E> of(const mopt_tensor &t) const { return {(E *)t.data}; }
};
template <int bits> struct PackedKind {
  PackedElements<bits> of(const mopt_tensor &t) const { return {t.data}; }
};
/// Calls f(kind) for the element size of `type`: kind.of(tensor) gives access to its elements.
template <class F> MOPT_INLINE int32_t withElement(int32_t type, F f) {
  switch (mopt_type_bits(type)) {
  case 2:
    return f(PackedKind<2>());
  case 4:
    return f(PackedKind<4>());
  case 8:
    return f(ElementKind<uint8_t>());
  case 16:
    return f(ElementKind<uint16_t>());
  case 32:
    return f(ElementKind<uint32_t>());
  case 64:
    return f(ElementKind<uint64_t>());
  case 128:
    return f(ElementKind<Wide>());
  default:
    return MOPT_STEP_TYPE;
  }
}

} // namespace ref
} // namespace mopt
#endif
