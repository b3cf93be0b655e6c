//===- FoldedIndex.cpp - integer arithmetic of addresses, constants folded -----------------------------------------===//
#include "FoldedIndex.h"
#include "mlir/IR/Matchers.h"

namespace mopt::folded {
namespace {

Value constant(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

} // namespace

std::optional<int64_t> number(Value value) {
  APInt result;
  if (matchPattern(value, m_ConstantInt(&result)))
    return result.getSExtValue();
  return std::nullopt;
}

Value add(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  if (x && y)
    return constant(builder, loc, a.getType(), *x + *y);
  if (x == 0)
    return b;
  return y == 0 ? a : arith::AddIOp::create(builder, loc, a, b).getResult();
}
Value sub(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  if (x && y)
    return constant(builder, loc, a.getType(), *x - *y);
  return y == 0 ? a : arith::SubIOp::create(builder, loc, a, b).getResult();
}
Value mul(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  if (x && y)
    return constant(builder, loc, a.getType(), *x * *y);
  if (x == 0 || y == 1)
    return a;
  if (y == 0 || x == 1)
    return b;
  return arith::MulIOp::create(builder, loc, a, b);
}
Value div(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  if (x && y && *y)
    return constant(builder, loc, a.getType(), *x / *y);
  return y == 1 ? a : arith::DivUIOp::create(builder, loc, a, b).getResult();
}
Value rem(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  if (x && y && *y)
    return constant(builder, loc, a.getType(), *x % *y);
  return y == 1 ? constant(builder, loc, a.getType(), 0) : arith::RemUIOp::create(builder, loc, a, b).getResult();
}
Value min(OpBuilder &builder, Location loc, Value a, Value b) {
  auto x = number(a), y = number(b);
  return x && y ? constant(builder, loc, a.getType(), std::min(*x, *y))
                : arith::MinSIOp::create(builder, loc, a, b).getResult();
}

} // namespace mopt::folded
