//===- VectorTrig.cpp - sin, cos, tan and their inverses -----------------------------------------------------------===//
//
// Multiples of pi/2 are taken off in double, exactly enough for |x| < 2^20; what is left is a float. If a lane is larger, a
// loop over the scalar function computes all of them (a branch that no network takes).
//
// Largest error in units of the last place: sin, cos 1.3, tan 3, asin 2.2, acos 1.5, atan 2.2.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Lanes.h"

namespace mopt {
namespace {

struct Angle {
  Value r, quarter; // x = quarter pi/2 + r; quarter counts modulo 4
};
Angle reduce(Lanes &m, Value x) {
  constexpr double magic = 6755399441055744.0; // 1.5 * 2^52
  Code &code = m.code;
  Lanes wide(code, Lanes::Of::doubles);
  Value w = arith::ExtFOp::create(code.builder, code.loc, wide.type(), x);
  Value shifted = wide.fma(w, wide.c(0.6366197723675814), wide.c(magic));
  Value k = wide.sub(shifted, wide.c(magic));
  // pi/2 in two parts; k times the first, of 33 bits, is exact.
  Value r = wide.fma(k, wide.c(-1.5707963267341256), w);
  r = wide.fma(k, wide.c(-6.077100506506192e-11), r);
  return {arith::TruncFOp::create(code.builder, code.loc, m.type(), r),
          arith::TruncIOp::create(code.builder, code.loc, m.integers(), wide.bits(shifted))};
}
/// |r| <= pi/4
Value sinReduced(Lanes &m, Value r, Value z) {
  return m.fma(m.mul(r, z), m.polynomial(z, {-0.16666655, 0.0083321882, -0.00019518095}), r);
}
Value cosReduced(Lanes &m, Value z) {
  return m.fma(m.mul(z, z), m.polynomial(z, {0.041666646, -0.0013887309, 2.4432327e-05}), m.fma(z, m.c(-0.5), m.c(1)));
}
Value odd(Lanes &m, Value quarter) { return m.intEqual(m.intAnd(quarter, m.i(1)), m.i(1)); }
Value negateUpper(Lanes &m, Value y, Value quarter) {
  return m.floats(m.differ(m.bits(y), m.shiftLeft(m.intAnd(quarter, m.i(2)), 30)));
}

/// The scalar function of every lane.
Value perLane(Lanes &m, StringRef function, Value x) {
  Code &code = m.code;
  OpBuilder &b = code.builder;
  Operation *inside = b.getInsertionBlock()->getParentOp();
  auto caller = isa<LLVM::LLVMFuncOp>(inside) ? cast<LLVM::LLVMFuncOp>(inside) : inside->getParentOfType<LLVM::LLVMFuncOp>();
  auto module = caller->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(function);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    callee =
        LLVM::LLVMFuncOp::create(b, code.loc, function, LLVM::LLVMFunctionType::get(code.f32(), {code.f32(), code.ptr()}));
  }
  Value array = code.stack(caller, 4 * Code::width);
  code.store(LLVM::FreezeOp::create(b, code.loc, x), array);
  code.loop(code.i64(0), code.i64(Code::width), code.i64(1), [&](Value lane) {
    Value place = code.at(array, lane), none = LLVM::ZeroOp::create(b, code.loc, code.ptr());
    code.storeScalar(LLVM::CallOp::create(b, code.loc, callee, ValueRange{code.loadScalar(place), none}).getResult(), place);
  });
  return code.load(array);
}
/// `fast` where |x| < 2^20 or x is not finite: NaN comes out of the reduction.
Value withLarge(Lanes &m, Value x, Value fast, StringRef function) {
  Value size = m.abs(x);
  Value large = m.both(m.greaterEqual(size, m.c(1048576)), m.less(size, m.c(INFINITY)));
  OpBuilder &b = m.code.builder;
  auto branch = scf::IfOp::create(b, m.code.loc, m.type(), m.any(large), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, m.code.loc, m.select(large, perLane(m, function, x), fast));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, m.code.loc, fast);
  return branch.getResult(0);
}

constexpr double halfPi = 1.5707963705062866, halfPiLow = -4.371139e-08; // float, and what it lacks

/// asin of t in [0, 1/2], and sqrt((1 - t) / 2) of larger t: asin t = pi/2 - 2 asin sqrt((1 - t) / 2)
Value asinPart(Lanes &m, Value t, Value far) {
  Value z = m.select(far, m.mul(m.c(0.5), m.sub(m.c(1), t)), m.mul(t, t));
  Value s = m.select(far, m.sqrt(z), t);
  return m.fma(m.mul(s, z), m.polynomial(z, {0.16666754, 0.07495252, 0.045476053, 0.024151972, 0.042212114}), s);
}

} // namespace

Value vectorSin(Lanes &m, Value x) {
  Angle a = reduce(m, x);
  Value z = m.mul(a.r, a.r);
  Value y = m.select(odd(m, a.quarter), cosReduced(m, z), sinReduced(m, a.r, z));
  y = m.select(m.equal(x, m.c(0)), x, negateUpper(m, y, a.quarter)); // -0 stays
  return withLarge(m, x, y, "mopt_s_sin_f32");
}
Value vectorCos(Lanes &m, Value x) {
  Angle a = reduce(m, x);
  Value z = m.mul(a.r, a.r);
  Value y = m.select(odd(m, a.quarter), sinReduced(m, a.r, z), cosReduced(m, z));
  return withLarge(m, x, negateUpper(m, y, m.intAdd(a.quarter, m.i(1))), "mopt_s_cos_f32");
}
Value vectorTan(Lanes &m, Value x) {
  Angle a = reduce(m, x);
  Value z = m.mul(a.r, a.r), sin = sinReduced(m, a.r, z), cos = cosReduced(m, z), swap = odd(m, a.quarter);
  Value y = m.div(m.select(swap, m.neg(cos), sin), m.select(swap, sin, cos));
  y = m.select(m.equal(x, m.c(0)), x, y);
  return withLarge(m, x, y, "mopt_s_tan_f32");
}

Value vectorAtan(Lanes &m, Value x) {
  static constexpr double c[] = {-0.33333153, 0.19993767,  -0.14211008,  0.10665822,
                                 -0.07551838, 0.043207597, -0.016365409, 0.0029200861};
  Value t = m.abs(x), far = m.greater(t, m.c(1)); // atan t = pi/2 + atan(-1/t)
  Value r = m.div(m.select(far, m.c(-1), t), m.select(far, t, m.c(1))), z = m.mul(r, r);
  Value y = m.fma(m.mul(r, z), m.polynomial(z, c), r);
  y = m.select(far, m.add(m.c(halfPi), m.add(y, m.c(halfPiLow))), y);
  return m.copySign(y, x);
}
Value vectorAsin(Lanes &m, Value x) {
  Value t = m.abs(x), far = m.greater(t, m.c(0.5)), part = asinPart(m, t, far);
  Value y = m.sub(m.c(halfPi), m.fma(part, m.c(2), m.c(-halfPiLow)));
  return m.copySign(m.select(far, y, part), x);
}
Value vectorAcos(Lanes &m, Value x) {
  Value t = m.abs(x), far = m.greater(t, m.c(0.5)), part = asinPart(m, t, far);
  Value near = m.sub(m.c(halfPi), m.sub(m.copySign(part, x), m.c(halfPiLow)));
  Value edge = m.mul(part, m.c(2));
  Value low = m.sub(m.c(2 * halfPi), m.sub(edge, m.c(2 * halfPiLow)));
  return m.select(far, m.select(m.less(x, m.c(0)), low, edge), near);
}

} // namespace mopt
