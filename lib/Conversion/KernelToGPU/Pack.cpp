//===- Pack.cpp - a matrix operand that is not constant, into panels, on GPUs --------------------------------------===//
#include "GpuKernel.h"
#include "mopt/Dialect/Kernel/Panels.h"

namespace mopt {
namespace {

class Pack : public ElementKernel {
public:
  Pack(kernel::PackOp op, PlanView &plan, const GpuSchedule &schedule) : ElementKernel(schedule), op(op) {
    SmallVector<DimExpr> dims = plan.view(op.getSource()).dims, stored = rowMajorStrides(dims, op.getContext());
    for (unsigned i = 0; i < dims.size(); ++i) {
      unsigned axis = op.getOrder() ? (*op.getOrder())[i] : i;
      sizes.push_back(*dims[axis].asConstant());
      strides.push_back(*stored[axis].asConstant());
    }
    int64_t count = 1;
    for (int64_t size : numbersOf(plan.view(op.getOut()).dims))
      count *= size;
    setElements(count);
  }

private:
  /// Elements of the result: batch, panel, k, column in the panel.
  void element(ThreadCode &code, Value index) override {
    constexpr int64_t width = Panels::floatWidth;
    unsigned batch = sizes.size() - 2;
    SmallVector<int64_t> extents(sizes.begin(), sizes.begin() + batch);
    extents.append({(sizes.back() + width - 1) / width, sizes[batch], width});
    SmallVector<Value> position = code.digits(index, extents);
    Value column = code.add(code.mul(position[batch], width), position[batch + 2]);
    Value at = code.add(code.mul(position[batch + 1], strides[batch]), code.mul(column, strides.back()));
    for (unsigned d = 0; d < batch; ++d)
      at = code.add(at, code.mul(position[d], strides[d]));
    code.store(code.loadIf(code.below(column, sizes.back()), op.getSource(), at), op.getOut(), index);
  }

  kernel::PackOp op;
  SmallVector<int64_t> sizes, strides; // of b, in its order
};

} // namespace

std::unique_ptr<GpuKernel> gpuPack(kernel::PackOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<Pack>(op, plan, schedule);
}

} // namespace mopt
