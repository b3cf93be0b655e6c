//===- Moves.cpp - ops that only move elements, as copies between strided boxes ------------------------------------===//
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace mopt {
namespace {

using Dims = SmallVector<DimExpr>;
using Moves = std::optional<SmallVector<Move>>;

/// The number that `size` times it is `result`; 0 for none up to 64.
int64_t multiple(DimExpr size, DimExpr result) {
  for (int64_t factor = 1; factor <= 64; ++factor)
    if (size * factor == result)
      return factor;
  return 0;
}

/// The moves of one op. Everything is decided by constants and sizes: what an operand says only when the model runs stays
/// with the reference function, which checks it.
class MoveReader {
public:
  explicit MoveReader(Operation *op) : op(op), context(op->getContext(), /*quiet=*/true), out(dimsOf(op->getResult(0))) {}

  Moves read() {
    if (!followsShapeRule())
      return std::nullopt;
    Moves moves = llvm::TypeSwitch<Operation *, Moves>(op)
                      .Case([&](TransposeOp op) { return transpose(op); })
                      .Case([&](ExpandOp op) { return expand(op); })
                      .Case([&](TileOp op) { return tile(op); })
                      .Case([&](SliceOp op) { return slice(op); })
                      .Case([&](GatherOp op) { return gather(op); })
                      .Case([&](ConcatOp op) { return concat(op); })
                      .Case([&](PadOp op) { return pad(op); })
                      .Case([&](ResizeOp op) { return resize(op); })
                      .Case([&](DepthToSpaceOp op) { return depthToSpace(op); })
                      .Case([&](SpaceToDepthOp op) { return spaceToDepth(op); })
                      .Default([](Operation *) { return std::nullopt; });
    if (moves)
      for (const Move &move : *moves)
        for (const Dims *list : {&move.sizes, &move.from, &move.to})
          if (llvm::is_contained(*list, DimExpr()))
            return std::nullopt; // overflows
    return moves;
  }

private:
  /// Nearest neighbours of a whole multiple: each element is repeated.
  Moves resize(ResizeOp r) {
    std::optional<SmallVector<double>> scales = resizeScales(r);
    if (!scales || r.getMode() != "nearest")
      return std::nullopt;
    Dims data = dimsOf(r.getX()), own = dense(data), dst = dense(out);
    Move move{r.getX(), {}, {own.front()}, {dst.front()}};
    for (auto [d, scale] : llvm::enumerate(*scales)) {
      int64_t factor = 1;
      if (scale != 0)
        factor = multiple(data[d], out[d]);
      if (scale != 0 && (!factor || (scale > 0 && scale != static_cast<double>(factor)) || !repeats(r, factor)))
        return std::nullopt;
      move.sizes.append({data[d], constant(factor)});
      move.from.append({own[d + 1], constant(0)});
      move.to.append({dst[d + 1] * factor, dst[d + 1]});
    }
    return SmallVector<Move>{move};
  }
  /// Whether the positions i * factor ... i * factor + factor - 1 all take element i.
  static bool repeats(ResizeOp r, int64_t factor) {
    StringRef mode = r.getCoordinateTransformationMode(), nearest = r.getNearestMode();
    bool centered = mode == "half_pixel" || mode == "pytorch_half_pixel" || mode == "half_pixel_symmetric";
    if (!centered && mode != "asymmetric" && mode != "tf_half_pixel_for_nn")
      return false;
    for (int64_t i = 0; i < factor; ++i) {
      double at = (static_cast<double>(i) + (mode == "asymmetric" ? 0.0 : 0.5)) / static_cast<double>(factor) -
                  (centered ? 0.5 : 0.0);
      double index = nearest == "floor"                ? std::floor(at)
                     : nearest == "ceil"               ? std::ceil(at)
                     : nearest == "round_prefer_floor" ? std::ceil(at - 0.5)
                                                       : std::floor(at + 0.5);
      if (index != 0)
        return false;
    }
    return true;
  }

  DimExpr constant(int64_t value) const { return DimExpr::constant(op->getContext(), value); }

  /// The sizes of the result are what the shape rule computes, so that nothing is left to check when the model runs.
  bool followsShapeRule() {
    SmallVector<Type> types;
    if (failed(cast<MoptOpInterface>(op).inferTypes(context, types)) || types.size() != 1 || dimsOf(types.front()) != out)
      return false;
    return llvm::none_of(out, [&](DimExpr dim) { return !dim || context.isNew(dim); });
  }

  /// First the offset, then the stride of each axis.
  Dims dense(ArrayRef<DimExpr> dims) const {
    Dims strides(dims.size() + 1);
    strides.front() = constant(0);
    DimExpr stride = constant(1);
    for (size_t d = dims.size(); d-- > 0;) {
      strides[d + 1] = stride;
      stride = stride * dims[d];
    }
    return strides;
  }
  Moves one(Value source, Dims from) const { return SmallVector<Move>{{source, out, std::move(from), dense(out)}}; }
  std::optional<SmallVector<int64_t>> numbers(unsigned operand) { return context.constantsOf(op->getOperand(operand)); }
  bool isGiven(unsigned operand) const { return op->getNumOperands() > operand && !isAbsent(op->getOperand(operand)); }

  Moves transpose(TransposeOp t) {
    int64_t rank = out.size();
    Dims own = dense(dimsOf(t.getData())), from{own.front()};
    for (int64_t i = 0; i < rank; ++i) {
      int64_t axis = t.getPermAttr() ? t.getPermAttr().asArrayRef()[i] : rank - 1 - i;
      from.push_back(own[1 + (axis < 0 ? axis + rank : axis)]);
    }
    return one(t.getData(), from);
  }

  Moves expand(ExpandOp e) {
    Dims data = dimsOf(e.getInput()), own = dense(data), from{own.front()};
    for (size_t i = 0; i < out.size(); ++i) {
      bool isNew = i + data.size() < out.size();
      size_t d = i + data.size() - out.size();
      if (!isNew && data[d] != out[i] && !data[d].isConstant(1))
        return std::nullopt;
      from.push_back(isNew || data[d] != out[i] ? constant(0) : own[d + 1]);
    }
    return one(e.getInput(), from);
  }

  Moves tile(TileOp t) {
    Dims data = dimsOf(t.getInput()), own = dense(data), dst = dense(out);
    auto repeats = numbers(1);
    if (!repeats || repeats->size() != data.size())
      return std::nullopt;
    Move move{t.getInput(), {}, {own.front()}, {dst.front()}};
    for (auto [d, count] : llvm::enumerate(*repeats)) {
      move.sizes.append({constant(count), data[d]});
      move.from.append({constant(0), own[d + 1]});
      move.to.append({dst[d + 1] * data[d], dst[d + 1]});
    }
    return SmallVector<Move>{move};
  }

  Moves slice(SliceOp s) {
    Dims data = dimsOf(s.getData()), from = dense(data);
    auto starts = numbers(1);
    if (!starts)
      return std::nullopt;
    int64_t rank = data.size();
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size())), steps(starts->size(), 1);
    for (auto [operand, list] : {std::pair(3u, &axes), std::pair(4u, &steps)})
      if (isGiven(operand)) {
        auto values = numbers(operand);
        if (!values || values->size() != list->size())
          return std::nullopt;
        *list = *values;
      }
    for (auto [axis, start, step] : llvm::zip_equal(axes, *starts, steps)) {
      int64_t d = axis < 0 ? axis + rank : axis;
      // A start past the end leaves no elements; its offset is never used.
      DimExpr first = start >= 0 ? constant(start) : data[d] + start;
      if (start < 0 && !isKnownPositive(first))
        first = DimExpr::max(first, constant(0));
      if (step < 0 && start >= 0)
        first = DimExpr::min(first, data[d] - 1);
      // Sizes of a plan are not negative: backwards only where the stride is a number.
      if (step < 0 && !from[d + 1].asConstant())
        return std::nullopt;
      from.front() = from.front() + first * from[d + 1];
      from[d + 1] = from[d + 1] * step;
    }
    return one(s.getData(), from);
  }
  static bool isKnownPositive(DimExpr e) {
    auto value = e.asConstant();
    return value && *value >= 0;
  }

  /// A single constant index picks a slice.
  Moves gather(GatherOp g) {
    Dims data = dimsOf(g.getData()), own = dense(data);
    auto constantIndices = g.getIndices().getDefiningOp<ConstantOp>();
    RankedTensorType type = tensorOf(g.getIndices());
    if (!constantIndices || !type.hasStaticShape() || type.getNumElements() != 1)
      return std::nullopt;
    auto index = constantInts(g.getIndices());
    int64_t axis = static_cast<int64_t>(g.getAxis());
    axis += axis < 0 ? static_cast<int64_t>(data.size()) : 0;
    std::optional<int64_t> limit = data[axis].asConstant();
    if (!index || !limit || index->front() < -*limit || index->front() >= *limit)
      return std::nullopt;
    int64_t at = index->front() < 0 ? index->front() + *limit : index->front();
    Dims from{own.front() + own[axis + 1] * at};
    for (int64_t d = 0; d < static_cast<int64_t>(data.size()); ++d)
      if (d == axis)
        from.append(type.getRank(), constant(0));
      else
        from.push_back(own[d + 1]);
    return one(g.getData(), from);
  }

  Moves concat(ConcatOp c) {
    int64_t axis = static_cast<int64_t>(c.getAxis());
    axis += axis < 0 ? static_cast<int64_t>(out.size()) : 0;
    SmallVector<Move> moves;
    DimExpr first = constant(0);
    for (Value input : c.getInputs()) {
      Dims dims = dimsOf(input), to = dense(out);
      for (size_t d = 0; d < out.size(); ++d)
        if (static_cast<int64_t>(d) != axis && dims[d] != out[d])
          return std::nullopt;
      to.front() = first * to[axis + 1];
      first = first + dims[axis];
      moves.push_back({input, dims, dense(dims), to});
    }
    return moves;
  }

  /// The operand, and for each axis two slabs of the constant: those of later axes lie between those of earlier ones, so that
  /// every element is written once.
  Moves pad(PadOp p) {
    Dims data = dimsOf(p.getData()), own = dense(data), dst = dense(out);
    auto pads = numbers(1);
    if (p.getMode() != "constant" || !pads)
      return std::nullopt;
    int64_t rank = data.size();
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank)), before(rank, 0), after(rank, 0);
    if (isGiven(3)) {
      auto values = numbers(3);
      if (!values)
        return std::nullopt;
      axes = *values;
    }
    for (auto [i, axis] : llvm::enumerate(axes)) {
      before[axis < 0 ? axis + rank : axis] = (*pads)[i];
      after[axis < 0 ? axis + rank : axis] = (*pads)[i + axes.size()];
    }
    Value fill = isGiven(2) ? op->getOperand(2) : Value();
    Move body{p.getData(), out, own, dst};
    SmallVector<Move> moves;
    Move slab{fill, out, Dims(rank + 1, constant(0)), dst};
    for (int64_t d = 0; d < rank; ++d) {
      DimExpr inner = data[d] + std::min<int64_t>(before[d], 0) + std::min<int64_t>(after[d], 0);
      // Both ends may cut into each other only where the run can tell; it refuses then.
      if ((before[d] < 0 || after[d] < 0) && !isKnownPositive(inner))
        return std::nullopt;
      int64_t low = std::max<int64_t>(before[d], 0), high = std::max<int64_t>(after[d], 0);
      for (auto [count, first] : {std::pair(low, constant(0)), std::pair(high, inner + low)})
        if (count) {
          Move edge = slab;
          edge.sizes[d] = constant(count);
          edge.to.front() = edge.to.front() + first * dst[d + 1];
          moves.push_back(edge);
        }
      slab.sizes[d] = body.sizes[d] = inner;
      slab.to.front() = slab.to.front() + dst[d + 1] * low;
      body.from.front() = body.from.front() + own[d + 1] * std::max<int64_t>(-before[d], 0);
    }
    body.to.front() = slab.to.front();
    moves.push_back(body);
    return moves;
  }

  /// Between `deep`, with blocks in its channels, and `wide`, with blocks in its pixels. Channels of blocks are (b, b, c'), or
  /// (c', b, b) with `channelsFirst`.
  Moves blocks(Value source, int64_t block, bool channelsFirst, ArrayRef<DimExpr> deep, ArrayRef<DimExpr> wide,
               bool toWide) {
    bool last = isChannelsLast(op);
    auto axes = [&](ArrayRef<DimExpr> list) { // n, c, h, w
      return last ? Dims{list[0], list[3], list[1], list[2]} : Dims(list);
    };
    Dims d = axes(ArrayRef(dense(deep)).drop_front()), w = axes(ArrayRef(dense(wide)).drop_front());
    Dims deepSizes = axes(deep), wideSizes = axes(wide);
    DimExpr channels = wideSizes[1], b = constant(block), zero = constant(0);
    if (!channels.asConstant() || deepSizes[1] != channels * (block * block) || deepSizes[2] * b != wideSizes[2] ||
        deepSizes[3] * b != wideSizes[3])
      return std::nullopt;
    // Axes n, c', h, by, w, bx.
    DimExpr bx = channelsFirst ? d[1] : d[1] * channels;
    const Dims sizes{deepSizes[0], channels, deepSizes[2], b, deepSizes[3], b};
    const Dims deepStrides{d[0], channelsFirst ? d[1] * (block * block) : d[1], d[2], bx * b, d[3], bx};
    const Dims wideStrides{w[0], w[1], w[2] * b, w[2], w[3] * b, w[3]};
    // In the order of the result.
    SmallVector<unsigned> order;
    if (toWide)
      order = last ? SmallVector<unsigned>{0, 2, 3, 4, 5, 1} : SmallVector<unsigned>{0, 1, 2, 3, 4, 5};
    else if (channelsFirst)
      order = last ? SmallVector<unsigned>{0, 2, 4, 1, 3, 5} : SmallVector<unsigned>{0, 1, 3, 5, 2, 4};
    else
      order = last ? SmallVector<unsigned>{0, 2, 4, 3, 5, 1} : SmallVector<unsigned>{0, 3, 5, 1, 2, 4};
    Move move{source, {}, {zero}, {zero}};
    for (unsigned axis : order) {
      move.sizes.push_back(sizes[axis]);
      move.from.push_back((toWide ? deepStrides : wideStrides)[axis]);
      move.to.push_back((toWide ? wideStrides : deepStrides)[axis]);
    }
    return SmallVector<Move>{move};
  }
  Moves depthToSpace(DepthToSpaceOp d) {
    return blocks(d.getInput(), d.getBlocksize(), d.getMode() == "CRD", dimsOf(d.getInput()), out, true);
  }
  Moves spaceToDepth(SpaceToDepthOp s) {
    return blocks(s.getInput(), s.getBlocksize(), s.getMode() == "CRD", out, dimsOf(s.getInput()), false);
  }

  Operation *op;
  ShapeContext context;
  Dims out;
};

} // namespace

