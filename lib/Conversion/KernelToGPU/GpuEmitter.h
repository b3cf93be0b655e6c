//===- GpuEmitter.h - steps as compute shaders ---------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOGPU_GPUEMITTER_H
#define MOPT_LIB_CONVERSION_KERNELTOGPU_GPUEMITTER_H

#include "GpuKernel.h"
#include "mopt/Package/GpuModule.h"
#include "llvm/ADT/StringMap.h"

namespace mopt {

/// Steps for GPUs: functions of a gpu.module. Groups whose functions are equal share one.
class GpuEmitter : public StepEmitter {
public:
  GpuEmitter(gpu::GPUModuleOp code, PlanView &plan, const GpuSchedule &schedule, std::vector<GpuEntry> &entries)
      : code(code), plan(plan), schedule(schedule), entries(entries), builder(code.getContext()) {}
  FailureOr<StepCode> emit(GroupOp group) override;
  uint64_t weightAlignment() const override { return gpuAlignment; }

private:
  LogicalResult check(GroupOp group, Operation *root);
  FailureOr<std::string> function(Operation *root, GpuKernel &kernel, ArrayRef<Value> bases);

  gpu::GPUModuleOp code;
  PlanView &plan;
  const GpuSchedule &schedule;
  std::vector<GpuEntry> &entries;
  OpBuilder builder;
  llvm::StringMap<std::string> byText;
};

} // namespace mopt
#endif
