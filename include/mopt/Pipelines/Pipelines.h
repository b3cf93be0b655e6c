//===- Pipelines.h - the phases of a compilation, as one table ----------------------------------------------------===//
#ifndef MOPT_PIPELINES_PIPELINES_H
#define MOPT_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

/// What phases must know of the target.
struct PhaseOptions {
  int64_t int8Width = 16; // columns of a panel of 8-bit weights (Panels.h)
};

/// A phase: what a module is after the passes of `build` ran on one of the phase before.
struct Phase {
  const char *name, *text;
  void (*build)(OpPassManager &, const PhaseOptions &);
};
/// imported, normalized, pruned, quantized, fused, grouped, kernels, buffers. The phase after the last is `llvm`: step
/// functions in the LLVM dialect, made together with the plan (Compile.h).
ArrayRef<Phase> phases();
constexpr llvm::StringLiteral llvmPhase = "llvm";
/// Position of a phase, or nothing. `llvm` is the number of phases.
std::optional<unsigned> findPhase(StringRef name);
/// The phase a module is in, by the ops it holds: for entering in the middle.
unsigned phaseOf(ModuleOp module);

/// Runs --mopt-set-requantize on a module, before its phases: "float" or "fixed". Reports what is refused.
LogicalResult setRequantize(ModuleOp module, StringRef mode);

/// All dialects and interfaces a compilation needs.
void registerDialects(DialectRegistry &registry);
/// All mopt passes, and each phase as a pipeline `mopt-to-<phase>` that runs from `imported`. For mopt-opt.
void registerPasses();

} // namespace mopt
#endif
