//===- HvxNest.cpp - the loops around register tiles on Hexagon ----------------------------------------------------===//
#include "HvxNest.h"
#include "mopt/Support/Checked.h"

namespace mopt {
namespace {

/// Bytes of packed rows in a unit, so that they stay in the first level of cache; the first tile may have more.
constexpr int64_t blockBytes = 16 << 10;
constexpr int64_t maxBlockTiles = 8;
/// Bytes of packed rows of one tile at most: they are on the stack.
constexpr int64_t maxTileBytes = 256 << 10;

/// The least number of a constant; the least of its type where it is not at hand.
int64_t leastOf(Value memref) {
  auto weight = memref.getDefiningOp<kernel::WeightOp>();
  auto elements = weight ? dyn_cast<DenseIntElementsAttr>(weight.getValue()) : DenseIntElementsAttr();
  int64_t least = INT32_MIN;
  if (elements && elements.getNumElements()) {
    least = INT64_MAX;
    for (APInt value : elements.getValues<APInt>())
      least = std::min(least, value.getSExtValue());
  }
  return least;
}

} // namespace

HvxNest::HvxNest(kernel::RootOpInterface op, PlanView &plan) : op(op), plan(plan) {
  tiles.op = op;
  tiles.isUnsigned = plan.view(op.getInputs()[0]).element.isUnsignedInteger();
  tiles.result = plan.view(op.getOuts()[0]).element;
}

SmallVector<int64_t> HvxNest::dims(Value memref) const {
  SmallVector<int64_t> sizes;
  for (DimExpr dim : plan.view(memref).dims)
    sizes.push_back(*dim.asConstant());
  return sizes;
}

LogicalResult HvxNest::finish() {
  const Schedule &schedule = hvxSchedule();
  const int64_t panels = (n + HvxCode::width - 1) / HvxCode::width;
  // Equal tiles: 160 columns are 96 + 64, not 128 + 32.
  int64_t count = std::max<int64_t>(1, (panels + schedule.int8Panels - 1) / schedule.int8Panels);
  tilePanels = std::max<int64_t>(1, (panels + count - 1) / count);
  const int64_t tileRows = std::min<int64_t>(schedule.int8Rows[tilePanels - 1], std::max<int64_t>(m, 1));
  tiles.steps = taps * tapWords();
  tiles.rowWords = (tileRows + 1) / 2 * 2;
  tiles.panelBytes = tiles.steps * HvxCode::vectorBytes;
  tiles.yStep = yStep;
  const int64_t tileBytes = tiles.steps * tiles.rowWords * 4;
  if (tileBytes > maxTileBytes)
    return op->emitError() << "MOPT-C032: " << tileRows << " of its rows have " << tileBytes << " bytes, expected at most "
                           << maxTileBytes << "; make its kernel or its channels smaller";
  rowTiles = (m + tileRows - 1) / tileRows;
  blockTiles = std::clamp<int64_t>(blockBytes / std::max<int64_t>(tileBytes, 1), 1, maxBlockTiles);
  rowBlocks = (rowTiles + blockTiles - 1) / blockTiles;
  for (const Operand &extra : extras) {
    bool aligned = llvm::all_of(extra.batchStrides, [](int64_t stride) { return stride % HvxCode::vectorBytes == 0; });
    tiles.extras.push_back({extra.columns, aligned ? HvxCode::vectorBytes : 4, leastOf(extra.memref)});
  }
  auto constant = [&](int64_t value) { return DimExpr::constant(op.getContext(), value); };
  DimExpr all = constant(1);
  for (int64_t size : batch)
    all = all * constant(size);
  units = all * constant(rowBlocks);
  macs = work = all * constant(m) * constant(n) * constant(c) * constant(taps);
  unitWork = blockTiles * tileRows * n * c * taps;
  return success();
}

void HvxNest::emit(KernelBody &body) {
  HvxCode code(body.builder, body.loc);
  if (!rowBlocks)
    return;
  packedRows = code.stack(body.function, blockTiles * tiles.steps * tiles.rowWords * 4);
  rowStarts = code.stack(body.function, blockTiles * tiles.rowWords * 4);
  code.loop(code.narrow(body.begin), code.narrow(body.end), [&](Value index) { unit(body, code, index); });
}

void HvxNest::unit(KernelBody &body, HvxCode &code, Value index) {
  Value rowBlock = code.rem(index, rowBlocks), rest = code.div(index, rowBlocks);
  SmallVector<Value> position(batch.size());
  for (size_t d = batch.size(); d-- > 0;) {
    position[d] = d == 0 ? rest : code.rem(rest, batch[d]);
    if (d)
      rest = code.div(rest, batch[d]);
  }
  auto base = [&](const Operand &operand) {
    Value offset = code.number(0);
    for (auto [p, stride] : llvm::zip_equal(position, operand.batchStrides))
      offset = code.add(offset, code.mul(p, stride));
    return code.at(body.base(plan.view(operand.memref).base), offset);
  };
  aBase = base(a);
  bBase = base(b);
  yBase = base(y);
  extraBases.clear();
  for (const Operand &extra : extras)
    extraBases.push_back(base(extra));
  Value firstTile = code.mul(rowBlock, blockTiles);
  Value endTile = code.min(code.number(rowTiles), code.add(firstTile, code.number(blockTiles)));
  const int64_t tileBytes = tiles.steps * tiles.rowWords * 4;
  code.loop(firstTile, endTile, [&](Value tile) {
    // Tiles whose rows differ by at most one: the first ones are larger.
    Value larger = code.min(tile, code.number(largerTiles()));
    Value first = code.add(code.mul(tile, m / rowTiles), larger), rows = code.number(m / rowTiles);
    if (largerTiles())
      rows = code.add(
          rows, arith::ExtUIOp::create(code.builder, code.loc, code.builder.getI32Type(), code.inside(tile, largerTiles())));
    Value slot = code.sub(tile, firstTile);
    pack(body, code, position, first, rows, code.at(packedRows, code.mul(slot, tileBytes)),
         code.at(rowStarts, code.mul(slot, tiles.rowWords * 4)));
  });
  const int64_t tileColumns = tilePanels * HvxCode::width, full = n / tileColumns, left = n % tileColumns;
  if (full)
    code.loop(code.number(0), code.number(full),
              [&](Value tile) { columnTiles(body, code, tile, tilePanels, tileColumns, firstTile, endTile); });
  if (left)
    columnTiles(body, code, code.number(full), (left + HvxCode::width - 1) / HvxCode::width, left, firstTile, endTile);
}

/// Two rows at a time, side by side; the second of the last pair may be the first once more.
void HvxNest::pack(KernelBody &body, HvxCode &code, ValueRange position, Value first, Value rows, Value packed,
                   Value starts) {
  Value pairs = code.div(code.add(rows, code.number(1)), 2), last = code.sub(rows, code.number(1));
  Value none = arith::ConstantOp::create(code.builder, code.loc, code.builder.getI64IntegerAttr(0));
  code.loop(code.number(0), pairs, [&](Value pair) {
    Value row = code.mul(pair, 2);
    SmallVector<Value> row0 = locate(code, position, code.add(first, row));
    SmallVector<Value> row1 = locate(code, position, code.add(first, code.min(code.add(row, code.number(1)), last)));
    Value to = code.at(packed, code.mul(pair, 8));
    Value sums = forTaps(body, code, row0, row1, none, [&](Value tap, Value bytes0, Value bytes1, Value sums) {
      return copyTap(code, code.at(to, code.mul(tap, tapWords() * tiles.rowWords * 4)), bytes0, bytes1, sums);
    });
    // The weights are 128 too large; in each of the two halves.
    Value high = arith::ShRUIOp::create(
        code.builder, code.loc, sums, arith::ConstantOp::create(code.builder, code.loc, code.builder.getI64IntegerAttr(32)));
    Value to0 = code.at(starts, code.mul(pair, 8));
    code.store(code.sub(code.number(0), code.narrow(sums)), to0, 8);
    code.store(code.sub(code.number(0), code.narrow(high)), code.at(to0, 4), 4);
  });
}

/// Words of two rows to every rowWords-th place; `sums` are 128 times the bytes of each.
Value HvxNest::copyTap(HvxCode &code, Value to, Value bytes0, Value bytes1, Value sums) {
  OpBuilder &b = code.builder;
  Type i8 = b.getI8Type(), i32 = b.getI32Type(), i64 = b.getI64Type();
  const int64_t step = tiles.rowWords * 4;
  auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, code.loc, b.getI64IntegerAttr(value)); };
  auto extend = [&](Value value) -> Value { return arith::ExtUIOp::create(b, code.loc, i64, value); };
  auto high = [&](Value value) -> Value { return arith::ShLIOp::create(b, code.loc, value, number(32)); };
  auto both = [&](Value low, Value up) -> Value { return arith::OrIOp::create(b, code.loc, low, up); };
  auto put = [&](Value pair, Value place, Value sums) {
    code.store(pair, place, 8);
    StringRef add = tiles.isUnsigned ? "M5.vrmacbuu" : "M5.vrmacbsu";
    return code.intrinsic(add, i64, {sums, pair, number(static_cast<int64_t>(0x8080808080808080u))});
  };
  if (alignment % 8 == 0 && c % 8 == 0) // two words of a row a load
    return code
        .loop(code.number(0), code.number(c / 8), sums,
              [&](Value k, ValueRange carried) {
                Value from = code.mul(k, 8), place = code.at(to, code.mul(k, 2 * step));
                Value x = code.load(i64, code.at(bytes0, from), 8), y = code.load(i64, code.at(bytes1, from), 8);
                auto low = [&](Value value) { return extend(code.narrow(value)); };
                auto upper = [&](Value value) -> Value { return arith::ShRUIOp::create(b, code.loc, value, number(32)); };
                Value next = put(both(low(x), high(low(y))), place, carried[0]);
                return SmallVector<Value>{put(both(upper(x), high(upper(y))), code.at(place, step), next)};
              })
        .front();
  if (c >= 4)
    sums = code.loop(code.number(0), code.number(c / 4), sums,
                     [&](Value k, ValueRange carried) {
                       Value from = code.mul(k, 4), align = code.at(to, code.mul(k, step));
                       Value x = extend(code.load(i32, code.at(bytes0, from), std::min<int64_t>(alignment, 4)));
                       Value y = extend(code.load(i32, code.at(bytes1, from), std::min<int64_t>(alignment, 4)));
                       return SmallVector<Value>{put(both(x, high(y)), align, carried[0])};
                     })
               .front();
  if (c % 4 == 0)
    return sums;
  Value pair = number(0);
  for (int64_t i = 0; i < c % 4; ++i)
    for (auto [bytes, place] : {std::pair(bytes0, 8 * i), {bytes1, 32 + 8 * i}}) {
      Value byte = extend(code.load(i8, code.at(bytes, c / 4 * 4 + i), 1));
      pair = both(pair, arith::ShLIOp::create(b, code.loc, byte, number(place)));
    }
  return put(pair, code.at(to, c / 4 * step), sums);
}

