//===- Reduction.cpp - shape rules of reductions, pooling, softmax and scans --------------------------------------===//
#include "mopt/Dialect/Mopt/Reduction.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Reduction.cpp.inc"

namespace mopt {

void MoptDialect::addReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Reduction.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//
/// Sizes without the axes in `axes` (sorted), or with 1 for them.
static Dims reduced(Rule &rule, ArrayRef<DimExpr> x, ArrayRef<int64_t> axes, bool keep) {
  Dims out;
  for (auto [i, dim] : llvm::enumerate(x)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      out.push_back(dim);
    else if (keep)
      out.push_back(rule.one());
  }
  return out;
}

/// The axis of a scalar: it counts as one element along one axis, as in numpy.
static LogicalResult scalarAxis(Rule &rule, int64_t axis) { return rule.axis(axis, 1); }

LogicalResult ReduceOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)) || failed(rule.flag(getKeepdims(), "keepdims")) ||
      failed(rule.flag(getNoopWithEmptyAxes(), "noop_with_empty_axes")))
    return failure();
  SmallVector<int64_t> axes;
  if (Value list = rule.operand(1)) {
    Dims count;
    if (failed(rule.sizes(1, count)))
      return failure();
    if (count.size() > 1)
      return rule.fail("MOPT-S004", "axes have rank " + Twine(count.size()) + ", expected 1");
    auto values = context.constantsOf(list);
    if (!values) {
      if (!getKeepdims())
        return rule.fail("MOPT-S008", "the axes are not known; expected constants");
      // Each axis is kept, as it was or as 1.
      return rule.result(rule.newSymbols(x.size()), rule.element(0), types);
    }
    axes = *values;
  }
  if (x.empty()) {
    for (int64_t axis : axes)
      if (failed(scalarAxis(rule, axis)))
        return failure();
    return rule.result({}, rule.element(0), types);
  }
  if (failed(rule.axes(axes, x.size())))
    return failure();
  if (axes.empty() && !getNoopWithEmptyAxes())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, x.size()));
  return rule.result(reduced(rule, x, axes, getKeepdims()), rule.element(0), types);
}

LogicalResult ArgReduceOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  int64_t axis = getAxis();
  if (failed(rule.sizes(0, x)) || failed(x.empty() ? scalarAxis(rule, axis) : rule.axis(axis, x.size())) ||
      failed(rule.flag(getKeepdims(), "keepdims")) || failed(rule.flag(getSelectLastIndex(), "select_last_index")))
    return failure();
  if (!x.empty() && x[axis].isConstant(0))
    return rule.fail("MOPT-S010", "axis " + Twine(axis) + " is empty, expected at least one element to choose from");
  return rule.result(reduced(rule, x, {axis}, getKeepdims()), IntegerType::get(context.getContext(), 64), types);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//
template <typename OpTy> static LogicalResult inferSoftmax(OpTy op, ShapeContext &context, Types &types) {
  Rule rule(op, context);
  Dims x;
  int64_t axis = op.getAxis();
  if (failed(rule.sizes(0, x)) || failed(rule.flag(op.getFlatten(), "flatten")))
    return failure();
  // Rank 0 counts as one row; flattening may start behind the last axis.
  int64_t rank = x.size(), last = std::max<int64_t>(rank, 1) + (op.getFlatten() && rank > 0 ? 1 : 0);
  if (axis >= 0 ? axis >= last : axis < -std::max<int64_t>(rank, 1))
    return rule.fail("MOPT-S006", "axis " + Twine(axis) + " is outside the operand of rank " + Twine(rank));
  return rule.result(x, rule.element(0), types);
}
LogicalResult SoftmaxOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferSoftmax(*this, context, types);
}
LogicalResult LogSoftmaxOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferSoftmax(*this, context, types);
}
LogicalResult HardmaxOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferSoftmax(*this, context, types);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//
template <typename OpTy> static LogicalResult pooledSizes(Rule &rule, OpTy op, Dims &out) {
  Dims x, kernel;
  if (failed(rule.sizesAtLeast(0, x, 3)) || failed(rule.flag(op.getCeilMode(), "ceil_mode")) ||
      failed(rule.channelsFirst(op.getChannelsLast(), x)))
    return failure();
  Window window = windowOf(op);
  window.ceilMode = op.getCeilMode();
  if (window.kernel.empty())
    return rule.fail("MOPT-S012", "kernel_shape is missing, expected " + Twine(x.size() - 2) + " entries");
  for (int64_t size : window.kernel)
    kernel.push_back(rule.constant(size));
  out.assign(x.begin(), x.begin() + 2);
  return rule.window(window, ArrayRef<DimExpr>(x).drop_front(2), kernel, out);
}

