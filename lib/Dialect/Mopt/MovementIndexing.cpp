//===- MovementIndexing.cpp - shape rules of indexing, generated tensors and moved blocks -------------------------===//
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include <cmath>

namespace mopt {

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//
/// Constant indices have to lie inside the axis; others are checked by the run.
static LogicalResult checkIndices(Rule &rule, unsigned operand, DimExpr size) {
  auto values = rule.context.constantsOf(rule.operand(operand));
  auto limit = size.asConstant();
  if (!values || !limit)
    return success();
  for (int64_t v : *values)
    if (v < -*limit || v >= *limit)
      return rule.fail("MOPT-S015", "index " + Twine(v) + " is outside the axis of size " + Twine(*limit));
  return success();
}

LogicalResult GatherOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, indices;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.sizes(1, indices)) || failed(rule.axis(axis, data.size())) ||
      failed(checkIndices(rule, 1, data[axis])))
    return failure();
  Dims out(data.begin(), data.begin() + axis);
  llvm::append_range(out, indices);
  out.append(data.begin() + axis + 1, data.end());
  return rule.result(out, rule.element(0), types);
}

LogicalResult GatherElementsOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, indices;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.sizes(1, indices, data.size())) ||
      failed(rule.axis(axis, data.size())) || failed(checkIndices(rule, 1, data[axis])))
    return failure();
  return rule.result(indices, rule.element(0), types);
}

/// The last axis of `indices` addresses axes of `data` from `first` on; how many has to be known.
static FailureOr<int64_t> addressedAxes(Rule &rule, ArrayRef<DimExpr> data, ArrayRef<DimExpr> indices, int64_t first) {
  auto count = indices.back().asConstant();
  if (!count)
    return rule.fail("MOPT-S008", "the last axis of the indices is " + indices.back().str() + ", expected a number");
  if (*count < 1 || *count > static_cast<int64_t>(data.size()) - first)
    return rule.fail("MOPT-S004", "the last axis of the indices is " + Twine(*count) + ", expected 1 to " +
                                      Twine(static_cast<int64_t>(data.size()) - first));
  return *count;
}

LogicalResult GatherNDOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, indices;
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.sizesAtLeast(1, indices, 1)))
    return failure();
  int64_t batch = getBatchDims();
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(data.size(), indices.size())))
    return rule.fail("MOPT-S009", "batch_dims is " + Twine(batch) + ", expected 0 to less than the ranks of both operands");
  FailureOr<int64_t> count = addressedAxes(rule, data, indices, batch);
  if (failed(count))
    return failure();
  for (int64_t i = 0; i < batch; ++i)
    if (failed(rule.equal(data[i], indices[i], "batch axis " + Twine(i) + " of data and indices")))
      return failure();
  Dims out(indices.begin(), indices.end() - 1);
  out.append(data.begin() + batch + *count, data.end());
  return rule.result(out, rule.element(0), types);
}

LogicalResult ScatterElementsOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, indices, updates;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.sizes(1, indices, data.size())) ||
      failed(rule.sizes(2, updates, data.size())) || failed(rule.sameElementTypes({0, 2})) ||
      failed(rule.axis(axis, data.size())) || failed(checkIndices(rule, 1, data[axis])))
    return failure();
  for (size_t i = 0; i < data.size(); ++i)
    if (failed(rule.equal(indices[i], updates[i], "axis " + Twine(i) + " of indices and updates")))
      return failure();
  return rule.result(data, rule.element(0), types);
}

LogicalResult ScatterNDOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, indices, updates;
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.sizesAtLeast(1, indices, 1)) || failed(rule.sizes(2, updates)) ||
      failed(rule.sameElementTypes({0, 2})))
    return failure();
  FailureOr<int64_t> count = addressedAxes(rule, data, indices, 0);
  if (failed(count))
    return failure();
  Dims expected(indices.begin(), indices.end() - 1);
  expected.append(data.begin() + *count, data.end());
  if (expected.size() != updates.size())
    return rule.fail("MOPT-S004", "updates have rank " + Twine(updates.size()) + ", expected " + Twine(expected.size()));
  for (auto [i, pair] : llvm::enumerate(llvm::zip(updates, expected)))
    if (failed(
            rule.equal(std::get<0>(pair), std::get<1>(pair), "axis " + Twine(i) + " of updates and what indices address")))
      return failure();
  return rule.result(data, rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Tensors made from sizes and numbers
//===----------------------------------------------------------------------===//
LogicalResult ShapeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  RankedTensorType type = rule.tensor(0);
  if (!type)
    return failure();
  auto [begin, end] = shapeRange(*this);
  return rule.result({rule.constant(end - begin)}, IntegerType::get(context.getContext(), 64), types);
}

