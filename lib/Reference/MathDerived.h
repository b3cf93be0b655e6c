//===- MathDerived.h - functions made of exp and log --------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_MATHDERIVED_H
#define MOPT_LIB_REFERENCE_MATHDERIVED_H
#include "Math.h"

namespace mopt {
namespace ref {

template <class F> MOPT_INLINE F tanh(F x) {
  F t = abs(x);
  t = t > (F)22 ? (F)22 : t; // 1 from here on
  F e = expm1(t + t);
  return copySign(e / (e + (F)2), x);
}
/// exp of the negative magnitude only: neither end over- or underflows early.
template <class F> MOPT_INLINE F sigmoid(F x) {
  F e = exp(-abs(x));
  return (x < 0 ? e : (F)1) / ((F)1 + e);
}
template <class F> MOPT_INLINE F softplus(F x) { return (x > 0 ? x : (F)0) + log1p(exp(-abs(x))); }

MOPT_INLINE double sinh(double x) {
  double t = abs(x), e = expm1(t), half = exp(0.5 * t);
  double y = t > 700.0 ? (0.5 * half) * half : 0.5 * (e + e / (e + 1.0));
  return copySign(y, x);
}
MOPT_INLINE double cosh(double x) {
  double t = abs(x), e = exp(t), half = exp(0.5 * t);
  return t > 700.0 ? (0.5 * half) * half : 0.5 * e + 0.5 / e;
}
MOPT_INLINE double asinh(double x) {
  double t = abs(x);
  bool far = t > 1e8; // log 2t from here on: the square would overflow later
  double z = far ? 1.0 : t * t;
  double y = log1p(far ? t - 1.0 : t + z / (1.0 + sqrt(z + 1.0)));
  return copySign(far ? y + 0.6931471805599453 : y, x);
}
MOPT_INLINE double acosh(double x) {
  bool far = x > 1e8;
  double t = x - 1.0, near = far ? 1.0 : t;
  double y = log1p(far ? t : near + sqrt(2.0 * near + near * near));
  y = far ? y + 0.6931471805599453 : y;
  return x < 1.0 ? (double)notANumber : y;
}
MOPT_INLINE double atanh(double x) {
  double t = abs(x);
  double y = 0.5 * log1p((t + t) / (1.0 - t));
  return copySign(t > 1.0 ? (double)notANumber : y, x);
}
MOPT_INLINE float sinh(float x) { return (float)sinh((double)x); }
MOPT_INLINE float cosh(float x) { return (float)cosh((double)x); }
MOPT_INLINE float asinh(float x) { return (float)asinh((double)x); }
MOPT_INLINE float acosh(float x) { return (float)acosh((double)x); }
MOPT_INLINE float atanh(float x) { return (float)atanh((double)x); }

/// x tanh(log(1 + exp x)); with e = exp x the tangent is (e^2 + 2 e) / (e^2 + 2 e + 2).
template <class F> MOPT_INLINE F mish(F x) {
  F e = exp(x > (F)40 ? (F)40 : x);
  F n = e * (e + (F)2);
  return x * (n / (n + (F)2));
}
template <class F> MOPT_INLINE F geluErf(F x) { return (F)0.5 * x * ((F)1 + erf(x * (F)0.7071067811865476)); }
template <class F> MOPT_INLINE F geluTanh(F x) {
  F inner = (F)0.7978845608028654 * (x + (F)0.044715 * x * x * x);
  return (F)0.5 * x * ((F)1 + tanh(inner));
}

/// Remainder with the sign of `a`, exact, as C's fmod. Long division in binary: one round for 2^11 of the quotient.
MOPT_INLINE double fmod(double a, double b) {
  double x = abs(a), y = abs(b);
  if (!(x < (double)infinity) || !(y > 0.0)) return (double)notANumber; // also NaN
  if (y == (double)infinity || x < y) return a;
  uint64_t xb = bitCast<uint64_t>(x), yb = bitCast<uint64_t>(y);
  int32_t xe = (int32_t)(xb >> 52), ye = (int32_t)(yb >> 52);
  constexpr uint64_t fraction = 0xfffffffffffffull, one = 0x10000000000000ull;
  uint64_t xm = (xb & fraction) | (xe ? one : 0), ym = (yb & fraction) | (ye ? one : 0);
  int32_t shift = (xe ? xe : 1) - (ye ? ye : 1);
  xm %= ym;
  while (shift > 0 && xm) {
    int32_t step = shift < 11 ? shift : 11; // 53 bits and 11 more fit in 64
    xm = (xm << step) % ym;
    shift -= step;
  }
  // xm * 2^(exponent of y): exact, since it is less than y.
  double scaled;
  int32_t exponent = ye ? ye : 1;
  if (exponent <= 54) { // all values here are multiples of the smallest number times 2^(exponent - 1)
    scaled = (double)xm * 4.9406564584124654e-324;
    for (int32_t i = 1; i < exponent; ++i) scaled *= 2.0;
  } else {
    scaled = (double)xm * bitCast<double>((uint64_t)(exponent - 52) << 52);
  }
  return copySign(scaled, a);
}
MOPT_INLINE float fmod(float a, float b) { return (float)fmod((double)a, (double)b); }

} // namespace ref
} // namespace mopt
#endif
