//===- MatMul.cpp - batched matrix products ------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

class MatMul : public TileNest {
public:
  MatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule) {
    BufferView av = plan.view(op.getInputs()[0]), bv = plan.view(op.getInputs()[1]), yv = plan.view(op.getOuts()[0]);
    unsigned rank = yv.dims.size(), outer = rank - 2;
    m = yv.dims[rank - 2];
    n = yv.dims[rank - 1];
    k = av.dims.back();
    panelStep = k * Code::width;
    a = aligned(op.getInputs()[0], av.dims, 2, yv.dims);
    y = aligned(op.getOuts()[0], yv.dims, 2, yv.dims);
    b = aligned(op.getInputs()[1], bv.dims, 3, yv.dims);
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

  /// Strides of an operand whose axes before the last `inner` are batch axes, aligned with those of y from the right.
  Operand aligned(Value memref, ArrayRef<DimExpr> dims, unsigned inner, ArrayRef<DimExpr> result) {
    SmallVector<DimExpr> strides = rowMajorStrides(dims, context);
    unsigned outer = result.size() - 2, own = dims.size() - inner;
    Operand operand{memref, SmallVector<DimExpr>(outer, constant(0)), strides[own], true};
    for (unsigned d = 0; d < own; ++d)
      if (dims[d] == result[outer - own + d] && !dims[d].isConstant(1))
        operand.batchStrides[outer - own + d] = strides[d];
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