std::pair<int64_t, int64_t> shapeRange(ShapeOp op) {
  RankedTensorType type = tensorOf(op->getOperand(0));
  int64_t rank = type ? type.getRank() : 0;
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t begin = clamp(op.getStart()), end = op.getEndAttr() ? clamp(op.getEndAttr().getInt()) : rank;
  return {begin, std::max(begin, end)};
}

LogicalResult SizeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  if (!rule.tensor(0))
    return failure();
  return rule.result({}, IntegerType::get(context.getContext(), 64), types);
}

/// Operand `index` has to hold one element.
static LogicalResult checkSingle(Rule &rule, unsigned index, StringRef name) {
  Dims dims;
  if (failed(rule.sizes(index, dims)))
    return failure();
  for (DimExpr dim : dims)
    if (!mayBeEqual(dim, rule.one()))
      return rule.fail("MOPT-S010", name + " has sizes " + text(dims) + ", expected one element");
  return success();
}

LogicalResult ConstantOfShapeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims count;
  if (failed(rule.sizes(0, count, 1)) || failed(checkSingle(rule, 1, "the value")))
    return failure();
  auto values = context.partialValuesOf(rule.operand(0));
  if (!values)
    return rule.fail("MOPT-S008", "the rank of the result is not known: operand 0 ('input') has " + count[0].str() +
                                      " elements; give the model a static shape, or fold 'input' to a constant");
  for (DimExpr &value : *values)
    value = value ? value : context.newSymbol();
  return rule.result(*values, rule.element(1), types);
}

LogicalResult RangeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  for (unsigned i = 0; i < 3; ++i)
    if (failed(checkSingle(rule, i, "an operand")))
      return failure();
  if (failed(rule.sameElementTypes({0, 1, 2})))
    return failure();
  Type element = rule.element(0);
  DimExpr count;
  if (isa<FloatType>(element)) {
    auto start = context.floatsOf(rule.operand(0)), limit = context.floatsOf(rule.operand(1)),
         delta = context.floatsOf(rule.operand(2));
    if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1) {
      if (delta->front() == 0)
        return rule.fail("MOPT-S009", "delta is 0, expected another number");
      // The difference is rounded to the type, as the operator computes it.
      double span = element.isF64()
                        ? limit->front() - start->front()
                        : static_cast<double>(static_cast<float>(limit->front()) - static_cast<float>(start->front()));
      double n = std::ceil(span / delta->front());
      if (!(n < 9e18))
        return rule.fail("MOPT-S002", "the range has no end");
      count = rule.constant(n > 0 ? static_cast<int64_t>(n) : 0);
    }
  } else {
    auto start = context.valuesOf(rule.operand(0)), limit = context.valuesOf(rule.operand(1)),
         delta = context.valuesOf(rule.operand(2));
    if (delta && delta->size() == 1 && delta->front().isConstant(0))
      return rule.fail("MOPT-S009", "delta is 0, expected another number");
    auto step = delta && delta->size() == 1 ? delta->front().asConstant() : std::nullopt;
    if (start && limit && step && start->size() == 1 && limit->size() == 1) {
      DimExpr span = limit->front() - start->front();
      count = *step > 0 ? clampToZero(span).ceilDiv(*step) : clampToZero(span * -1).ceilDiv(rule.constant(*step) * -1);
      if (!count)
        return rule.fail("MOPT-S002", "the number of elements does not fit in 64 bits");
    }
  }
  return rule.result({count ? count : context.newSymbol()}, element, types);
}

