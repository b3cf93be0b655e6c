//===- MatMul.cpp - batched matrix products on GPUs ----------------------------------------------------------------===//
#include "TileProduct.h"

namespace mopt {
namespace {

class MatMul : public PanelProduct {
public:
  MatMul(kernel::MatMulOp op, PlanView &plan, const GpuSchedule &schedule)
      : PanelProduct(op, schedule, matrixShape(op, plan)) {}

private:
  SmallVector<Value> rowOf(ThreadCode &code, ArrayRef<Value> batch, Value row) override {
    return {code.add(dot(code, batch, shape.a.batchStrides), code.mul(row, *shape.a.rowStride.asConstant()))};
  }
  Value left(ThreadCode &code, ArrayRef<Value> row, ArrayRef<Value> depth, Value inside) override {
    return code.loadIf(inside, shape.a.memref, code.add(row.front(), depth.front()));
  }
};

} // namespace

std::unique_ptr<GpuKernel> gpuMatMul(kernel::MatMulOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<MatMul>(op, plan, schedule);
}

} // namespace mopt
