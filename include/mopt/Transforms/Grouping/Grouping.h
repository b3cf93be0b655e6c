//===- Grouping.h - groups and what may stand in them -------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_GROUPING_GROUPING_H
#define MOPT_TRANSFORMS_GROUPING_GROUPING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Dialect/Mopt/DimExpr.h"
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

/// Whether a root has a kernel of its own, with an epilogue: its types, shapes and attributes are what the kernel takes.
/// Others run their reference function, in a group of their own.
bool hasKernel(Operation *root);
/// Whether an operand of the epilogue with these sizes can be read by the kernel of `root`, whose result it broadcasts to.
bool fitsEpilogue(Operation *root, ArrayRef<DimExpr> dims);
/// Axes that a reduction, global pooling, softmax or norm combines, ascending; nothing when only the run can tell. Of a
/// group norm the channels too, which are cut into groups.
std::optional<SmallVector<int64_t>> rowAxes(Operation *root);
/// Whether the channels of operand and result are the last axis, not the second one.
bool channelsLast(Operation *op);
/// Zeros before the first element of each spatial axis of a convolution; nothing when only the run can tell.
std::optional<SmallVector<int64_t>> leadingPads(Operation *conv);

} // namespace mopt
#endif
