//===- Compile.h - from a module to an artifact -------------------------------------------------------------------===//
#ifndef MOPT_PIPELINES_COMPILE_H
#define MOPT_PIPELINES_COMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mopt/Support/LLVM.h"
#include <functional>
#include <string>
#include <vector>

namespace mopt {

struct CompileReport {
  struct PhaseTime {
    std::string name;
    double milliseconds = 0;
  };
  /// A step of the plan, for `mopt explain`.
  struct Step {
    std::string name, root; // "matmul+add"; contraction, conv, none (elementwise), ...
    std::vector<std::string> nodes;
    bool generated = false; // code of its own, not a reference function
    std::string why;        // why not, or why it is not in the epilogue of the step before; empty: nothing to say
    int64_t macs = 0, bytes = 0;
    double share = 0; // of the time of a run on one core, estimated
  };
  std::vector<Step> plan;
  std::vector<PhaseTime> phases; // "package: ..." are parts of "package"
  uint64_t steps = 0, functions = 0, buffers = 0, symbols = 0;
  uint64_t weightBytes = 0, codeBytes = 0, fileBytes = 0;
  int64_t arenaBytes = -1; // peak of a model without symbols, -1 for others
  std::string triple, cpu;
};

struct CompileOptions {
  std::string triple;           // empty: this machine
  std::string cpu;              // empty: native here, a baseline elsewhere; see TargetSpec
  std::string requantize;       // float or fixed; empty: as the module says, which is float for ONNX, and fixed on NPUs
  std::string toPhase = "llvm"; // stop after this phase
  /// so (for a GPU: the folder with its shaders), obj, llvm, asm, mlir (step functions), plan (nothing: for the report); nothing is written before phase llvm.
  std::string emit = "so";
  /// Register tiles, {rows, panels of 16 columns}: each adds a variant "tile_RxP" to the steps that have tiles. Rows are 1 to
  /// 8, panels 1 to 4.
  std::vector<std::pair<unsigned, unsigned>> tiles;
  std::string output;     // path
  int descriptor = -1;    // not -1: an open file that is written instead; it stays the caller's
  bool verifyEach = true; // run MLIR's verifier after every pass
  std::vector<std::pair<std::string, std::string>> recorded; // options to keep in the manifest, no paths
  /// Called when a phase ends; for progress.
  std::function<void(StringRef phase, double milliseconds)> onPhase;
  /// Called within the phases that take long: `done` of `total` functions have passed `stage`.
  std::function<void(StringRef stage, uint64_t done, uint64_t total)> onProgress;
  /// Called when the output is written and the report is complete, before the output gets its name. False drops the
  /// output; `error` then says why, with a code.
  std::function<bool(const CompileReport &report, std::string &error)> beforeCommit;
  /// Called with bytes of weights that are in the output and will not be read again.
  std::function<void(ArrayRef<uint8_t> bytes)> copied;
};

enum class CompileStatus { ok, badInput, internalFault };

/// Runs the phases after the one `module` is in, generates code and writes the output. Errors go to the context's
/// diagnostics, each with a code. The module is changed.
CompileStatus compile(ModuleOp module, const CompileOptions &options, CompileReport &report);

/// The report as JSON with sorted keys.
std::string toJson(const CompileReport &report);
/// What became of the model's ops, as JSON with sorted keys (docs/explain.md).
std::string explanationJson(const CompileReport &report);

} // namespace mopt
#endif