/// All row tiles of the unit in the columns of column tile number `tile`.
void HvxNest::columnTiles(KernelBody &body, HvxCode &code, Value tile, int64_t panels, int64_t columns, Value firstTile,
                          Value endTile) {
  Value weights = code.at(bBase, code.mul(tile, tilePanels * tiles.panelBytes));
  Value column = code.mul(tile, tilePanels * HvxCode::width);
  Value yColumn = code.at(yBase, code.mul(column, tiles.resultBytes()));
  SmallVector<Value> extraColumns;
  for (auto [pointer, extra] : llvm::zip_equal(extraBases, extras))
    extraColumns.push_back(extra.columns ? code.at(pointer, code.mul(column, 4)) : pointer);
  code.loop(firstTile, endTile, [&](Value rowTile) {
    Value first = code.add(code.mul(rowTile, m / rowTiles), code.min(rowTile, code.number(largerTiles())));
    Value slot = code.sub(rowTile, firstTile);
    SmallVector<Value> arguments{code.at(packedRows, code.mul(slot, tiles.steps * tiles.rowWords * 4)),
                                 code.at(rowStarts, code.mul(slot, tiles.rowWords * 4)), weights,
                                 code.at(yColumn, code.mul(first, yStep))};
    llvm::append_range(arguments, extraColumns);
    auto run = [&](int64_t rows) {
      LLVM::CallOp::create(code.builder, code.loc, tiles.get(body.emitter, rows, panels, columns), arguments);
    };
    if (largerTiles())
      code.either(code.inside(rowTile, largerTiles()), [&] { run(m / rowTiles + 1); }, [&] { run(m / rowTiles); });
    else
      run(m / rowTiles);
  });
}

} // namespace mopt
