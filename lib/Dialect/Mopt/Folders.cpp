//===- Folders.cpp - ops that are their operand, and algebra of moves ---------------------------------------------===//
//
// Constants are folded by a pass that runs the reference functions, not here: it decides by size what is worth folding.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/Elementwise.h"
#include "mopt/Dialect/Mopt/Movement.h"

namespace mopt {

/// An op that changes no element is its operand where the type stays.
static OpFoldResult foldView(Operation *op) {
  Value x = op->getOperand(0);
  return x.getType() == op->getResult(0).getType() ? OpFoldResult(x) : OpFoldResult();
}

OpFoldResult IdentityOp::fold(FoldAdaptor) { return foldView(*this); }
OpFoldResult CastOp::fold(FoldAdaptor) { return foldView(*this); }

/// The same for views that may change sizes: `?` without a name could stand for another size on each side.
static OpFoldResult foldResizingView(Operation *op) {
  bool known = llvm::all_of(dimsOf(op->getOperand(0)), [](DimExpr dim) { return static_cast<bool>(dim); });
  return known ? foldView(op) : OpFoldResult();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor) { return foldResizingView(*this); }
OpFoldResult FlattenOp::fold(FoldAdaptor) { return foldResizingView(*this); }
OpFoldResult SqueezeOp::fold(FoldAdaptor) { return foldResizingView(*this); }
OpFoldResult UnsqueezeOp::fold(FoldAdaptor) { return foldResizingView(*this); }

/// The permutation of a transpose with non-negative entries; without attribute the axes are reversed.
static SmallVector<int64_t> permutation(TransposeOp op) {
  int64_t rank = op.getData().getType().getRank();
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = op.getPermAttr() ? op.getPermAttr().asArrayRef()[i] : rank - 1 - i;
    perm.push_back(axis < 0 ? axis + rank : axis);
  }
  return perm;
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(permutation(*this)))
    if (axis != static_cast<int64_t>(i))
      return {};
  return foldView(*this);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return getInputs().size() == 1 ? foldView(*this) : OpFoldResult(); }

OpFoldResult ShapeOp::fold(FoldAdaptor) {
  auto [begin, end] = shapeRange(*this);
  ArrayRef<int64_t> sizes = getData().getType().getShape().slice(begin, end - begin);
  if (llvm::any_of(sizes, ShapedType::isDynamic) || getType().getShape() != ArrayRef<int64_t>{end - begin})
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(getType()), sizes);
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//
namespace {
/// transpose(transpose(x, p), q) = transpose(x, p[q]).
struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> p = permutation(inner), q = permutation(op), both;
    for (int64_t axis : q)
      both.push_back(p[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getData(), rewriter.getDenseI64ArrayAttr(both));
    return success();
  }
};

/// Of two views in a row only the outer's sizes count. An outer 0 copies an axis of the inner's result; it is followed
/// only where no axis is copied.
struct ReshapeOfView : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    Operation *inner = op.getData().getDefiningOp();
    if (!inner || !isa<ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(inner))
      return failure();
    auto shape = constantInts(op.getShape());
    if (!shape || (!op.getAllowzero() && llvm::is_contained(*shape, 0)))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, inner->getOperand(0)); });
    return success();
  }
};
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ComposeTransposes>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReshapeOfView>(context);
}

} // namespace mopt
