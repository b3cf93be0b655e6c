//===- Passes.h - transforms of the graph -------------------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_PASSES_H
#define MOPT_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Support/LLVM.h"
#include <map>

namespace mopt {
#define GEN_PASS_DECL
#include "mopt/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "mopt/Transforms/Passes.h.inc"

/// Replaces symbols by the sizes given for inputs, ShapedType::kDynamic for an axis that stays. Reports what does not fit.
LogicalResult bindShapes(ModuleOp module, const std::map<std::string, SmallVector<int64_t>> &shapes);
} // namespace mopt
#endif
