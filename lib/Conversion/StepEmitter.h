//===- StepEmitter.h - what a class of targets makes of a group ---------------------------------------------------===//
//
// A plan (buffers, weights, sizes, steps) is the same for CPUs, GPUs and whatever else runs steps; only the code of a step
// differs. BuildPlan.cpp makes the plan and asks a StepEmitter for that code, group by group. What one unit of `chunks` is
// belongs to the class: a range of units for a CPU's threads, a workgroup for a GPU.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_STEPEMITTER_H
#define MOPT_LIB_CONVERSION_STEPEMITTER_H

#include "mopt/Conversion/Conversion.h"

namespace mopt {

/// A buffer as a step sees it: the memory, and the sizes under which it is read or written.
struct BufferView {
  Value base; // alloc, function argument or kernel.weight
  Type element;
  SmallVector<DimExpr> dims;
};

/// What an emitter asks of the plan.
struct PlanView {
  virtual ~PlanView() = default;
  virtual BufferView view(Value memref) const = 0;
  /// Number of the table symbol whose value is this size (not a constant).
  virtual int64_t symbolOf(DimExpr size) = 0;
};

/// The value of a size where work must be guessed at compile time: symbols count as 16.
int64_t guess(DimExpr size);

/// One way to run a step.
struct StepVariant {
  std::string function; // symbol in the emitter's module
  DimExpr chunks;
  std::string name = "default";
};
/// One group as a step.
struct StepCode {
  bool generated = false;            // no reference function runs
  SmallVector<StepVariant> variants; // at least one
  SmallVector<Value> reads, writes;  // bases, in the order of the step's operands
  DimExpr macs, bytes;
  std::string name;
};

/// Turns groups into steps for one class of targets.
class StepEmitter {
public:
  virtual ~StepEmitter() = default;
  /// Reports and returns failure where the class has no code for a group.
  virtual FailureOr<StepCode> emit(GroupOp group) = 0;
  /// Alignment of weights in their file: what a buffer that begins there must have.
  virtual uint64_t weightAlignment() const { return MOPT_ALIGNMENT; }
};

/// The one op of a group that runs as a step. Reports and returns null where there is none, more than one, or one that writes
/// nothing.
Operation *rootOf(GroupOp group);
/// Buffers of a step's root, each once: what is written is not in `reads`.
void listBuffers(Operation *root, PlanView &plan, StepCode &step);
/// Bytes that a step reads and writes; null where they overflow.
DimExpr bytesOf(Operation *root, PlanView &plan);

/// Reads a module at phase `buffers` into a plan, with the steps of the emitter that `make` returns.
LogicalResult buildPlan(ModuleOp module, llvm::function_ref<std::unique_ptr<StepEmitter>(PlanView &)> make, Plan &plan);

} // namespace mopt
#endif
