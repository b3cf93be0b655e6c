//===- Common.h - what all reference functions share --------------------------------------------------------------===//
//
// Elements are read and written by type tag and computed in one of four types: float, double, int64_t, uint64_t. With a
// constant tag the switch folds away; without one (the interpreter) it costs a few nanoseconds an element.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_COMMON_H
#define MOPT_LIB_REFERENCE_COMMON_H
#include "Convert.h"
extern "C" {
#include "mopt/Reference/Slots.h.inc"
}

namespace mopt {
namespace ref {

template <class A, class B> constexpr bool isSame = false;
template <class A> constexpr bool isSame<A, A> = true;
template <class C> constexpr bool isFloat = isSame<C, float> || isSame<C, double>;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//
/// Which compute type holds a type's elements without loss. Types computed in f32 are all of at most 32 bits.
enum class Compute : int32_t { none, f32, f64, i64, u64 };
MOPT_INLINE Compute computeOf(int32_t type) {
  switch (type) {
  case MOPT_F32:
  case MOPT_F16:
  case MOPT_BF16:
  case MOPT_F8E4M3FN:
  case MOPT_F8E4M3FNUZ:
  case MOPT_F8E5M2:
  case MOPT_F8E5M2FNUZ:
  case MOPT_F8E8M0:
  case MOPT_F4E2M1:
    return Compute::f32;
  case MOPT_F64:
    return Compute::f64;
  case MOPT_I8:
  case MOPT_I16:
  case MOPT_I32:
  case MOPT_I64:
  case MOPT_I4:
  case MOPT_I2:
    return Compute::i64;
  case MOPT_U8:
  case MOPT_U16:
  case MOPT_U32:
  case MOPT_U64:
  case MOPT_U4:
  case MOPT_U2:
  case MOPT_BOOL:
    return Compute::u64;
  default:
    return Compute::none;
  }
}
/// Calls `f` with a zero of the compute type; MOPT_STEP_TYPE for other types. `f` returns a status.
template <class F> MOPT_INLINE int32_t withCompute(int32_t type, F f) {
  switch (computeOf(type)) {
  case Compute::f32:
    return f(0.0f);
  case Compute::f64:
    return f(0.0);
  case Compute::i64:
    return f((int64_t)0);
  case Compute::u64:
    return f((uint64_t)0);
  default:
    return MOPT_STEP_TYPE;
  }
}
/// The same for floats only.
template <class F> MOPT_INLINE int32_t withFloat(int32_t type, F f) {
  switch (computeOf(type)) {
  case Compute::f32:
    return f(0.0f);
  case Compute::f64:
    return f(0.0);
  default:
    return MOPT_STEP_TYPE;
  }
}
/// The same with the type that sums are made in: floats as they are, integers modulo 2^64.
template <class F> MOPT_INLINE int32_t withSum(int32_t type, F f) {
  switch (computeOf(type)) {
  case Compute::f32:
    return f(0.0f);
  case Compute::f64:
    return f(0.0);
  case Compute::i64:
  case Compute::u64:
    return f((uint64_t)0);
  default:
    return MOPT_STEP_TYPE;
  }
}

/// Element `index` of packed data with `bits` bits each, the low bits first.
template <int bits> MOPT_INLINE uint32_t loadPacked(const void *data, int64_t index) {
  constexpr int per = 8 / bits;
  uint32_t byte = ((const uint8_t *)data)[index / per];
  return byte >> (index % per * bits) & ((1u << bits) - 1);
}
/// Writes the whole byte: units that share a byte must belong to one chunk.
template <int bits> MOPT_INLINE void storePacked(void *data, int64_t index, uint32_t value) {
  constexpr int per = 8 / bits;
  constexpr uint32_t mask = (1u << bits) - 1;
  uint8_t *byte = (uint8_t *)data + index / per;
  int shift = (int)(index % per) * bits;
  *byte = (uint8_t)((*byte & ~(mask << shift)) | (value & mask) << shift);
}

/// Element at `offset` (in elements, what strides count). Floats read as integers truncate and clamp.
template <class C> MOPT_INLINE C loadAt(const void *data, int32_t type, int64_t offset) {
  auto fromFloat = [](auto value) -> C {
    if constexpr (isSame<C, int64_t>) return truncateToI64(value);
    else if constexpr (isSame<C, uint64_t>) return truncateToU64(value);
    else return (C)value;
  };
  switch (type) {
  case MOPT_F32:
    return fromFloat(((const float *)data)[offset]);
  case MOPT_F64:
    return fromFloat(((const double *)data)[offset]);
  case MOPT_F16:
    return fromFloat(fromHalf(((const uint16_t *)data)[offset]));
  case MOPT_BF16:
    return fromFloat(fromBFloat(((const uint16_t *)data)[offset]));
  case MOPT_I8:
    return (C)((const int8_t *)data)[offset];
  case MOPT_U8:
    return (C)((const uint8_t *)data)[offset];
  case MOPT_I16:
    return (C)((const int16_t *)data)[offset];
  case MOPT_U16:
    return (C)((const uint16_t *)data)[offset];
  case MOPT_I32:
    return (C)((const int32_t *)data)[offset];
  case MOPT_U32:
    return (C)((const uint32_t *)data)[offset];
  case MOPT_I64:
    return (C)((const int64_t *)data)[offset];
  case MOPT_U64:
    return (C)((const uint64_t *)data)[offset];
  case MOPT_BOOL:
    return (C)(((const uint8_t *)data)[offset] != 0);
  case MOPT_I4:
    return (C)((int32_t)(loadPacked<4>(data, offset) << 28) >> 28);
  case MOPT_U4:
    return (C)loadPacked<4>(data, offset);
  case MOPT_I2:
    return (C)((int32_t)(loadPacked<2>(data, offset) << 30) >> 30);
  case MOPT_U2:
    return (C)loadPacked<2>(data, offset);
  case MOPT_F8E4M3FN:
    return fromFloat(fromE4M3FN(((const uint8_t *)data)[offset]));
  case MOPT_F8E4M3FNUZ:
    return fromFloat(fromFNUZ<3, 8>(((const uint8_t *)data)[offset]));
  case MOPT_F8E5M2:
    return fromFloat(fromE5M2(((const uint8_t *)data)[offset]));
  case MOPT_F8E5M2FNUZ:
    return fromFloat(fromFNUZ<2, 16>(((const uint8_t *)data)[offset]));
  case MOPT_F8E8M0:
    return fromFloat(fromE8M0(((const uint8_t *)data)[offset]));
  case MOPT_F4E2M1:
    return fromFloat(fromE2M1((uint8_t)loadPacked<4>(data, offset)));
  default:
    return C();
  }
}
template <class C> MOPT_INLINE C load(const mopt_tensor &t, int64_t offset) { return loadAt<C>(t.data, t.type, offset); }

template <int bits, bool isSigned, class C> MOPT_INLINE uint64_t toInteger(C value) {
  if constexpr (isFloat<C>) return (uint64_t)truncateTo<bits, isSigned>(value);
  else return (uint64_t)value;
}
/// Writes `value` at `offset`. Floats round to nearest even (8-bit floats without saturation); floats to integers truncate
/// and clamp, NaN is 0; integers to narrower integers wrap; to bool: is it not zero.
template <class C> MOPT_INLINE void storeAt(void *data, int32_t type, int64_t offset, C value) {
  auto narrow = [](C v) -> float { // what formats of at most 16 bits are rounded from
    if constexpr (isSame<C, float>) return v;
    else return toFloatOdd((double)v);
  };
  switch (type) {
  case MOPT_F32:
    ((float *)data)[offset] = (float)value;
    break;
  case MOPT_F64:
    ((double *)data)[offset] = (double)value;
    break;
  case MOPT_F16:
    ((uint16_t *)data)[offset] = toHalf(narrow(value));
    break;
  case MOPT_BF16:
    ((uint16_t *)data)[offset] = toBFloat(narrow(value));
    break;
  case MOPT_I8:
    ((int8_t *)data)[offset] = (int8_t)toInteger<8, true>(value);
    break;
  case MOPT_U8:
    ((uint8_t *)data)[offset] = (uint8_t)toInteger<8, false>(value);
    break;
  case MOPT_I16:
    ((int16_t *)data)[offset] = (int16_t)toInteger<16, true>(value);
    break;
  case MOPT_U16:
    ((uint16_t *)data)[offset] = (uint16_t)toInteger<16, false>(value);
    break;
  case MOPT_I32:
    ((int32_t *)data)[offset] = (int32_t)toInteger<32, true>(value);
    break;
  case MOPT_U32:
    ((uint32_t *)data)[offset] = (uint32_t)toInteger<32, false>(value);
    break;
  case MOPT_I64:
    if constexpr (isFloat<C>) ((int64_t *)data)[offset] = truncateToI64(value);
    else ((int64_t *)data)[offset] = (int64_t)value;
    break;
  case MOPT_U64:
    if constexpr (isFloat<C>) ((uint64_t *)data)[offset] = truncateToU64(value);
    else ((uint64_t *)data)[offset] = (uint64_t)value;
    break;
  case MOPT_BOOL:
    ((uint8_t *)data)[offset] = value != 0;
    break;
  case MOPT_I4:
    storePacked<4>(data, offset, (uint32_t)toInteger<4, true>(value));
    break;
  case MOPT_U4:
    storePacked<4>(data, offset, (uint32_t)toInteger<4, false>(value));
    break;
  case MOPT_I2:
    storePacked<2>(data, offset, (uint32_t)toInteger<2, true>(value));
    break;
  case MOPT_U2:
    storePacked<2>(data, offset, (uint32_t)toInteger<2, false>(value));
    break;
  case MOPT_F8E4M3FN:
    ((uint8_t *)data)[offset] = toE4M3FN(narrow(value), false);
    break;
  case MOPT_F8E4M3FNUZ:
    ((uint8_t *)data)[offset] = toFNUZ<3, 8>(narrow(value), false);
    break;
  case MOPT_F8E5M2:
    ((uint8_t *)data)[offset] = toE5M2(narrow(value), false);
    break;
  case MOPT_F8E5M2FNUZ:
    ((uint8_t *)data)[offset] = toFNUZ<2, 16>(narrow(value), false);
    break;
  case MOPT_F8E8M0:
    ((uint8_t *)data)[offset] = toE8M0(narrow(value), true, 0);
    break;
  case MOPT_F4E2M1:
    storePacked<4>(data, offset, toE2M1(narrow(value)));
    break;
  default:
    break;
  }
}
template <class C> MOPT_INLINE void store(const mopt_tensor &t, int64_t offset, C value) {
  storeAt<C>(t.data, t.type, offset, value);
}

//===----------------------------------------------------------------------===//
// Tensors and their indices
//===----------------------------------------------------------------------===//
MOPT_INLINE bool present(const mopt_tensor &t) { return t.type != MOPT_UNDEFINED; }
/// Operand `i` when it is there and present, else null.
MOPT_INLINE const mopt_tensor *operand(const mopt_tensor *in, int32_t nin, int32_t i) {
  return i < nin && present(in[i]) ? &in[i] : nullptr;
}
MOPT_INLINE int64_t numElements(const mopt_tensor &t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t.rank; ++i) n *= t.dims[i];
  return n;
}
/// Product of dims [from, to).
MOPT_INLINE int64_t sizeOf(const mopt_tensor &t, int32_t from, int32_t to) {
  int64_t n = 1;
  for (int32_t i = from; i < to; ++i) n *= t.dims[i];
  return n;
}
MOPT_INLINE bool sameDims(const mopt_tensor &a, const mopt_tensor &b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; ++i)
    if (a.dims[i] != b.dims[i]) return false;
  return true;
}
MOPT_INLINE bool isContiguous(const mopt_tensor &t) {
  int64_t expected = 1;
  for (int32_t i = t.rank; i-- > 0;) {
    if (t.dims[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.dims[i];
  }
  return true;
}
/// Element offset of an index.
MOPT_INLINE int64_t offsetOf(const mopt_tensor &t, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t i = 0; i < t.rank; ++i) offset += index[i] * t.strides[i];
  return offset;
}
/// Element offset of flat (row-major) position `flat`.
MOPT_INLINE int64_t offsetOfFlat(const mopt_tensor &t, int64_t flat) {
  int64_t offset = 0;
  for (int32_t i = t.rank; i-- > 0;) {
    int64_t dim = t.dims[i] > 0 ? t.dims[i] : 1;
    offset += flat % dim * t.strides[i];
    flat /= dim;
  }
  return offset;
}
MOPT_INLINE void unravel(int64_t flat, const int64_t *dims, int32_t rank, int64_t *index) {
  for (int32_t i = rank; i-- > 0;) {
    int64_t dim = dims[i] > 0 ? dims[i] : 1;
    index[i] = flat % dim;
    flat /= dim;
  }
}
/// Steps `index` to the next position in row-major order; returns the axis that grew, -1 after the last position.
MOPT_INLINE int32_t advance(const int64_t *dims, int32_t rank, int64_t *index) {
  for (int32_t i = rank; i-- > 0;) {
    if (++index[i] < dims[i]) return i;
    index[i] = 0;
  }
  return -1;
}
/// Calls f(const int64_t *index, int64_t flat) for the flat positions [begin, end) of `dims`; stops at a status that is not 0.
template <class F> MOPT_INLINE int32_t forEachIndex(const int64_t *dims, int32_t rank, int64_t begin, int64_t end, F f) {
  int64_t index[MOPT_MAX_RANK] = {};
  if (begin < end) unravel(begin, dims, rank, index);
  for (int64_t flat = begin; flat < end; ++flat) {
    if (int32_t status = f((const int64_t *)index, flat)) return status;
    advance(dims, rank, index);
  }
  return MOPT_STEP_OK;
}
/// -1..-rank count from the end. False when it is no axis.
MOPT_INLINE bool normalizeAxis(int64_t &axis, int32_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank;
}

//===----------------------------------------------------------------------===//
// Attributes and faults
//===----------------------------------------------------------------------===//
MOPT_INLINE bool hasAttr(const mopt_attr *attr, int32_t slot) { return attr[slot].n > 0; }
MOPT_INLINE int64_t attrInt(const mopt_attr *attr, int32_t slot, int64_t missing = 0) {
  return attr[slot].n > 0 ? *(const int64_t *)attr[slot].values : missing;
}
MOPT_INLINE double attrFloat(const mopt_attr *attr, int32_t slot, double missing = 0) {
  return attr[slot].n > 0 ? *(const double *)attr[slot].values : missing;
}
struct IntList {
  const int64_t *values;
  int64_t n;
  int64_t operator[](int64_t i) const { return values[i]; }
};
struct FloatList {
  const double *values;
  int64_t n;
  double operator[](int64_t i) const { return values[i]; }
};
MOPT_INLINE IntList attrInts(const mopt_attr *attr, int32_t slot) {
  return {(const int64_t *)attr[slot].values, attr[slot].n};
}
MOPT_INLINE FloatList attrFloats(const mopt_attr *attr, int32_t slot) {
  return {(const double *)attr[slot].values, attr[slot].n};
}
/// Describes the fault and returns `status`: `return fail(fault, MOPT_STEP_INDEX, 1, index, size);`
MOPT_INLINE int32_t fail(mopt_fault *fault, int32_t status, int32_t operand, int64_t got, int64_t limit) {
  if (fault) {
    fault->got = got;
    fault->limit = limit;
    fault->operand = operand;
  }
  return status;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//
/// a * b + c: one rounding where the target has fma, two elsewhere; never a call. The only contraction there is: code is
/// built with -ffp-contract=off, so that a loop's result does not depend on what the optimizer sees.
MOPT_INLINE float fmadd(float a, float b, float c) {
#pragma clang fp contract(on)
  return a * b + c;
}
MOPT_INLINE double fmadd(double a, double b, double c) {
#pragma clang fp contract(on)
  return a * b + c;
}
MOPT_INLINE int64_t fmadd(int64_t a, int64_t b, int64_t c) { return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c); }
MOPT_INLINE uint64_t fmadd(uint64_t a, uint64_t b, uint64_t c) { return a * b + c; }

} // namespace ref
} // namespace mopt

/// Head of a reference function with the uniform signature.
#define MOPT_REFERENCE_FUNCTION(op)                                                                                         \
  extern "C" int32_t mopt_ref_##op(const mopt_tensor *in, int32_t nin, const mopt_tensor *out, int32_t nout,                \
                                   const mopt_attr *attr, int64_t begin, int64_t end, mopt_fault *fault)
#endif
