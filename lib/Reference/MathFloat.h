//===- MathFloat.h - the functions of hidden layers in float ------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_MATHFLOAT_H
#define MOPT_LIB_REFERENCE_MATHFLOAT_H
#include "Math.h"

namespace mopt {
namespace ref {

constexpr float integerMagicFloat = 12582912.0f; // 1.5 * 2^23
MOPT_INLINE float nearestInteger(float x, int32_t &n) {
  float shifted = x + integerMagicFloat;
  n = (int32_t)(bitCast<uint32_t>(shifted) - bitCast<uint32_t>(integerMagicFloat));
  return shifted - integerMagicFloat;
}
MOPT_INLINE float powerOfTwo(int32_t n) { return bitCast<float>((uint32_t)(n + 127) << 23); }

constexpr float ln2HighFloat = 0.693359375f, ln2LowFloat = -0.00021219444f; // the first has 10 bits: n times it is exact

/// x = n ln 2 + r; returns exp(r) - 1.
MOPT_INLINE float expReduced(float x, int32_t &n) {
  static constexpr float q[] = {0.5f, 1.6666667e-01f, 4.1666355e-02f, 8.333272e-03f, 1.3941097e-03f, 1.9914364e-04f};
  float k = nearestInteger(x * 1.44269504f, n);
  float high = x - k * ln2HighFloat, low = k * ln2LowFloat;
  float r = high - low;
  return high + (r * r * polynomial(r, q) - low);
}
MOPT_INLINE float exp(float x) {
  int32_t n;
  float inside = x > 89.0f ? 89.0f : x;
  inside = inside < -104.0f ? -104.0f : inside;
  float p = 1.0f + expReduced(inside, n);
  int32_t half = n >> 1;
  return p * powerOfTwo(half) * powerOfTwo(n - half);
}
MOPT_INLINE float expm1(float x) {
  int32_t n;
  float inside = x > 89.0f ? 89.0f : x;
  inside = inside < -20.0f ? -20.0f : inside;
  float p = expReduced(inside, n), half = powerOfTwo(n - 1);
  float y = 2.0f * (p * half + (half - 0.5f));
  return copySign(n == 0 ? p : y, x);
}

/// log(u) + c for u > 0 and a small c.
MOPT_INLINE float logOf(float u, float c) {
  static constexpr float q[] = {3.333331e-01f,   -2.4999987e-01f, 2.0002231e-01f, -1.6669261e-01f, 1.4218578e-01f,
                                -1.2384083e-01f, 1.18733555e-01f, -1.179167e-01f, 6.9167644e-02f};
  bool subnormal = u < 1.17549435e-38f;
  uint32_t bits = bitCast<uint32_t>(subnormal ? u * 33554432.0f : u);
  uint32_t exponent = (bits - 0x3f3504f3u + (127u << 23)) >> 23;
  float k = (float)((int32_t)exponent - (subnormal ? 127 + 25 : 127));
  float f = bitCast<float>(bits - ((exponent - 127) << 23)) - 1.0f;
  float z = f * f;
  float y = f * z * polynomial(f, q) + (k * ln2LowFloat + c);
  return (f - (0.5f * z - y)) + k * ln2HighFloat;
}
MOPT_INLINE float log(float x) {
  float y = logOf(x, 0.0f);
  y = x == 0.0f ? -infinity : y;
  y = x == infinity ? x : y;
  return x < 0.0f ? notANumber : x != x ? x : y;
}
MOPT_INLINE float log1p(float x) {
  float u = 1.0f + x;
  float y = copySign(logOf(u, (x - (u - 1.0f)) / u), x);
  y = x == -1.0f ? -infinity : y;
  y = x == infinity ? x : y;
  return x < -1.0f ? notANumber : x != x ? x : y;
}

MOPT_INLINE float erf(float x) {
  static constexpr float small[] = {1.2837917e-01f, -3.7612626e-01f, 1.12836e-01f, -2.6854444e-02f,
                                    5.189535e-03f,  -8.0208416e-04f, 7.889119e-05f};
  static constexpr float tail[] = {1.1285679e+00f, 6.3555133e-01f, 1.0540447e-01f,  -2.2821888e-02f,
                                   3.0204875e-03f, -8.196703e-05f, -3.9281786e-05f, 4.4252506e-06f};
  float t = abs(x), z = x * x;
  t = t > 4.0f ? 4.0f : t;
  float near = x + x * polynomial(z < 1.0f ? z : 1.0f, small);
  float far = 1.0f - exp(-t * polynomial(t, tail)); // -log(erfc t) / t is nearly straight
  return t < 1.0f ? near : copySign(far, x);
}

MOPT_INLINE float atan(float x) { return (float)atan((double)x); }
MOPT_INLINE float asin(float x) { return (float)asin((double)x); }
MOPT_INLINE float acos(float x) { return (float)acos((double)x); }

} // namespace ref
} // namespace mopt
#endif
