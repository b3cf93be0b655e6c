//===- Movement.cpp - shape rules of views, joins, slices and repetition ------------------------------------------===//
//
// Ops that pick elements by index, make tensors, or move blocks are in MovementIndexing.cpp; resize is in Resize.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Movement.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Movement.cpp.inc"

namespace mopt {

void MoptDialect::addMovementOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Movement.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//
LogicalResult IdentityOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)))
    return failure();
  return rule.result(x, rule.element(0), types);
}

LogicalResult ReshapeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, count;
  if (failed(rule.sizes(0, data)) || failed(rule.sizes(1, count, 1)) || failed(rule.flag(getAllowzero(), "allowzero")))
    return failure();
  auto values = context.partialValuesOf(rule.operand(1));
  if (!values)
    return rule.fail("MOPT-S008", "the rank of the result is not known: operand 1 ('shape') has " + count[0].str() +
                                      " elements; give the model a static shape, or fold 'shape' to a constant");
  Dims out, others;
  std::optional<size_t> inferred;
  bool complete = true, anyZero = false;
  for (auto [i, value] : llvm::enumerate(*values)) {
    auto number = value.asConstant();
    if (number == 0 && !getAllowzero()) {
      if (i >= data.size())
        return rule.fail("MOPT-S014", "entry " + Twine(i) + " of the shape copies an axis that the input of rank " +
                                          Twine(data.size()) + " does not have");
      out.push_back(data[i]);
    } else if (number == -1) {
      if (inferred)
        return rule.fail("MOPT-S014", "the shape holds -1 twice, expected once");
      inferred = i;
      out.push_back({});
      continue;
    } else if (number && *number < 0) {
      return rule.fail("MOPT-S014", "the shape holds " + Twine(*number) + ", expected sizes, 0 or -1");
    } else {
      complete &= static_cast<bool>(value);
      out.push_back(value ? value : context.newSymbol());
    }
    anyZero |= out.back().isConstant(0);
    others.push_back(out.back());
  }
  MLIRContext *mlir = context.getContext();
  DimExpr total = DimExpr::product(data, mlir);
  if (inferred && !complete) {
    out[*inferred] = context.newSymbol();
  } else if (inferred) {
    if (anyZero)
      return rule.fail("MOPT-S014", "-1 has no meaning beside a size of 0 in the shape " + text(*values));
    out[*inferred] = quotient(data, others, mlir);
    auto have = total.asConstant(), part = DimExpr::product(others, mlir).asConstant();
    if (have && part && *have % *part)
      return rule.fail("MOPT-S014", Twine(*have) + " elements do not divide into the shape " + text(*values));
  } else if (complete && !mayBeEqual(total, DimExpr::product(out, mlir))) {
    return rule.fail("MOPT-S014", "the input " + text(data) + " has " + total.str() + " elements, the shape " + text(out) +
                                      " has " + DimExpr::product(out, mlir).str());
  }
  return rule.result(out, rule.element(0), types);
}

LogicalResult FlattenOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data;
  if (failed(rule.sizes(0, data)))
    return failure();
  int64_t axis = getAxis(), rank = data.size();
  if (axis < -rank || axis > rank)
    return rule.fail("MOPT-S006", "axis " + Twine(axis) + " is outside the operand of rank " + Twine(rank));
  axis += axis < 0 ? rank : 0;
  ArrayRef<DimExpr> all(data);
  MLIRContext *mlir = context.getContext();
  return rule.result({DimExpr::product(all.take_front(axis), mlir), DimExpr::product(all.drop_front(axis), mlir)},
                     rule.element(0), types);
}

LogicalResult SqueezeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, out;
  if (failed(rule.sizes(0, data)))
    return failure();
  SmallVector<int64_t> axes;
  if (Value list = rule.operand(1)) {
    auto values = context.constantsOf(list);
    if (!values)
      return rule.fail("MOPT-S008", "the axes to drop are not known, expected constants");
    axes = *values;
    if (failed(rule.axes(axes, data.size())))
      return failure();
    for (int64_t axis : axes)
      if (failed(rule.equal(data[axis], rule.one(), "axis " + Twine(axis) + " to be dropped and 1")))
        return failure();
  } else {
    for (auto [i, dim] : llvm::enumerate(data)) {
      if (!dim.asConstant())
        return rule.fail("MOPT-S008", "which axes of " + text(data) + " are 1 is not known; name the axes to drop");
      if (dim.isConstant(1))
        axes.push_back(i);
    }
  }
  for (auto [i, dim] : llvm::enumerate(data))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      out.push_back(dim);
  return rule.result(out, rule.element(0), types);
}

