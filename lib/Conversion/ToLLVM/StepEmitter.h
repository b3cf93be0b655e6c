//===- StepEmitter.h - step functions in the LLVM dialect ---------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_TOLLVM_STEPEMITTER_H
#define MOPT_LIB_CONVERSION_TOLLVM_STEPEMITTER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mopt/Conversion/Conversion.h"
#include "mopt/Conversion/Schedule.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mopt {

/// A buffer as a step sees it: the memory, and the sizes under which it is read or written.
struct BufferView {
  Value base; // alloc, function argument or kernel.weight
  Type element;
  SmallVector<DimExpr> dims;
};

/// What the emitter asks of the plan.
struct PlanView {
  virtual ~PlanView() = default;
  virtual BufferView view(Value memref) const = 0;
  /// Number of the table symbol whose value is this size (not a constant).
  virtual int64_t symbolOf(DimExpr size) = 0;
};

/// The value of a size where work must be guessed at compile time: symbols count as 16.
int64_t guess(DimExpr size);

/// A function that runs a step.
struct StepVariant {
  std::string function;
  DimExpr chunks;
  std::string name = "default";
};
/// One group as a step.
struct StepCode {
  bool generated = false; // no reference function runs
  SmallVector<StepVariant> variants;
  SmallVector<Value> reads, writes; // bases, in the order of the step's operands
  DimExpr macs, bytes;
  std::string name;
};

/// Emits step functions into a module. Groups that differ only in buffers and symbols share one kernel function.
class StepEmitter {
public:
  StepEmitter(ModuleOp code, PlanView &plan, const Schedule &schedule, ArrayRef<ScheduleVariant> variants);
  FailureOr<StepCode> emit(GroupOp group);
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
