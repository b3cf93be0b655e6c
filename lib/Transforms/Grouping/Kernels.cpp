//===- Kernels.cpp - which roots have a kernel of their own --------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/Norm.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "mopt/Transforms/Grouping/Quantized.h"
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

/// Why a matrix operand does not fit; empty if it does.
std::string whyNotMatrix(Value b) {
  if (isConstant(b) && !tensorOf(b).getNumElements())
    return "a constant operand is empty";
  return "";
}

std::string whyNotMatMul(Value left, Value right, Value result) {
  SmallVector<DimExpr> a = dimsOf(left), b = dimsOf(right), y = dimsOf(result);
  if (a.size() < 2 || b.size() < 2)
    return "an operand is a vector, not a matrix";
  if (!a.back() || a.back() != b[b.size() - 2])
    return "the inner sizes are not known to be equal: " + a.back().str() + " and " + b[b.size() - 2].str();
  if (!batchFits(ArrayRef(a).drop_back(2), ArrayRef(y).drop_back(2)) ||
      !batchFits(ArrayRef(b).drop_back(2), ArrayRef(y).drop_back(2)))
    return "whether its batch axes broadcast is known only when the model runs";
  return whyNotMatrix(right);
}
std::string whyNot(MatMulOp op) { return whyNotMatMul(op.getA(), op.getB(), op.getY()); }

std::string whyNot(GemmOp op) {
  SmallVector<DimExpr> a = dimsOf(op.getA()), b = dimsOf(op.getB()), y = dimsOf(op.getY());
  if (a.size() != 2 || b.size() != 2)
    return "an operand is not a matrix";
  if (op.getTransA())
    return "A is transposed";
  if (op.getAlpha().convertToFloat() != 1 || op.getBeta().convertToFloat() != 1)
    return "alpha or beta is not 1";
  if (!a[1] || a[1] != b[op.getTransB() ? 1 : 0])
    return "the inner sizes are not known to be equal";
  if (!isAbsent(op.getC()) && (!isFloat(op.getC()) || !batchFits(dimsOf(op.getC()), y)))
    return "whether C broadcasts is known only when the model runs";
  return whyNotMatrix(op.getB());
}

/// conv, conv_integer and qlinear_conv.
std::string whyNotConv(Operation *op, Value weights) {
  if (!isChannelsLast(op))
    return "its channels are not the last axis";
  if (!isConstant(weights) || !tensorOf(weights).getNumElements())
    return "its weights are not constant";
  ArrayRef<int64_t> w = tensorOf(weights).getShape();
  RankedTensorType x = tensorOf(op->getOperand(0)), y = tensorOf(op->getResult(0));
  int64_t group = attrInt(op, "group");
  if (x.getRank() < 3 || w[1] * group != x.getDimSize(x.getRank() - 1) || y.getDimSize(y.getRank() - 1) != w[0] ||
      w[0] % group)
    return "its number of channels is known only when the model runs";
  // One channel in and out: depthwise. Narrow groups of other kinds would fill a panel with zeros.
  bool depthwise = w[1] == 1 && w[0] == group;
  if (group != 1 && depthwise && !isa<ConvOp>(op))
    return "the kernel for one channel in and out is for f32 only";
  if (group != 1 && !depthwise && (w[1] < 4 || w[0] / group < 4))
    return "its groups are narrow: " + std::to_string(w[1]) + " channels in, " + std::to_string(w[0] / group) + " out";
  if (!leadingPads(op))
    return "auto_pad with a stride, over a size that is known only when the model runs";
  if (llvm::is_contained(dimsOf(op->getResult(0)), DimExpr()))
    return "a size of its result has no name";
  return "";
}
std::string whyNot(ConvOp op) {
  if (!isAbsent(op.getB()) && !isFloat(op.getB()))
    return "its bias is not f32";
  return whyNotConv(op, op.getW());
}

std::string whyNot(ConvTransposeOp op) {
  if (!isChannelsLast(op))
    return "its channels are not the last axis";
  if (!isConstant(op.getW()) || !tensorOf(op.getW()).getNumElements())
    return "its weights are not constant";
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape(), kernel = w.drop_front(2);
  SmallVector<DimExpr> x = dimsOf(op.getX()), y = dimsOf(op.getY());
  auto allAre = [](std::optional<ArrayRef<int64_t>> list, int64_t value) {
    return !list || llvm::all_of(*list, [=](int64_t v) { return v == value; });
  };
  SmallVector<int64_t> ones(kernel.size(), 1);
  if (op.getGroup() != 1 || ArrayRef(op.getStrides().value_or(ones)) != kernel || !allAre(op.getDilations(), 1))
    return "its windows overlap or have groups";
  if (op.getOutputShape() || !allAre(op.getOutputPadding(), 0) || op.getAutoPad().starts_with("SAME") ||
      (op.getAutoPad() == "NOTSET" && !allAre(op.getPads(), 0)))
    return "its result is padded or cut";
  if (!isAbsent(op.getB()) && !isFloat(op.getB()))
    return "its bias is not f32";
  bool fits = x.size() == w.size() && x.size() >= 3 && x.front() && x.front() == y.front() && x.back().isConstant(w[0]) &&
              y.back().isConstant(w[1]);
  for (size_t d = 0; fits && d < kernel.size(); ++d)
    fits = x[d + 1] && y[d + 1] == x[d + 1] * kernel[d];
  return fits ? "" : "the size of its result is known only when the model runs";
}

} // namespace

