//===- Kernels.cpp - which roots have a kernel of their own --------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/Norm.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "llvm/ADT/TypeSwitch.h"

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

} // namespace

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

std::optional<SmallVector<int64_t>> rowAxes(Operation *root) {
  int64_t rank = tensorOf(root->getOperand(0)) ? tensorOf(root->getOperand(0)).getRank() : 0;
  auto range = [](int64_t first, int64_t last) { return llvm::to_vector(llvm::seq<int64_t>(first, std::max(first, last))); };
  auto spatial = [&] { return channelsLast(root) ? range(1, rank - 1) : range(2, rank); };
  using Result = std::optional<SmallVector<int64_t>>;
  auto softmax = [&](int64_t axis, bool flatten) -> Result {
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank || (axis == rank && !flatten))
      return std::nullopt;
    return flatten ? range(axis, rank) : range(axis, axis + 1);
  };
  auto from = [&](int64_t axis) -> Result {
    axis += axis < 0 ? rank : 0;
    return axis < 0 || axis >= rank ? Result() : range(axis, rank);
  };
  return llvm::TypeSwitch<Operation *, Result>(root)
      .Case([&](ReduceOp op) -> Result {
        SmallVector<int64_t> axes;
        if (!isAbsent(op.getAxes())) {
          auto values = constantInts(op.getAxes());
          if (!values)
            return std::nullopt;
          axes = *values;
        }
        for (int64_t &axis : axes) {
          axis += axis < 0 ? rank : 0;
          if (axis < 0 || axis >= rank)
            return std::nullopt;
        }
        llvm::sort(axes);
        return axes.empty() && !op.getNoopWithEmptyAxes() ? range(0, rank) : axes;
      })
      .Case<GlobalAveragePoolOp, GlobalMaxPoolOp, GlobalLpPoolOp, InstanceNormOp>([&](Operation *) -> Result { return spatial(); })
      .Case<SoftmaxOp, LogSoftmaxOp>([&](auto op) { return softmax(op.getAxis(), op.getFlatten()); })
      .Case<LayerNormOp, RMSNormOp>([&](auto op) { return from(op.getAxis()); })
      .Case([&](GroupNormOp) -> Result { return range(1, rank); })
      .Default([](Operation *) { return std::nullopt; });
}

bool channelsLast(Operation *op) {
  auto layout = op->getAttrOfType<IntegerAttr>("channels_last");
  return layout && layout.getInt();
}

/// An op whose kernel combines elements along axes.
static bool rowsHaveKernel(Operation *root) {
  SmallVector<DimExpr> x = dimsOf(root->getOperand(0)), y = dimsOf(root->getResult(0));
  if (llvm::is_contained(x, DimExpr()) || llvm::is_contained(y, DimExpr()) || !rowAxes(root))
    return false;
  auto affine = [&](Value value) { return isAbsent(value) || (isFloat(value) && batchFits(dimsOf(value), x)); };
  return llvm::TypeSwitch<Operation *, bool>(root)
      .Case([](GlobalLpPoolOp op) { return op.getP() == 1 || op.getP() == 2; })
      .Case([&](LayerNormOp op) { return affine(op.getScale()) && affine(op.getB()); })
      .Case([&](RMSNormOp op) { return affine(op.getScale()); })
      .Case([](InstanceNormOp op) { return isFloat(op.getScale()) && isFloat(op.getB()); })
      .Case([&](GroupNormOp op) {
        auto channels = x[channelsLast(op) ? x.size() - 1 : 1].asConstant();
        auto groups = static_cast<int64_t>(op.getNumGroups());
        return isFloat(op.getScale()) && isFloat(op.getBias()) && !op.getScalePerGroup() && channels && groups > 0 &&
               *channels % groups == 0;
      })
      .Default(true);
}

bool hasKernel(Operation *root) {
  if (root->getNumResults() == 0 || root->getNumOperands() == 0 || !isFloat(root->getResult(0)) || !isFloat(root->getOperand(0)))
    return false;
  for (Value result : root->getResults().drop_front())
    if (!result.use_empty()) // statistics of a norm
      return false;
  return llvm::TypeSwitch<Operation *, bool>(root)
      .Case([](MatMulOp op) { return isFloat(op.getB()) && matmulHasKernel(op); })
      .Case([](GemmOp op) { return isFloat(op.getB()) && gemmHasKernel(op); })
      .Case([](ConvOp op) { return isFloat(op.getW()) && convHasKernel(op); })
      .Case<ReduceOp, GlobalAveragePoolOp, GlobalMaxPoolOp, GlobalLpPoolOp, SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp,
            InstanceNormOp, GroupNormOp>([](Operation *op) { return rowsHaveKernel(op); })
      .Default(false);
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
