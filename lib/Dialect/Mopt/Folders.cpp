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

SmallVector<int64_t> TransposeOp::permutation() {
  int64_t rank = getData().getType().getRank();
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = getPermAttr() ? getPermAttr().asArrayRef()[i] : rank - 1 - i;
    perm.push_back(axis < 0 ? axis + rank : axis);
  }
  return perm;
}

bool movesUnitAxesOnly(ArrayRef<DimExpr> dims, ArrayRef<int64_t> perm) {
  int64_t before = -1;
  for (int64_t axis : perm) {
    if (dims[axis].isConstant(1))
      continue;
    if (axis < before)
      return false;
    before = axis;
  }
  return true;
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(permutation()))
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
    SmallVector<int64_t> p = inner.permutation(), q = op.permutation(), both;
    for (int64_t axis : q)
      both.push_back(p[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getData(), rewriter.getDenseI64ArrayAttr(both));
    return success();
  }
};

/// A transpose that leaves the order of elements is a view: a reshape where its sizes can be said, else the axes of size 1
/// are dropped and put in again.
struct TransposeOfUnits : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    SmallVector<DimExpr> from = dimsOf(op.getData()), to = dimsOf(op.getType());
    SmallVector<int64_t> perm = op.permutation(), shape, dropped, added;
    if (llvm::is_contained(from, DimExpr()) || !movesUnitAxesOnly(from, perm))
      return failure();
    auto list = [&](ArrayRef<int64_t> values) -> Value {
      auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, rewriter.getI64Type());
      return ConstantOp::create(rewriter, op.getLoc(), type, DenseElementsAttr::get(type, values));
    };
    unsigned unknown = 0;
    bool empty = false;
    for (auto [i, dim] : llvm::enumerate(to)) {
      auto size = dim.asConstant();
      bool copied = !size && perm[i] == static_cast<int64_t>(i);
      unknown += !size && !copied;
      empty |= size == 0;
      shape.push_back(size ? *size : copied ? 0 : -1);
      if (from[i].isConstant(1))
        dropped.push_back(i);
      if (dim.isConstant(1))
        added.push_back(i);
    }
    if (unknown <= 1 && !empty) {
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getData(), list(shape), /*allowzero=*/0);
      return success();
    }
    SmallVector<DimExpr> rest;
    for (DimExpr dim : from)
      if (!dim.isConstant(1))
        rest.push_back(dim);
    Type middle = tensorType(rest, op.getType().getElementType());
    Value squeezed = SqueezeOp::create(rewriter, op.getLoc(), middle, op.getData(), list(dropped));
    rewriter.replaceOpWithNewOp<UnsqueezeOp>(op, op.getType(), squeezed, list(added));
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
  patterns.add<ComposeTransposes, TransposeOfUnits>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReshapeOfView>(context);
}

} // namespace mopt
