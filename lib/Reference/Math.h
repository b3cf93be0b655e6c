//===- Math.h - elementary functions ------------------------------------------------------------------------------===//
//
// No libm: its results differ between machines, and artifacts call nothing by name. Functions of float are straight-line
// code of selects, so that a loop over them becomes vector code; those used in hidden layers compute in float, the others
// through double. Polynomials are minimax fits made for these ranges.
//
// Largest error in units of the last place, over random and special arguments, without fma (test/Reference/MathTest.cpp
// holds these bounds):
//   float:  exp, log, elu 0.9, erf 1.5, softplus 1.6, tanh 2.1, sigmoid 2.2, mish 3.7, pow and all others 0.51
//   double: exp, log, sin, cos, elu, pow 0.9, acos, cosh 1.3, softplus, erf 1.5, atan 1.7, sinh, asinh, atanh 2,
//           asin, tanh 2.1, acosh, sigmoid 2.2, tan 2.3
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_MATH_H
#define MOPT_LIB_REFERENCE_MATH_H
#include "Common.h"

namespace mopt {
namespace ref {

MOPT_INLINE double abs(double x) { return __builtin_fabs(x); }
MOPT_INLINE float abs(float x) { return __builtin_fabsf(x); }
MOPT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
MOPT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
MOPT_INLINE double floor(double x) { return __builtin_floor(x); }
MOPT_INLINE float floor(float x) { return __builtin_floorf(x); }
MOPT_INLINE double ceil(double x) { return __builtin_ceil(x); }
MOPT_INLINE float ceil(float x) { return __builtin_ceilf(x); }
MOPT_INLINE double trunc(double x) { return __builtin_trunc(x); }
MOPT_INLINE float trunc(float x) { return __builtin_truncf(x); }
/// To nearest, halves to even.
MOPT_INLINE double roundEven(double x) { return __builtin_roundeven(x); }
MOPT_INLINE float roundEven(float x) { return __builtin_roundevenf(x); }
MOPT_INLINE double copySign(double x, double sign) { return __builtin_copysign(x, sign); }
MOPT_INLINE float copySign(float x, float sign) { return __builtin_copysignf(x, sign); }
template <class F> MOPT_INLINE bool isNaN(F x) { return x != x; }

/// c[0] + c[1] x + ...; Horner.
template <class F, int n> MOPT_INLINE F polynomial(F x, const F (&c)[n]) {
  F y = c[n - 1];
  for (int i = n - 2; i >= 0; --i) y = fmadd(y, x, c[i]);
  return y;
}

/// Nearest integer of a small number by adding 1.5 * 2^52: defined for NaN too, unlike a conversion, and vector code on all
/// CPUs.
constexpr double integerMagic = 6755399441055744.0;
MOPT_INLINE double nearestInteger(double x, int64_t &n) {
  double shifted = x + integerMagic;
  n = (int64_t)(bitCast<uint64_t>(shifted) - bitCast<uint64_t>(integerMagic));
  return shifted - integerMagic;
}
MOPT_INLINE double smallToDouble(int64_t n) {
  return bitCast<double>(bitCast<uint64_t>(integerMagic) + (uint64_t)n) - integerMagic;
}
MOPT_INLINE double powerOfTwo(int64_t n) { return bitCast<double>((uint64_t)(n + 1023) << 52); }

constexpr double ln2High = 0.6931471803691238, ln2Low = 1.9082149292705877e-10; // ln2High * n is exact for 21-bit n

//===----------------------------------------------------------------------===//
// exp, log in double
//===----------------------------------------------------------------------===//
/// x + more = n ln 2 + r, |r| <= ln 2 / 2; returns exp(r) - 1.
MOPT_INLINE double expReduced(double x, double more, int64_t &n) {
  static constexpr double q[] = {0.5,
                                 0.16666666666666666,
                                 0.04166666666666669,
                                 0.008333333333333338,
                                 0.0013888888888871813,
                                 0.0001984126984124531,
                                 2.4801587350299387e-05,
                                 2.7557319277972588e-06,
                                 2.755725171431733e-07,
                                 2.505204730444953e-08,
                                 2.092164664816455e-09,
                                 1.609345416516216e-10};
  double k = nearestInteger(x * 1.4426950408889634, n);
  double high = x - k * ln2High, low = k * ln2Low - more;
  double r = high - low;
  return high + (r * r * polynomial(r, q) - low);
}
MOPT_INLINE double expOf(double x, double more) {
  int64_t n;
  double inside = x > 710.0 ? 710.0 : x;
  inside = inside < -746.0 ? -746.0 : inside;
  double p = 1.0 + expReduced(inside, more, n);
  int64_t half = (int64_t)((uint64_t)(n + 4096) >> 1) - 2048; // two factors, since 2^n alone may overflow or be subnormal
  return p * powerOfTwo(half) * powerOfTwo(n - half);
}
MOPT_INLINE double exp(double x) { return expOf(x, 0.0); }
MOPT_INLINE double expm1(double x) {
  int64_t n;
  double inside = x > 710.0 ? 710.0 : x;
  inside = inside < -40.0 ? -40.0 : inside;
  double p = expReduced(inside, 0.0, n), half = powerOfTwo(n - 1);
  double y = 2.0 * (p * half + (half - 0.5));
  return copySign(n == 0 ? p : y, x);
}

/// x = 2^k m with m in [sqrt 1/2, sqrt 2), for positive x; returns m - 1.
MOPT_INLINE double logReduced(double x, double &k) {
  bool subnormal = x < 2.2250738585072014e-308;
  uint64_t bits = bitCast<uint64_t>(subnormal ? x * 18014398509481984.0 : x);
  constexpr uint64_t root = 0x3fe6a09e667f3bcdull;
  uint64_t exponent = (bits - root + (1023ull << 52)) >> 52;
  k = smallToDouble((int64_t)exponent - (subnormal ? 1023 + 54 : 1023));
  return bitCast<double>(bits - ((exponent - 1023) << 52)) - 1.0;
}
/// log(u) + c for u > 0 and a small c.
MOPT_INLINE double logOf(double u, double c) {
  static constexpr double r[] = {0.6666666666666666,  0.40000000000006264, 0.28571428569081153, 0.22222222647511525,
                                 0.18181775608100764, 0.15387093277722064, 0.13250061068362454, 0.13251850266525478};
  double k, f = logReduced(u, k);
  double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double series = s * (half + z * polynomial(z, r));
  return k * ln2High - ((half - (series + (k * ln2Low + c))) - f);
}
MOPT_INLINE double log(double x) {
  double y = logOf(x, 0.0);
  y = x == 0.0 ? -(double)infinity : y;
  y = x == (double)infinity ? x : y;
  return x < 0.0 ? (double)notANumber : x != x ? x : y;
}
MOPT_INLINE double log1p(double x) {
  double u = 1.0 + x;
  double y = copySign(logOf(u, (x - (u - 1.0)) / u), x);
  y = x == -1.0 ? -(double)infinity : y;
  y = x == (double)infinity ? x : y;
  return x < -1.0 ? (double)notANumber : x != x ? x : y;
}

//===----------------------------------------------------------------------===//
// pow: the logarithm to twice the precision
//===----------------------------------------------------------------------===//
struct TwoDoubles {
  double high, low;
};
/// a * b exactly, by splitting: fma would give other bits than mul and add.
MOPT_INLINE TwoDoubles exactProduct(double a, double b) {
  double p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;
  double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
MOPT_INLINE TwoDoubles logTwice(double x) {
  static constexpr double r[] = {0.3999999999999998,  0.2857142857144515,  0.2222222221752714,  0.18181818871468025,
                                 0.15384556791846185, 0.13336320478582078, 0.11674756153497859, 0.11989534267234268};
  double k, f = logReduced(x, k);
  double g = 2.0 + f, gLow = f - (g - 2.0), s = f / g;
  TwoDoubles sg = exactProduct(s, g);
  double sLow = ((f - sg.high) - sg.low - s * gLow) / g;
  TwoDoubles z = exactProduct(s, s);
  z.low += 2.0 * s * sLow;
  TwoDoubles cube = exactProduct(z.high, s);
  cube.low += z.high * sLow + z.low * s;
  TwoDoubles third = exactProduct(cube.high, 0.6666666666666666);
  third.low += cube.high * 3.700743415417188e-17 + cube.low * 0.6666666666666666;
  double tail = cube.high * z.high * polynomial(z.high, r);
  double sum = 2.0 * s + third.high; // the first is larger
  double low = ((2.0 * s - sum) + third.high) + (third.low + 2.0 * sLow + tail);
  double base = k * ln2High, total = base + sum;
  double back = total - base;
  low += ((base - (total - back)) + (sum - back)) + k * ln2Low;
  return {total + low, (total - (total + low)) + low};
}
/// What IEEE 754 says of zero, infinity, NaN and negative bases; `magnitude` is |x|^y where none of that applies.
template <class F> MOPT_INLINE F powSpecial(F x, F y, F magnitude) {
  F base = abs(x), large = (F)infinity;
  bool integer = trunc(y) == y, odd = integer && trunc(y * (F)0.5) != y * (F)0.5;
  F result = base == 0 ? (y < 0 ? large : (F)0) : magnitude;
  result = base == large ? (y < 0 ? (F)0 : large) : result;
  result = x < 0 && !integer && base != large ? (F)notANumber : result;
  result = odd ? copySign(result, x) : result;
  result = isNaN(x) || isNaN(y) ? (F)notANumber : result;
  return y == 0 || x == 1 ? (F)1 : result;
}
MOPT_INLINE double pow(double x, double y) {
  constexpr double much = 1.2676506002282294e30; // 2^100 times the logarithm of any number but 1 is out of range
  double base = abs(x), power = y > much ? much : y;
  power = power < -much ? -much : power;
  TwoDoubles l = logTwice(base);
  TwoDoubles p = exactProduct(power, l.high);
  p.low += power * l.low;
  bool out = abs(p.high) > 800.0;
  double high = p.high > 800.0 ? 800.0 : p.high;
  high = high < -800.0 ? -800.0 : high;
  return powSpecial(x, y, expOf(high, out ? 0.0 : p.low));
}
MOPT_INLINE float pow(float x, float y) {
  double base = abs((double)x);
  return powSpecial(x, y, (float)exp((double)y * logOf(base, 0.0)));
}
/// Integers wrap. A negative power is the truncated fraction: 0 but for bases 1 and -1.
MOPT_INLINE uint64_t pow(uint64_t x, uint64_t y) {
  uint64_t result = 1;
  for (int i = 0; i < 64; ++i) {
    result *= y & 1 ? x : 1;
    x *= x;
    y >>= 1;
  }
  return result;
}
MOPT_INLINE int64_t pow(int64_t x, int64_t y) {
  int64_t power = (int64_t)pow((uint64_t)x, (uint64_t)y);
  int64_t fraction = x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
  return y < 0 ? fraction : power;
}

//===----------------------------------------------------------------------===//
// asin, acos, atan, erf in double
//===----------------------------------------------------------------------===//
constexpr double halfPi = 1.5707963267948966, halfPiLow = 6.123233995736766e-17;

MOPT_INLINE double atan(double x) {
  static constexpr double c[] = {-0.333333333333332,   0.19999999999953655, -0.14285714280203252, 0.11111110783778222,
                                 -0.09090897766111913, 0.07692060345893159, -0.06663105288975592, 0.058478962718481076,
                                 -0.05039326156721498, 0.03806484474322135, -0.017907231466593412};
  double t = abs(x);
  bool middle = t > 0.41421356237309503, far = t > 2.414213562373095;
  // atan t = pi/2 - atan 1/t = pi/4 + atan (t - 1)/(t + 1)
  double a = far ? -1.0 : middle ? t - 1.0 : t, b = far ? t : middle ? t + 1.0 : 1.0;
  double r = a / b, z = r * r;
  double base = far ? halfPi : middle ? 0.5 * halfPi : 0.0, low = far ? halfPiLow : middle ? 0.5 * halfPiLow : 0.0;
  double y = base + (r + (r * z * polynomial(z, c) + low));
  y = t == (double)infinity ? halfPi : y;
  return copySign(y, x);
}
/// (asin x - x) / x^3 at z = x^2 <= 1/4.
MOPT_INLINE double asinSeries(double z) {
  static constexpr double c[] = {0.1666666666666537,   0.07500000000346617,  0.04464285682042771,   0.03038195946111315,
                                 0.02237175032482608,  0.017359820518064173, 0.013884099564274461,  0.012176622219885407,
                                 0.006496119337358337, 0.01961495067654685,  -0.016359570015563023, 0.032004579791105166};
  return polynomial(z, c);
}
MOPT_INLINE double asin(double x) {
  double t = abs(x);
  bool far = t > 0.5;
  double z = far ? 0.5 * (1.0 - t) : t * t, s = far ? sqrt(z) : t;
  double series = s * z * asinSeries(z);
  double y = far ? halfPi - 2.0 * s - (2.0 * series - halfPiLow) : s + series; // asin t = pi/2 - 2 asin sqrt((1 - t)/2)
  return copySign(y, x);
}
MOPT_INLINE double acos(double x) {
  double t = abs(x);
  bool far = t > 0.5;
  double z = far ? 0.5 * (1.0 - t) : t * t, s = far ? sqrt(z) : x;
  double series = s * z * asinSeries(z);
  double near = halfPi - (s - (halfPiLow - series));
  double edge = 2.0 * (s + series);
  edge = x < 0.0 ? 2.0 * halfPi - (edge - 2.0 * halfPiLow) : edge;
  return far ? edge : near;
}
MOPT_INLINE double erf(double x) {
  static constexpr double small[] = {0.1283791670955126,      -0.37612638903183754,    0.11283791670955087,
                                     -0.026866170645118596,   0.005223977625224319,    -0.0008548327001312332,
                                     0.00012055331554411452,  -1.4925589686469483e-05, 1.6460389663326945e-06,
                                     -1.6333314788783368e-07, 1.4414518601334364e-08,  -9.504906483405e-10};
  // erfc(t) exp(t^2) (1 + 2 t) in (t - 2) / (t + 2), for 0.7 to 6
  static constexpr double tail[] = {1.2769783815525286,     -0.09276382658574601,    -0.16603039761528937,
                                    0.1640512800334425,     -0.05422000099206061,    -0.008034015082499952,
                                    0.008722653878395216,   0.001271338981981913,    -0.0014568140105772071,
                                    -0.0004543415872535687, 0.00020636605307929151,  0.00015104848690365285,
                                    -1.465626128422042e-06, -3.6385051752245106e-05, -1.3714437524516225e-05,
                                    2.927103063352375e-06,  4.186641762076465e-06,   1.1760495270469741e-06};
  double t = abs(x), z = x * x;
  t = t > 6.0 ? 6.0 : t;
  double near = x + x * polynomial(z < 0.5625 ? z : 0.5625, small);
  double far = 1.0 - exp(-t * t) * polynomial((t - 2.0) / (t + 2.0), tail) / (1.0 + 2.0 * t);
  return t < 0.75 ? near : copySign(far, x);
}

} // namespace ref
} // namespace mopt
#include "MathDerived.h"
#include "MathFloat.h"
#include "MathTrig.h"
#endif
