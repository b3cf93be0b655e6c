//===- Quant.cpp - shape rules of conversion to and from quantized integers ---------------------------------------===//
#include "mopt/Dialect/Mopt/Quant.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Quant.cpp.inc"

namespace mopt {

void MoptDialect::addQuantOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Quant.cpp.inc"
      >();
}

/// Scale and zero point (operands 1 and 2): one element for the tensor, one per entry of `axis`, or one per block of it.
static LogicalResult checkScales(Rule &rule, ArrayRef<DimExpr> x, int64_t axis, int64_t block) {
  Dims scale;
  if (failed(rule.sizes(1, scale)))
    return failure();
  if (block < 0)
    return rule.fail("MOPT-S009", "block_size is " + Twine(block) + ", expected 0 or more");
  if (block > 0) {
    if (scale.size() != x.size())
      return rule.fail("MOPT-S004",
                       "block scales have rank " + Twine(scale.size()) + ", expected that of the input, " + Twine(x.size()));
    if (failed(rule.axis(axis, x.size())))
      return failure();
    for (size_t i = 0; i < x.size(); ++i) {
      DimExpr expected = static_cast<int64_t>(i) == axis ? x[i].ceilDiv(block) : x[i];
      if (failed(rule.equal(scale[i], expected, "axis " + Twine(i) + " of the scales and the blocks of the input")))
        return failure();
    }
  } else if (scale.size() == 1 && !scale[0].isConstant(1)) {
    if (failed(rule.axis(axis, x.size())) ||
        failed(rule.equal(scale[0], x[axis], "the number of scales and axis " + Twine(axis) + " of the input")))
      return failure();
  } else if (scale.size() > 1) {
    return rule.fail("MOPT-S004", "the scales have rank " + Twine(scale.size()) + ", expected 0 or 1");
  }
  if (!rule.operand(2))
    return success();
  Dims zero;
  if (failed(rule.sizes(2, zero)))
    return failure();
  // [] and [1] are both one value for all.
  auto isOne = [](ArrayRef<DimExpr> dims) { return dims.empty() || (dims.size() == 1 && dims[0].isConstant(1)); };
  if (isOne(scale) && isOne(zero))
    return success();
  if (scale.size() != zero.size())
    return rule.fail("MOPT-S010", "scales have sizes " + text(scale) + ", zero points " + text(zero));
  for (auto [a, b] : llvm::zip(scale, zero))
    if (failed(rule.equal(a, b, "sizes of scale and zero point")))
      return failure();
  return success();
}

LogicalResult QuantizeLinearOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)) || failed(checkScales(rule, x, getAxis(), getBlockSize())))
    return failure();
  Type element = rule.operand(2) ? rule.element(2) : rule.presentElement(0);
  if (!element)
    element = IntegerType::get(context.getContext(), 8, IntegerType::Unsigned);
  return rule.result(x, element, types);
}

LogicalResult DequantizeLinearOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)) || failed(checkScales(rule, x, getAxis(), getBlockSize())) ||
      failed(rule.sameElementTypes({0, 2})))
    return failure();
  Type element = rule.presentElement(0);
  return rule.result(x, element ? element : rule.element(1), types);
}

LogicalResult DynamicQuantizeLinearOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)))
    return failure();
  Type element = IntegerType::get(context.getContext(), 8, IntegerType::Unsigned);
  return failure(failed(rule.result(x, element, types)) || failed(rule.result({}, rule.element(0), types)) ||
                 failed(rule.result({}, element, types)));
}

} // namespace mopt
