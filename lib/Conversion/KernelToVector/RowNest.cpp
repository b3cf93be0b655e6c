//===- RowNest.cpp - loops of kernels that combine elements along axes ---------------------------------------------===//
#include "RowNest.h"
#include "VectorMath.h"

namespace mopt {
namespace {

constexpr unsigned maxVectors = 4;
/// Elements of a part of a row, steps of a part of a column; parts of a part of the next level.
constexpr int64_t rowPart = 4096, columnPart = 64, partsPerLevel = 64;
/// Elements up to which there are levels: parts of the last one are not parts of a further one.
constexpr int64_t longest = 1 << 24;

} // namespace

RowNest::RowNest(kernel::RootOpInterface op, PlanView &plan, ArrayRef<int64_t> axes,
                 std::optional<std::pair<int64_t, int64_t>> split)
    : op(op), plan(plan), context(op->getContext()), epilogue(op.getEpilogue()) {
  addAxes(axes, split);
  DimExpr one = DimExpr::constant(context, 1);
  keptCount = runs = count = one;
  for (const Axis &axis : kept)
    keptCount = keptCount * axis.size;
  for (const Axis &axis : reduced)
    runs = runs * axis.size;
  count = rows ? runs * line.size : runs;
  tiles = one;
  if (!rows) {
    vectors = maxVectors;
    if (auto size = line.size.asConstant()) { // vectors of a tile: all of them where they are few, else about equal tiles
      int64_t all = std::max<int64_t>(1, (*size + Code::width - 1) / Code::width),
              parts = (all + maxVectors - 1) / maxVectors;
      vectors = (all + parts - 1) / parts;
    }
    tiles = line.size.ceilDiv(int64_t(vectors) * Code::width);
  }
  units = keptCount * tiles;
  work = DimExpr::product(plan.view(op.getInputs()[0]).dims, context);
  macs = DimExpr::constant(context, 0);
  sizes = {line.size, keptCount, runs, count, tiles};
  for (ArrayRef<Axis> list : {ArrayRef(kept), ArrayRef(reduced), ArrayRef(line)})
    for (const Axis &axis : list) {
      sizes.push_back(axis.size);
      llvm::append_range(sizes, axis.strides);
    }
}

void RowNest::addAxes(ArrayRef<int64_t> axes, std::optional<std::pair<int64_t, int64_t>> split) {
  SmallVector<DimExpr> dims = plan.view(op.getInputs()[0]).dims, yDims = plan.view(op.getOuts()[0]).dims;
  DimExpr zero = DimExpr::constant(context, 0);
  bool whole = dims.size() == yDims.size(); // axes of y have the numbers of those of x
  SmallVector<DimExpr> xStrides = rowMajorStrides(dims, context), yStrides = rowMajorStrides(yDims, context);
  SmallVector<SmallVector<DimExpr>> extraStrides; // by axis of y
  for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
    SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
    SmallVector<DimExpr> &strides = extraStrides.emplace_back(yDims.size(), zero);
    for (auto [i, result] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        strides[dim.getPosition()] = own[i];
  }
  SmallVector<Axis> list;
  auto add = [&](Axis axis) {
    if (axis.size.isConstant(1))
      return;
    if (!list.empty() && list.back().reduced == axis.reduced &&
        llvm::all_of(llvm::zip_equal(list.back().strides, axis.strides),
                     [&](auto pair) { return std::get<0>(pair) == std::get<1>(pair) * axis.size; })) {
      axis.size = list.back().size * axis.size;
      list.back() = axis;
      return;
    }
    list.push_back(axis);
  };
  unsigned yAxis = 0;
  for (auto [d, size] : llvm::enumerate(dims)) {
    Axis axis{size, llvm::is_contained(axes, static_cast<int64_t>(d)), {xStrides[d]}};
    bool inResult = whole || !axis.reduced;
    bool moves = inResult && (!axis.reduced || yDims[yAxis] == size);
    axis.strides.push_back(moves ? yStrides[yAxis] : zero);
    for (ArrayRef<DimExpr> strides : extraStrides)
      axis.strides.push_back(moves ? strides[yAxis] : zero);
    yAxis += inResult;
    if (split && split->first == static_cast<int64_t>(d)) {
      Axis parts = axis;
      axis.size = size.floorDiv(split->second);
      parts.size = DimExpr::constant(context, split->second);
      parts.reduced = false;
      for (DimExpr &stride : parts.strides)
        stride = stride * axis.size;
      add(parts);
    }
    add(axis);
  }
  if (list.empty()) { // one element
    Axis axis{DimExpr::constant(context, 1), false, {}};
    axis.strides.assign(firstExtra + op.getExtras().size(), zero);
    list.push_back(axis);
  }
  line = list.pop_back_val();
  rows = line.reduced;
  for (Axis &axis : list)
    (axis.reduced ? reduced : kept).push_back(std::move(axis));
}

SmallVector<Value> RowNest::bases(KernelBody &body) {
  SmallVector<Value> pointers{body.base(plan.view(op.getInputs()[0]).base), body.base(plan.view(op.getOuts()[0]).base)};
  for (Value extra : op.getExtras())
    pointers.push_back(body.base(plan.view(extra).base));
  return pointers;
}

SmallVector<Value> RowNest::move(KernelBody &body, Code &code, ArrayRef<Axis> axes, Value index, ArrayRef<Value> pointers) {
  SmallVector<Value> moved(pointers);
  for (unsigned a = axes.size(); a-- > 0;) {
    Value own = a ? code.rem(index, body.size(axes[a].size)) : index;
    for (auto [pointer, stride] : llvm::zip_equal(moved, axes[a].strides))
      if (!stride.isConstant(0))
        pointer = code.at(pointer, code.mul(own, body.size(stride)));
    if (a)
      index = code.div(index, body.size(axes[a].size));
  }
  return moved;
}

RowNest::Cell RowNest::cellAt(Code &code, ArrayRef<Value> pointers, Value offset, Value mask, unsigned vector) {
  Cell cell{SmallVector<Value>(pointers), mask, vector};
  for (auto [pointer, stride] : llvm::zip_equal(cell.pointers, line.strides))
    if (!stride.isConstant(0)) // 1: the line is the last axis
      pointer = code.at(pointer, offset);
  return cell;
}

Value RowNest::load(Code &code, const Cell &cell, unsigned number) {
  if (line.strides[number].isConstant(0) && number >= firstExtra)
    return code.splat(code.loadScalar(cell.pointers[number]));
  return code.load(cell.pointers[number], cell.mask);
}

Value RowNest::finish(KernelBody &body, Code &code, const Cell &cell, Value value) {
  SmallVector<Value> arguments{value};
  for (unsigned i = firstExtra; i < cell.pointers.size(); ++i)
    arguments.push_back(load(code, cell, i));
  return epilogue.apply(body, code, arguments);
}

void RowNest::emit(KernelBody &body) {
  Code code(body.builder, body.loc);
  SmallVector<Value> start = bases(body);
  code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
    if (rows)
      return piece(body, code, {move(body, code, kept, unit, start), {Value()}});
    Value tile = code.rem(unit, body.size(tiles)), outer = code.div(unit, body.size(tiles));
    Value first = code.mul(tile, code.i64(int64_t(vectors) * Code::width)), left = code.sub(body.size(line.size), first);
    SmallVector<Value> pointers = cellAt(code, move(body, code, kept, outer, start), first, Value(), 0).pointers;
    auto masked = [&](unsigned from) { // vectors from `from` on may lack lanes
      Piece tilePiece{pointers, {}};
      for (unsigned v = 0; v < vectors; ++v)
        tilePiece.masks.push_back(v < from ? Value() : code.mask(code.sub(left, code.i64(v * Code::width))));
      piece(body, code, tilePiece);
    };
    int64_t tileSize = int64_t(vectors) * Code::width;
    auto size = line.size.asConstant();
    if (size && *size % tileSize == 0)
      return masked(vectors);
    if (size && *size < tileSize) // one tile; only its last vector lacks lanes
      return masked(vectors - 1);
    code.when(code.less(code.i64(tileSize - 1), left), [&] { masked(vectors); });
    code.when(code.less(left, code.i64(tileSize)), [&] { masked(0); });
  });
}

