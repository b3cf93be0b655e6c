//===- Passes.h - transforms of the graph -------------------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_PASSES_H
#define MOPT_TRANSFORMS_PASSES_H

#include "mopt/Support/LLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mopt {
#define GEN_PASS_DECL
#include "mopt/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "mopt/Transforms/Passes.h.inc"
} // namespace mopt
#endif
