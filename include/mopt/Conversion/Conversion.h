//===- Conversion.h - from groups to code -------------------------------------------------------------------------===//
#ifndef MOPT_CONVERSION_CONVERSION_H
#define MOPT_CONVERSION_CONVERSION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Conversion/GpuSchedule.h"
#include "mopt/Conversion/Schedule.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Package/GpuModule.h"
#include "mopt/Package/Plan.h"

namespace mopt {
#define GEN_PASS_DECL
#include "mopt/Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "mopt/Conversion/Passes.h.inc"

/// Another way to run the steps whose code depends on the schedule.
struct ScheduleVariant {
  std::string name; // of the variants in the table
  Schedule schedule;
};

/// Reads a module at phase `buffers` into a plan, and emits its step functions, in the LLVM dialect, into a new module.
/// Reports and returns failure when the module does not keep the contract of that phase.
LogicalResult buildPlan(ModuleOp module, const Schedule &schedule, ArrayRef<ScheduleVariant> variants, Plan &plan,
                        OwningOpRef<ModuleOp> &code);

/// The same for Hexagon with HVX. `refused`: the failure is about what the model asks for.
LogicalResult buildHvxPlan(ModuleOp module, Plan &plan, OwningOpRef<ModuleOp> &code, bool &refused);
/// The same for a GPU: functions of a gpu.module, and what `shaders` says of each. All sizes must be numbers. `code` can be
/// printed; serializeSpirv then makes SPIR-V of it.
LogicalResult buildGpuPlan(ModuleOp module, const GpuSchedule &schedule, Plan &plan, OwningOpRef<ModuleOp> &code,
                           GpuModule &shaders);
/// Fills in the SPIR-V; `code` then holds the functions in that dialect.
LogicalResult serializeSpirv(ModuleOp code, GpuModule &shaders);

} // namespace mopt
#endif
