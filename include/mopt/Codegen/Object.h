//===- Object.h - from an LLVM module to machine code -------------------------------------------------------------===//
#ifndef MOPT_CODEGEN_OBJECT_H
#define MOPT_CODEGEN_OBJECT_H

#include "mopt/Codegen/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <functional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace mopt {

enum class EmitKind {
  object, // relocatable ELF
  assembly,
  llvmIr // text, after optimization
};

struct ObjectOptions {
  /// Bitcode that defines what the module calls by name (mopt_ref_*). Empty: none.
  llvm::ArrayRef<uint8_t> reference;
  unsigned optLevel = 3; // 0 to 3
  bool unroll = true;    // off: smaller code, about 7 % slower (measured on softmax)
  /// Called while functions pass a stage: "specialize", "optimize", "emit".
  std::function<void(llvm::StringRef stage, uint64_t done, uint64_t total)> progress;
};

struct ObjectStats {
  double linkMs = 0, specializeMs = 0, optimizeMs = 0, emitMs = 0; // optimizeMs includes specializeMs
  uint64_t functions = 0;                                          // after optimization
  uint64_t instructionsBefore = 0;                                 // of IR, after linking the reference functions
  uint64_t instructions = 0;                                       // of IR, after optimization
};

/// The reference functions built into the compiler, for 64-bit machines.
llvm::ArrayRef<uint8_t> referenceBitcode();

/// Links reference functions into `module`, inlines them into the functions that call them, optimizes, and emits.
/// Everything but `mopt_module` becomes internal. The result calls nothing by name and the only name it may use without
/// defining it is `mopt_weights`. A failure is a fault of the compiler; `error` says which (MOPT-P1nn), `out` is then empty.
/// The module is changed in either case. Uses one thread.
bool optimizeAndEmit(llvm::Module &module, const TargetSpec &target, EmitKind kind, const ObjectOptions &options,
                     llvm::SmallVectorImpl<char> &out, ObjectStats *stats, std::string &error);

} // namespace mopt
#endif
