//===- Move.cpp - copies between strided places --------------------------------------------------------------------===//
//
// Axes that lie one after the other on both sides become one. What is left has one of three forms, by the last axis:
//   rows    adjacent in the result, and adjacent or one element in the source: whole vectors.
//   tiles   adjacent in the result, and another axis is adjacent in the source: 8x8 transposes in registers.
//   planes  tiles with an axis of a few channels, adjacent on one side and in planes on the other: shuffles.
//   strided everything else: element by element.
// A unit is a block of about 4096 elements of the last two axes (tiles: of the two adjacent ones), so that what a unit reads
// and writes stays in the first-level cache and its position is worked out once.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "../ToLLVM/KernelBody.h"
#include "MoveCode.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

constexpr int64_t blockElements = 4096, tileBlock = 64, tileSide = 8;

class MoveEmitter : public RootEmitter {
public:
  MoveEmitter(kernel::MoveOp op, PlanView &plan) : op(op), plan(plan), context(op.getContext()), epilogue(op.getEpilogue()) {
    name = op.getOp().str() + epilogue.name();
    units = work = constant(0);
    macs = constant(0);
    SmallVector<SmallVector<DimExpr>> extraStrides;
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> moves(map.getNumDims(), constant(0));
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          moves[dim.getPosition()] = own[i];
      extraStrides.push_back(moves);
    }
    for (auto [source, attr] : llvm::zip_equal(op.getInputs(), op.getParts())) {
      auto lists = cast<ArrayAttr>(attr);
      auto dims = [&](unsigned i) {
        SmallVector<DimExpr> list;
        for (DimAttr dim : cast<DimsAttr>(lists[i]).getDims())
          list.push_back(DimExpr(dim));
        return list;
      };
      addPart(source, dims(0), dims(1), dims(2), extraStrides);
    }
    llvm::erase_if(sizes, [](DimExpr size) { return size && size.asConstant(); });
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    for (const Part &part : parts) {
      Value first = code.i64(0), begin = body.begin, end = body.end;
      if (parts.size() > 1) {
        first = body.size(part.firstUnit);
        begin = code.sub(code.max(begin, first), first);
        end = code.sub(code.min(end, code.add(first, body.size(part.units))), first);
      }
      code.loop(begin, end, code.i64(1), [&](Value index) { unit(body, code, part, index); });
    }
  }

