//===- Lanes.h - expressions over 16 lanes, or one -----------------------------------------------------------------===//
//
// The words that elementwise functions are written in, so that each is written once: for 16 floats or doubles on CPUs, in ops
// of LLVM, and for the one float of a GPU's thread, in ops of arith and math. Masks are (vectors of) i1.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_LANES_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_LANES_H

#include "Code.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mopt {

class Lanes {
public:
  enum class Of { floats, doubles, oneFloat };
  explicit Lanes(Code &code, Of of = Of::floats);
  Code &code;

  Type type() const { return floatType; }
  Type integers() const { return intType; }
  Value c(double value);  // rounded to the type
  Value i(int64_t value); // integers as wide as the floats

  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value fma(Value a, Value b, Value c) {
    return create<LLVM::FMulAddOp, math::FmaOp>(a, b, c);
  } // fused where the target can
  Value neg(Value a) { return create<arith::NegFOp>(a); }
  Value abs(Value a) { return create<LLVM::FAbsOp, math::AbsFOp>(a); }
  Value sqrt(Value a) { return create<LLVM::SqrtOp, math::SqrtOp>(a); }
  Value floor(Value a) { return create<LLVM::FFloorOp, math::FloorOp>(a); }
  Value ceil(Value a) { return create<LLVM::FCeilOp, math::CeilOp>(a); }
  Value trunc(Value a) { return create<LLVM::FTruncOp, math::TruncOp>(a); }
  Value round(Value a) { return create<LLVM::RoundEvenOp, math::RoundEvenOp>(a); }
  Value copySign(Value magnitude, Value sign) { return create<LLVM::CopySignOp, math::CopySignOp>(magnitude, sign); }
  /// c[0] + c[1] x + ...; Horner.
  Value polynomial(Value x, ArrayRef<double> coefficients);

  // Comparisons are false for NaN, but for `notEqual` and `isNaN`.
  Value less(Value a, Value b) { return compare(arith::CmpFPredicate::OLT, a, b); }
  Value lessEqual(Value a, Value b) { return compare(arith::CmpFPredicate::OLE, a, b); }
  Value greater(Value a, Value b) { return compare(arith::CmpFPredicate::OGT, a, b); }
  Value greaterEqual(Value a, Value b) { return compare(arith::CmpFPredicate::OGE, a, b); }
  Value equal(Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); }
  Value notEqual(Value a, Value b) { return compare(arith::CmpFPredicate::UNE, a, b); }
  Value isNaN(Value a) { return compare(arith::CmpFPredicate::UNO, a, a); }
  Value select(Value mask, Value a, Value b) { return create<arith::SelectOp>(mask, a, b); }
  Value both(Value a, Value b) { return create<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return create<arith::OrIOp>(a, b); }
  Value differ(Value a, Value b) { return create<arith::XOrIOp>(a, b); }
  Value inverse(Value mask);
  Value any(Value mask); // of a vector; i1: whether a lane is set

  /// The larger or smaller of a constant, or another number that is not NaN, and x; NaN if x is. One instruction on x86.
  Value max(Value number, Value x) { return select(greater(number, x), number, x); }
  Value min(Value number, Value x) { return select(less(number, x), number, x); }
  Value clamp(Value x, double low, double high) { return min(c(high), max(c(low), x)); }

  Value bits(Value a);   // of floats
  Value floats(Value a); // with these bits
  Value intAdd(Value a, Value b) { return create<arith::AddIOp>(a, b); }
  Value intSub(Value a, Value b) { return create<arith::SubIOp>(a, b); }
  Value intAnd(Value a, Value b) { return create<arith::AndIOp>(a, b); }
  Value intEqual(Value a, Value b);
  Value shiftLeft(Value a, int64_t n) { return create<arith::ShLIOp>(a, i(n)); }
  Value shiftRight(Value a, int64_t n) { return create<arith::ShRSIOp>(a, i(n)); } // signed
  Value toFloat(Value a);                                                          // of integers

private:
  template <class Op, class... Operands> Value create(Operands... operands) {
    return Op::create(code.builder, code.loc, operands...);
  }
  template <class ForVectors, class ForOne, class... Operands> Value create(Operands... operands) {
    return isa<VectorType>(floatType) ? create<ForVectors>(operands...) : create<ForOne>(operands...);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(code.builder, code.loc, predicate, a, b);
  }
  Type floatType, intType;
};

// VectorExp.cpp
Value vectorExp(Lanes &m, Value x);
Value vectorLog(Lanes &m, Value x);
Value vectorErf(Lanes &m, Value x);
Value vectorTanh(Lanes &m, Value x);
Value vectorSigmoid(Lanes &m, Value x);
Value vectorSwish(Lanes &m, Value x, double alpha);
Value vectorSoftplus(Lanes &m, Value x);
Value vectorMish(Lanes &m, Value x);
Value vectorExpm1OfNegative(Lanes &m, Value x); // x <= 0 or NaN
Value vectorGelu(Lanes &m, Value x, bool tanh);
// VectorPow.cpp
Value vectorPow(Lanes &m, Value x, Value y);
// VectorTrig.cpp
Value vectorSin(Lanes &m, Value x);
Value vectorCos(Lanes &m, Value x);
Value vectorTan(Lanes &m, Value x);
Value vectorAsin(Lanes &m, Value x);
Value vectorAcos(Lanes &m, Value x);
Value vectorAtan(Lanes &m, Value x);

} // namespace mopt
#endif
