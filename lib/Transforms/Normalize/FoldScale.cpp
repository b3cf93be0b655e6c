//===- FoldScale.cpp - scales and shifts of channels move into weights --------------------------------------------===//
//
// One walk from the first op to the last. What is folded into an op leaves that op where it was, so a chain (convolution,
// batch norm, scale, bias) folds link by link in the same walk. Products are taken in double and rounded once.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Elementwise.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/Norm.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Support/Checked.h"
#include "mopt/Transforms/Passes.h"
#include <cmath>

namespace mopt {
#define GEN_PASS_DEF_FOLDSCALE
#include "mopt/Transforms/Passes.h.inc"

namespace {

/// y = x * scale[c] + shift[c]. Lists of one element hold for all channels.
struct Affine {
  SmallVector<double> scale{1.0}, shift{0.0};
  double scaleAt(int64_t c) const { return scale[scale.size() == 1 ? 0 : c]; }
  double shiftAt(int64_t c) const { return shift[shift.size() == 1 ? 0 : c]; }
  bool scales() const {
    return llvm::any_of(scale, [](double v) { return v != 1.0; });
  }
  bool shifts() const {
    return llvm::any_of(shift, [](double v) { return v != 0.0; });
  }
};

/// An op whose result is linear in a constant operand that has an axis of output channels.
struct Weighted {
  Operation *op;
  unsigned weights;             // operand
  std::optional<unsigned> bias; // operand
  int64_t channels, axis;       // axis of the result
  /// Output channel of a flat position in the weights.
  std::function<int64_t(int64_t)> channelOf;
};

/// f32 and f64 only: a half type would round a weight again with a relative error as large as its own.
bool isFoldable(Value value) {
  RankedTensorType type = tensorOf(value);
  return type && (type.getElementType().isF32() || type.getElementType().isF64());
}

RankedTensorType constantType(Value value) {
  RankedTensorType type = tensorOf(value);
  return value.getDefiningOp<ConstantOp>() && type && type.hasStaticShape() && isFoldable(value) ? type : RankedTensorType();
}

std::optional<Weighted> describeConv(Operation *op, bool transposed) {
  RankedTensorType w = constantType(op->getOperand(1));
  int64_t group = attrInt(op, "group");
  if (!w || w.getRank() < 3 || w.getNumElements() == 0 || group < 1 || w.getDimSize(0) % group)
    return std::nullopt;
  if (Value bias = op->getOperand(2); !isAbsent(bias) && !constantType(bias))
    return std::nullopt;
  int64_t outer = w.getNumElements() / w.getDimSize(0);
  if (!transposed)
    return Weighted{op, 1, 2, w.getDimSize(0), 1, [outer](int64_t i) { return i / outer; }};
  // [c, o / g, k...]: the group of the output channel is that of the input channel.
  int64_t each = w.getDimSize(1), inner = outer / each, perGroup = w.getDimSize(0) / group;
  return Weighted{op, 1, 2, each * group, 1, [=](int64_t i) { return i / outer / perGroup * each + i / inner % each; }};
}

std::optional<Weighted> describe(Operation *op) {
  if (!op || op->getNumResults() != 1 || isChannelsLast(op) || !op->getResult(0).hasOneUse() ||
      !isFoldable(op->getResult(0)))
    return std::nullopt;
  if (isa<ConvOp>(op))
    return describeConv(op, false);
  if (isa<ConvTransposeOp>(op))
    return describeConv(op, true);
  RankedTensorType w = isa<GemmOp, MatMulOp>(op) ? constantType(op->getOperand(1)) : RankedTensorType();
  if (!w || w.getRank() < 2 || w.getNumElements() == 0)
    return std::nullopt;
  int64_t columns = w.getDimSize(w.getRank() - 1);
  if (isa<MatMulOp>(op)) {
    int64_t rank = tensorOf(op->getResult(0)).getRank();
    return Weighted{op, 1, std::nullopt, columns, rank - 1, [columns](int64_t i) { return i % columns; }};
  }
  // The addend of a gemm is a bias where it is one row.
  if (Value c = op->getOperand(2); !isAbsent(c)) {
    RankedTensorType type = constantType(c);
    if (!type || (type.getRank() == 2 && type.getDimSize(0) != 1))
      return std::nullopt;
  }
  if (cast<GemmOp>(op).getTransB())
    return Weighted{op, 1, 2, w.getDimSize(0), 1, [columns](int64_t i) { return i / columns; }};
  return Weighted{op, 1, 2, columns, 1, [columns](int64_t i) { return i % columns; }};
}

/// Elements of a constant that has one for all of `channels` or one for each, along `axis` of a tensor of `rank` axes that
/// it broadcasts to.
std::optional<SmallVector<double>> perChannel(Value value, int64_t rank, int64_t axis, int64_t channels) {
  RankedTensorType type = constantType(value);
  if (!type || type.getRank() > rank)
    return std::nullopt;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    bool isChannel = static_cast<int64_t>(i) + rank - type.getRank() == axis;
    if (size != 1 && !(isChannel && size == channels))
      return std::nullopt;
  }
  return constantFloats(value);
}

bool isInference(BatchNormOp op) {
  return !op.getTrainingMode() && op->getResult(1).use_empty() && op->getResult(2).use_empty();
}

/// What `op` does to its operand `data`, where that follows from constants.
std::optional<Affine> affineOf(Operation *op, unsigned data, int64_t rank, int64_t axis, int64_t channels) {
  Affine affine;
  if (auto norm = dyn_cast<BatchNormOp>(op)) {
    SmallVector<double> values[4];
    for (unsigned i = 0; i < 4; ++i) {
      auto list = perChannel(op->getOperand(i + 1), 1, 0, channels);
      if (!list || static_cast<int64_t>(list->size()) != channels)
        return std::nullopt;
      values[i] = *list;
    }
    if (data != 0 || axis != 1 || !isInference(norm))
      return std::nullopt;
    affine.scale.resize(channels);
    affine.shift.resize(channels);
    double epsilon = norm.getEpsilon().convertToDouble();
    for (int64_t c = 0; c < channels; ++c) {
      affine.scale[c] = values[0][c] / std::sqrt(values[3][c] + epsilon);
      affine.shift[c] = values[1][c] - values[2][c] * affine.scale[c];
    }
    return affine;
  }
  if (!isa<AddOp, SubOp, MulOp, DivOp>(op))
    return std::nullopt;
  auto list = perChannel(op->getOperand(1 - data), rank, axis, channels);
  if (!list)
    return std::nullopt;
  if (isa<AddOp>(op)) {
    affine.shift = *list;
  } else if (isa<MulOp>(op)) {
    affine.scale = *list;
  } else if (isa<SubOp>(op)) {
    affine.shift = *list;
    if (data == 0)
      for (double &v : affine.shift)
        v = -v;
    else
      affine.scale = {-1.0};
  } else {
    if (data != 0) // c / x is not linear
      return std::nullopt;
    affine.scale = *list;
    for (double &v : affine.scale)
      v = 1.0 / v;
  }
  return affine;
}

/// A constant of `values`, rounded to the element type. Null where one of them is no number in it.
Attribute rounded(RankedTensorType type, int64_t count, llvm::function_ref<double(int64_t)> value) {
  auto fill = [&](auto zero) -> Attribute {
    using T = decltype(zero);
    std::vector<uint8_t> bytes(count * sizeof(T));
    for (int64_t i = 0; i < count; ++i) {
      T v = static_cast<T>(value(i));
      if (!std::isfinite(v))
        return {};
      memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
    }
    return constantFromBytes(type, std::move(bytes));
  };
  return type.getElementType().isF64() ? fill(0.0) : fill(0.0f);
}

/// Element `i` of a constant's bytes.
double elementOf(ArrayRef<uint8_t> bytes, Type element, int64_t i) {
  if (element.isF64()) {
    double v;
    memcpy(&v, bytes.data() + i * sizeof(v), sizeof(v));
    return v;
  }
  float v;
  memcpy(&v, bytes.data() + i * sizeof(v), sizeof(v));
  return static_cast<double>(v);
}

class Folder {
public:
  explicit Folder(func::FuncOp func) : func(func), builder(func.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
      if (foldIntoWeights(&op) || foldPad(&op))
        continue;
      if (auto norm = dyn_cast<BatchNormOp>(&op))
        rewriteNorm(norm);
    }
  }
  unsigned folded = 0, rewritten = 0, pads = 0;

private:
  ConstantOp constant(Location location, RankedTensorType type, Attribute value) {
    return ConstantOp::create(builder, location, type, value);
  }
  Location joint(Operation *a, Operation *b) { return builder.getFusedLoc({a->getLoc(), b->getLoc()}); }