LogicalResult UnsqueezeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, axesSizes;
  if (failed(rule.sizes(0, data)) || failed(rule.sizes(1, axesSizes)))
    return failure();
  auto values = context.constantsOf(rule.operand(1));
  if (!values)
    return rule.fail("MOPT-S008", "the axes to insert are not known, expected constants");
  SmallVector<int64_t> axes = *values;
  if (failed(rule.axes(axes, data.size() + axes.size())))
    return failure();
  Dims out = data;
  for (int64_t axis : axes)
    out.insert(out.begin() + axis, rule.one());
  return rule.result(out, rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Order, joins, parts
//===----------------------------------------------------------------------===//
LogicalResult TransposeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, out;
  if (failed(rule.sizes(0, data)))
    return failure();
  if (!getPermAttr()) {
    out.assign(data.rbegin(), data.rend());
    return rule.result(out, rule.element(0), types);
  }
  ArrayRef<int64_t> perm = getPermAttr().asArrayRef();
  if (perm.size() != data.size())
    return rule.fail("MOPT-S007",
                     "perm has " + Twine(perm.size()) + " entries for an operand of rank " + Twine(data.size()));
  SmallVector<int64_t> sorted(perm);
  if (failed(rule.axes(sorted, data.size())))
    return failure();
  for (int64_t axis : perm)
    out.push_back(data[axis < 0 ? axis + data.size() : axis]);
  return rule.result(out, rule.element(0), types);
}

LogicalResult ConcatOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  unsigned count = getOperation()->getNumOperands();
  if (count == 0)
    return rule.fail("MOPT-S018", "found no operand, expected at least one");
  Dims out;
  int64_t axis = getAxisAttr() ? static_cast<int64_t>(getAxis()) : 0;
  if (failed(rule.sizesAtLeast(0, out, 1)) || failed(rule.axis(axis, out.size())))
    return failure();
  for (unsigned i = 1; i < count; ++i) {
    Dims next;
    if (failed(rule.sizes(i, next, out.size())) || failed(rule.sameElementTypes({0, i})))
      return failure();
    for (size_t k = 0; k < out.size(); ++k) {
      if (static_cast<int64_t>(k) == axis) {
        out[k] = out[k] + next[k];
        continue;
      }
      if (failed(rule.equal(out[k], next[k], "axis " + Twine(k) + " of the operands")))
        return failure();
      if (next[k].asConstant())
        out[k] = next[k];
    }
  }
  return rule.result(out, rule.element(0), types);
}

