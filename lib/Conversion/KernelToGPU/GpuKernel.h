//===- GpuKernel.h - one kernel op as a compute shader -------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOGPU_GPUKERNEL_H
#define MOPT_LIB_CONVERSION_KERNELTOGPU_GPUKERNEL_H

#include "ThreadCode.h"
#include "mopt/Conversion/GpuSchedule.h"

namespace mopt {

/// How one kernel op runs on a GPU: its workgroups, and the code of one thread. All sizes are numbers.
struct GpuKernel {
  virtual ~GpuKernel() = default;
  int64_t groups = 0; // workgroups
  int64_t macs = 0;
  /// Code of thread `code.thread` of workgroup `code.group`.
  virtual void emit(ThreadCode &code) = 0;
};

/// The kernel of an op; null for one that has none. The plan and the op must outlive it.
std::unique_ptr<GpuKernel> makeGpuKernel(Operation *op, PlanView &plan, const GpuSchedule &schedule);

// One for each op, in the file of its name.
std::unique_ptr<GpuKernel> gpuConv(kernel::ConvOp op, PlanView &plan, const GpuSchedule &schedule);
std::unique_ptr<GpuKernel> gpuDepthwise(kernel::DepthwiseOp op, PlanView &plan, const GpuSchedule &schedule);
std::unique_ptr<GpuKernel> gpuLoop(linalg::GenericOp op, PlanView &plan, const GpuSchedule &schedule);
std::unique_ptr<GpuKernel> gpuMatMul(kernel::MatMulOp op, PlanView &plan, const GpuSchedule &schedule);
std::unique_ptr<GpuKernel> gpuMove(kernel::MoveOp op, PlanView &plan, const GpuSchedule &schedule);
/// Null also for kinds that have no code.
std::unique_ptr<GpuKernel> gpuReduce(kernel::ReduceOp op, PlanView &plan, const GpuSchedule &schedule);
/// In Plain.cpp: contractions that run their reference functions on CPUs; null also where their shapes do not fit.
std::unique_ptr<GpuKernel> gpuReference(kernel::ReferenceOp op, PlanView &plan, const GpuSchedule &schedule);
std::unique_ptr<GpuKernel> gpuPack(kernel::PackOp op, PlanView &plan, const GpuSchedule &schedule);

/// A kernel with one thread for each element of a result.
struct ElementKernel : GpuKernel {
  void emit(ThreadCode &code) override;

protected:
  ElementKernel(const GpuSchedule &schedule) : schedule(schedule) {}
  void setElements(int64_t count);
  virtual void element(ThreadCode &code, Value index) = 0;
  const GpuSchedule &schedule;
  int64_t elements = 0;
};

/// Whether scalar ops have code on GPUs. Reports the first one that has none.
LogicalResult checkElementwise(Block &block);
/// Code of the scalar ops of an epilogue or loop; values of the block's arguments to those of the terminator's operands.
SmallVector<Value> applyElementwise(ThreadCode &code, Block &block, ArrayRef<Value> arguments);

/// Sizes of which it is known that they are numbers.
SmallVector<int64_t> numbersOf(ArrayRef<DimExpr> sizes);
/// Sum of position * stride.
Value dot(ThreadCode &code, ArrayRef<Value> position, ArrayRef<DimExpr> strides);

} // namespace mopt
#endif
