//===- Memory.h - memcpy, memmove and memset of an artifact -------------------------------------------------------===//
#ifndef MOPT_LIB_CODEGEN_MEMORY_H
#define MOPT_LIB_CODEGEN_MEMORY_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace mopt {

bool isMemoryFunction(llvm::StringRef name);
/// Defines them, so that they are optimized with the rest. Fails if the module has another function of such a name.
bool addMemoryFunctions(llvm::Module &module, std::string &error);
/// Removes them unless something is left that may need them, and makes what stays internal.
void dropUnusedMemoryFunctions(llvm::Module &module);

} // namespace mopt
#endif