private:
  struct Axis {
    DimExpr size, from, to;
    SmallVector<DimExpr> extras; // strides of the epilogue's operands
  };
  enum class Form { rows, tiles, planes, strided };
  struct Part {
    Value source;
    DimExpr from, to; // offsets
    SmallVector<Axis> outer;
    Axis p, q; // the axes of a unit; q is the last of the result
    Form form = Form::rows;
    bool apart = false; // planes: from adjacent channels into planes
    int64_t pBlock = 1, qBlock = 1;
    DimExpr pBlocks, qBlocks, units, firstUnit;
  };

  DimExpr constant(int64_t value) const { return DimExpr::constant(context, value); }

  /// Axes of one element go; neighbours that are one axis for everything become one.
  SmallVector<Axis> collapse(ArrayRef<DimExpr> extents, ArrayRef<DimExpr> from, ArrayRef<DimExpr> to,
                             ArrayRef<SmallVector<DimExpr>> extraStrides) const {
    SmallVector<Axis> axes;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (extents[d].isConstant(1))
        continue;
      Axis axis{extents[d], from[d + 1], to[d + 1], {}};
      for (const auto &strides : extraStrides)
        axis.extras.push_back(strides[d]);
      auto joins = [&](DimExpr outer, DimExpr inner) { return outer == inner * axis.size; };
      if (!axes.empty() && joins(axes.back().from, axis.from) && joins(axes.back().to, axis.to) &&
          llvm::all_of(llvm::zip_equal(axes.back().extras, axis.extras),
                       [&](auto pair) { return joins(std::get<0>(pair), std::get<1>(pair)); })) {
        axis.size = axes.back().size * axis.size;
        axes.back() = axis;
      } else {
        axes.push_back(axis);
      }
    }
    return axes;
  }

  void addPart(Value source, ArrayRef<DimExpr> extents, ArrayRef<DimExpr> from, ArrayRef<DimExpr> to,
               ArrayRef<SmallVector<DimExpr>> extraStrides) {
    SmallVector<Axis> axes = collapse(extents, from, to, extraStrides);
    SmallVector<DimExpr> still(extraStrides.size(), constant(0));
    Part part;
    part.source = source;
    part.from = from.front();
    part.to = to.front();
    part.p = {constant(1), constant(0), constant(0), still};
    part.q = axes.empty() ? Axis{constant(1), constant(1), constant(1), still} : axes.pop_back_val();
    bool contiguous = part.q.to.isConstant(1);
    Axis *across = nullptr;
    if (contiguous && !part.q.from.isConstant(1) && !part.q.from.isConstant(0))
      across = llvm::find_if(axes, [](const Axis &axis) { return axis.from.isConstant(1); });
    auto isShort = [](DimExpr size) { return size.asConstant() && *size.asConstant() < tileSide; };
    bool isAcross = across && across != axes.end();
    bool intoPixels = isAcross && isShort(part.q.size) && across->to == part.q.size;
    bool intoPlanes = isAcross && isShort(across->size) && part.q.from == across->size;
    if (epilogue.isEmpty() && (intoPixels || intoPlanes)) {
      part.form = Form::planes;
      part.apart = !intoPixels;
      part.p = *across;
      axes.erase(across);
    } else if (isAcross && !isShort(across->size) && !isShort(part.q.size)) {
      part.form = Form::tiles;
      part.p = *across;
      axes.erase(across);
    } else {
      part.form = contiguous && (part.q.from.isConstant(0) || part.q.from.isConstant(1)) ? Form::rows : Form::strided;
      if (!axes.empty())
        part.p = axes.pop_back_val();
    }
    int64_t side = part.form == Form::tiles ? tileBlock : blockElements;
    part.qBlock = side;
    part.pBlock = std::max<int64_t>(1, blockElements / std::clamp<int64_t>(part.q.size.asConstant().value_or(64), 1, side));
    if (part.form == Form::tiles)
      if (auto p = part.p.size.asConstant(); p && *p < tileBlock)
        part.qBlock = blockElements / *p / tileSide * tileSide;
    if (part.form == Form::planes)
      part.pBlock = part.qBlock = blockElements;
    part.pBlocks = part.p.size.ceilDiv(part.pBlock);
    part.qBlocks = part.q.size.ceilDiv(part.qBlock);
    part.outer = axes;
    part.units = part.pBlocks * part.qBlocks;
    part.firstUnit = units;
    DimExpr elements = part.p.size * part.q.size;
    sizes.append({part.from, part.to, part.pBlocks, part.qBlocks});
    for (const Axis &axis : axes) {
      part.units = part.units * axis.size;
      elements = elements * axis.size;
    }
    for (const Axis *axis : {&part.p, &part.q})
      axes.push_back(*axis);
    for (const Axis &axis : axes) {
      sizes.append({axis.size, axis.from, axis.to});
      llvm::append_range(sizes, axis.extras);
    }
    sizes.append({part.units, part.firstUnit});
    units = units + part.units;
    work = work + elements;
    parts.push_back(part);
  }

  void unit(KernelBody &body, Code &code, const Part &part, Value index) {
    auto size = [&](DimExpr dim) { return body.size(dim); };
    Value qIndex = code.rem(index, size(part.qBlocks)), rest = code.div(index, size(part.qBlocks));
    Value pIndex = code.rem(rest, size(part.pBlocks));
    rest = code.div(rest, size(part.pBlocks));
    RowPlace place{size(part.from), size(part.to), SmallVector<Value>(op.getExtras().size(), code.i64(0))};
    auto advance = [&](const Axis &axis, Value by) {
      place.from = code.add(place.from, code.mul(by, size(axis.from)));
      place.to = code.add(place.to, code.mul(by, size(axis.to)));
      for (auto [offset, stride] : llvm::zip_equal(place.extras, axis.extras))
        offset = code.add(offset, code.mul(by, size(stride)));
    };
    for (size_t d = part.outer.size(); d-- > 0;) {
      advance(part.outer[d], d == 0 ? rest : code.rem(rest, size(part.outer[d].size)));
      if (d)
        rest = code.div(rest, size(part.outer[d].size));
    }
    // First element and length of a block; whole axes are one.
    auto block = [&](const Axis &axis, DimExpr blocks, int64_t length, Value number) {
      if (blocks.isConstant(1))
        return size(axis.size);
      Value first = code.mul(number, code.i64(length));
      advance(axis, first);
      bool even = axis.size.asConstant() && *axis.size.asConstant() % length == 0;
      return even ? code.i64(length) : code.min(code.i64(length), code.sub(size(axis.size), first));
    };
    Value rows = block(part.p, part.pBlocks, part.pBlock, pIndex),
          columns = block(part.q, part.qBlocks, part.qBlock, qIndex);
    auto step = [&](const Axis &axis) {
      RowPlace steps{size(axis.from), size(axis.to), {}};
      for (DimExpr stride : axis.extras)
        steps.extras.push_back(size(stride));
      return steps;
    };
    Type element = plan.view(op.getOuts().front()).element;
    MoveCode move{body, code, epilogue, element, storedBits(element) / 8};
    place =
        move.pointers(place, body.base(plan.view(part.source).base), body.base(plan.view(op.getOuts().front()).base),
                      llvm::map_to_vector(op.getExtras(), [&](Value extra) { return body.base(plan.view(extra).base); }));
    RowPlace p = step(part.p), q = step(part.q);
    auto byRows = [&] {
      code.loop(code.i64(0), rows, code.i64(1), [&](Value row) { move.row(move.advance(place, p, row), q, columns); });
    };
    if (part.form == Form::planes) {
      // An axis of a few channels is never cut into blocks.
      return move.channels(place, part.apart ? p.to : q.from, *(part.apart ? part.p : part.q).size.asConstant(),
                           part.apart ? columns : rows, part.apart);
    }
    if (part.form != Form::tiles)
      return byRows();
    // Short blocks at the end of an axis are rare; sizes that are known are not short.
    auto isLong = [](const Axis &axis, int64_t length) {
      return axis.size.asConstant() &&
             (*axis.size.asConstant() <= length
                  ? *axis.size.asConstant() >= tileSide
                  : *axis.size.asConstant() % length == 0 || *axis.size.asConstant() % length >= tileSide);
    };
    if (isLong(part.p, part.pBlock) && isLong(part.q, part.qBlock))
      return move.tiles(place, p, q, rows, columns);
    Value least = code.i64(tileSide - 1);
    Value isBig = code.both(code.less(least, rows), code.less(least, columns));
    code.either(isBig, [&] { move.tiles(place, p, q, rows, columns); }, byRows);
  }

  kernel::MoveOp op;
  PlanView &plan;
  MLIRContext *context;
  Epilogue epilogue;
  std::vector<Part> parts;
};

} // namespace

std::unique_ptr<RootEmitter> emitMove(kernel::MoveOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<MoveEmitter>(op, plan);
}

} // namespace mopt
