//===- Windows.cpp - the windows of pools ---------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "mopt/Transforms/Grouping/Grouping.h"

namespace mopt {
namespace {

template <typename Pool> std::optional<PoolWindow> windowOf(Pool op) {
  SmallVector<DimExpr> x = dimsOf(op.getX()), y = dimsOf(op.getY());
  if (!tensorOf(op.getX()).getElementType().isF32() || !op.getKernelShape() || x.size() < 3 || x.size() > 5 ||
      llvm::is_contained(x, DimExpr()) || llvm::is_contained(y, DimExpr()))
    return std::nullopt;
  size_t axes = x.size() - 2;
  SmallVector<int64_t> ones(axes, 1);
  PoolWindow w;
  w.kernel.assign(op.getKernelShape()->begin(), op.getKernelShape()->end());
  w.strides.assign(op.getStrides().value_or(ones));
  w.dilations.assign(op.getDilations().value_or(ones));
  w.channelsLast = isChannelsLast(op);
  SmallVector<int64_t> pads(2 * axes, 0);
  if (op.getAutoPad() == "NOTSET" && op.getPads())
    pads.assign(op.getPads()->begin(), op.getPads()->end());
  if (w.kernel.size() != axes || w.strides.size() != axes || w.dilations.size() != axes || pads.size() != 2 * axes)
    return std::nullopt;
  for (int64_t pad : pads)
    w.pads.push_back(DimExpr::constant(op->getContext(), pad));
  if (op.getAutoPad().starts_with("SAME"))
    for (size_t d = 0; d < axes; ++d) {
      size_t axis = d + (w.channelsLast ? 1 : 2);
      DimExpr total = (y[axis] - 1) * w.strides[d] + ((w.kernel[d] - 1) * w.dilations[d] + 1) - x[axis];
      total = DimExpr::max(total, DimExpr::constant(op->getContext(), 0));
      DimExpr less = total.floorDiv(2);
      w.pads[d] = op.getAutoPad() == "SAME_UPPER" ? less : total - less;
      w.pads[d + axes] = total - w.pads[d];
    }
  if (llvm::is_contained(w.pads, DimExpr()))
    return std::nullopt;
  return w;
}

} // namespace

std::optional<PoolWindow> poolWindow(Operation *pool) {
  if (auto op = dyn_cast<MaxPoolOp>(pool); op && op.getIndices().use_empty())
    return windowOf(op);
  std::optional<PoolWindow> window;
  if (auto op = dyn_cast<AveragePoolOp>(pool))
    if ((window = windowOf(op)))
      window->countPads = op.getCountIncludePad();
  return window;
}

} // namespace mopt