LogicalResult SplitOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, parts;
  int64_t axis = getAxis(), count = getOperation()->getNumResults();
  if (failed(rule.sizesAtLeast(0, data, 1)) || failed(rule.axis(axis, data.size())))
    return failure();
  if (count == 0)
    return rule.fail("MOPT-S018", "found no result, expected at least one");
  if (Value list = rule.operand(1)) {
    Dims listSizes;
    if (failed(rule.sizes(1, listSizes, 1)))
      return failure();
    auto values = context.partialValuesOf(list);
    parts = values ? *values : Dims(count);
    if (static_cast<int64_t>(parts.size()) != count)
      return rule.fail("MOPT-S018", "split has " + Twine(parts.size()) + " entries for " + Twine(count) + " results");
    for (DimExpr &part : parts)
      part = part ? part : context.newSymbol();
    if (values && failed(rule.equal(llvm::accumulate(parts, rule.constant(0)), data[axis],
                                    "the sum of split and axis " + Twine(axis) + " of the input")))
      return failure();
  } else {
    // Parts of ceil(size / count); the last takes what is left.
    DimExpr part = data[axis].ceilDiv(count);
    parts.assign(count, part);
    parts.back() = data[axis] - part * (count - 1);
  }
  for (DimExpr part : parts) {
    Dims out = data;
    out[axis] = part;
    if (failed(rule.result(out, rule.element(0), types)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//
/// Elements of a slice of an axis of `dim` elements. Null in, or a sign that is not known: a new symbol.
static DimExpr sliced(Rule &rule, DimExpr dim, DimExpr start, DimExpr end, DimExpr step) {
  auto stride = step.asConstant();
  DimExpr zero = rule.constant(0);
  enum Sign { nonNegative, negative, unknown };
  auto sign = [](DimExpr e) {
    if (auto value = e.asConstant())
      return *value < 0 ? negative : nonNegative;
    return !e ? unknown : isNonNegative(e) ? nonNegative : isNonNegative(e * -1 - 1) ? negative : unknown;
  };
  auto isLarge = [](DimExpr e) {
    auto v = e.asConstant();
    return v && *v >= INT32_MAX;
  };
  auto isSmall = [](DimExpr e) {
    auto v = e.asConstant();
    return v && *v <= INT32_MIN;
  };
  auto atMost = [](DimExpr a, DimExpr b) { return isAtMost(a, b) ? a : isAtMost(b, a) ? b : DimExpr::min(a, b); };
  if (!stride || *stride == 0 || *stride < -INT32_MAX || *stride > INT32_MAX)
    return rule.context.newSymbol();
  Sign startSign = sign(start), endSign = sign(end);
  if (startSign == unknown || endSign == unknown)
    return rule.context.newSymbol();
  if (*stride > 0) {
    DimExpr from = isLarge(start)          ? dim
                   : isSmall(start)        ? zero
                   : startSign == negative ? clampToZero(dim + start)
                                           : atMost(start, dim);
    DimExpr to = isLarge(end) ? dim : isSmall(end) ? zero : endSign == negative ? clampToZero(dim + end) : atMost(end, dim);
    DimExpr length = to - from;
    if (to == dim && startSign == negative && !isSmall(start)) // dim - max(dim - k, 0)
      length = atMost(start * -1, dim);
    else if (to == dim && startSign == nonNegative && !isLarge(start)) // dim - min(k, dim)
      length = clampToZero(dim - start);
    return clampToZero(length).ceilDiv(*stride);
  }
  // Backwards: ONNX holds the first index between 0 and dim - 1 (numpy lets it be -1), the end between -1 and dim - 1.
  DimExpr last = dim - 1;
  DimExpr from = isLarge(start) || start.isConstant(-1) ? last
                 : isSmall(start)                       ? atMost(zero, last)
                 : startSign == negative                ? atMost(clampToZero(dim + start), last)
                                                        : atMost(start, last);
  DimExpr to = isSmall(end)          ? zero - 1
               : isLarge(end)        ? last
               : endSign == negative ? clampToZero(dim + end + 1) - 1
                                     : atMost(end, last);
  return clampToZero(from - to).ceilDiv(-*stride);
}

LogicalResult SliceOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data;
  if (failed(rule.sizes(0, data)))
    return failure();
  int64_t rank = data.size();
  for (unsigned i = 1; i <= 4; ++i) {
    Dims dims;
    if ((i <= 2 || rule.operand(i)) && failed(rule.sizes(i, dims, 1)))
      return failure();
  }
  auto starts = context.partialValuesOf(rule.operand(1)), ends = context.partialValuesOf(rule.operand(2));
  SmallVector<int64_t> axes;
  if (Value list = rule.operand(3)) {
    auto values = context.constantsOf(list);
    if (!values) // any axis may be cut
      return rule.result(rule.newSymbols(rank), rule.element(0), types);
    axes = *values;
    SmallVector<int64_t> sorted = axes;
    if (failed(rule.axes(sorted, rank)))
      return failure();
  } else {
    auto count = starts ? starts->size() : ends ? ends->size() : rank;
    if (static_cast<int64_t>(count) > rank)
      return rule.fail("MOPT-S018", "starts has " + Twine(count) + " entries for an operand of rank " + Twine(rank));
    axes = llvm::to_vector(llvm::seq<int64_t>(0, count));
  }
  std::optional<Dims> steps;
  if (Value list = rule.operand(4))
    steps = context.partialValuesOf(list);
  else
    steps = Dims(axes.size(), rule.one());
  for (const auto &[values, name] : {std::pair(&starts, "starts"), std::pair(&ends, "ends"), std::pair(&steps, "steps")})
    if (*values && (*values)->size() != axes.size())
      return rule.fail("MOPT-S018",
                       Twine(name) + " has " + Twine((*values)->size()) + " entries for " + Twine(axes.size()) + " axes");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (steps && (*steps)[i].isConstant(0))
      return rule.fail("MOPT-S009", "a step is 0, expected another number");
    DimExpr &dim = data[axis < 0 ? axis + rank : axis];
    dim =
        sliced(rule, dim, starts ? (*starts)[i] : DimExpr(), ends ? (*ends)[i] : DimExpr(), steps ? (*steps)[i] : DimExpr());
  }
  return rule.result(data, rule.element(0), types);
}

//===----------------------------------------------------------------------===//
// Padding and repetition
//===----------------------------------------------------------------------===//
LogicalResult PadOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, padSizes;
  if (failed(rule.sizes(0, data)) || failed(rule.sizes(1, padSizes)) || failed(rule.sameElementTypes({0, 2})))
    return failure();
  int64_t rank = data.size();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (Value list = rule.operand(3)) {
    auto values = context.constantsOf(list);
    if (!values)
      return rule.result(rule.newSymbols(rank), rule.element(0), types);
    axes = *values;
    SmallVector<int64_t> sorted = axes;
    if (failed(rule.axes(sorted, rank)))
      return failure();
  }
  auto pads = context.partialValuesOf(rule.operand(1));
  if (pads && pads->size() != 2 * axes.size())
    return rule.fail("MOPT-S018", "pads has " + Twine(pads->size()) + " entries, expected " + Twine(2 * axes.size()));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    DimExpr &dim = data[axis < 0 ? axis + rank : axis];
    DimExpr begin = pads ? (*pads)[i] : DimExpr(), end = pads ? (*pads)[i + axes.size()] : DimExpr();
    DimExpr before = dim;
    dim = begin && end ? dim + begin + end : context.newSymbol();
    if (!dim)
      return rule.fail("MOPT-S002", "a size of the result does not fit in 64 bits");
    if (auto value = dim.asConstant(); value && *value < 0)
      return rule.fail("MOPT-S012",
                       "axis " + Twine(axis) + ": the padding cuts more than its " + before.str() + " elements");
    if (getMode() == "constant" || dim.isConstant(0))
      continue;
    auto size = before.asConstant();
    int64_t rest = size.value_or(1);
    for (DimExpr amount : {begin, end})
      if (int64_t value = amount.asConstant().value_or(0); value < 0)
        rest = value < -rest ? 0 : rest + value;
    if (size && rest == 0)
      return rule.fail("MOPT-S012", "axis " + Twine(axis) + ": the padding leaves none of its " + Twine(*size) +
                                        " elements to pad with in mode " + getMode());
  }
  return rule.result(data, rule.element(0), types);
}