Value RowNest::identity(Code &code, Kind kind) {
  double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case Kind::sum:
    return code.constant(0);
  case Kind::product:
    return code.constant(1);
  case Kind::smallest:
    return code.constant(infinity);
  case Kind::largest:
  case Kind::largestNumber:
    return code.constant(-infinity);
  }
  return {};
}

Value RowNest::combine(Code &code, Kind kind, Value a, Value b) {
  OpBuilder &builder = code.builder;
  auto choose = [&](arith::CmpFPredicate predicate, Value left, Value right) {
    return arith::SelectOp::create(builder, code.loc, arith::CmpFOp::create(builder, code.loc, predicate, left, right), a, b)
        .getResult();
  };
  auto keepNaN = [&](Value result) { // of a; a NaN in b has won by then
    Value isNaN = arith::CmpFOp::create(builder, code.loc, arith::CmpFPredicate::UNO, a, a);
    return arith::SelectOp::create(builder, code.loc, isNaN, a, result).getResult();
  };
  switch (kind) {
  case Kind::sum:
    return arith::AddFOp::create(builder, code.loc, a, b);
  case Kind::product:
    return multiply(code, a, b);
  case Kind::smallest:
    return keepNaN(choose(arith::CmpFPredicate::OLT, a, b));
  case Kind::largest:
    return keepNaN(choose(arith::CmpFPredicate::OGT, a, b));
  case Kind::largestNumber:
    return choose(arith::CmpFPredicate::OGT, a, b);
  }
  return {};
}

