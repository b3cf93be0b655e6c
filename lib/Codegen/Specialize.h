//===- Specialize.h - reference functions for the descriptors of one step -----------------------------------------===//
#ifndef MOPT_LIB_CODEGEN_SPECIALIZE_H
#define MOPT_LIB_CODEGEN_SPECIALIZE_H

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class Function;
class Module;
class TargetMachine;
} // namespace llvm

namespace mopt {

/// Inlines what is marked alwaysinline into `roots`, one level at a time from the top, folding in between.
void specialize(llvm::Module &module, llvm::ArrayRef<llvm::Function *> roots, llvm::TargetMachine &machine);

} // namespace mopt
#endif
