//===- LastForm.cpp - what each op is when its images lie channels last -------------------------------------------===//
#include "LastForm.h"
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/Norm.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Quant.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

SmallVector<int64_t> fromLast(int64_t rank) {
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i)
    perm.push_back(channelsLastAxis(i, rank));
  return perm;
}

SmallVector<int64_t> toLast(int64_t rank) {
  SmallVector<int64_t> perm(rank);
  for (int64_t i = 0; i < rank; ++i)
    perm[channelsLastAxis(i, rank)] = i;
  return perm;
}

RankedTensorType lastType(Type type) {
  SmallVector<DimExpr> dims = dimsOf(type), out;
  for (int64_t axis : toLast(dims.size()))
    out.push_back(dims[axis]);
  return tensorType(out, cast<RankedTensorType>(type).getElementType());
}

bool isImage(Value value) {
  RankedTensorType type = tensorOf(value);
  return type && type.getRank() >= 3 && llvm::all_of(dimsOf(value), [](DimExpr dim) { return static_cast<bool>(dim); });
}

int64_t guessElements(Type type) {
  constexpr int64_t most = int64_t(1) << 40, symbol = 16;
  int64_t product = 1;
  for (DimExpr dim : dimsOf(type)) {
    int64_t size = dim ? dim.evaluate([=](StringRef) { return std::optional<int64_t>(symbol); }).value_or(symbol) : symbol;
    if (__builtin_mul_overflow(product, std::max<int64_t>(size, 0), &product) || product > most)
      return most;
  }
  return product;
}

int64_t costOfMove(Value value) {
  return 2 * guessElements(value.getType()) * std::max<int64_t>(1, storedBits(tensorOf(value).getElementType()) / 8);
}

namespace {

/// Bytes that could be moved once in another order in the time that a multiply-add costs when the channels are not last: 15
/// GB/s of the one, about 4 G/s of the other, because such convolutions run the reference function; the kernel's own 50 G/s
/// do not matter beside that. Estimates of one machine; a tuning run may know better.
constexpr int64_t bytesPerMac = 4;

class Describer {
public:
  explicit Describer(Operation *op) : op(op), builder(op->getContext()) {}

  std::optional<LastForm> run() {
    if (op->getNumOperands() == 0 || op->getNumResults() == 0 || isChannelsLast(op))
      return std::nullopt;
    const OpRow *row = findOp(op);
    bool ok = row->kind == OpKind::elementwise ? elementwise() : spatial() || byAxis() || view();
    if (!ok || !llvm::all_of(form.images, [&](unsigned i) { return isImage(op->getOperand(i)); }))
      return std::nullopt;
    for (Value result : op->getResults())
      if (form.resultsLast && tensorOf(result) && tensorOf(result).getRank() >= 3 && !isImage(result))
        return std::nullopt;
    return form;
  }

private:
  bool set(StringRef name, int64_t value) {
    form.attributes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
    return true;
  }
  int64_t rank(unsigned operand = 0) {
    RankedTensorType type = tensorOf(op->getOperand(operand));
    return type ? type.getRank() : 0;
  }
  int64_t place(int64_t axis) { return channelsLastAxis(axis < 0 ? axis + rank() : axis, rank()); }
  bool placeAxis() { // an attribute `axis` of an op that keeps the sizes of its operand
    form.images = {0};
    return set("axis", place(attrInt(op, "axis")));
  }
  std::optional<SmallVector<int64_t>> listOf(unsigned operand) {
    auto values = constantInts(op->getOperand(operand));
    if (values)
      for (int64_t &axis : *values)
        axis += axis < 0 ? rank() : 0;
    return values;
  }
  SmallVector<int64_t> places(ArrayRef<int64_t> axes) {
    SmallVector<int64_t> out;
    for (int64_t axis : axes)
      out.push_back(place(axis));
    return out;
  }

  /// Every operand with all axes is an image; those with fewer are put in place. A boolean mask is an image too.
  bool elementwise() {
    int64_t full = tensorOf(op->getResult(0)) ? tensorOf(op->getResult(0)).getRank() : 0;
    form.broadcasts = true;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (tensorOf(op->getOperand(i)) && rank(i) == full && !op->getOperand(i).getDefiningOp<ConstantOp>())
        form.images.push_back(i);
    return full >= 3 && !form.images.empty();
  }