Value RowNest::acrossLanes(Code &code, Kind kind, Value vector) {
  for (int32_t half = Code::width / 2; half > 0; half /= 2) {
    SmallVector<int32_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    Value a = LLVM::ShuffleVectorOp::create(code.builder, code.loc, vector, vector, low);
    Value b = LLVM::ShuffleVectorOp::create(code.builder, code.loc, vector, vector, high);
    vector = combine(code, kind, a, b);
  }
  Value zero =
      LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
  return LLVM::ExtractElementOp::create(code.builder, code.loc, vector, zero);
}

SmallVector<Value> RowNest::blocks(KernelBody &body, Code &code, DimExpr count, int64_t size, Kind kind, unsigned vectors,
                                   Leaf leaf) {
  int64_t most = std::min(count.asConstant().value_or(longest), longest);
  SmallVector<int64_t, 4> steps; // of each level; a level more than there are parts adds to zero and changes nothing
  for (int64_t step = size; step < most; step *= partsPerLevel)
    steps.push_back(step);
  std::function<SmallVector<Value>(unsigned, Value, Value)> level = [&](unsigned l, Value lower, Value upper) {
    if (!l)
      return leaf(lower, upper);
    Value step = code.i64(steps[l - 1]);
    SmallVector<Value> initial(vectors, identity(code, kind));
    return code.loop(lower, upper, step, initial, [&](Value at, ValueRange carried) {
      SmallVector<Value> part = level(l - 1, at, code.min(code.add(at, step), upper)), sums;
      for (auto [sum, value] : llvm::zip_equal(carried, part))
        sums.push_back(combine(code, kind, sum, value));
      return sums;
    });
  };
  return level(steps.size(), code.i64(0), body.size(count));
}

Value RowNest::reduceLine(KernelBody &body, Code &code, ArrayRef<Value> pointers, Kind kind, Element element,
                          unsigned unroll) {
  auto known = line.size.asConstant();
  auto leaf = [&](Value lower, Value upper) -> SmallVector<Value> {
    SmallVector<Value> sums(unroll, identity(code, kind));
    auto to = [&](Value from, int64_t step) { // the last multiple of `step` from there
      return code.add(from, code.mul(code.div(code.sub(upper, from), code.i64(step)), code.i64(step)));
    };
    int64_t wide = int64_t(unroll) * Code::width;
    Value most = to(lower, wide), whole = to(most, Code::width);
    sums = code.loop(
        lower, most, code.i64(wide), sums,
        [&](Value at, ValueRange carried) {
          SmallVector<Value> next;
          for (unsigned u = 0; u < unroll; ++u) {
            Cell cell = cellAt(code, pointers, code.add(at, code.i64(u * Code::width)), Value(), 0);
            next.push_back(combine(code, kind, carried[u], element(cell)));
          }
          return next;
        },
        /*rolled=*/true);
    Value first = code.loop(most, whole, code.i64(Code::width), sums.front(),
                            [&](Value at, ValueRange carried) {
                              return SmallVector<Value>{
                                  combine(code, kind, carried[0], element(cellAt(code, pointers, at, Value(), 0)))};
                            })
                      .front();
    if (!known || *known % Code::width) // at most once
      first = code.loop(whole, upper, code.i64(Code::width), first,
                        [&](Value at, ValueRange carried) {
                          Value mask = code.mask(code.sub(upper, at));
                          Value value =
                              code.select(mask, element(cellAt(code, pointers, at, mask, 0)), identity(code, kind));
                          return SmallVector<Value>{combine(code, kind, carried[0], value)};
                        })
                  .front();
    sums.front() = first;
    for (unsigned half = unroll / 2; half > 0; half /= 2)
      for (unsigned u = 0; u < half; ++u)
        sums[u] = combine(code, kind, sums[u], sums[u + half]);
    return {sums.front()};
  };
  return blocks(body, code, line.size, rowPart, kind, 1, leaf).front();
}

