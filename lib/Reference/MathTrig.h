//===- MathTrig.h - sin, cos, tan ---------------------------------------------------------------------------------===//
//
// Small arguments lose multiples of pi/2 in parts (Cody and Waite), large ones are multiplied by the bits of 2/pi that
// matter (Payne and Hanek): right for every finite number. In float both are computed and one is selected, since a branch
// would keep a loop from becoming vector code.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_MATHTRIG_H
#define MOPT_LIB_REFERENCE_MATHTRIG_H
#include "Math.h"

namespace mopt {
namespace ref {

/// 64 zero bits, then the bits of 2/pi.
static constexpr uint32_t twoOverPi[] = {
    0,           0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
    0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
    0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu,
    0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau,
    0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du};

/// x = n pi/2 + high + low, |high| <= pi/4; the last two bits of n count.
struct Angle {
  double high, low;
  uint32_t n;
};
/// For |x| < 2^20: n times a part of 33 bits is exact.
MOPT_INLINE Angle reduceSmall(double x) {
  constexpr double p1 = 1.5707963267341256, p2 = 6.077100506303966e-11, p3 = 2.0222662487959506e-21;
  int64_t n;
  double k = nearestInteger(x * 0.6366197723675814, n);
  double t = x - k * p1, w = k * p2, r = t - w;
  double rest = k * p3 - ((t - r) - w);
  double high = r - rest;
  return {high, (r - high) - rest, (uint32_t)n};
}
/// For |x| >= 2^20. 192 bits of 2/pi from the first that does not give a multiple of 4; the product modulo 2^192 is a fixed
/// point number with two integer bits.
MOPT_INLINE Angle reduceLarge(double x) {
  uint64_t bits = bitCast<uint64_t>(abs(x));
  uint64_t mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  int32_t start = (int32_t)(bits >> 52) - 1075 + 62;
  start = start < 0 ? 0 : start > 1033 ? 1033 : start;
  uint32_t factor[2] = {(uint32_t)mantissa, (uint32_t)(mantissa >> 32)};
  uint32_t product[6] = {}; // lowest word first
  for (int j = 0; j < 2; ++j) {
    uint64_t carry = 0;
    for (int i = 0; i + j < 6; ++i) {
      int32_t word = (start >> 5) + 5 - i;
      uint64_t pair = (uint64_t)twoOverPi[word] << 32 | twoOverPi[word + 1];
      uint32_t window = (uint32_t)(pair << (start & 31) >> 32);
      carry += (uint64_t)factor[j] * window + product[i + j];
      product[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
  }
  uint64_t top = (uint64_t)product[5] << 32 | product[4], next = (uint64_t)product[3] << 32 | product[2];
  uint32_t n = (uint32_t)(top >> 62);
  int64_t fraction = (int64_t)(top << 2 | next >> 62); // above one half it reads as negative: the next n
  n += fraction < 0;
  double high = (double)fraction;
  high = high == 9223372036854775808.0 ? 9223372036854774784.0 : high; // so that it fits back
  double low = (double)(fraction - (int64_t)high) + (double)(next << 2) * 5.421010862427522e-20;
  high *= 5.421010862427522e-20; // 2^-64
  low *= 5.421010862427522e-20;
  TwoDoubles r = exactProduct(high, halfPi);
  r.low += high * halfPiLow + low * halfPi;
  double sum = r.high + r.low;
  double rest = (r.high - sum) + r.low;
  return {x < 0.0 ? -sum : sum, x < 0.0 ? -rest : rest, x < 0.0 ? 0u - n : n};
}
MOPT_INLINE Angle reduceAngle(double x) {
  if (abs(x) >= 1048576.0) return reduceLarge(x);
  return reduceSmall(x);
}
MOPT_INLINE double sinReduced(Angle a) {
  static constexpr double c[] = {-0.16666666666666632,  0.008333333333322316,    -0.00019841269829725346,
                                 2.755731366209496e-06, -2.5050753269283554e-08, 1.5896505178692322e-10};
  double z = a.high * a.high;
  return a.high + (a.high * z * polynomial(z, c) + a.low * (1.0 - 0.5 * z));
}
MOPT_INLINE double cosReduced(Angle a) {
  static constexpr double c[] = {0.0416666666666666,     -0.001388888888887399, 2.480158728939495e-05,
                                 -2.755731432602063e-07, 2.087571955554965e-09, -1.1359448445134254e-11};
  double z = a.high * a.high, half = 0.5 * z, one = 1.0 - half;
  return one + (((1.0 - one) - half) + (z * z * polynomial(z, c) - a.high * a.low));
}
MOPT_INLINE double sin(double x) {
  Angle a = reduceAngle(x);
  double y = a.n & 1 ? cosReduced(a) : sinReduced(a);
  y = a.n & 2 ? -y : y;
  y = x == 0.0 ? x : y;
  return abs(x) < (double)infinity ? y : (double)notANumber;
}
MOPT_INLINE double cos(double x) {
  Angle a = reduceAngle(x);
  double y = a.n & 1 ? sinReduced(a) : cosReduced(a);
  y = (a.n + 1) & 2 ? -y : y;
  return abs(x) < (double)infinity ? y : (double)notANumber;
}
MOPT_INLINE double tan(double x) {
  Angle a = reduceAngle(x);
  double s = sinReduced(a), c = cosReduced(a);
  double y = a.n & 1 ? -c / s : s / c;
  y = x == 0.0 ? x : y;
  return abs(x) < (double)infinity ? y : (double)notANumber;
}

//===----------------------------------------------------------------------===//
// float: angles in one double
//===----------------------------------------------------------------------===//
MOPT_INLINE Angle reduceAngle(float x) {
  int64_t n;
  double wide = (double)x;
  double k = nearestInteger(wide * 0.6366197723675814, n);
  double near = (wide - k * 1.5707963267341256) - k * 6.077100506506192e-11;
  // The same as reduceLarge with 96 bits.
  uint32_t bits = bitCast<uint32_t>(abs(x));
  uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  int32_t start = (int32_t)(bits >> 23) - 150 + 62;
  start = start < 0 ? 0 : start > 167 ? 167 : start;
  int32_t word = start >> 5, shift = start & 31;
  uint32_t w0 = twoOverPi[word], w1 = twoOverPi[word + 1], w2 = twoOverPi[word + 2], w3 = twoOverPi[word + 3];
  uint64_t first = (((uint64_t)w0 << 32 | w1) << shift) >> 32, second = (((uint64_t)w1 << 32 | w2) << shift) >> 32,
           third = (((uint64_t)w2 << 32 | w3) << shift) >> 32;
  uint64_t top = ((mantissa * first) << 32) + mantissa * second + ((mantissa * third) >> 32);
  int64_t fraction = (int64_t)(top << 2);
  uint32_t quarter = (uint32_t)(top >> 62) + (fraction < 0);
  double turned = (double)fraction * (5.421010862427522e-20 * halfPi);
  bool large = abs(x) >= 32768.0f;
  double high = large ? (x < 0.0f ? -turned : turned) : near;
  return {high, 0.0, large ? (x < 0.0f ? 0u - quarter : quarter) : (uint32_t)n};
}
/// In float's precision; the double result is rounded once.
MOPT_INLINE double sinShort(double r) {
  double z = r * r;
  return r + r * z *
                 (-0.16666666641427846 +
                  z * (0.008333329362265418 + z * (-0.00019839327114342238 + z * 2.7182370076717477e-06)));
}
MOPT_INLINE double cosShort(double r) {
  double z = r * r;
  return 1.0 - 0.5 * z +
         z * z *
             (0.04166666662249755 +
              z * (-0.0013888883724371649 + z * (2.4799512179865225e-05 + z * -2.720957769874862e-07)));
}
MOPT_INLINE float sin(float x) {
  Angle a = reduceAngle(x);
  double y = a.n & 1 ? cosShort(a.high) : sinShort(a.high);
  float r = (float)(a.n & 2 ? -y : y);
  r = x == 0.0f ? x : r;
  return abs(x) < infinity ? r : notANumber;
}
MOPT_INLINE float cos(float x) {
  Angle a = reduceAngle(x);
  double y = a.n & 1 ? sinShort(a.high) : cosShort(a.high);
  float r = (float)((a.n + 1) & 2 ? -y : y);
  return abs(x) < infinity ? r : notANumber;
}
MOPT_INLINE float tan(float x) {
  Angle a = reduceAngle(x);
  double s = sinShort(a.high), c = cosShort(a.high);
  float r = (float)(a.n & 1 ? -c / s : s / c);
  r = x == 0.0f ? x : r;
  return abs(x) < infinity ? r : notANumber;
}

} // namespace ref
} // namespace mopt
#endif
