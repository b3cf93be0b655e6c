//===- VectorMath.cpp - elementwise ops on vectors -----------------------------------------------------------------===//
#include "VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

namespace mopt {
namespace {

Value greater(Code &code, Value a, Value b) {
  return arith::CmpFOp::create(code.builder, code.loc, arith::CmpFPredicate::OGT, a, b);
}
/// max(a, b) where only b may be NaN, which is then the result: one instruction on x86.
Value maxNaNRight(Code &code, Value a, Value b) { return code.select(greater(code, a, b), a, b); }
Value minNaNRight(Code &code, Value a, Value b) { return code.select(greater(code, b, a), a, b); }
/// NaN if either is.
Value withNaN(Code &code, Value a, Value result) {
  Value isNaN = arith::CmpFOp::create(code.builder, code.loc, arith::CmpFPredicate::UNO, a, a);
  return code.select(isNaN, a, result);
}

} // namespace

Value vectorOp(Code &code, StringRef op, DictionaryAttr attrs, ArrayRef<Value> x) {
  OpBuilder &b = code.builder;
  Location loc = code.loc;
  enum class Kind { none, add, sub, mul, div, max, min, relu, clip, neg, abs, sqrt };
  switch (llvm::StringSwitch<Kind>(op)
              .Case("add", Kind::add)
              .Case("sub", Kind::sub)
              .Case("mul", Kind::mul)
              .Case("div", Kind::div)
              .Case("max", Kind::max)
              .Case("min", Kind::min)
              .Case("relu", Kind::relu)
              .Case("clip", Kind::clip)
              .Case("neg", Kind::neg)
              .Case("abs", Kind::abs)
              .Case("sqrt", Kind::sqrt)
              .Default(Kind::none)) {
  case Kind::add:
    return arith::AddFOp::create(b, loc, x[0], x[1]);
  case Kind::sub:
    return arith::SubFOp::create(b, loc, x[0], x[1]);
  case Kind::mul:
    return arith::MulFOp::create(b, loc, x[0], x[1]);
  case Kind::div:
    return arith::DivFOp::create(b, loc, x[0], x[1]);
  case Kind::max:
    return withNaN(code, x[0], maxNaNRight(code, x[0], x[1]));
  case Kind::min:
    return withNaN(code, x[0], minNaNRight(code, x[0], x[1]));
  case Kind::relu:
    return maxNaNRight(code, code.constant(0), x[0]);
  case Kind::clip: // min(max(x, low), high): `high` wins where the bounds cross, as in ONNX
    return minNaNRight(code, x[2], maxNaNRight(code, x[1], x[0]));
  case Kind::neg:
    return arith::NegFOp::create(b, loc, x[0]);
  case Kind::abs:
    return LLVM::FAbsOp::create(b, loc, x[0]);
  case Kind::sqrt:
    return LLVM::SqrtOp::create(b, loc, x[0]);
  case Kind::none:
    return {};
  }
  return {};
}

bool isCheap(StringRef op) {
  return llvm::is_contained({"add", "sub", "mul", "max", "min", "relu", "clip", "neg", "abs", "identity"}, op);
}

} // namespace mopt
