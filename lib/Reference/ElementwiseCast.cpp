//===- ElementwiseCast.cpp - Cast, and typed access for the loop emitter ------------------------------------------===//
//
// mopt_s_cast_<from>_<to>: from a compute type to an element type; the result is in the natural compute type of `to` and
// holds what an element can hold, so that mopt_st_<to> stores it as it is. One argument; casts to the 8-bit floats have
// Cast's attributes as the second.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Elementwise.h"

using namespace mopt::ref;

namespace {
/// Float of which one rounding to a format of at most 16 bits is right.
template <class C> MOPT_INLINE float forRounding(C v) {
  if constexpr (isSame<C, float>) return v;
  else return toFloatOdd((double)v);
}
/// What integers of 2 and 4 bits are cut from. ONNX's tests want floats that are too large for them to wrap, while for wider
/// integers all is open.
template <class C> MOPT_INLINE int64_t forWrapping(C v) {
  if constexpr (isFloat<C>) return truncateToI64(v);
  else return (int64_t)v;
}
/// storeAt, and what Cast adds: saturation and the rounding mode of f8e8m0.
template <class C> MOPT_INLINE void storeCast(void *data, int32_t type, int64_t offset, C value, bool saturate, int mode) {
  uint8_t *bytes = (uint8_t *)data;
  switch (type) {
  case MOPT_F8E4M3FN:
    bytes[offset] = toE4M3FN(forRounding(value), saturate);
    break;
  case MOPT_F8E4M3FNUZ:
    bytes[offset] = toFNUZ<3, 8>(forRounding(value), saturate);
    break;
  case MOPT_F8E5M2:
    bytes[offset] = toE5M2(forRounding(value), saturate);
    break;
  case MOPT_F8E5M2FNUZ:
    bytes[offset] = toFNUZ<2, 16>(forRounding(value), saturate);
    break;
  case MOPT_F8E8M0:
    bytes[offset] = toE8M0(forRounding(value), saturate, mode);
    break;
  case MOPT_I2:
  case MOPT_U2:
  case MOPT_I4:
  case MOPT_U4:
    storeAt(data, type, offset, forWrapping(value));
    break;
  default:
    storeAt(data, type, offset, value);
  }
}
MOPT_INLINE bool saturates(const mopt_attr *attr) { return attrInt(attr, MOPT_CAST_SATURATE) != 0; }
MOPT_INLINE int roundMode(const mopt_attr *attr) { return (int)attrInt(attr, MOPT_CAST_ROUND_MODE); }
} // namespace

MOPT_REFERENCE_FUNCTION(cast) {
  if (computeOf(out[0].type) == Compute::none) return MOPT_STEP_TYPE;
  return withCompute(in[0].type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    const void *a = in[0].data;
    void *r = out[0].data;
    int32_t ta = in[0].type, tr = out[0].type, mode = roundMode(attr);
    bool saturate = saturates(attr);
    return forEachBroadcast<1>(in, out[0], begin, end, fault, [=](const int64_t *at, int64_t to) {
      storeCast(r, tr, to, loadAt<C>(a, ta, at[0]), saturate, mode);
    });
  });
}

// Casts go through one element in memory, which becomes a register: so they and tensors cannot differ.
#define CAST(from, From, to, tag, To)                                                                                       \
  extern "C" To mopt_s_cast_##from##_##to(From x);                                                                          \
  extern "C" To mopt_s_cast_##from##_##to(From x) {                                                                         \
    uint64_t element = 0;                                                                                                   \
    storeCast<From>(&element, tag, 0, x, false, 0);                                                                         \
    return loadAt<To>(&element, tag, 0);                                                                                    \
  }
#define CAST8(from, From, to, tag, To)                                                                                      \
  extern "C" To mopt_s_cast_##from##_##to(From x, const mopt_attr *attr);                                                   \
  extern "C" To mopt_s_cast_##from##_##to(From x, const mopt_attr *attr) {                                                  \
    uint64_t element = 0;                                                                                                   \
    storeCast<From>(&element, tag, 0, x, saturates(attr), roundMode(attr));                                                 \
    return loadAt<To>(&element, tag, 0);                                                                                    \
  }
#define CASTS(CAST, name, tag, Natural)                                                                                     \
  CAST(f32, float, name, tag, Natural)                                                                                      \
  CAST(f64, double, name, tag, Natural)                                                                                     \
  CAST(i64, int64_t, name, tag, Natural)                                                                                    \
  CAST(u64, uint64_t, name, tag, Natural)
#define ACCESS(name, tag, Natural)                                                                                          \
  extern "C" Natural mopt_ld_##name(const void *base, int64_t index);                                                       \
  extern "C" Natural mopt_ld_##name(const void *base, int64_t index) { return loadAt<Natural>(base, tag, index); }          \
  extern "C" void mopt_st_##name(void *base, int64_t index, Natural v);                                                     \
  extern "C" void mopt_st_##name(void *base, int64_t index, Natural v) { storeAt<Natural>(base, tag, index, v); }
#define ELEMENT(name, tag, Natural) CASTS(CAST, name, tag, Natural) ACCESS(name, tag, Natural)
#define ELEMENT8(name, tag) CASTS(CAST8, name, tag, float) ACCESS(name, tag, float)
ELEMENT(f16, MOPT_F16, float)
ELEMENT(bf16, MOPT_BF16, float)
ELEMENT(f32, MOPT_F32, float)
ELEMENT(f64, MOPT_F64, double)
ELEMENT8(f8e4m3fn, MOPT_F8E4M3FN)
ELEMENT8(f8e4m3fnuz, MOPT_F8E4M3FNUZ)
ELEMENT8(f8e5m2, MOPT_F8E5M2)
ELEMENT8(f8e5m2fnuz, MOPT_F8E5M2FNUZ)
ELEMENT8(f8e8m0, MOPT_F8E8M0)
ELEMENT(f4e2m1, MOPT_F4E2M1, float)
ELEMENT(i2, MOPT_I2, int64_t)
ELEMENT(i4, MOPT_I4, int64_t)
ELEMENT(i8, MOPT_I8, int64_t)
ELEMENT(i16, MOPT_I16, int64_t)
ELEMENT(i32, MOPT_I32, int64_t)
ELEMENT(i64, MOPT_I64, int64_t)
ELEMENT(u2, MOPT_U2, uint64_t)
ELEMENT(u4, MOPT_U4, uint64_t)
ELEMENT(u8, MOPT_U8, uint64_t)
ELEMENT(u16, MOPT_U16, uint64_t)
ELEMENT(u32, MOPT_U32, uint64_t)
ELEMENT(u64, MOPT_U64, uint64_t)
ELEMENT(bool, MOPT_BOOL, uint64_t)

// From f64 with one rounding.
#define STORE_F64(name, tag)                                                                                                \
  extern "C" void mopt_st_##name##_f64(void *base, int64_t index, double v);                                                \
  extern "C" void mopt_st_##name##_f64(void *base, int64_t index, double v) { storeAt<double>(base, tag, index, v); }
STORE_F64(f16, MOPT_F16)
STORE_F64(bf16, MOPT_BF16)
STORE_F64(f8e4m3fn, MOPT_F8E4M3FN)
STORE_F64(f8e4m3fnuz, MOPT_F8E4M3FNUZ)
STORE_F64(f8e5m2, MOPT_F8E5M2)
STORE_F64(f8e5m2fnuz, MOPT_F8E5M2FNUZ)
STORE_F64(f8e8m0, MOPT_F8E8M0)
