//===- VectorExp.cpp - exp, log and what is made of them -----------------------------------------------------------===//
//
// Minimax fits of our own (docs/rationale/vector-math.md). Largest error over all floats, in units of the last place, with
// and without fma; test/python/test_vector_math.py holds these bounds:
//
//   exp 1.2, log 1, expm1 of negative numbers 1, softplus 4, sigmoid 2.5, tanh 6, erf 6
//   gelu: 4e-7 times |x| (1 + erf cancels for negative x, as in the formula of ONNX)
//
// exp itself underflows gradually. Functions made of it take results below the smallest normal number for zero, which
// saves a third of its instructions and the microcode that subnormal numbers cost on some CPUs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Lanes.h"
#include "VectorMath.h"

namespace mopt {
namespace {

constexpr double magic = 12582912; // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits
constexpr double ln2High = 0.693359375, ln2Low = -2.121944400546905e-4; // the first has 10 bits: n times it is exact
constexpr int64_t one = 127 << 23;

struct Reduced {
  Value r, n; // x = n ln 2 + r, |r| <= ln 2 / 2; n stands shifted to the exponent
};
Reduced reduce(Lanes &m, Value x) {
  Value shifted = m.fma(x, m.c(1.4426950408889634), m.c(magic));
  Value n = m.sub(shifted, m.c(magic));
  Value r = m.fma(n, m.c(-ln2High), x);
  return {m.fma(n, m.c(-ln2Low), r), m.shiftLeft(m.bits(shifted), 23)};
}
/// (exp(r) - 1 - r) / r^2
constexpr double expTail[] = {0.49999994, 0.16666515, 0.041668084, 0.008369349, 0.00138404};
Value expOfReduced(Lanes &m, Value r) {
  Value tail = m.polynomial(r, expTail);
  return m.fma(m.fma(tail, r, m.c(1)), r, m.c(1));
}

/// 1 + exp(-x), with the sign in the constants. Overflows to infinity and so makes quotients zero.
Value onePlusExpOfMinus(Lanes &m, Value x) {
  Value inside = m.clamp(x, -89, 88);
  Value shifted = m.fma(inside, m.c(-1.4426950408889634), m.c(magic));
  Value n = m.sub(shifted, m.c(magic));
  Value r = m.fma(n, m.c(ln2Low), m.fma(n, m.c(ln2High), inside)); // -x = n ln 2 - r
  SmallVector<double> tail;
  for (auto [k, coefficient] : llvm::enumerate(expTail))
    tail.push_back(k % 2 ? -coefficient : coefficient);
  Value p = m.fma(m.fma(m.polynomial(r, tail), r, m.c(-1)), r, m.c(1));
  return m.fma(p, m.floats(m.intAdd(m.shiftLeft(m.bits(shifted), 23), m.i(one))), m.c(1));
}

/// exp of a number up to 88; what is below 2^-126 becomes zero, as the exponent does.
Value expFlushed(Lanes &m, Value x) {
  auto [r, n] = reduce(m, m.max(m.c(-88), x));
  return m.mul(expOfReduced(m, r), m.floats(m.intAdd(n, m.i(one))));
}

/// An odd function that reaches 1 at `bound`: x p(x^2) / q(x^2). Never above 1.
Value oddRatio(Lanes &m, Value x, double bound, ArrayRef<double> p, ArrayRef<double> q) {
  Value inside = m.clamp(x, -bound, bound), z = m.mul(inside, inside);
  Value y = m.div(m.mul(inside, m.polynomial(z, p)), m.polynomial(z, q));
  return m.clamp(y, -1, 1);
}

} // namespace

Value vectorExp(Lanes &m, Value x) {
  auto [r, n] = reduce(m, m.clamp(x, -104, 89));
  // Two factors, since 2^n alone may overflow or be subnormal.
  Value half = m.intAnd(m.shiftRight(n, 1), m.i(-0x800000));
  Value first = m.floats(m.intAdd(half, m.i(one))), second = m.floats(m.intAdd(m.intSub(n, half), m.i(one)));
  return m.mul(m.mul(expOfReduced(m, r), first), second);
}
Value vectorExpOfNegative(Code &code, Value x) {
  Lanes m(code);
  return expFlushed(m, x);
}
Value vectorExpm1OfNegative(Lanes &m, Value x) {
  auto [r, n] = reduce(m, m.max(m.c(-20), x)); // -1 from there on
  Value p = m.fma(m.mul(r, r), m.polynomial(r, expTail), r);
  Value scale = m.floats(m.intAdd(n, m.i(one)));
  return m.fma(p, scale, m.sub(scale, m.c(1)));
}

Value vectorLog(Lanes &m, Value x) {
  constexpr double q[] = {0.33333331, -0.25000823, 0.20001261, -0.16623335,
                          0.14200988, -0.13159195, 0.12763757, -0.07637755};
  Value subnormal = m.less(x, m.c(1.1754943508222875e-38));
  Value u = m.bits(m.select(subnormal, m.mul(x, m.c(33554432)), x)); // 2^25
  // x = 2^k (1 + f), 1 + f from sqrt 1/2 to sqrt 2
  Value distance = m.intSub(u, m.i(0x3f3504f3));
  Value k = m.add(m.toFloat(m.shiftRight(distance, 23)), m.select(subnormal, m.c(-25), m.c(0)));
  Value f = m.sub(m.floats(m.intSub(u, m.intAnd(distance, m.i(-0x800000)))), m.c(1)), z = m.mul(f, f);
  Value y = m.fma(m.mul(f, z), m.polynomial(f, q), m.mul(k, m.c(ln2Low)));
  y = m.fma(k, m.c(ln2High), m.add(f, m.fma(z, m.c(-0.5), y)));
  y = m.select(m.less(x, m.c(INFINITY)), y, x); // infinity, NaN
  Value low = m.select(m.less(x, m.c(0)), m.c(NAN), m.c(-INFINITY));
  return m.select(m.lessEqual(x, m.c(0)), low, y);
}
/// max(x, 0) + log(1 + exp(-|x|)); log(1 + e) / e as a fraction of polynomials
Value vectorSoftplus(Lanes &m, Value x) {
  static constexpr double p[] = {1.0, 0.8671936392784119, 0.12376436591148376};
  static constexpr double q[] = {1.0, 1.3671916723251343, 0.47405901551246643, 0.031094564124941826};
  Value e = expFlushed(m, m.neg(m.abs(x)));
  Value y = m.div(m.mul(e, m.polynomial(e, p)), m.polynomial(e, q));
  return m.add(m.select(m.greater(x, m.c(0)), x, m.c(0)), y);
}

Value vectorErf(Lanes &m, Value x) {
  static constexpr double p[] = {1.128378987312317,     0.19059501588344574,  0.05276947095990181,
                                 0.0037726054433733225, 0.000284845067653805, 2.0460208816075465e-06};
  static constexpr double q[] = {
      1.0, 0.502243161201477, 0.11418324708938599, 0.014983308501541615, 0.0011638717260211706, 3.8047794078011066e-05};
  return oddRatio(m, x, 3.925, p, q);
}
Value vectorTanh(Lanes &m, Value x) {
  static constexpr double p[] = {0.9999998807907104, 0.13379718363285065, 0.0034940342884510756, 2.0583476725732908e-05,
                                 1.3319122693644658e-08};
  static constexpr double q[] = {1.0, 0.4671303331851959, 0.025871071964502335, 0.00032830925192683935,
                                 7.762020004520309e-07};
  return oddRatio(m, x, 9.02, p, q);
}
Value vectorSigmoid(Lanes &m, Value x) { return m.div(m.c(1), onePlusExpOfMinus(m, x)); }
Value vectorSwish(Lanes &m, Value x, double alpha) {
  return m.div(x, onePlusExpOfMinus(m, alpha == 1 ? x : m.mul(m.c(alpha), x)));
}
/// x tanh(log(1 + exp x)); with e = exp x the tangent is (e^2 + 2 e) / (e^2 + 2 e + 2).
Value vectorMish(Lanes &m, Value x) {
  Value e = expFlushed(m, m.min(m.c(40), x));
  Value n = m.mul(e, m.add(e, m.c(2)));
  return m.mul(x, m.div(n, m.add(n, m.c(2))));
}
Value vectorGelu(Lanes &m, Value x, bool tanh) {
  constexpr double k = 0.7978845608028654; // sqrt(2 / pi)
  Value half = m.mul(x, m.c(0.5)), y;
  if (tanh)
    y = vectorTanh(m, m.mul(x, m.fma(m.mul(x, x), m.c(0.044715 * k), m.c(k))));
  else
    y = vectorErf(m, m.mul(x, m.c(0.7071067811865476)));
  return m.fma(half, y, half);
}

} // namespace mopt