LogicalResult ExpandOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, count;
  if (failed(rule.sizes(0, data)) || failed(rule.sizes(1, count, 1)))
    return failure();
  auto values = context.partialValuesOf(rule.operand(1));
  if (!values)
    return rule.fail("MOPT-S008", "the rank of the result is not known: operand 1 ('shape') has " + count[0].str() +
                                      " elements; give the model a static shape, or fold 'shape' to a constant");
  for (DimExpr &value : *values) {
    value = value ? value : context.newSymbol();
    if (auto number = value.asConstant(); number && *number < 0)
      return rule.fail("MOPT-S009", "the shape holds " + Twine(*number) + ", expected sizes");
  }
  if (failed(rule.broadcast(data, *values)))
    return failure();
  return rule.result(data, rule.element(0), types);
}

LogicalResult TileOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims data, repeatsSizes;
  if (failed(rule.sizes(0, data)) || failed(rule.sizes(1, repeatsSizes, 1)))
    return failure();
  auto repeats = context.partialValuesOf(rule.operand(1));
  if (repeats && repeats->size() != data.size())
    return rule.fail("MOPT-S018",
                     "repeats has " + Twine(repeats->size()) + " entries for an operand of rank " + Twine(data.size()));
  for (size_t i = 0; i < data.size(); ++i) {
    DimExpr count = repeats ? (*repeats)[i] : DimExpr();
    if (auto number = count.asConstant(); number && *number < 0)
      return rule.fail("MOPT-S009", "repeats holds " + Twine(*number) + ", expected 0 or more");
    data[i] = count ? times(data[i], count) : context.newSymbol();
  }
  return rule.result(data, rule.element(0), types);
}

} // namespace mopt
