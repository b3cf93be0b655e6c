//===- Convert.h - element types as integer code ------------------------------------------------------------------===//
//
// Half, bfloat16, the 8- and 4-bit floats, and conversions between floats and integers. Everything is selects on bits: no
// tables and no branches, so that loops over it become vector code, and the same bits on every target.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_CONVERT_H
#define MOPT_LIB_REFERENCE_CONVERT_H
#include "mopt/Reference/Reference.h"
#include <stddef.h>

// Inlining must not depend on a cost model: only after it does a wrapper with constant types and sizes fold to one loop.
#define MOPT_INLINE static inline __attribute__((always_inline, unused))

namespace mopt {
namespace ref {

template <class To, class From> MOPT_INLINE To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
constexpr float infinity = __builtin_inff();
constexpr float notANumber = __builtin_nanf("");

/// f64 -> f32 rounded to odd. A second rounding to a format of at most 22 bits then gives what one rounding would.
MOPT_INLINE float toFloatOdd(double value) {
  float nearest = (float)value;
  uint32_t bits = bitCast<uint32_t>(nearest);
  double rounded = __builtin_fabs((double)nearest), exact = __builtin_fabs(value);
  uint32_t odd = (bits - (rounded > exact)) | 1;
  return bitCast<float>(rounded != exact && value == value ? odd : bits);
}

//===----------------------------------------------------------------------===//
// Formats of at most 16 bits: `m` mantissa bits, bias `b`
//===----------------------------------------------------------------------===//
/// Exponent and mantissa of |value|, to nearest even. Numbers beyond the format just count on, up to 2^(256 - b).
template <int m, int b> MOPT_INLINE uint32_t encodeMagnitude(float value) {
  constexpr int shift = 23 - m;
  constexpr uint32_t smallest = (uint32_t)(128 - b) << 23;           // smallest normal number: 2^(1 - b)
  constexpr uint32_t magic = (uint32_t)(127 + 23 + 1 - b - m) << 23; // one ulp of it is one ulp of subnormal numbers
  uint32_t bits = bitCast<uint32_t>(value) & 0x7fffffffu;
  uint32_t normal = (bits + ((bits >> shift) & 1) + ((1u << (shift - 1)) - 1) - ((uint32_t)(127 - b) << 23)) >> shift;
  uint32_t subnormal = bitCast<uint32_t>(bitCast<float>(bits) + bitCast<float>(magic)) - magic;
  return bits < smallest ? subnormal : normal;
}
/// The number that exponent and mantissa mean, as if the format had no special values. Never touches a subnormal f32: the
/// host may run with those flushed to zero.
template <int m, int b> MOPT_INLINE float decodeMagnitude(uint32_t code) {
  constexpr uint32_t one = (uint32_t)(128 - b) << 23; // 2^(1 - b), from which subnormal numbers count
  uint32_t bits = code << (23 - m);
  float subnormal = bitCast<float>(bits + one) - bitCast<float>(one);
  return code >> m ? bitCast<float>(bits + ((uint32_t)(127 - b) << 23)) : subnormal;
}
MOPT_INLINE float withSign(float magnitude, uint32_t signBit) {
  return bitCast<float>(bitCast<uint32_t>(magnitude) | signBit);
}

MOPT_INLINE float fromHalf(uint16_t code) {
  uint32_t magnitude = code & 0x7fffu;
  float value = decodeMagnitude<10, 15>(magnitude);
  float special = bitCast<float>(0x7f800000u | magnitude << 13);
  return withSign(magnitude >= 0x7c00 ? special : value, (uint32_t)(code & 0x8000u) << 16);
}
MOPT_INLINE uint16_t toHalf(float value) {
  uint32_t bits = bitCast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  uint32_t code = encodeMagnitude<10, 15>(value);
  uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x1ffu);
  code = magnitude >= 0x47800000u ? 0x7c00u : code; // 65536 and more; what rounds up to it counts on to 0x7c00 itself
  code = magnitude > 0x7f800000u ? nan : code;
  return (uint16_t)(code | (bits >> 16 & 0x8000u));
}
MOPT_INLINE float fromBFloat(uint16_t code) { return bitCast<float>((uint32_t)code << 16); }
MOPT_INLINE uint16_t toBFloat(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}

/// f8e4m3fn: largest 448, NaN 0x7f, no infinity. Too large becomes NaN, or the largest number with `saturate`.
MOPT_INLINE float fromE4M3FN(uint8_t code) {
  uint32_t magnitude = code & 0x7fu;
  float value = decodeMagnitude<3, 7>(magnitude);
  return withSign(magnitude == 0x7f ? notANumber : value, (code & 0x80u) << 24);
}
MOPT_INLINE uint8_t toE4M3FN(float value, bool saturate) {
  uint32_t bits = bitCast<uint32_t>(value), code = encodeMagnitude<3, 7>(value);
  uint32_t large = saturate ? 0x7eu : 0x7fu;
  code = code > 0x7e ? large : code;
  code = value != value ? 0x7fu : code;
  return (uint8_t)(code | (bits >> 24 & 0x80u));
}
/// f8e5m2: the upper half of f16. Too large becomes infinity, or 57344 with `saturate`.
MOPT_INLINE float fromE5M2(uint8_t code) { return fromHalf((uint16_t)(code << 8)); }
MOPT_INLINE uint8_t toE5M2(float value, bool saturate) {
  uint32_t bits = bitCast<uint32_t>(value), code = encodeMagnitude<2, 15>(value);
  uint32_t large = saturate ? 0x7bu : 0x7cu;
  code = code > 0x7b ? large : code;
  code = value != value ? 0x7fu : code;
  return (uint8_t)(code | (bits >> 24 & 0x80u));
}
/// FNUZ formats: no infinity, no negative zero; its code 0x80 is the only NaN.
template <int m, int b> MOPT_INLINE float fromFNUZ(uint8_t code) {
  float value = withSign(decodeMagnitude<m, b>(code & 0x7fu), (code & 0x80u) << 24);
  return code == 0x80 ? notANumber : value;
}
template <int m, int b> MOPT_INLINE uint8_t toFNUZ(float value, bool saturate) {
  uint32_t sign = bitCast<uint32_t>(value) >> 24 & 0x80u, code = encodeMagnitude<m, b>(value);
  bool large = code > 0x7f, nan = value != value || (large && !saturate);
  code = large ? 0x7fu : code;
  code = code ? (code | sign) : 0u;
  return (uint8_t)(nan ? 0x80u : code);
}
/// f8e8m0: powers of two, 2^(code - 127); 0xff is NaN. ONNX leaves negative numbers open: NaN here, since there is no sign.
/// `mode` as in Cast: 0 up, 1 down, 2 nearest (half up). Without `saturate`, what is outside the range becomes NaN.
MOPT_INLINE float fromE8M0(uint8_t code) {
  float value = bitCast<float>(code ? (uint32_t)code << 23 : 0x00400000u);
  return code == 0xff ? notANumber : value;
}
MOPT_INLINE uint8_t toE8M0(float value, bool saturate, int mode) {
  uint32_t bits = bitCast<uint32_t>(value);
  // Numbers under 2^-126 are subnormal in f32: as integers, the code is 0 up to 2^-127 (0x400000) and 1 from 2^-126.
  uint32_t add = mode == 0 ? 0x7fffffu : mode == 1 ? 0u : 0x400000u;
  uint32_t code = (bits + add) >> 23;
  uint32_t tiny = mode == 0 ? bits > 0x400000u : mode == 1 ? 0u : bits >= 0x600000u;
  code = bits < 0x800000u ? tiny : code;
  bool small = bits < 0x400000u, large = code > 254;
  code = large ? 254u : code;
  bool nan = bits > 0x7f800000u || (!saturate && (small || large)); // with the sign bit as the highest: negative is large
  nan = nan && bits != 0x80000000u;
  code = bits == 0x80000000u ? (saturate ? 0u : 0xffu) : code;
  return (uint8_t)(nan ? 0xffu : code);
}
/// f4e2m1: 0 0.5 1 1.5 2 3 4 6 and their negatives; always saturates. There is no NaN: it becomes -0, as in ONNX's tests.
MOPT_INLINE float fromE2M1(uint8_t code) { return withSign(decodeMagnitude<1, 1>(code & 7u), (code & 8u) << 28); }
MOPT_INLINE uint8_t toE2M1(float value) {
  uint32_t code = encodeMagnitude<1, 1>(value);
  code = (code > 7 ? 7u : code) | (bitCast<uint32_t>(value) >> 28 & 8u);
  return (uint8_t)(value != value ? 8u : code);
}

//===----------------------------------------------------------------------===//
// Floats to integers
//===----------------------------------------------------------------------===//
/// Truncates; clamps to `bits` bits; NaN is 0. ONNX leaves both open, and the machines differ.
template <int bits, bool isSigned, class F> MOPT_INLINE int64_t truncateTo(F value) {
  static_assert(bits < 64, "");
  constexpr int64_t low = isSigned ? -((int64_t)1 << (bits - 1)) : 0;
  constexpr int64_t high = ((int64_t)1 << (isSigned ? bits - 1 : bits)) - 1;
  constexpr F beyond = (F)(high + 1);
  if constexpr (bits < 32 || (bits == 32 && isSigned)) { // 32-bit conversions: vector code has no 64-bit ones before AVX512
    F inside = value < (F)low ? (F)low : value;
    inside = inside >= beyond ? (F)0 : inside;
    int32_t result = value != value ? 0 : (int32_t)inside;
    return value >= beyond ? (int32_t)high : result;
  } else {
    F inside = value < (F)low ? (F)low : value;
    inside = inside >= beyond ? (F)0 : inside;
    int64_t result = value != value ? 0 : (int64_t)inside;
    return value >= beyond ? high : result;
  }
}
template <class F> MOPT_INLINE int64_t truncateToI64(F value) {
  constexpr F beyond = (F)9223372036854775808.0;
  return value != value ? 0 : value >= beyond ? INT64_MAX : value <= -beyond ? INT64_MIN : (int64_t)value;
}
template <class F> MOPT_INLINE uint64_t truncateToU64(F value) {
  constexpr F beyond = (F)18446744073709551616.0;
  return !(value > 0) ? 0 : value >= beyond ? UINT64_MAX : (uint64_t)value;
}

} // namespace ref
} // namespace mopt
#endif