SmallVector<Value> RowNest::reduce(KernelBody &body, Code &code, const Piece &piece, Kind kind, Element element,
                                   unsigned unroll) {
  if (rows) {
    Value sum;
    if (reduced.empty())
      sum = reduceLine(body, code, piece.pointers, kind, element, unroll);
    else
      sum = blocks(body, code, runs, columnPart, kind, 1, [&](Value lower, Value upper) {
              return code.loop(lower, upper, code.i64(1), identity(code, kind), [&](Value run, ValueRange carried) {
                SmallVector<Value> pointers = move(body, code, reduced, run, piece.pointers);
                return SmallVector<Value>{
                    combine(code, kind, carried[0], reduceLine(body, code, pointers, kind, element, unroll))};
              });
            }).front();
    return {code.splat(acrossLanes(code, kind, sum))};
  }
  return blocks(body, code, runs, columnPart, kind, vectors, [&](Value lower, Value upper) {
    SmallVector<Value> initial(vectors, identity(code, kind));
    return code.loop(lower, upper, code.i64(1), initial, [&](Value step, ValueRange carried) {
      SmallVector<Value> pointers = move(body, code, reduced, step, piece.pointers), next;
      for (unsigned v = 0; v < vectors; ++v)
        next.push_back(
            combine(code, kind, carried[v], element(cellAt(code, pointers, code.i64(v * Code::width), piece.masks[v], v))));
      return next;
    });
  });
}

void RowNest::forEach(KernelBody &body, Code &code, const Piece &piece, Element element) {
  auto one = [&](const Cell &cell) {
    Value value = element(cell);
    code.store(finish(body, code, cell, value), cell.pointers[y], cell.mask);
  };
  code.loop(code.i64(0), body.size(runs), code.i64(1), [&](Value run) {
    SmallVector<Value> pointers = move(body, code, reduced, run, piece.pointers);
    if (!rows) {
      for (unsigned v = 0; v < vectors; ++v)
        one(cellAt(code, pointers, code.i64(v * Code::width), piece.masks[v], v));
      return;
    }
    Value size = body.size(line.size), width = code.i64(Code::width);
    Value whole = code.mul(code.div(size, width), width);
    code.loop(code.i64(0), whole, width, [&](Value at) { one(cellAt(code, pointers, at, Value(), 0)); }, /*rolled=*/true);
    if (auto known = line.size.asConstant(); known && *known % Code::width == 0)
      return;
    code.loop(whole, size, width, [&](Value at) { one(cellAt(code, pointers, at, code.mask(code.sub(size, at)), 0)); });
  });
}

Value RowNest::countAsFloat(KernelBody &body, Code &code) {
  if (auto known = count.asConstant())
    return code.constant(static_cast<float>(*known));
  return code.splat(arith::SIToFPOp::create(code.builder, code.loc, code.f32(), body.size(count)));
}

Value RowNest::math(KernelBody &body, Code &code, StringRef op, Value value) {
  auto none = DictionaryAttr::get(code.builder.getContext());
  Value result = vectorOp(code, op, none, value);
  return result ? result : body.laneByLane(op, none, value, code.f32());
}

} // namespace mopt
