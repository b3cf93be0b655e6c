//===- ConvTranspose.cpp - transposed convolutions whose windows do not overlap -------------------------------------===//
//
// Where the kernel is as large as the stride, each tap is a matrix product of all pixels of x, and its rows are pixels of y
// that no other tap writes.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

class ConvTranspose : public TileNest {
public:
  ConvTranspose(kernel::ConvTransposeOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule) {
    SmallVector<DimExpr> x = plan.view(op.getInputs()[0]).dims, out = plan.view(op.getOuts()[0]).dims;
    ArrayRef<int64_t> kernel = op.getKernel();
    size_t axes = kernel.size();
    k = x.back();
    n = out.back();
    m = x[axes];
    panelStep = k * Code::width;
    // Batch axes: images, all spatial axes of x but the last, taps. Rows: the last spatial axis.
    batch.assign(x.begin(), x.begin() + axes);
    for (int64_t size : kernel)
      batch.push_back(constant(size));
    SmallVector<DimExpr> xStrides = rowMajorStrides(x, context), yStrides = rowMajorStrides(out, context);
    a = {op.getInputs()[0], SmallVector<DimExpr>(xStrides.begin(), xStrides.begin() + axes), xStrides[axes], true};
    a.batchStrides.append(axes, constant(0));
    b = {op.getInputs()[1], SmallVector<DimExpr>(axes, constant(0)), constant(0), true};
    SmallVector<DimExpr> taps(axes);
    DimExpr tap = panelStep * n.ceilDiv(Code::width);
    for (size_t d = axes; d-- > 0;) {
      taps[d] = tap;
      tap = tap * kernel[d];
    }
    b.batchStrides.append(taps);
    y = scattered(op.getOuts()[0], yStrides, kernel);
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> strides(out.size(), constant(0));
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          strides[dim.getPosition()] = own[i];
      extras.push_back(scattered(memref, strides, kernel));
    }
    finish(RowAccess::spaced, 1);
  }

private:
  /// An operand that moves over the pixels of y: by whole windows along axes of x, by one along taps.
  Operand scattered(Value memref, ArrayRef<DimExpr> strides, ArrayRef<int64_t> kernel) {
    size_t axes = kernel.size();
    Operand operand{memref, {strides[0]}, strides[axes] * kernel[axes - 1], !strides.back().isConstant(0)};
    for (size_t d = 0; d + 1 < axes; ++d)
      operand.batchStrides.push_back(strides[d + 1] * kernel[d]);
    for (size_t d = 0; d < axes; ++d)
      operand.batchStrides.push_back(strides[d + 1]);
    return operand;
  }
};

} // namespace

std::unique_ptr<RootEmitter> emitConvTranspose(kernel::ConvTransposeOp op, PlanView &plan, const Schedule &schedule) {
  return std::make_unique<ConvTranspose>(op, plan, schedule);
}

} // namespace mopt