template <class Op> static std::optional<SmallVector<int64_t>> leadingPadsOf(Op op) {
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
  bool last = isChannelsLast(op);
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
std::optional<SmallVector<int64_t>> leadingPads(Operation *operation) {
  return llvm::TypeSwitch<Operation *, std::optional<SmallVector<int64_t>>>(operation)
      .Case<ConvOp, ConvIntegerOp, QLinearConvOp>([](auto op) { return leadingPadsOf(op); });
}

SmallVector<int64_t> transposeOrder(Operation *operation) {
  auto op = cast<TransposeOp>(operation);
  if (op.getPerm())
    return SmallVector<int64_t>(*op.getPerm());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(op.getData()).getRank()));
  std::reverse(order.begin(), order.end());
  return order;
}

std::optional<SmallVector<int64_t>> rowAxes(Operation *root) {
  int64_t rank = tensorOf(root->getOperand(0)) ? tensorOf(root->getOperand(0)).getRank() : 0;
  auto range = [](int64_t first, int64_t last) { return llvm::to_vector(llvm::seq<int64_t>(first, std::max(first, last))); };
  auto spatial = [&] { return isChannelsLast(root) ? range(1, rank - 1) : range(2, rank); };
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
      .Case<GlobalAveragePoolOp, GlobalMaxPoolOp, GlobalLpPoolOp, InstanceNormOp>(
          [&](Operation *) -> Result { return spatial(); })
      .Case<SoftmaxOp, LogSoftmaxOp>([&](auto op) { return softmax(op.getAxis(), op.getFlatten()); })
      .Case<LayerNormOp, RMSNormOp>([&](auto op) { return from(op.getAxis()); })
      .Case([&](GroupNormOp) -> Result { return range(1, rank); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Why an op that combines elements along axes has no kernel.
static std::string whyNoRows(Operation *root) {
  SmallVector<DimExpr> x = dimsOf(root->getOperand(0)), y = dimsOf(root->getResult(0));
  if (llvm::is_contained(x, DimExpr()) || llvm::is_contained(y, DimExpr()))
    return "a size has no name";
  if (!rowAxes(root))
    return "its axes are known only when the model runs";
  for (Value result : root->getResults().drop_front())
    if (!result.use_empty())
      return "its statistics are read too";
  auto affine = [&](Value value) { return isAbsent(value) || (isFloat(value) && batchFits(dimsOf(value), x)); };
  bool fits = llvm::TypeSwitch<Operation *, bool>(root)
                  .Case([](GlobalLpPoolOp op) { return op.getP() == 1 || op.getP() == 2; })
                  .Case([&](LayerNormOp op) { return affine(op.getScale()) && affine(op.getB()); })
                  .Case([&](RMSNormOp op) { return affine(op.getScale()); })
                  .Case([](InstanceNormOp op) { return isFloat(op.getScale()) && isFloat(op.getB()); })
                  .Case([&](GroupNormOp op) {
                    auto channels = x[isChannelsLast(op) ? x.size() - 1 : 1].asConstant();
                    auto groups = static_cast<int64_t>(op.getNumGroups());
                    auto perChannel = [&](Value value) {
                      SmallVector<DimExpr> dims = dimsOf(value);
                      return isFloat(value) && dims.size() == 1 && channels && dims[0].isConstant(*channels);
                    };
                    return perChannel(op.getScale()) && perChannel(op.getBias()) && !op.getScalePerGroup() && groups > 0 &&
                           *channels % groups == 0;
                  })
                  .Default(true);
  return fits ? "" : "its scale, bias, norm or groups are not what the kernel takes";
}

/// Why a gather has no kernel: one of constant indices is a move, others need their types and sizes known.
static std::string whyNoGather(GatherOp op) {
  if (movesOf(op))
    return "";
  RankedTensorType data = tensorOf(op.getData()), indices = tensorOf(op.getIndices());
  int64_t axis = static_cast<int64_t>(op.getAxis());
  if (axis < -data.getRank() || axis >= data.getRank())
    return "its axis is outside of its data";
  if (!llvm::is_contained({8, 16, 32, 64}, storedBits(data.getElementType())))
    return "its elements are narrower than a byte, or wider than 8";
  if (!indices.getElementType().isSignlessInteger(32) && !indices.getElementType().isSignlessInteger(64))
    return "its indices are not i32 or i64";
  for (Value value : {Value(op.getData()), Value(op.getIndices()), Value(op.getOutput())})
    if (llvm::is_contained(dimsOf(value), DimExpr()))
      return "a size has no name";
  return "";
}

bool joinsMatMul(Operation *operation, Operation *root) {
  auto transpose = dyn_cast<TransposeOp>(operation);
  auto matmul = dyn_cast<MatMulOp>(root);
  if (!transpose || !matmul || !isFloat(transpose.getData()))
    return false;
  SmallVector<int64_t> order = transposeOrder(transpose);
  bool keepsLast = order.back() == static_cast<int64_t>(order.size()) - 1;
  if (transpose.getData() == matmul.getY() || !transpose->isBeforeInBlock(matmul))
    return keepsLast;
  return transpose.getTransposed() == matmul.getB() ? transpose.getTransposed() != matmul.getA() : keepsLast;
}

Operation *rootIn(GroupOp group) {
  Operation *root = nullptr;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!isLoopElementwise(&op) && (!root || isa<TransposeOp>(root) || !isa<TransposeOp>(op)))
      root = &op;
  return root;
}

static bool isContraction(Operation *op) { return isa<MatMulOp, GemmOp, ConvOp, ConvTransposeOp>(op); }
static bool isMove(Operation *op) {
  return isa<TransposeOp, ExpandOp, TileOp, SliceOp, ConcatOp, PadOp, DepthToSpaceOp, SpaceToDepthOp>(op);
}
static bool isRowOp(Operation *op) {
  return isa<ReduceOp, GlobalAveragePoolOp, GlobalMaxPoolOp, GlobalLpPoolOp, SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp,
             InstanceNormOp, GroupNormOp>(op);
}

std::string whyNoKernel(Operation *root) {
  if (const OpRow *row = findOp(root); row && row->kind == OpKind::elementwise)
    return "whether its operands broadcast is known only when the model runs";
  if (auto gather = dyn_cast<GatherOp>(root))
    return whyNoGather(gather);
  if (isMove(root) || (isa<ResizeOp>(root) && movesOf(root)))
    return movesOf(root) ? "" : "what it moves is known only when the model runs, or its mode has no kernel";
  if (std::optional<QuantizedOperands> op = quantizedOperands(root)) {
    std::string why = whyNotQuantized(root);
    return !why.empty() ? why
           : op->conv   ? whyNotConv(root, op->weights)
                        : whyNotMatMul(op->a, op->weights, root->getResult(0));
  }
  if (!isContraction(root) && !isRowOp(root) && !isa<MaxPoolOp, AveragePoolOp, ResizeOp>(root))
    return ("no kernel is generated for " + root->getName().stripDialect()).str();
  if (!isFloat(root->getResult(0)) || !isFloat(root->getOperand(0)) ||
      (isContraction(root) && !isFloat(root->getOperand(1))))
    return "kernels are generated for f32 only";
  if (isRowOp(root))
    return whyNoRows(root);
  if (isa<MaxPoolOp, AveragePoolOp>(root))
    return poolWindow(root) ? "" : "its indices are read, its sizes have no names, or it has more than 3 spatial axes";
  if (isa<ResizeOp>(root))
    return resizeScales(root) ? "" : "its mode has no kernel, or its scales are known only when the model runs";
  return llvm::TypeSwitch<Operation *, std::string>(root).Case<MatMulOp, GemmOp, ConvOp, ConvTransposeOp>(
      [](auto op) { return whyNot(op); });
}

bool hasKernel(Operation *root) { return root->getNumResults() && whyNoKernel(root).empty(); }

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
  // Axes that a kernel counts as one: an operand moves along all of them, or along none. A convolution does so with the
  // pixels of an image, a gather with what an index takes.
  size_t rank = result.size(), first = rank, last = rank;
  if (isa<ConvOp>(root)) {
    first = 1;
    last = rank - 1;
  } else if (auto gather = dyn_cast<GatherOp>(root); gather && !movesOf(root)) {
    int64_t axis = static_cast<int64_t>(gather.getAxis()), axes = tensorOf(gather.getData()).getRank();
    first = (axis < 0 ? axis + axes : axis) + tensorOf(gather.getIndices()).getRank();
  }
  unsigned full = 0, still = 0;
  for (size_t d = first; d < last; ++d) {
    bool moves = d + dims.size() >= rank && dims[d + dims.size() - rank] == result[d];
    bool matters = !result[d].isConstant(1);
    full += moves && matters;
    still += !moves && matters;
  }
  return !full || !still;
}

} // namespace mopt
