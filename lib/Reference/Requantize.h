//===- Requantize.h - real numbers to quantized integers ----------------------------------------------------------===//
//
// ONNX QuantizeLinear: saturate(round(x) + zero point), halves to even. Clamping comes first, against the bounds less the
// zero point: the same result, since bounds are integers, and conversion is then always in range. Mode `fixed` of the
// contractions: FixedPoint.h.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_REQUANTIZE_H
#define MOPT_LIB_REFERENCE_REQUANTIZE_H
#include "Panel.h"
#include "mopt/Reference/FixedPoint.h"

namespace mopt {
namespace ref {

/// Least and greatest value of a quantized type; false for other types.
MOPT_INLINE bool quantizedRange(int32_t type, int32_t &low, int32_t &high) {
  switch (type) {
  case MOPT_U2:
    low = 0, high = 3;
    return true;
  case MOPT_I2:
    low = -2, high = 1;
    return true;
  case MOPT_U4:
    low = 0, high = 15;
    return true;
  case MOPT_I4:
    low = -8, high = 7;
    return true;
  case MOPT_U8:
    low = 0, high = 255;
    return true;
  case MOPT_I8:
    low = -128, high = 127;
    return true;
  case MOPT_U16:
    low = 0, high = 65535;
    return true;
  case MOPT_I16:
    low = -32768, high = 32767;
    return true;
  default:
    return false;
  }
}
/// To an integer, halves to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no place for a fraction. Needs no instruction
/// that old machines lack (those would call libm) and becomes vector code.
MOPT_INLINE float roundSmall(float x) { return (x + 12582912.0f) - 12582912.0f; }
MOPT_INLINE double roundSmall(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

/// An 8- or 4-bit float, saturated (ONNX QuantizeLinear with saturate = 1); other types as they are.
MOPT_INLINE void storeSaturated(const mopt_tensor &t, int64_t offset, float value) {
  switch (t.type) {
  case MOPT_F8E4M3FN:
    ((uint8_t *)t.data)[offset] = toE4M3FN(value, true);
    break;
  case MOPT_F8E4M3FNUZ:
    ((uint8_t *)t.data)[offset] = toFNUZ<3, 8>(value, true);
    break;
  case MOPT_F8E5M2:
    ((uint8_t *)t.data)[offset] = toE5M2(value, true);
    break;
  case MOPT_F8E5M2FNUZ:
    ((uint8_t *)t.data)[offset] = toFNUZ<2, 16>(value, true);
    break;
  default:
    store<float>(t, offset, value);
    break;
  }
}

/// NaN becomes the least value, as in ONNX's reference implementation.
template <class F> MOPT_INLINE int32_t quantizeValue(F x, int32_t zeroPoint, int32_t low, int32_t high) {
  F least = (F)(low - zeroPoint), greatest = (F)(high - zeroPoint);
  x = x > least ? x : least;
  x = x < greatest ? x : greatest;
  return (int32_t)roundSmall(x) + zeroPoint;
}

/// Stores quantized sums[i] * (left * right[i] / result), i < n. Sums are int32 as uint32_t, or float. `zeroPoint` is that of
/// y. `fixed`: with integers alone; false where a scale has no multiplier then, or what is quantized is no integer.
template <class T> // not forced inline: see loadOther
static bool requantizeRun(const T *sums, const float *right, float left, float result, int64_t zeroPoint, bool fixed,
                          const mopt_tensor &y, int64_t offset, int64_t stride, int64_t n) {
  int32_t low = 0, high = 0;
  bool integer = quantizedRange(y.type, low, high), good = !fixed || (integer && !isSame<T, float>);
  for (int64_t i = 0; i < n; ++i) {
    float scale = left * right[i] / result, real;
    if constexpr (isSame<T, float>) {
      real = sums[i] * scale;
    } else {
      if (fixed) {
        FixedScale numbers;
        good = fixedScale(scale, numbers) && good;
        int32_t value = requantizeFixed((int32_t)sums[i], numbers, (int32_t)zeroPoint, low, high);
        if (integer) storeAt<int64_t>(y.data, y.type, offset + i * stride, value);
        continue;
      }
      real = (float)(int32_t)sums[i] * scale;
    }
    if (integer) storeAt<int64_t>(y.data, y.type, offset + i * stride, quantizeValue(real, (int32_t)zeroPoint, low, high));
    else storeSaturated(y, offset + i * stride, real);
  }
  return good;
}

} // namespace ref
} // namespace mopt
#endif
