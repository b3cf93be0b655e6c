//===- Lanes.cpp - expressions over 16 lanes, or one ---------------------------------------------------------------===//
#include "Lanes.h"

namespace mopt {

Lanes::Lanes(Code &code, Of of) : code(code) {
  OpBuilder &b = code.builder;
  floatType = of == Of::doubles ? Type(b.getF64Type()) : Type(b.getF32Type());
  intType = b.getIntegerType(of == Of::doubles ? 64 : 32);
  if (of != Of::oneFloat) {
    floatType = VectorType::get({Code::width}, floatType);
    intType = VectorType::get({Code::width}, intType);
  }
}

/// A constant of `type` with this element everywhere.
static TypedAttr everywhere(Type type, Attribute element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? cast<TypedAttr>(Attribute(DenseElementsAttr::get(vector, element))) : cast<TypedAttr>(element);
}

Value Lanes::c(double value) {
  APFloat number(value);
  bool inexact;
  Type element = getElementTypeOrSelf(floatType);
  if (element.isF32())
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
  return create<arith::ConstantOp>(everywhere(floatType, FloatAttr::get(element, number)));
}

Value Lanes::i(int64_t value) {
  Type element = getElementTypeOrSelf(intType);
  APInt number(element.getIntOrFloatBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  return create<arith::ConstantOp>(everywhere(intType, IntegerAttr::get(element, number)));
}

Value Lanes::polynomial(Value x, ArrayRef<double> coefficients) {
  Value y = c(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    y = fma(y, x, c(coefficient));
  return y;
}

Value Lanes::inverse(Value mask) {
  return differ(mask, create<arith::ConstantOp>(everywhere(mask.getType(), code.builder.getBoolAttr(true))));
}

Value Lanes::any(Value mask) {
  Type together = code.builder.getIntegerType(Code::width);
  Value some =
      LLVM::FreezeOp::create(code.builder, code.loc, mask); // lanes that do not exist decide nothing, but are something
  Value bits = LLVM::BitcastOp::create(code.builder, code.loc, together, some);
  Value zero = arith::ConstantOp::create(code.builder, code.loc, code.builder.getIntegerAttr(together, 0));
  return arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ne, bits, zero);
}

Value Lanes::bits(Value a) { return arith::BitcastOp::create(code.builder, code.loc, intType, a); }
Value Lanes::floats(Value a) { return arith::BitcastOp::create(code.builder, code.loc, floatType, a); }
Value Lanes::intEqual(Value a, Value b) {
  return arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::eq, a, b);
}
Value Lanes::toFloat(Value a) { return arith::SIToFPOp::create(code.builder, code.loc, floatType, a); }

} // namespace mopt