  //===--------------------------------------------------------------------===//
  // Into weights
  //===--------------------------------------------------------------------===//
  bool foldIntoWeights(Operation *op) {
    if (!isa<BatchNormOp, AddOp, SubOp, MulOp, DivOp>(op))
      return false;
    for (unsigned data = 0; data < (isa<BatchNormOp>(op) ? 1 : 2); ++data) {
      auto weighted = describe(op->getOperand(data).getDefiningOp());
      // A constant that is wider than the result would make the op's result wider than the weighted one.
      if (!weighted || weighted->op->getResult(0).getType() != op->getResult(0).getType())
        continue;
      int64_t rank = tensorOf(op->getResult(0)).getRank();
      auto affine = affineOf(op, data, rank, weighted->axis, weighted->channels);
      if (affine && fold(*weighted, *affine, op))
        return true;
    }
    return false;
  }

  bool fold(Weighted &weighted, const Affine &affine, Operation *last) {
    Operation *op = weighted.op;
    // A matrix product has no bias. A row that is added to it stays an elementwise op.
    if (!weighted.bias && !affine.scales())
      return false;
    Attribute weights, bias;
    if (affine.scales()) {
      // Scaled weights are a second copy where the weights have another reader.
      auto source = op->getOperand(weighted.weights).getDefiningOp<ConstantOp>();
      std::vector<uint8_t> scratch;
      auto bytes = constantBytes(source.getValue(), op->getContext(), scratch);
      RankedTensorType type = tensorOf(source.getResult());
      auto needed = storedBytes(type.getElementType(), type.getNumElements());
      if (!source->hasOneUse() || !bytes || !needed || static_cast<int64_t>(bytes->size()) < *needed)
        return false;
      weights = rounded(type, type.getNumElements(), [&](int64_t i) {
        return elementOf(*bytes, type.getElementType(), i) * affine.scaleAt(weighted.channelOf(i));
      });
      if (!weights)
        return false;
    }
    auto element = tensorOf(op->getResult(0)).getElementType();
    auto row = RankedTensorType::get({weighted.channels}, element);
    bool hasBias = weighted.bias && !isAbsent(op->getOperand(*weighted.bias));
    if (hasBias || affine.shifts()) {
      SmallVector<double> old{0.0};
      if (hasBias) {
        auto values = constantFloats(op->getOperand(*weighted.bias));
        if (!values || (values->size() != 1 && static_cast<int64_t>(values->size()) != weighted.channels))
          return false;
        old = *values;
        if (auto gemm = dyn_cast<GemmOp>(op))
          for (double &v : old)
            v *= gemm.getBeta().convertToDouble();
      }
      bias = rounded(row, weighted.channels,
                     [&](int64_t c) { return old[old.size() == 1 ? 0 : c] * affine.scaleAt(c) + affine.shiftAt(c); });
      if (!bias)
        return false;
    }
    apply(weighted, weights, bias, row, last);
    ++folded;
    return true;
  }

