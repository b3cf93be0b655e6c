//===- MatrixShape.cpp - kernel ops as matrix products ------------------------------------------------------------===//
#include "MatrixShape.h"
#include "mopt/Dialect/Kernel/Panels.h"

namespace mopt {
namespace {

struct Axes {
  SmallVector<DimExpr> dims, strides;
};

/// Axes of a tensor in another order than it lies in.
Axes axesOf(PlanView &plan, Value memref, std::optional<ArrayRef<int64_t>> order) {
  SmallVector<DimExpr> dims = plan.view(memref).dims, strides = rowMajorStrides(dims, memref.getContext());
  if (!order)
    return {dims, strides};
  Axes axes;
  for (int64_t axis : *order) {
    axes.dims.push_back(dims[axis]);
    axes.strides.push_back(strides[axis]);
  }
  return axes;
}

/// An operand whose axes before the last `inner` are batch axes, aligned with those of the result from the right.
MatrixOperand aligned(Value memref, const Axes &axes, unsigned inner, ArrayRef<DimExpr> result) {
  unsigned outer = result.size() - 2, own = axes.dims.size() - inner;
  DimExpr zero = DimExpr::constant(memref.getContext(), 0);
  MatrixOperand operand{memref, SmallVector<DimExpr>(outer, zero), axes.strides[own], true};
  for (unsigned d = 0; d < own; ++d)
    if (axes.dims[d] == result[outer - own + d] && !axes.dims[d].isConstant(1))
      operand.batchStrides[outer - own + d] = axes.strides[d];
  return operand;
}

} // namespace

SmallVector<DimExpr> rowMajorStrides(ArrayRef<DimExpr> dims, MLIRContext *context) {
  SmallVector<DimExpr> strides(dims.size());
  DimExpr stride = DimExpr::constant(context, 1);
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * dims[d];
  }
  return strides;
}

SmallVector<DimExpr> movesOf(AffineMap map, ArrayRef<DimExpr> dims, MLIRContext *context) {
  SmallVector<DimExpr> strides = rowMajorStrides(dims, context);
  SmallVector<DimExpr> moves(map.getNumDims(), DimExpr::constant(context, 0));
  for (auto [i, result] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      moves[dim.getPosition()] = strides[i];
  return moves;
}

MatrixShape matrixShape(kernel::MatMulOp op, PlanView &plan) {
  MLIRContext *context = op.getContext();
  Axes a = axesOf(plan, op.getInputs()[0], op.getAOrder()), b = axesOf(plan, op.getInputs()[1], std::nullopt),
       y = axesOf(plan, op.getOuts()[0], op.getYOrder());
  if (!plan.view(op.getInputs()[1]).element.isF32()) { // [..., 16, 4] bytes lie as [..., 16] floats do
    b.dims.pop_back();
    b.strides = rowMajorStrides(b.dims, context);
  }
  unsigned rank = y.dims.size();
  MatrixShape shape;
  shape.m = y.dims[rank - 2];
  shape.n = y.dims[rank - 1];
  shape.k = a.dims.back();
  shape.a = aligned(op.getInputs()[0], a, 2, y.dims);
  shape.y = aligned(op.getOuts()[0], y, 2, y.dims);
  shape.b = aligned(op.getInputs()[1], b, 3, y.dims);
  shape.b.rowStride = DimExpr::constant(context, 0);
  for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
    SmallVector<DimExpr> moves = movesOf(map, plan.view(memref).dims, context);
    shape.extras.push_back(
        {memref, SmallVector<DimExpr>(moves.begin(), moves.end() - 2), moves[rank - 2], map.isFunctionOfDim(rank - 1)});
  }
  shape.batch.assign(y.dims.begin(), y.dims.end() - 2);
  // Batch axes along which b does not move and everything else moves as along m are more rows.
  auto joins = [&](const MatrixOperand &operand) { return operand.batchStrides.back() == operand.rowStride * shape.m; };
  while (!shape.batch.empty() && shape.b.batchStrides.back().isConstant(0) && joins(shape.a) && joins(shape.y) &&
         llvm::all_of(shape.extras, joins)) {
    shape.m = shape.batch.pop_back_val() * shape.m;
    for (MatrixOperand *operand : {&shape.a, &shape.b, &shape.y})
      operand->batchStrides.pop_back();
    for (MatrixOperand &extra : shape.extras)
      extra.batchStrides.pop_back();
  }
  return shape;
}

MatrixShape matrixShape(kernel::ConvOp op, PlanView &plan) {
  MLIRContext *context = op.getContext();
  auto constant = [&](int64_t value) { return DimExpr::constant(context, value); };
  SmallVector<DimExpr> xDims = plan.view(op.getInputs()[0]).dims, yDims = plan.view(op.getOuts()[0]).dims;
  unsigned rank = yDims.size();
  int64_t group = op.getGroup(), channels = *xDims.back().asConstant() / group, outputs = *yDims.back().asConstant() / group,
          taps = 1;
  for (int64_t size : op.getKernel())
    taps *= size;
  MatrixShape shape;
  shape.batch = {yDims.front(), constant(group)};
  shape.m = DimExpr::product(ArrayRef(yDims).drop_front().drop_back(), context);
  shape.n = constant(outputs);
  shape.k = constant(taps * channels);
  DimExpr matrix = constant((outputs + Panels::floatWidth - 1) / Panels::floatWidth * Panels::floatWidth * taps * channels);
  shape.a = {op.getInputs()[0], {rowMajorStrides(xDims, context).front(), constant(channels)}, constant(0), true};
  shape.b = {op.getInputs()[1], {constant(0), matrix}, constant(0), true};
  shape.y = {op.getOuts()[0], {rowMajorStrides(yDims, context).front(), shape.n}, constant(outputs * group), true};
  for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
    // Full, or the same for all pixels: groups are formed so.
    SmallVector<DimExpr> moves = movesOf(map, plan.view(memref).dims, context);
    bool columns = map.isFunctionOfDim(rank - 1), pixels = false;
    for (unsigned d = 1; d + 1 < rank; ++d)
      pixels |= map.isFunctionOfDim(d);
    shape.extras.push_back({memref,
                            {moves.front(), columns ? shape.n : constant(0)},
                            constant(!pixels   ? 0
                                     : columns ? outputs * group
                                               : 1),
                            columns});
  }
  return shape;
}

} // namespace mopt
