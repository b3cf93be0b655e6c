//===- Requantize.cpp - sums to quantized integers on vectors ------------------------------------------------------===//
//
// Operation by operation what lib/Reference/Requantize.h and FixedPoint.h do.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Requantize.h"
#include "Lanes.h"

namespace mopt {
namespace {

/// clamp(f32(sum) * scale) to integers, halves to even: adding 1.5 * 2^23 leaves no place for a fraction. NaN becomes the
/// least value.
Value roundFloat(Code &code, Value sum, Value scale, double least, double greatest) {
  Lanes m(code);
  Value x = m.mul(m.toFloat(sum), scale);
  x = m.select(m.greater(x, m.c(least)), x, m.c(least));
  x = m.select(m.less(x, m.c(greatest)), x, m.c(greatest));
  x = m.sub(m.add(x, m.c(12582912)), m.c(12582912));
  return arith::FPToSIOp::create(code.builder, code.loc, m.integers(), x);
}

/// (sum * scale + 2^(shift - 1)) >> shift in 64 bits, clamped.
Value roundFixed(Code &code, Value sum, Value scale, Value shift, int64_t least, int64_t greatest) {
  OpBuilder &b = code.builder;
  VectorType wide = VectorType::get({Code::width}, b.getI64Type());
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, code.loc, DenseElementsAttr::get(wide, APInt(64, value, /*isSigned=*/true)));
  };
  auto widen = [&](Value value) -> Value { return arith::ExtSIOp::create(b, code.loc, wide, value); };
  Value places = widen(shift), product = arith::MulIOp::create(b, code.loc, widen(sum), widen(scale));
  Value half = arith::ShLIOp::create(b, code.loc, number(1), arith::SubIOp::create(b, code.loc, places, number(1)));
  Value x = arith::ShRSIOp::create(b, code.loc, arith::AddIOp::create(b, code.loc, product, half), places);
  x = arith::MinSIOp::create(b, code.loc, arith::MaxSIOp::create(b, code.loc, x, number(least)), number(greatest));
  return arith::TruncIOp::create(b, code.loc, code.integers(), x);
}

} // namespace

Value vectorRequantize(Code &code, kernel::RequantizeOp op, ArrayRef<Value> operands) {
  auto zero = static_cast<int64_t>(op.getZeroPoint()), least = static_cast<int64_t>(op.getLow()) - zero,
       greatest = static_cast<int64_t>(op.getHigh()) - zero;
  Value x = op.getShift() ? roundFixed(code, operands[0], operands[1], operands[2], least, greatest)
                          : roundFloat(code, operands[0], operands[1], least, greatest);
  if (zero)
    x = arith::AddIOp::create(code.builder, code.loc, x, code.constantInt(static_cast<int32_t>(zero)));
  return arith::TruncIOp::create(code.builder, code.loc, VectorType::get({Code::width}, code.builder.getI8Type()), x);
}

} // namespace mopt
