//===- FixedPoint.h - requantization in integers alone ------------------------------------------------------------===//
//
// The one place that says what mode `fixed` computes (docs/rationale/requantize.md): reference functions, compiler and tests
// of emitters use it. Freestanding.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_REFERENCE_FIXEDPOINT_H
#define MOPT_REFERENCE_FIXEDPOINT_H
#include <stdint.h>

namespace mopt {

/// scale = multiplier / 2^shift, as TOSA's apply_scale_32 takes them.
struct FixedScale {
  int32_t multiplier; // in [2^30, 2^31)
  int32_t shift;      // in [2, 62]
};
/// Least scale that has one, and the first that is too large: 2^-32 and 2^29.
constexpr float leastFixedScale = 1.0f / 65536 / 65536, firstTooLargeFixedScale = 536870912.0f;

/// The multiplier and shift of a scale. Exact: the 24 bits of a float fit the multiplier, so there is nothing to round.
/// False, and 0 and 2 as numbers, for what is not in [2^-32, 2^29), NaN among it.
static inline bool fixedScale(float scale, FixedScale &fixed) {
  fixed.multiplier = 0;
  fixed.shift = 2;
  if (!(scale >= leastFixedScale && scale < firstTooLargeFixedScale)) return false;
  uint32_t bits;
  __builtin_memcpy(&bits, &scale, sizeof bits);
  fixed.multiplier = (int32_t)(((bits & 0x7fffffu) | 0x800000u) << 7);
  fixed.shift = 157 - (int32_t)(bits >> 23); // 30 less the exponent
  return true;
}

/// round(value * scale) + zeroPoint, halves up, clamped to [low, high]. Nothing overflows: |value * multiplier| <= 2^62.
static inline int32_t requantizeFixed(int32_t value, FixedScale scale, int32_t zeroPoint, int32_t low, int32_t high) {
  int64_t rounded = ((int64_t)value * scale.multiplier + ((int64_t)1 << (scale.shift - 1))) >> scale.shift;
  int64_t result = rounded + zeroPoint;
  return (int32_t)(result < low ? low : result > high ? high : result);
}

} // namespace mopt
#endif
