//===- Grouping.h - groups and what may stand in them -------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_GROUPING_GROUPING_H
#define MOPT_TRANSFORMS_GROUPING_GROUPING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Dialect/Mopt/Mopt.h"
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

/// The root of a group: its op that is neither elementwise nor a transpose that joins another; null where all are elementwise.
Operation *rootIn(GroupOp group);
/// Whether a root has a kernel of its own, with an epilogue: its types, shapes and attributes are what the kernel takes.
/// Others run their reference function, in a group of their own.
bool hasKernel(Operation *root);
/// Why not, in words that follow "because"; empty if it has one.
std::string whyNoKernel(Operation *root);
/// Attribute of a group: why it runs a reference function, or why its elementwise ops are not in the epilogue of the op
/// before them. For `mopt explain`.
constexpr llvm::StringLiteral whyAttr = "mopt.why";
/// Whether that kernel also runs elementwise work on each element of the result.
bool takesEpilogue(Operation *root);
/// Whether an operand of the epilogue with these sizes can be read by the kernel of `root`, whose result it broadcasts to.
bool fitsEpilogue(Operation *root, ArrayRef<DimExpr> dims);
/// A transpose that a matrix product takes into its group: it reads its left operand, or writes its result, in another order,
/// with the last axis in its place; the right operand is packed anyway, whatever its order.
bool joinsMatMul(Operation *transpose, Operation *matmul);
/// Axis i of the result is axis order[i] of the operand.
SmallVector<int64_t> transposeOrder(Operation *transpose);
/// Axes that a reduction, global pooling, softmax or norm combines, ascending; nothing when only the run can tell. Of a
/// group norm the channels too, which are cut into groups.
std::optional<SmallVector<int64_t>> rowAxes(Operation *root);
/// Zeros before the first element of each spatial axis of a convolution; nothing when only the run can tell.
std::optional<SmallVector<int64_t>> leadingPads(Operation *conv);

/// What a pool's window is: lists of one number for each spatial axis; pads before each axis, then after.
struct PoolWindow {
  SmallVector<int64_t> kernel, strides, dilations;
  SmallVector<DimExpr> pads;
  bool channelsLast = false, countPads = false;
};
/// The window of a max_pool or average_pool that has a kernel.
std::optional<PoolWindow> poolWindow(Operation *pool);

/// How a resize with a kernel samples each axis: a scale, 0 where the axis stays, -1 where it is the quotient of the sizes.
std::optional<SmallVector<double>> resizeScales(Operation *resize);

/// A copy of a box of elements between strided places: the element at position i goes from from[0] + sum i[k] * from[1 + k] of
/// the source to the same of `to` in the result.
struct Move {
  Value source; // null: zeros
  SmallVector<DimExpr> sizes, from, to;
};
/// The moves that make the result of `op`, each element once; nothing when it does more than move elements, or when only the
/// run can tell which.
std::optional<SmallVector<Move>> movesOf(Operation *op);

} // namespace mopt
#endif
