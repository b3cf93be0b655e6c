//===- Grouping.h - groups and what may stand in them -------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_GROUPING_GROUPING_H
#define MOPT_TRANSFORMS_GROUPING_GROUPING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Support/LLVM.h"

namespace mopt {
#define GEN_PASS_DECL
#include "mopt/Transforms/Grouping/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "mopt/Transforms/Grouping/Passes.h.inc"

/// Whether the loop emitter can run an elementwise op: in every axis each operand has the size of the result or 1, and
/// this is known now.
bool isLoopElementwise(Operation *op);
/// The root a non-elementwise op gives its group: contraction, conv, reduction, norm, movement, recurrent, quant, or
/// "none" for an elementwise op whose broadcasting is known only at run time (its reference function runs).
StringRef rootOf(Operation *op);

} // namespace mopt
#endif
