//===- Kernels.cpp - which roots have a kernel of their own --------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "mopt/Transforms/Grouping/Grouping.h"

namespace mopt {
namespace {

bool isFloat(Value value) {
  RankedTensorType type = tensorOf(value);
  return type && type.getElementType().isF32();
}

bool isConstant(Value value) { return value.getDefiningOp<ConstantOp>() && tensorOf(value).hasStaticShape(); }

/// Batch axes of an operand are those of the result, or 1, and this is known now.
bool batchFits(ArrayRef<DimExpr> own, ArrayRef<DimExpr> result) {
  if (own.size() > result.size())
    return false;
  for (auto [a, b] : llvm::zip_equal(own, result.take_back(own.size())))
    if (!a || !b || (a != b && !a.isConstant(1)))
      return false;
  return true;
}

bool matmulHasKernel(MatMulOp op) {
  SmallVector<DimExpr> a = dimsOf(op.getA()), b = dimsOf(op.getB()), y = dimsOf(op.getY());
  return a.size() >= 2 && b.size() >= 2 && a.back() && a.back() == b[b.size() - 2] && a[a.size() - 2] &&
         batchFits(ArrayRef(a).drop_back(2), ArrayRef(y).drop_back(2)) &&
         batchFits(ArrayRef(b).drop_back(2), ArrayRef(y).drop_back(2)) &&
         // A matrix that is used for every batch index is packed once.
         (!isConstant(op.getB()) || tensorOf(op.getB()).getNumElements() > 0);
}

bool gemmHasKernel(GemmOp op) {
  SmallVector<DimExpr> a = dimsOf(op.getA()), b = dimsOf(op.getB()), y = dimsOf(op.getY());
  if (a.size() != 2 || b.size() != 2 || op.getTransA() || op.getAlpha().convertToFloat() != 1 ||
      op.getBeta().convertToFloat() != 1)
    return false;
  if (!a[1] || a[1] != b[op.getTransB() ? 1 : 0] || (isConstant(op.getB()) && !tensorOf(op.getB()).getNumElements()))
    return false;
  return isAbsent(op.getC()) || (isFloat(op.getC()) && batchFits(dimsOf(op.getC()), y));
}

bool convHasKernel(ConvOp op) {
  auto layout = op->getAttrOfType<IntegerAttr>("channels_last");
  if (!layout || !layout.getInt() || !isConstant(op.getW()))
    return false;
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape();
  RankedTensorType x = tensorOf(op.getX()), y = tensorOf(op.getY());
  int64_t group = op.getGroup();
  // Groups of one channel are depthwise convolutions, which are no matrix products.
  return x.getRank() >= 3 && !x.isDynamicDim(x.getRank() - 1) && tensorOf(op.getW()).getNumElements() && w[1] * group ==
         x.getDimSize(x.getRank() - 1) && y.getDimSize(y.getRank() - 1) == w[0] && w[0] % group == 0 &&
         (group == 1 || (w[1] >= 4 && w[0] / group >= 4)) && leadingPads(op) &&
         (isAbsent(op.getB()) || isFloat(op.getB())) && !llvm::is_contained(dimsOf(op.getY()), DimExpr());
}

/// Windows of the result that do not overlap: a matrix product for each tap.
bool convTransposeHasKernel(ConvTransposeOp op) {
  auto layout = op->getAttrOfType<IntegerAttr>("channels_last");
  if (!layout || !layout.getInt() || !isConstant(op.getW()) || op.getGroup() != 1 || op.getOutputShape() ||
      (op.getAutoPad() != "NOTSET" && op.getAutoPad() != "VALID"))
    return false;
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape();
  SmallVector<DimExpr> x = dimsOf(op.getX()), y = dimsOf(op.getY());
  if (x.size() < 3 || x.size() != w.size() || tensorOf(op.getW()).getNumElements() == 0 || !x.back().isConstant(w[0]) ||
      !y.back().isConstant(w[1]) || (!isAbsent(op.getB()) && !isFloat(op.getB())))
    return false;
  ArrayRef<int64_t> kernel = w.drop_front(2);
  auto allAre = [](std::optional<ArrayRef<int64_t>> list, int64_t value) {
    return !list || llvm::all_of(*list, [=](int64_t v) { return v == value; });
  };
  SmallVector<int64_t> ones(kernel.size(), 1);
  if (ArrayRef(op.getStrides().value_or(ones)) != kernel || !allAre(op.getDilations(), 1) || !allAre(op.getOutputPadding(), 0) ||
      (op.getAutoPad() == "NOTSET" && !allAre(op.getPads(), 0)))
    return false;
  for (auto [d, size] : llvm::enumerate(kernel))
    if (!x[d + 1] || y[d + 1] != x[d + 1] * size)
      return false;
  return x[0] && x[0] == y[0];
}

template <typename Pool> std::optional<PoolWindow> windowOf(Pool op) {
  SmallVector<DimExpr> x = dimsOf(op.getX()), y = dimsOf(op.getY());
  if (!isFloat(op.getX()) || !op.getKernelShape() || x.size() < 3 || x.size() > 5 || llvm::is_contained(x, DimExpr()) ||
      llvm::is_contained(y, DimExpr()))
    return std::nullopt;
  size_t axes = x.size() - 2;
  SmallVector<int64_t> ones(axes, 1);
  auto layout = op->template getAttrOfType<IntegerAttr>("channels_last");
  PoolWindow w;
  w.kernel.assign(op.getKernelShape()->begin(), op.getKernelShape()->end());
  w.strides.assign(op.getStrides().value_or(ones));
  w.dilations.assign(op.getDilations().value_or(ones));
  w.channelsLast = layout && layout.getInt();
  SmallVector<int64_t> pads(2 * axes, 0);
  if (op.getAutoPad() == "NOTSET" && op.getPads())
    pads.assign(op.getPads()->begin(), op.getPads()->end());
  if (w.kernel.size() != axes || w.strides.size() != axes || w.dilations.size() != axes || pads.size() != 2 * axes)
    return std::nullopt;
  for (int64_t pad : pads)
    w.pads.push_back(DimExpr::constant(op->getContext(), pad));
  if (op.getAutoPad().starts_with("SAME"))
    for (size_t d = 0; d < axes; ++d) {
      size_t axis = d + (w.channelsLast ? 1 : 2);
      DimExpr total = (y[axis] - 1) * w.strides[d] + ((w.kernel[d] - 1) * w.dilations[d] + 1) - x[axis];
      total = DimExpr::max(total, DimExpr::constant(op->getContext(), 0));
      DimExpr less = total.floorDiv(2);
      w.pads[d] = op.getAutoPad() == "SAME_UPPER" ? less : total - less;
      w.pads[d + axes] = total - w.pads[d];
    }
  if (llvm::is_contained(w.pads, DimExpr()))
    return std::nullopt;
  return w;
}

} // namespace

std::optional<PoolWindow> poolWindow(Operation *pool) {
  if (auto op = dyn_cast<MaxPoolOp>(pool); op && op.getIndices().use_empty())
    return windowOf(op);
  std::optional<PoolWindow> window;
  if (auto op = dyn_cast<AveragePoolOp>(pool))
    if ((window = windowOf(op)))
      window->countPads = op.getCountIncludePad();
  return window;
}

std::optional<SmallVector<int64_t>> leadingPads(Operation *operation) {
  auto op = cast<ConvOp>(operation);
  ArrayRef<int64_t> kernel = tensorOf(op.getW()).getShape().drop_front(2);
  size_t axes = kernel.size();
  SmallVector<int64_t> pads(axes, 0);
  if (op.getAutoPad() == "VALID")
    return pads;
  if (op.getAutoPad() == "NOTSET") {
    if (op.getPads() && op.getPads()->size() == 2 * axes)
      llvm::copy(op.getPads()->take_front(axes), pads.begin());
    return pads;
  }
  // SAME: the pads follow from the size of the axis.
  ArrayRef<int64_t> x = tensorOf(op.getX()).getShape();
  bool last = op->getAttrOfType<IntegerAttr>("channels_last") && op->getAttrOfType<IntegerAttr>("channels_last").getInt();
  for (size_t d = 0; d < axes; ++d) {
    int64_t stride = op.getStrides() ? (*op.getStrides())[d] : 1;
    int64_t span = (kernel[d] - 1) * (op.getDilations() ? (*op.getDilations())[d] : 1) + 1;
    int64_t total = span - 1; // of stride 1, whatever the size
    if (stride != 1) {
      int64_t size = x[d + (last ? 1 : 2)];
      if (ShapedType::isDynamic(size))
        return std::nullopt;
      total = std::max<int64_t>(0, ((size + stride - 1) / stride - 1) * stride + span - size);
    }
    pads[d] = op.getAutoPad() == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return pads;
}

bool hasKernel(Operation *root) {
  if (movesOf(root) || poolWindow(root) || (resizeScales(root) && isFloat(root->getOperand(0))))
    return true;
  if (root->getNumResults() != 1 || root->getNumOperands() < 2 || !isFloat(root->getResult(0)) ||
      !isFloat(root->getOperand(0)) || !isFloat(root->getOperand(1)))
    return false;
  if (auto matmul = dyn_cast<MatMulOp>(root))
    return matmulHasKernel(matmul);
  if (auto gemm = dyn_cast<GemmOp>(root))
    return gemmHasKernel(gemm);
  if (auto conv = dyn_cast<ConvOp>(root))
    return convHasKernel(conv);
  if (auto conv = dyn_cast<ConvTransposeOp>(root))
    return convTransposeHasKernel(conv);
  return false;
}

bool takesEpilogue(Operation *root) {
  if (!isFloat(root->getResult(0)))
    return false;
  // Of several moves each knows its own part of the result only.
  std::optional<SmallVector<Move>> moves = movesOf(root);
  return !moves || (moves->size() == 1 && moves->front().sizes == dimsOf(root->getResult(0)));
}

bool fitsEpilogue(Operation *root, ArrayRef<DimExpr> dims) {
  SmallVector<DimExpr> result = dimsOf(root->getResult(0));
  if (!batchFits(dims, result))
    return false;
  if (!isa<ConvOp>(root))
    return true;
  // A convolution counts the pixels of an image as one axis: an operand moves along all spatial axes, or along none.
  size_t rank = result.size();
  unsigned full = 0, still = 0;
  for (size_t d = 1; d + 1 < rank; ++d) {
    bool moves = d + dims.size() >= rank && dims[d + dims.size() - rank] == result[d];
    bool matters = !result[d].isConstant(1);
    full += moves && matters;
    still += !moves && matters;
  }
  return !full || !still;
}

} // namespace mopt
