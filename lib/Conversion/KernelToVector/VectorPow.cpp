//===- VectorPow.cpp - powers --------------------------------------------------------------------------------------===//
//
// The logarithm needs more bits than a float has, since the exponent multiplies its error: it is taken, and raised, in
// double. Rounded once: 0.51 units of the last place. About four times the cost of exp; whole exponents that are constants
// become multiplications long before (canonicalization of mopt.pow).
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Lanes.h"

namespace mopt {
namespace {

/// log2 of a positive float, in double.
Value log2Wide(Lanes &m, Lanes &wide, Value x) {
  static constexpr double c[] = {2.8853900817900926, 0.9617966733332021, 0.577083586693573, 0.4116726100394317,
                                 0.3407322153143094};
  Code &code = m.code;
  Value subnormal = m.less(x, m.c(1.1754943508222875e-38));
  Value u = m.select(subnormal, m.mul(x, m.c(33554432)), x); // 2^25
  Value distance = m.intSub(m.bits(u), m.i(0x3f3504f3));
  Value exponent = m.add(m.toFloat(m.shiftRight(distance, 23)), m.select(subnormal, m.c(-25), m.c(0)));
  Value scaled = m.floats(m.intSub(m.bits(u), m.intAnd(distance, m.i(-0x800000))));
  auto widen = [&](Value v) { return arith::ExtFOp::create(code.builder, code.loc, wide.type(), v).getResult(); };
  Value f = wide.sub(widen(scaled), wide.c(1));
  Value s = wide.div(f, wide.add(f, wide.c(2)));
  return wide.fma(s, wide.polynomial(wide.mul(s, s), c), widen(exponent));
}
/// 2^x of a double, as a float.
Value exp2Narrow(Lanes &m, Lanes &wide, Value x) {
  static constexpr double c[] = {0.9999999999616216,   0.6931471807287162,    0.2402265119875486,    0.055504103528322586,
                                 0.009618027172720226, 0.0013333922855550057, 0.0001546931732359133, 1.52019011296509e-05};
  constexpr double magic = 6755399441055744.0; // 1.5 * 2^52
  Value inside = wide.clamp(x, -160, 130);
  Value shifted = wide.add(inside, wide.c(magic));
  Value p = wide.polynomial(wide.sub(inside, wide.sub(shifted, wide.c(magic))), c);
  Value scaled = wide.floats(wide.intAdd(wide.bits(p), wide.shiftLeft(wide.bits(shifted), 52)));
  return arith::TruncFOp::create(m.code.builder, m.code.loc, m.type(), scaled);
}

} // namespace

Value vectorPow(Lanes &m, Value x, Value y) {
  Lanes wide(m.code, Lanes::Of::doubles);
  Value base = m.abs(x), infinity = m.c(INFINITY), zero = m.c(0), one = m.c(1), nan = m.c(NAN);
  // An infinite exponent would make NaN of the logarithm of 1.
  Value finite = m.clamp(y, -3.4028234663852886e38, 3.4028234663852886e38);
  Value power = arith::ExtFOp::create(m.code.builder, m.code.loc, wide.type(), finite);
  Value result = exp2Narrow(m, wide, wide.mul(power, log2Wide(m, wide, base)));

  // What IEEE 754 says of zero, infinity, NaN and negative bases.
  Value negative = m.less(y, zero), isInfinite = m.equal(base, infinity);
  Value half = m.mul(y, m.c(0.5));
  Value whole = m.equal(m.trunc(y), y), odd = m.both(whole, m.notEqual(m.trunc(half), half));
  result = m.select(m.equal(base, zero), m.select(negative, infinity, zero), result);
  result = m.select(isInfinite, m.select(negative, zero, infinity), result);
  Value noPower = m.both(m.less(x, zero), m.inverse(m.either(whole, isInfinite)));
  result = m.select(odd, m.copySign(result, x), result);
  result = m.select(m.either(noPower, m.either(m.isNaN(x), m.isNaN(y))), nan, result);
  return m.select(m.either(m.equal(y, zero), m.equal(x, one)), one, result);
}

} // namespace mopt