  /// Ops that have the attribute.
  bool spatial() {
    if (!isa<ConvOp, ConvTransposeOp, ConvIntegerOp, QLinearConvOp, AveragePoolOp, MaxPoolOp, LpPoolOp, GlobalAveragePoolOp,
             GlobalMaxPoolOp, GlobalLpPoolOp, BatchNormOp, InstanceNormOp, GroupNormOp, LRNOp, DepthToSpaceOp,
             SpaceToDepthOp>(op))
      return false;
    form.images = {0};
    set("channels_last", 1);
    if (isa<MaxPoolOp>(op) && tensorOf(op->getResult(1))) {
      if (!op->getResult(1).use_empty())
        return false;
      form.leftOut.push_back(1);
    }
    // Only contractions gain: they have kernels for this layout alone. The others follow them.
    if (isa<ConvOp, ConvTransposeOp, ConvIntegerOp, QLinearConvOp>(op)) {
      Value weights = op->getOperand(isa<QLinearConvOp>(op) ? 3 : 1);
      Value many = isa<ConvTransposeOp>(op) ? op->getOperand(0) : op->getResult(0);
      RankedTensorType w = tensorOf(weights);
      if (!w || w.getRank() < 3)
        return false;
      // Multiply-adds: each element of `many` times the weights of one channel.
      int64_t channels = std::max<int64_t>(1, dimsOf(weights)[0].asConstant().value_or(1));
      int64_t taps = std::max<int64_t>(1, guessElements(w) / channels), macs;
      if (__builtin_mul_overflow(guessElements(many.getType()), taps, &macs))
        macs = INT64_MAX;
      form.gain = std::min(macs, int64_t(1) << 48) * bytesPerMac +
                  (costOfMove(op->getOperand(0)) + costOfMove(op->getResult(0))) / 2;
    }
    return true;
  }

