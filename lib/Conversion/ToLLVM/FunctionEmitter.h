//===- FunctionEmitter.h - step functions in the LLVM dialect -----------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_TOLLVM_FUNCTIONEMITTER_H
#define MOPT_LIB_CONVERSION_TOLLVM_FUNCTIONEMITTER_H

#include "../StepEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mopt/Conversion/Schedule.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mopt {

/// Steps for CPUs: functions in the LLVM dialect, emitted into a module. Groups that differ only in buffers and symbols
/// share one kernel function.
class FunctionEmitter : public StepEmitter {
public:
  /// The schedules must outlive the emitter.
  FunctionEmitter(ModuleOp code, PlanView &plan, const Schedule &schedule, ArrayRef<ScheduleVariant> variants);
  FailureOr<StepCode> emit(GroupOp group) override;
  MLIRContext *context() { return code.getContext(); }
  /// The internal function that goes by `key`, made by `build` when it is asked for the first time.
  LLVM::LLVMFuncOp shared(StringRef key, StringRef prefix, llvm::function_ref<void(LLVM::LLVMFuncOp)> build, Type type);

private:
  friend class KernelBody;
  FailureOr<StepCode> emit(GroupOp group, Operation *root, const Schedule &schedule);
  LLVM::LLVMFuncOp declare(StringRef name, Type result, ArrayRef<Type> arguments);
  /// Address of a constant array with these bytes of elements; equal arrays share one global.
  std::string globalFor(Attribute elements, Type arrayType);
  /// Gives `function` its final name: that of an equal one emitted before, or a new one with `prefix`.
  std::string share(LLVM::LLVMFuncOp function, StringRef prefix);

  ModuleOp code;
  PlanView &plan;
  const Schedule &schedule;
  ArrayRef<ScheduleVariant> variants;
  OpBuilder builder;
  llvm::StringMap<std::string> byText, byKey, globals;
  llvm::StringMap<unsigned> counters;
};

} // namespace mopt
#endif