LogicalResult AveragePoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims out;
  if (failed(pooledSizes(rule, *this, out)) || failed(rule.flag(getCountIncludePad(), "count_include_pad")))
    return failure();
  return rule.imageResult(getChannelsLast(), out, rule.element(0), types);
}
LogicalResult LpPoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims out;
  if (failed(pooledSizes(rule, *this, out)))
    return failure();
  if (getP() < 1)
    return rule.fail("MOPT-S009", "p is " + Twine(getP()) + ", expected at least 1");
  return rule.imageResult(getChannelsLast(), out, rule.element(0), types);
}
LogicalResult MaxPoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims out;
  if (failed(pooledSizes(rule, *this, out)) || failed(rule.flag(getStorageOrder(), "storage_order")))
    return failure();
  // Positions count over N, C, spatial...: they would name other elements than those in memory.
  if (getChannelsLast() && getOperation()->getNumResults() > 1 && tensorOf(getOperation()->getResult(1)))
    return rule.fail("MOPT-S009", "channels_last is 1, expected 0 where positions are a result");
  return failure(failed(rule.imageResult(getChannelsLast(), out, rule.element(0), types)) ||
                 failed(rule.optionalResult(1, out, IntegerType::get(context.getContext(), 64), types)));
}

static LogicalResult inferGlobalPool(Operation *op, int64_t channelsLast, ShapeContext &context, Types &types) {
  Rule rule(op, context);
  Dims x;
  if (failed(rule.sizesAtLeast(0, x, 2)) || failed(rule.channelsFirst(channelsLast, x)))
    return failure();
  for (size_t i = 2; i < x.size(); ++i)
    x[i] = rule.one();
  return rule.imageResult(channelsLast, x, rule.element(0), types);
}
LogicalResult GlobalAveragePoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, getChannelsLast(), context, types);
}
LogicalResult GlobalMaxPoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferGlobalPool(*this, getChannelsLast(), context, types);
}
LogicalResult GlobalLpPoolOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  if (getP() < 1)
    return context.fail(*this, "MOPT-S009", "p is " + Twine(getP()) + ", expected at least 1");
  return inferGlobalPool(*this, getChannelsLast(), context, types);
}

//===----------------------------------------------------------------------===//
// Scans and selection
//===----------------------------------------------------------------------===//
LogicalResult CumSumOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x, axisSizes;
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.sizes(1, axisSizes)) ||
      failed(rule.flag(getExclusive(), "exclusive")) || failed(rule.flag(getReverse(), "reverse")))
    return failure();
  if (axisSizes.size() > 1)
    return rule.fail("MOPT-S004", "the axis has rank " + Twine(axisSizes.size()) + ", expected a scalar");
  if (auto axis = context.constantsOf(rule.operand(1))) {
    if (axis->size() != 1)
      return rule.fail("MOPT-S018", Twine(axis->size()) + " axes are given, expected one");
    if (int64_t value = axis->front(); failed(rule.axis(value, x.size())))
      return failure();
  }
  return rule.result(x, rule.element(0), types);
}

LogicalResult TopKOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x, count;
  int64_t axis = getAxis();
  if (failed(rule.sizesAtLeast(0, x, 1)) || failed(rule.sizes(1, count)) || failed(rule.axis(axis, x.size())) ||
      failed(rule.flag(getLargest(), "largest")) || failed(rule.flag(getSorted(), "sorted")))
    return failure();
  if (count.size() > 1)
    return rule.fail("MOPT-S004", "k has rank " + Twine(count.size()) + ", expected one element");
  auto k = context.valuesOf(rule.operand(1));
  if (k && k->size() != 1)
    return rule.fail("MOPT-S018", "k has " + Twine(k->size()) + " elements, expected one");
  DimExpr chosen = k ? k->front() : context.newSymbol();
  auto value = chosen.asConstant(), have = x[axis].asConstant();
  if (value && (*value < 0 || (have && *value > *have)))
    return rule.fail("MOPT-S009", "k is " + Twine(*value) + ", expected 0 to " + x[axis].str());
  x[axis] = chosen;
  return failure(failed(rule.result(x, rule.element(0), types)) ||
                 failed(rule.result(x, IntegerType::get(context.getContext(), 64), types)));
}

} // namespace mopt
