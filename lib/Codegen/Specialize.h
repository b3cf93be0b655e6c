//===- Specialize.h - reference functions for the descriptors of one step -----------------------------------------===//
#ifndef MOPT_LIB_CODEGEN_SPECIALIZE_H
#define MOPT_LIB_CODEGEN_SPECIALIZE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace llvm {
class Function;
class Module;
class TargetMachine;
} // namespace llvm

namespace mopt {

/// Inlines what is marked alwaysinline into `roots`, one level at a time from the top, folding in between. `progress` is
/// told the number of roots that are done.
void specialize(llvm::Module &module, llvm::ArrayRef<llvm::Function *> roots, llvm::TargetMachine &machine,
                llvm::function_ref<void(uint64_t done)> progress);

} // namespace mopt
#endif