  void apply(const Weighted &weighted, Attribute weights, Attribute bias, RankedTensorType row, Operation *last) {
    Operation *op = weighted.op;
    Value result = op->getResult(0);
    Location location = joint(op, last);
    builder.setInsertionPoint(op);
    if (weights) {
      auto old = op->getOperand(weighted.weights).getDefiningOp<ConstantOp>();
      op->setOperand(weighted.weights, constant(joint(old, last), tensorOf(old.getResult()), weights));
      old.erase(); // its only reader was this op
    }
    op->setLoc(location);
    if (bias && weighted.bias) {
      op->setOperand(*weighted.bias, constant(last->getLoc(), row, bias));
      if (auto gemm = dyn_cast<GemmOp>(op))
        gemm.setBetaAttr(builder.getF32FloatAttr(1.0f));
    } else if (bias) {
      builder.setInsertionPoint(last);
      auto add = AddOp::create(builder, last->getLoc(), result.getType(), result, constant(last->getLoc(), row, bias));
      keepName(last, add);
      last->getResult(0).replaceAllUsesWith(add.getResult());
      last->erase();
      return;
    }
    keepName(last, op);
    last->getResult(0).replaceAllUsesWith(result);
    last->erase();
  }

  /// The tensor name that `from` gave its result belongs to the result of `to` now.
  static void keepName(Operation *from, Operation *to) {
    constexpr llvm::StringLiteral names = "mopt.outputs";
    to->removeDiscardableAttr(names);
    auto list = dyn_cast_or_null<ArrayAttr>(from->getDiscardableAttr(names));
    if (list && !list.empty())
      to->setDiscardableAttr(names, ArrayAttr::get(from->getContext(), list[0]));
  }

  //===--------------------------------------------------------------------===//
  // What has no weights
  //===--------------------------------------------------------------------===//
  void rewriteNorm(BatchNormOp op) {
    if (op.getChannelsLast()) // set after this pass
      return;
    RankedTensorType type = tensorOf(op.getX()), scales = constantType(op.getScale());
    if (!scales || scales.getRank() != 1 || !isFoldable(op.getX()) || tensorOf(op->getResult(0)) != type ||
        type.getRank() < 2)
      return;
    int64_t channels = scales.getDimSize(0);
    auto affine = affineOf(op, 0, type.getRank(), 1, channels);
    if (!affine)
      return;
    SmallVector<int64_t> shape(type.getRank() - 1, 1);
    shape[0] = channels;
    auto row = RankedTensorType::get(shape, type.getElementType());
    Attribute scale = rounded(row, channels, [&](int64_t c) { return affine->scaleAt(c); });
    Attribute shift = rounded(row, channels, [&](int64_t c) { return affine->shiftAt(c); });
    if (!scale || !shift)
      return;
    builder.setInsertionPoint(op);
    Location location = op.getLoc();
    auto product = MulOp::create(builder, location, type, op.getX(), constant(location, row, scale));
    auto sum = AddOp::create(builder, location, type, product.getResult(), constant(location, row, shift));
    keepName(op, sum);
    op->getResult(0).replaceAllUsesWith(sum.getResult());
    op->erase();
    ++rewritten;
  }