  bool byAxis() {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<ConcatOp>([&](Operation *) {
          form.images = llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
          return set("axis", place(attrInt(op, "axis")));
        })
        .Case<SplitOp, LpNormOp>([&](Operation *) { return placeAxis(); })
        .Case<SoftmaxOp, LogSoftmaxOp, HardmaxOp>([&](Operation *) {
          if (!attrInt(op, "flatten"))
            return placeAxis();
          // All axes from 0 or 1 on are one; their order among themselves does not matter.
          int64_t axis = attrInt(op, "axis");
          form.images = {0};
          return axis == 0 || axis == 1;
        })
        .Case<QuantizeLinearOp, DequantizeLinearOp>([&](Operation *) {
          int64_t axis = attrInt(op, "axis");
          return attrInt(op, "block_size") == 0 && axis >= -rank() && axis < rank() && placeAxis();
        })
        .Case<SliceOp>([&](SliceOp slice) { return axesOperand(3, tensorOf(slice.getStarts())); })
        .Case<PadOp>([&](PadOp) { return axesOperand(3, {}); })
        .Case<ResizeOp>([&](ResizeOp resize) {
          SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank()));
          if (DenseI64ArrayAttr given = resize.getAxesAttr(); given && !given.empty())
            axes.assign(given.asArrayRef().begin(), given.asArrayRef().end());
          form.images = {0};
          form.attributes.push_back(builder.getNamedAttr("axes", builder.getDenseI64ArrayAttr(places(axes))));
          return true;
        })
        .Case<ReduceOp>([&](ReduceOp reduce) {
          SmallVector<int64_t> axes;
          if (!isAbsent(reduce.getAxes())) {
            auto given = listOf(1);
            if (!given)
              return false;
            axes = *given;
          }
          if (axes.empty()) // all of them, or none
            return false;
          form.lists.push_back({1, places(axes)});
          llvm::sort(form.lists.back().second);
          return reduced(axes, reduce.getKeepdims());
        })
        .Case<ArgReduceOp>([&](ArgReduceOp reduce) {
          int64_t axis = attrInt(op, "axis");
          set("axis", place(axis));
          return reduced({axis < 0 ? axis + rank() : axis}, reduce.getKeepdims());
        })
        .Default([](Operation *) { return false; });
  }

  /// slice and pad: a list of axes that may be left out.
  bool axesOperand(unsigned operand, RankedTensorType other) {
    int64_t count = other ? (other.getRank() == 1 ? other.getDimSize(0) : ShapedType::kDynamic) : rank();
    SmallVector<int64_t> axes;
    if (!isAbsent(op->getOperand(operand))) {
      auto given = listOf(operand);
      if (!given)
        return false;
      axes = *given;
    } else {
      if (ShapedType::isDynamic(count) || count > rank())
        return false;
      axes = llvm::to_vector(llvm::seq<int64_t>(0, count));
    }
    form.images = {0};
    form.lists.push_back({operand, places(axes)});
    return true;
  }

  /// An op that drops `axes`, or makes them 1. The axes that are left must lie in memory as they do now, or channels last.
  bool reduced(ArrayRef<int64_t> axes, bool keeps) {
    form.images = {0};
    if (keeps)
      return true;
    SmallVector<int64_t> left, order;
    for (int64_t axis = 0; axis < rank(); ++axis)
      if (!llvm::is_contained(axes, axis))
        left.push_back(axis);
    for (int64_t axis : toLast(rank()))
      if (llvm::is_contained(left, axis))
        order.push_back(axis);
    if (order == left) {
      form.resultsLast = false;
      return true;
    }
    SmallVector<int64_t> last;
    for (int64_t i : toLast(left.size()))
      last.push_back(left[i]);
    return left.size() >= 3 && order == last;
  }

  bool view() {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<IdentityOp>([&](Operation *) {
          form.images = {0};
          return true;
        })
        .Case<SqueezeOp>([&](SqueezeOp squeeze) {
          SmallVector<int64_t> axes;
          if (!isAbsent(squeeze.getAxes())) {
            auto given = listOf(1);
            if (!given)
              return false;
            axes = *given;
          } else {
            for (auto [i, dim] : llvm::enumerate(dimsOf(squeeze.getData())))
              if (dim.isConstant(1))
                axes.push_back(i);
          }
          form.lists.push_back({1, places(axes)});
          return reduced(axes, false);
        })
        .Case<UnsqueezeOp>([&](UnsqueezeOp unsqueeze) {
          auto axes = constantInts(unsqueeze.getAxes());
          int64_t wide = tensorOf(op->getResult(0)).getRank();
          if (!axes)
            return false;
          for (int64_t &axis : *axes) {
            axis += axis < 0 ? wide : 0;
            if (axis < 2)
              return false;
            axis = channelsLastAxis(axis, wide);
          }
          form.images = {0};
          form.lists.push_back({1, *axes});
          return true;
        })
        .Case<ReshapeOp>([&](ReshapeOp) { return reshape(); })
        .Default([](Operation *) { return false; });
  }

  /// Spatial axes are joined or divided; batch and channels stay.
  bool reshape() {
    SmallVector<DimExpr> from = dimsOf(op->getOperand(0)), to = dimsOf(op->getResult(0));
    if (from.size() < 3 || to.size() < 3 || from[0] != to[0] || from[1] != to[1])
      return false;
    SmallVector<int64_t> shape;
    unsigned unknown = 0;
    for (auto [i, axis] : llvm::enumerate(toLast(to.size()))) {
      auto size = to[axis].asConstant();
      if (size == 0)
        return false;
      if (!size && i > 0)
        ++unknown;
      shape.push_back(size ? *size : i == 0 ? 0 : -1); // 0 copies the batch
    }
    form.images = {0};
    form.lists.push_back({1, shape});
    form.attributes.push_back(builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(0)));
    return unknown <= 1;
  }

  Operation *op;
  Builder builder;
  LastForm form;
};

} // namespace

std::optional<LastForm> lastFormOf(Operation *op) {
  const OpRow *row = findOp(op);
  if (!row || row->kind == OpKind::structure)
    return std::nullopt;
  return Describer(op).run();
}

} // namespace mopt
