//===- Conv.cpp - convolutions on GPUs -----------------------------------------------------------------------------===//
//
// A matrix product whose rows are pixels of y and whose k is taps, then channels: the element of x is found when a tile is
// copied to workgroup memory, so that no matrix of windows is ever stored. A thread works out where its rows begin once, and
// the tap and channel of k once for each round.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TileProduct.h"

namespace mopt {
namespace {

class Conv : public PanelProduct {
public:
  Conv(kernel::ConvOp op, PlanView &plan, const GpuSchedule &schedule)
      : PanelProduct(op, schedule, matrixShape(op, plan)), conv(op), x(numbersOf(plan.view(op.getInputs()[0]).dims)),
        y(numbersOf(plan.view(op.getOuts()[0]).dims)),
        strides(rowMajorStrides(plan.view(op.getInputs()[0]).dims, op.getContext())) {
    channels = x.back() / static_cast<int64_t>(op.getGroup());
  }

private:
  /// Offset of image and group, then for each axis the coordinate in x of tap 0.
  SmallVector<Value> rowOf(ThreadCode &code, ArrayRef<Value> batch, Value row) override {
    SmallVector<Value> state = {dot(code, batch, shape.a.batchStrides)};
    for (auto [d, at] : llvm::enumerate(code.digits(row, ArrayRef(y).drop_front().drop_back())))
      state.push_back(code.sub(code.mul(at, conv.getStrides()[d]), code.index(conv.getPads()[d])));
    return state;
  }
  /// Channel, then for each axis how far the tap is from tap 0.
  SmallVector<Value> depthOf(ThreadCode &code, Value k) override {
    SmallVector<Value> state = {code.rem(k, channels)};
    for (auto [d, tap] : llvm::enumerate(code.digits(code.div(k, channels), conv.getKernel())))
      state.push_back(code.mul(tap, conv.getDilations()[d]));
    return state;
  }
  Value left(ThreadCode &code, ArrayRef<Value> row, ArrayRef<Value> depth, Value inside) override {
    Value at = code.add(row.front(), depth.front());
    for (size_t d = 1; d < row.size(); ++d) {
      Value coordinate = code.add(row[d], depth[d]);
      inside = code.both(inside, code.below(coordinate, x[d]));
      at = code.add(at, code.mul(coordinate, *strides[d].asConstant()));
    }
    return code.loadIf(inside, shape.a.memref, at);
  }

  kernel::ConvOp conv;
  SmallVector<int64_t> x, y;
  SmallVector<DimExpr> strides;
  int64_t channels = 1;
};

} // namespace

std::unique_ptr<GpuKernel> gpuConv(kernel::ConvOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<Conv>(op, plan, schedule);
}

} // namespace mopt
