//===- MatMul.cpp - matrix products on Hexagon ---------------------------------------------------------------------===//
#include "HvxEmitter.h"
#include "HvxNest.h"

namespace mopt {
namespace {

class HvxMatMul : public HvxNest {
public:
  HvxMatMul(kernel::MatMulOp op, PlanView &plan) : HvxNest(cast<kernel::RootOpInterface>(op.getOperation()), plan) {}

  LogicalResult prepare() {
    SmallVector<int64_t> aDims = dims(op.getInputs()[0]), bDims = dims(op.getInputs()[1]), yDims = dims(op.getOuts()[0]);
    const size_t rank = yDims.size(), outer = rank - 2;
    const int64_t bytes = tiles.resultBytes();
    m = yDims[rank - 2];
    n = yDims[rank - 1];
    c = aDims.back();
    yStep = n * bytes;
    batch.assign(yDims.begin(), yDims.begin() + outer);
    a = {op.getInputs()[0], strides(aDims, aDims.size() - 2, yDims, 1)};
    b = {op.getInputs()[1], strides(bDims, bDims.size() - 4, yDims, 1)}; // panels, steps, columns, fours
    y = {op.getOuts()[0], strides(yDims, outer, yDims, bytes)};
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps()))
      extras.push_back({memref, moves(memref, map), map.isFunctionOfDim(rank - 1)});
    // Batch axes along which b does not move and everything else moves as along m are more rows.
    while (!batch.empty() && b.batchStrides.back() == 0 && a.batchStrides.back() == m * c &&
           y.batchStrides.back() == m * yStep &&
           llvm::all_of(extras, [](const Operand &extra) { return extra.batchStrides.back() == 0; })) {
      m *= batch.pop_back_val();
      for (Operand *operand : {&a, &b, &y})
        operand->batchStrides.pop_back();
      for (Operand &extra : extras)
        extra.batchStrides.pop_back();
    }
    alignment = c % 8 == 0 ? 8 : c % 4 == 0 ? 4 : 1;
    return finish();
  }

protected:
  SmallVector<Value> locate(HvxCode &code, ValueRange, Value row) override { return {code.at(aBase, code.mul(row, c))}; }
  Value forTaps(KernelBody &, HvxCode &code, ValueRange row0, ValueRange row1, Value sums, CopyTap copy) override {
    return copy(code.number(0), row0[0], row1[0], sums);
  }

private:
  /// Bytes along the batch axes of y of an operand whose first `own` axes are batch axes, aligned from the right.
  static SmallVector<int64_t> strides(ArrayRef<int64_t> sizes, size_t own, ArrayRef<int64_t> result, int64_t bytes) {
    const size_t outer = result.size() - 2;
    SmallVector<int64_t> list(outer, 0);
    int64_t stride = bytes;
    for (int64_t size : sizes.drop_front(own))
      stride *= size;
    for (size_t d = own; d-- > 0;) {
      if (sizes[d] != 1)
        list[outer - own + d] = stride;
      stride *= sizes[d];
    }
    return list;
  }
  /// The same of an extra of i32.
  SmallVector<int64_t> moves(Value memref, AffineMap map) const {
    SmallVector<int64_t> sizes = dims(memref), list(map.getNumDims(), 0);
    int64_t stride = 4;
    for (size_t d = sizes.size(); d-- > 0;) {
      if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(d)))
        list[dim.getPosition()] = stride;
      stride *= sizes[d];
    }
    return SmallVector<int64_t>(list.begin(), list.end() - 2);
  }
};

} // namespace

FailureOr<std::unique_ptr<RootEmitter>> emitHvxMatMul(kernel::MatMulOp op, PlanView &plan) {
  if (op.getAOrder() || op.getYOrder())
    return op.emitError("MOPT-C030: its operands lie in another order, expected the order of its axes; report it with the "
                        "model"); // no pass makes that of integers
  auto emitter = std::make_unique<HvxMatMul>(op, plan);
  if (failed(emitter->prepare()))
    return failure();
  return std::unique_ptr<RootEmitter>(std::move(emitter));
}

} // namespace mopt
