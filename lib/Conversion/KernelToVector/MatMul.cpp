//===- MatMul.cpp - batched matrix products ------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

class MatMul : public TileNest {
public:
  MatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule) {
    Axes av = axesOf(op.getInputs()[0], op.getAOrder()), bv = axesOf(op.getInputs()[1], std::nullopt),
         yv = axesOf(op.getOuts()[0], op.getYOrder());
    if (arithmetic.bytes) { // [..., 16, 4] bytes lie as [..., 16] floats do
      bv.dims.pop_back();
      bv.strides = rowMajorStrides(bv.dims, context);
    }
    unsigned rank = yv.dims.size(), outer = rank - 2;
    m = yv.dims[rank - 2];
    n = yv.dims[rank - 1];
    k = av.dims.back();
    panelStep = panelRows(k) * Code::width;
    a = aligned(op.getInputs()[0], av, 2, yv.dims);
    y = aligned(op.getOuts()[0], yv, 2, yv.dims);
    b = aligned(op.getInputs()[1], bv, 3, yv.dims);
    b.rowStride = constant(0);
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps()))
      extras.push_back(mapped(memref, map));
    batch.assign(yv.dims.begin(), yv.dims.begin() + outer);
    // Batch axes along which b does not move and everything else moves as along m are more rows.
    while (!batch.empty() && b.batchStrides.back().isConstant(0) && joins(a) && joins(y) &&
           llvm::all_of(extras, [&](const Operand &extra) { return joins(extra); })) {
      m = batch.pop_back_val() * m;
      for (Operand *operand : {&a, &b, &y})
        operand->batchStrides.pop_back();
      for (Operand &extra : extras)
        extra.batchStrides.pop_back();
    }
    finish(RowAccess::spaced, 1);
  }

private:
  bool joins(const Operand &operand) const { return operand.batchStrides.back() == operand.rowStride * m; }

  struct Axes {
    SmallVector<DimExpr> dims, strides;
  };
  /// Axes of a tensor in another order than it lies in.
  Axes axesOf(Value memref, std::optional<ArrayRef<int64_t>> order) {
    SmallVector<DimExpr> dims = plan.view(memref).dims, strides = rowMajorStrides(dims, context);
    if (!order)
      return {dims, strides};
    Axes axes;
    for (int64_t axis : *order) {
      axes.dims.push_back(dims[axis]);
      axes.strides.push_back(strides[axis]);
    }
    return axes;
  }

  /// Strides of an operand whose axes before the last `inner` are batch axes, aligned with those of y from the right.
  Operand aligned(Value memref, const Axes &axes, unsigned inner, ArrayRef<DimExpr> result) {
    unsigned outer = result.size() - 2, own = axes.dims.size() - inner;
    Operand operand{memref, SmallVector<DimExpr>(outer, constant(0)), axes.strides[own], true};
    for (unsigned d = 0; d < own; ++d)
      if (axes.dims[d] == result[outer - own + d] && !axes.dims[d].isConstant(1))
        operand.batchStrides[outer - own + d] = axes.strides[d];
    return operand;
  }

  Operand mapped(Value memref, AffineMap map) {
    SmallVector<DimExpr> strides = rowMajorStrides(plan.view(memref).dims, context);
    unsigned rank = map.getNumDims();
    SmallVector<DimExpr> moves(rank, constant(0));
    for (auto [i, result] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        moves[dim.getPosition()] = strides[i];
    bool columns = map.isFunctionOfDim(rank - 1);
    return {memref, SmallVector<DimExpr>(moves.begin(), moves.end() - 2), moves[rank - 2], columns};
  }
};

} // namespace

std::unique_ptr<RootEmitter> emitMatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule) {
  return std::make_unique<MatMul>(op, plan, schedule);
}

} // namespace mopt