std::optional<SmallVector<double>> resizeScales(Operation *op) {
  auto r = dyn_cast<ResizeOp>(op);
  if (!r || r.getMode() == "cubic" || r.getAntialias() || r.getExcludeOutside() ||
      r.getCoordinateTransformationMode() == "tf_crop_and_resize" || r.getKeepAspectRatioPolicy() != "stretch")
    return std::nullopt;
  ShapeContext context(op->getContext(), /*quiet=*/true);
  SmallVector<Type> types;
  Dims x = dimsOf(r.getX()), y = dimsOf(r.getY());
  // An element of an empty axis has no neighbours: only the run can refuse it.
  if (failed(r.inferTypes(context, types)) || dimsOf(types.front()) != y || x.empty())
    return std::nullopt;
  for (auto [from, to] : llvm::zip_equal(x, y))
    if (!from || !to || context.isNew(to) || (from.isConstant(0) && !to.isConstant(0)))
      return std::nullopt;
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.size()));
  if (r.getAxes() && !r.getAxes()->empty())
    axes.assign(r.getAxes()->begin(), r.getAxes()->end());
  auto given = [&](Value list) {
    return !isAbsent(list) && tensorOf(list) && !llvm::is_contained(tensorOf(list).getShape(), 0);
  };
  SmallVector<double> scales(x.size(), 0.0);
  std::optional<SmallVector<double>> factors;
  if (given(r.getScales()) && (!(factors = context.floatsOf(r.getScales())) || factors->size() != axes.size()))
    return std::nullopt;
  bool shifts = r.getCoordinateTransformationMode() == "tf_half_pixel_for_nn"; // even where nothing is resized
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t d = axis < 0 ? axis + x.size() : axis;
    double scale = factors ? (*factors)[i] : -1;
    if (scale == -1 && !x[d].asConstant() && !multiple(x[d], y[d]))
      return std::nullopt; // of an axis that may be empty
    scales[d] = (scale == 1 || (scale == -1 && x[d] == y[d])) && !shifts ? 0 : scale;
  }
  return scales;
}

std::optional<SmallVector<Move>> movesOf(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<TransposeOp, ExpandOp, TileOp, SliceOp, GatherOp, ConcatOp, PadOp, ResizeOp, DepthToSpaceOp, SpaceToDepthOp>(op))
    return std::nullopt;
  RankedTensorType type = tensorOf(op->getResult(0));
  if (!type || !llvm::is_contained({8, 16, 32, 64}, storedBits(type.getElementType())) ||
      isa<ComplexType>(type.getElementType()))
    return std::nullopt;
  return MoveReader(op).read();
}

} // namespace mopt
