//===- Norm.cpp - shape rules of normalizations -------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Norm.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Norm.cpp.inc"

namespace mopt {

void MoptDialect::addNormOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Norm.cpp.inc"
      >();
}

/// Element type that `stash_type` names: sums and statistics are kept in it.
static FailureOr<Type> stashType(Rule &rule, int64_t stash) {
  Type type = stash >= INT32_MIN && stash <= INT32_MAX ? elementType(rule.context.getContext(), stash) : Type();
  if (!type || !isa<FloatType>(type))
    return rule.fail("MOPT-S009", "stash_type is " + Twine(stash) + ", expected the number of a float type");
  return type;
}

LogicalResult BatchNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.flag(getTrainingMode(), "training_mode")) ||
      failed(rule.channelsFirst(getChannelsLast(), x)))
    return failure();
  // A batch of vectors without channel axis has one channel.
  DimExpr channels = x.size() > 1 ? x[1] : rule.one();
  for (unsigned i = 1; i <= 4; ++i)
    if (failed(rule.vectorOf(i, channels, "elements of scale, bias, mean and variance and channels of the input")))
      return failure();
  return failure(failed(rule.imageResult(getChannelsLast(), x, rule.element(0), types)) ||
                 failed(rule.optionalResult(1, {channels}, rule.element(3), types)) ||
                 failed(rule.optionalResult(2, {channels}, rule.element(4), types)));
}

LogicalResult InstanceNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 2)) || failed(rule.channelsFirst(getChannelsLast(), x)))
    return failure();
  for (unsigned i = 1; i <= 2; ++i)
    if (failed(rule.vectorOf(i, x[1], "elements of scale and bias and channels of the input")))
      return failure();
  return rule.imageResult(getChannelsLast(), x, rule.element(0), types);
}

/// Scale and bias of layer_norm and rms_norm broadcast to the input from the right.
static LogicalResult checkAffine(Rule &rule, Dims x, unsigned operand) {
  Dims dims;
  if (!rule.operand(operand))
    return success();
  return failure(failed(rule.sizes(operand, dims)) || failed(rule.broadcast(x, dims, /*oneWay=*/true)));
}

LogicalResult LayerNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.axis(axis, x.size())) || !rule.tensor(1) ||
      failed(checkAffine(rule, x, 1)) || failed(checkAffine(rule, x, 2)))
    return failure();
  FailureOr<Type> stash = stashType(rule, getStashType());
  if (failed(stash))
    return failure();
  Dims statistics = x;
  for (size_t i = axis; i < x.size(); ++i)
    statistics[i] = rule.one();
  return failure(failed(rule.result(x, rule.element(0), types)) ||
                 failed(rule.optionalResult(1, statistics, *stash, types)) ||
                 failed(rule.optionalResult(2, statistics, *stash, types)));
}

LogicalResult RMSNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.axis(axis, x.size())) || !rule.tensor(1) ||
      failed(checkAffine(rule, x, 1)) || failed(stashType(rule, getStashType())))
    return failure();
  return rule.result(x, rule.element(1), types);
}

LogicalResult GroupNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 2)) || failed(rule.flag(getScalePerGroup(), "scale_per_group")) ||
      failed(stashType(rule, getStashType())) || failed(rule.channelsFirst(getChannelsLast(), x)))
    return failure();
  int64_t groups = getNumGroupsAttr() ? static_cast<int64_t>(getNumGroups()) : 0;
  if (groups < 1)
    return rule.fail("MOPT-S013", "num_groups is " + Twine(groups) + ", expected at least 1");
  if (auto channels = x[1].asConstant(); channels && *channels % groups)
    return rule.fail("MOPT-S013", Twine(*channels) + " channels do not divide into " + Twine(groups) + " groups");
  DimExpr scales = getScalePerGroup() ? rule.constant(groups) : x[1];
  for (unsigned i = 1; i <= 2; ++i) {
    Dims dims;
    if (failed(rule.sizes(i, dims, 1)))
      return failure();
    // One element serves all: ONNX says a vector, but the function that defines the operator broadcasts.
    if (!dims[0].isConstant(1) && failed(rule.equal(dims[0], scales,
                                                    getScalePerGroup() ? "elements of scale and bias and groups"
                                                                       : "elements of scale and bias and channels")))
      return failure();
  }
  return rule.imageResult(getChannelsLast(), x, rule.element(0), types);
}

LogicalResult LpNormOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.axis(axis, x.size())))
    return failure();
  if (getP() != 1 && getP() != 2)
    return rule.fail("MOPT-S009", "p is " + Twine(getP()) + ", expected 1 or 2");
  return rule.result(x, rule.element(0), types);
}

LogicalResult LRNOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 2)) || failed(rule.channelsFirst(getChannelsLast(), x)))
    return failure();
  int64_t size = getSizeAttr() ? static_cast<int64_t>(getSize()) : 0;
  if (size < 1)
    return rule.fail("MOPT-S009", "size is " + Twine(size) + ", expected at least 1");
  return rule.imageResult(getChannelsLast(), x, rule.element(0), types);
}

} // namespace mopt