  //===--------------------------------------------------------------------===//
  // Padding
  //===--------------------------------------------------------------------===//
  static bool isZero(Value value) {
    if (isAbsent(value))
      return true;
    auto values = constantFloats(value);
    return values && values->size() == 1 && values->front() == 0.0;
  }

  /// Zeros around the spatial axes: begins, then ends. Nothing where the pad is something else.
  static std::optional<SmallVector<int64_t>> zerosAround(PadOp op) {
    auto values = constantInts(op.getPads());
    int64_t rank = tensorOf(op.getData()).getRank();
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (Value list = op.getAxes(); !isAbsent(list)) {
      auto given = constantInts(list);
      if (!given)
        return std::nullopt;
      axes = *given;
    }
    if (rank < 3 || !values || values->size() != 2 * axes.size() || op.getMode() != "constant" ||
        !isZero(op.getConstantValue()))
      return std::nullopt;
    SmallVector<int64_t> pads(2 * (rank - 2), 0);
    for (auto [i, axis] : llvm::enumerate(axes))
      for (int64_t side = 0; side < 2; ++side) {
        int64_t amount = (*values)[i + side * axes.size()], at = (axis < 0 ? axis + rank : axis) - 2;
        if (amount < 0 || amount > INT32_MAX || (amount > 0 && at < 0))
          return std::nullopt;
        if (at >= 0)
          pads[at + side * (rank - 2)] = amount;
      }
    return pads;
  }

  /// The padding of a convolution after zeros were added around its operand; nothing where that cannot be said.
  static std::optional<SmallVector<int64_t>> widened(ConvOp conv, ArrayRef<int64_t> zeros) {
    // SAME_UPPER and SAME_LOWER follow from the size of the operand, which shrinks.
    if (conv.getAutoPad() != "NOTSET" && conv.getAutoPad() != "VALID")
      return std::nullopt;
    SmallVector<int64_t> sum(zeros);
    if (DenseI64ArrayAttr own = conv.getPadsAttr(); own && !own.empty() && conv.getAutoPad() == "NOTSET") {
      if (own.size() != static_cast<int64_t>(sum.size()))
        return std::nullopt;
      for (auto [total, given] : llvm::zip_equal(sum, own.asArrayRef())) {
        auto both = checked::add(total, given);
        if (!both || *both > INT32_MAX)
          return std::nullopt;
        total = *both;
      }
    }
    return sum;
  }

  /// Only where every reader is a convolution: else the padded tensor is made anyway, and read from the cache.
  bool foldPad(Operation *op) {
    auto pad = dyn_cast<PadOp>(op);
    if (!pad || pad->use_empty() || !isa<FloatType>(tensorOf(pad.getData()).getElementType()))
      return false;
    auto zeros = zerosAround(pad);
    if (!zeros)
      return false;
    SmallVector<std::pair<ConvOp, SmallVector<int64_t>>> convs;
    for (OpOperand &use : pad->getUses()) {
      auto conv = dyn_cast<ConvOp>(use.getOwner());
      auto sum = conv && use.getOperandNumber() == 0 ? widened(conv, *zeros) : std::nullopt;
      if (!sum)
        return false;
      convs.push_back({conv, *sum});
    }
    for (auto &[conv, sum] : convs) {
      conv->setOperand(0, pad.getData());
      conv.setPadsAttr(builder.getDenseI64ArrayAttr(sum));
      conv.setAutoPadAttr(builder.getStringAttr("NOTSET"));
      conv->setLoc(joint(pad, conv));
    }
    pad->erase();
    ++pads;
    return true;
  }

  func::FuncOp func;
  OpBuilder builder;
};

struct FoldScale : impl::FoldScaleBase<FoldScale> {
  using FoldScaleBase::FoldScaleBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.getBody().hasOneBlock())
        continue;
      Folder folder(func);
      folder.run();
      numFolded += folder.folded;
      numRewritten += folder.rewritten;
      numPads += folder.pads;
    }
  }
};

} // namespace
} // namespace mopt