LogicalResult OneHotOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims indices, values;
  if (failed(rule.sizes(0, indices)) || failed(checkSingle(rule, 1, "depth")) ||
      failed(rule.vectorOf(2, rule.constant(2), "elements of values and 2")))
    return failure();
  int64_t axis = getAxis();
  if (failed(rule.axis(axis, indices.size() + 1)))
    return failure();
  DimExpr depth;
  if (auto floats = context.floatsOf(rule.operand(1)); floats && floats->size() == 1 && isa<FloatType>(rule.element(1))) {
    if (!(floats->front() >= 0 && floats->front() < 9e18))
      return rule.fail("MOPT-S009", "depth is negative or not a number");
    depth = rule.constant(static_cast<int64_t>(floats->front()));
  } else if (auto known = context.valuesOf(rule.operand(1)); known && known->size() == 1) {
    depth = known->front();
  }
  if (auto number = depth.asConstant(); number && *number < 1)
    return rule.fail("MOPT-S009", "depth is " + Twine(*number) + ", expected at least 1");
  indices.insert(indices.begin() + axis, depth ? depth : context.newSymbol());
  return rule.result(indices, rule.element(2), types);
}

LogicalResult TriluOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 2)) || (rule.operand(1) && failed(checkSingle(rule, 1, "k"))) ||
      failed(rule.flag(getUpper(), "upper")))
    return failure();
  return rule.result(x, rule.element(0), types);
}

LogicalResult EyeLikeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x, 2)))
    return failure();
  Type element = rule.presentElement(0);
  return rule.result(x, element ? element : rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Moved blocks
//===----------------------------------------------------------------------===//
static FailureOr<int64_t> blockSize(Rule &rule, IntegerAttr attr) {
  int64_t block = attr ? attr.getInt() : 0;
  if (block < 1 || block > INT16_MAX)
    return rule.fail("MOPT-S009", "blocksize is " + Twine(block) + ", expected at least 1");
  return block;
}
static LogicalResult checkDivides(Rule &rule, DimExpr dim, int64_t divisor, StringRef what) {
  auto value = dim.asConstant();
  if (!value || *value % divisor == 0)
    return success();
  return rule.fail("MOPT-S010", what + " is " + Twine(*value) + ", expected a multiple of " + Twine(divisor));
}

LogicalResult DepthToSpaceOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  FailureOr<int64_t> block = blockSize(rule, getBlocksizeAttr());
  if (failed(block) || failed(rule.sizes(0, x, 4)) || failed(rule.channelsFirst(getChannelsLast(), x)) ||
      failed(checkDivides(rule, x[1], *block * *block, "the number of channels")))
    return failure();
  return rule.imageResult(getChannelsLast(), {x[0], x[1].floorDiv(*block * *block), x[2] * *block, x[3] * *block},
                          rule.element(0), types);
}

LogicalResult SpaceToDepthOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  FailureOr<int64_t> block = blockSize(rule, getBlocksizeAttr());
  if (failed(block) || failed(rule.sizes(0, x, 4)) || failed(rule.channelsFirst(getChannelsLast(), x)) ||
      failed(checkDivides(rule, x[2], *block, "the height")) || failed(checkDivides(rule, x[3], *block, "the width")))
    return failure();
  return rule.imageResult(getChannelsLast(), {x[0], x[1] * (*block * *block), x[2].floorDiv(*block), x[3].floorDiv(*block)},
                          rule.element(0), types);
}

LogicalResult ReverseSequenceOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  int64_t batch = getBatchAxis(), time = getTimeAxis();
  if (failed(rule.sizesAtLeast(0, x, 2)) || failed(rule.axis(batch, x.size())) || failed(rule.axis(time, x.size())))
    return failure();
  if (batch == time || batch > 1 || time > 1)
    return rule.fail("MOPT-S009", "batch_axis is " + Twine(batch) + " and time_axis " + Twine(time) +
                                      ", expected 0 and 1 in either order");
  if (failed(rule.vectorOf(1, x[batch], "elements of sequence_lens and the batch")))
    return failure();
  return rule.result(x, rule.element(0), types);
}

} // namespace mopt
