//===- Resize.cpp - the shape rule of resize ----------------------------------------------------------------------===//
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include <cmath>

namespace mopt {

/// floor(dim * scale). ONNX computes it in f32.
static DimExpr scaled(Rule &rule, DimExpr dim, double scale) {
  if (auto value = dim.asConstant()) {
    float size = std::floor(static_cast<float>(*value) * static_cast<float>(scale));
    return size < 9e18f ? rule.constant(static_cast<int64_t>(size)) : DimExpr();
  }
  for (int64_t q = 1; q <= 64; ++q) {
    double p = scale * static_cast<double>(q);
    if (p == std::floor(p) && p < 1e6)
      return (dim * static_cast<int64_t>(p)).floorDiv(q);
  }
  return rule.context.newSymbol();
}

/// Sizes of the resized axes from the wanted sizes.
static LogicalResult fromSizes(Rule &rule, ResizeOp op, ArrayRef<int64_t> axes, Dims wanted, Dims &x) {
  for (DimExpr &size : wanted) {
    size = size ? size : rule.context.newSymbol();
    if (auto value = size.asConstant(); value && *value < 0)
      return rule.fail("MOPT-S009", "sizes holds " + Twine(*value) + ", expected 0 or more");
  }
  StringRef policy = op.getKeepAspectRatioPolicy();
  if (policy == "stretch") {
    for (auto [axis, size] : llvm::zip(axes, wanted))
      x[axis] = size;
    return success();
  }
  // One scale for all axes: that of the axis which grows least, or most. Sizes are rounded half up.
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    auto to = size.asConstant(), from = x[axis].asConstant();
    if (!to || !from || *from == 0) {
      for (int64_t a : axes)
        x[a] = rule.context.newSymbol();
      return success();
    }
    double s = static_cast<double>(static_cast<float>(*to) / static_cast<float>(*from));
    scale = !scale ? s : policy == "not_larger" ? std::min(*scale, s) : std::max(*scale, s);
  }
  for (int64_t axis : axes) {
    double size = std::floor(*scale * static_cast<double>(*x[axis].asConstant()) + 0.5);
    x[axis] = size < 9e18 ? rule.constant(static_cast<int64_t>(size)) : DimExpr();
  }
  return success();
}

LogicalResult ResizeOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)))
    return failure();
  int64_t rank = x.size();
  Value scales = rule.operand(2), sizes = rule.operand(3);
  // Old exporters leave an input out by giving it no elements.
  auto isEmpty = [](Value v) {
    auto type = v ? tensorOf(v) : RankedTensorType();
    return type && llvm::is_contained(type.getShape(), 0);
  };
  if (scales && sizes && isEmpty(scales))
    scales = {};
  if (scales && sizes && isEmpty(sizes))
    sizes = {};
  if (static_cast<bool>(scales) == static_cast<bool>(sizes))
    return rule.fail("MOPT-S003", Twine(scales ? "both" : "none") + " of scales and sizes are given, expected one of them");
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (getAxesAttr() && !getAxesAttr().empty()) {
    axes.assign(getAxesAttr().asArrayRef().begin(), getAxesAttr().asArrayRef().end());
    SmallVector<int64_t> sorted = axes;
    if (failed(rule.axes(sorted, rank)))
      return failure();
    for (int64_t &axis : axes)
      axis += axis < 0 ? rank : 0;
  }
  auto countFails = [&](size_t count, StringRef name) {
    return rule.fail("MOPT-S018", name + " has " + Twine(count) + " entries for " + Twine(axes.size()) + " axes");
  };
  if (sizes) {
    auto wanted = context.partialValuesOf(sizes);
    if (wanted && wanted->size() != axes.size())
      return countFails(wanted->size(), "sizes");
    if (failed(fromSizes(rule, *this, axes, wanted ? *wanted : Dims(axes.size()), x)))
      return failure();
    return rule.result(x, rule.element(0), types);
  }
  auto factors = context.floatsOf(scales);
  if (factors && factors->size() != axes.size())
    return countFails(factors->size(), "scales");
  std::optional<SmallVector<double>> roi;
  bool crops = getCoordinateTransformationMode() == "tf_crop_and_resize";
  if (crops) {
    if (!rule.operand(1))
      return rule.fail("MOPT-S003", "roi is left out; tf_crop_and_resize needs it");
    roi = context.floatsOf(rule.operand(1));
    if (roi && roi->size() != 2 * axes.size())
      return rule.fail("MOPT-S018", "roi has " + Twine(roi->size()) + " entries, expected " + Twine(2 * axes.size()));
  }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!factors || (crops && !roi)) {
      x[axis] = context.newSymbol();
      continue;
    }
    double factor = (*factors)[i];
    if (!(factor > 0) || !std::isfinite(factor))
      return rule.fail("MOPT-S009", "scales holds a number that is not positive");
    if (crops)
      factor *= (*roi)[i + axes.size()] - (*roi)[i];
    if (!(factor >= 0))
      return rule.fail("MOPT-S009", "roi ends before it starts");
    x[axis] = scaled(rule, x[axis], factor);
  }
  return rule.result(x, rule.element(0), types);
}

} // namespace mopt
