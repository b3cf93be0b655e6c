//===- TileNest.cpp - the loops around register tiles --------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

/// Floats of a that a block of rows may have: with a panel of b they stay in a second-level cache of 512 KB. Larger blocks read
/// b from memory less often (half of this: MiniLM of 16 tokens 1.1 times as long), but leave fewer units to threads.
constexpr int64_t blockFloats = 1 << 15;
constexpr int64_t maxBlockTiles = 8;
/// Stack that a table of row pointers and its strips may take, bytes.
constexpr int64_t maxTableBytes = 32 << 10;
/// Column blocks that are made even where there are many rows of them: with few rows they are what threads share.
constexpr int64_t wantedColumnBlocks = 4;
/// k up to which a tile's code has no loop over it: 24 multiply-adds a step are 3 KB of code.
constexpr int64_t maxStraightDepth = 12;
/// Steps of k in a part at most: a part of a panel of 16 columns stays in the first-level cache, with the rows it meets.
constexpr int64_t maxPart = 256;
/// From where on k comes in parts: 3072 gains 6 %, 4096 15 %, 1536 loses 1 %. Rows that lie a multiple of 4 KB apart share
/// sets of the first-level cache and gain from 1024 on (2 %). Rows of a table do not: their pixels overlap (1 to 2 % slower).
constexpr int64_t leastDepthInParts = 2048, leastAliasedDepth = 1024;
/// Bytes of stack for sums between parts.
constexpr int64_t maxPartSums = 48 << 10;
/// Multiply-adds that a column block of one row tile has at least.
constexpr int64_t minBlockWork = 1 << 14;
/// Multiply-adds for each pointer of a table, which takes about ten instructions to find (docs/rationale/rows-by-table.md).
constexpr int64_t minPointerWork = 1 << 12;
/// Row blocks with which threads have enough to share.
constexpr int64_t enoughRowBlocks = 4;

} // namespace

void TileNest::finish(RowAccess rowAccess, int64_t numTaps) {
  access = rowAccess;
  taps = numTaps;
  std::optional<int64_t> columns = n.asConstant();
  int64_t panels = columns ? (*columns + Code::width - 1) / Code::width : 0;
  // Equal column tiles where n is known: 96 columns are 48 + 48, not 64 + 32. Else wide ones, and single panels at the end.
  const unsigned most = arithmetic.bytes ? schedule.int8Panels : schedule.panels;
  tilePanels = most;
  if (columns && panels) {
    int64_t count = (panels + most - 1) / most;
    tilePanels = (panels + count - 1) / count;
  }
  tileRows = tableRows = (arithmetic.bytes ? schedule.int8Rows : schedule.rows)[tilePanels - 1];
  int64_t depth = k.asConstant().value_or(256) * taps;
  chooseParts();
  blockTiles = std::clamp<int64_t>(blockFloats * 4 / arithmetic.aBytes() /
                                       std::max<int64_t>(1, (rowFloats ? rowFloats : depth / parts) * tileRows),
                                   1, maxBlockTiles);
  if (access == RowAccess::table)
    blockTiles = std::clamp<int64_t>(maxTableBytes / ((8 + stripBytes) * taps * tileRows), 1, blockTiles);
  tiles = m.ceilDiv(tileRows);
  rowBlocks = tiles.ceilDiv(blockTiles);
  int64_t tileColumns = tilePanels * Code::width;
  fullColumnTiles = n.floorDiv(tileColumns);
  columnTiles = n.ceilDiv(tileColumns);
  int64_t guessedTiles = columns ? (*columns + tileColumns - 1) / tileColumns : 4;
  blockColumns = std::max<int64_t>(1, (guessedTiles + wantedColumnBlocks - 1) / wantedColumnBlocks);
  int64_t least = minBlockWork / std::max<int64_t>(1, depth * tileRows * tileColumns);
  int64_t guessedBlocks = m.asConstant().value_or(INT32_MAX) / std::max<int64_t>(1, blockTiles * tileRows);
  if (access == RowAccess::table && guessedBlocks >= enoughRowBlocks)
    least = std::max<int64_t>(least, minPointerWork / std::max<int64_t>(1, k.asConstant().value_or(256) * tileColumns));
  blockColumns = std::min<int64_t>(std::max<int64_t>(blockColumns, least), std::max<int64_t>(1, guessedTiles));
  if (parts > 1)
    blockColumns = std::clamp<int64_t>(maxPartSums / (blockTiles * tileRows * tileColumns * 4), 1, blockColumns);
  columnBlocks = columnTiles.ceilDiv(blockColumns);

  DimExpr count = constant(1);
  for (DimExpr dim : batch)
    count = count * dim;
  units = count * rowBlocks * columnBlocks;
  // A full unit, whatever the symbols: most are, when there are several.
  int64_t unitColumns = blockColumns * tileColumns, unitRows = blockTiles * tileRows;
  unitWork =
      depth * std::min(unitColumns, columns.value_or(unitColumns)) * std::min(unitRows, m.asConstant().value_or(unitRows));
  macs = work = count * m * n * k * taps;
  sizes.append({m, n, k, panelStep, tiles, rowBlocks, columnTiles, columnBlocks, fullColumnTiles});
  llvm::append_range(sizes, batch);
  SmallVector<ExtraAccess> accesses;
  for (const Operand &extra : extras)
    accesses.push_back({!extra.rowStride.isConstant(0), extra.columns, plan.view(extra.memref).element});
  for (const Operand *operand : {&a, &b, &y}) {
    llvm::append_range(sizes, operand->batchStrides);
    sizes.push_back(operand->rowStride);
  }
  for (const Operand &extra : extras) {
    llvm::append_range(sizes, extra.batchStrides);
    sizes.push_back(extra.rowStride);
  }
  llvm::erase_if(sizes, [](DimExpr size) { return size && size.asConstant(); });
  extraAccess = accesses;
}

/// Parts of equal length, as many as are needed.
void TileNest::chooseParts() {
  parts = 1;
  bool aliased = a.rowStride.asConstant() && *a.rowStride.asConstant() % 1024 == 0;
  if (arithmetic.bytes || access == RowAccess::table || !k.asConstant() ||
      *k.asConstant() < (aliased ? leastAliasedDepth : leastDepthInParts))
    return;
  constexpr int64_t turn = 4; // of the unrolled loop
  int64_t count = (*k.asConstant() + maxPart - 1) / maxPart;
  partLength = ((*k.asConstant() + count - 1) / count + turn - 1) / turn * turn;
  parts = (*k.asConstant() + partLength - 1) / partLength;
}

void TileNest::emit(KernelBody &body) {
  int64_t depth = k.asConstant().value_or(0);
  if (arithmetic.bytes) { // k is that of constant weights
    arithmetic.rest = depth % 4;
    depth /= 4;
  }
  kernels.emplace(body.emitter, epilogue, extraAccess, access, arithmetic, tableRows, depth <= maxStraightDepth ? depth : 0,
                  parts > 1);
  Code code(body.builder, body.loc);
  if (access == RowAccess::table)
    table = code.stack(body.function, blockTiles * taps * tableRows * 8);
  if (parts > 1)
    partSums = code.stack(body.function, blockTiles * tableRows * blockColumns * tilePanels * Code::width * 4);
  start(body, code);
  code.loop(body.begin, body.end, code.i64(1), [&](Value index) { unit(body, code, index); });
}

void TileNest::unit(KernelBody &body, Code &code, Value index) {
  auto size = [&](DimExpr dim) { return body.size(dim); };
  Value columnBlock = code.rem(index, size(columnBlocks)), rest = code.div(index, size(columnBlocks));
  Value rowBlock = code.rem(rest, size(rowBlocks));
  rest = code.div(rest, size(rowBlocks));
  SmallVector<Value> position(batch.size());
  for (size_t d = batch.size(); d-- > 0;) {
    position[d] = d == 0 ? rest : code.rem(rest, size(batch[d]));
    if (d)
      rest = code.div(rest, size(batch[d]));
  }
  auto base = [&](const Operand &operand, int64_t bytes = 4) {
    Value offset = code.i64(0);
    for (auto [p, stride] : llvm::zip_equal(position, operand.batchStrides))
      offset = code.add(offset, code.mul(p, size(stride)));
    return code.at(body.base(plan.view(operand.memref).base), offset, bytes);
  };
  aBase = base(a, arithmetic.aBytes());
  bBase = base(b);
  yBase = base(y, arithmetic.resultBytes);
  extraBases.clear();
  for (const Operand &extra : extras)
    extraBases.push_back(base(extra));
  firstTile = code.mul(rowBlock, code.i64(blockTiles));
  endTile = code.min(size(tiles), code.add(firstTile, code.i64(blockTiles)));
  if (access == RowAccess::table)
    code.loop(firstTile, endTile, code.i64(1), [&](Value tile) {
      auto [first, rows] = rowsOf(body, code, tile);
      Value entry = code.atPointer(table, code.mul(code.sub(tile, firstTile), code.i64(taps * tableRows)));
      fillTable(body, code, entry, code.sub(tile, firstTile), position, first, rows);
    });
  Value lower = code.mul(columnBlock, code.i64(blockColumns));
  Value upper = code.min(size(columnTiles), code.add(lower, code.i64(blockColumns)));
  if (parts == 1)
    return columnsOf(body, code, lower, upper);
  firstPanel = code.mul(lower, code.i64(tilePanels));
  code.loop(
      code.i64(0), code.i64(parts), code.i64(1),
      [&](Value index) {
        part = index;
        columnsOf(body, code, lower, upper);
      },
      /*rolled=*/true);
}

void TileNest::columnsOf(KernelBody &body, Code &code, Value lower, Value upper) {
  auto size = [&](DimExpr dim) { return body.size(dim); };
  tileColumns(body, code, lower, code.min(upper, size(fullColumnTiles)), tilePanels, false);
  if (fullColumnTiles == columnTiles)
    return;
  // What is left of n: one tile of fewer panels where n is known, panel by panel where not.
  std::optional<int64_t> columns = n.asConstant();
  int64_t left = columns ? *columns % (tilePanels * Code::width) : 0;
  Value hasRest = code.less(size(fullColumnTiles), upper);
  code.when(hasRest, [&] {
    if (columns) {
      int64_t panels = (left + Code::width - 1) / Code::width;
      restColumns(body, code, code.mul(size(fullColumnTiles), code.i64(tilePanels)), code.i64(left % Code::width), panels,
                  left % Code::width != 0, left % Code::width && left % Code::width <= Code::width / 2);
      return;
    }
    Value firstPanel = code.mul(size(fullColumnTiles), code.i64(tilePanels));
    Value whole = code.div(size(n), code.i64(Code::width)), lanes = code.rem(size(n), code.i64(Code::width));
    code.loop(firstPanel, whole, code.i64(1),
              [&](Value panel) { restColumns(body, code, panel, code.i64(Code::width), 1, false); });
    code.when(code.less(code.i64(0), lanes), [&] { restColumns(body, code, whole, lanes, 1, true); });
  });
}

std::pair<Value, Value> TileNest::rowsOf(KernelBody &body, Code &code, Value tile) {
  Value count = body.size(tiles), rows = body.size(m);
  Value base = code.div(rows, count), larger = code.rem(rows, count);
  Value first = code.add(code.mul(tile, base), code.min(tile, larger));
  if (std::optional<int64_t> known = m.asConstant(); known && *known % *tiles.asConstant() == 0)
    return {first, base};
  Value one = arith::ExtUIOp::create(code.builder, code.loc, code.builder.getI64Type(), code.less(tile, larger));
  return {first, code.add(base, one)};
}

void TileNest::tileColumns(KernelBody &body, Code &code, Value lower, Value upper, unsigned panels, bool masked) {
  code.loop(lower, upper, code.i64(1), [&](Value column) {
    restColumns(body, code, code.mul(column, code.i64(panels)), code.i64(Code::width), panels, masked);
  });
}

/// All tiles of the unit in the columns of `panels` panels from `panel` on.
void TileNest::restColumns(KernelBody &body, Code &code, Value panel, Value columns, unsigned panels, bool masked,
                           bool half) {
  auto size = [&](DimExpr dim) { return body.size(dim); };
  Value bTile = code.at(bBase, code.mul(panel, size(panelStep)));
  Value depth = arithmetic.bytes ? code.div(size(k), code.i64(4)) : size(k), from; // of the part that this call does
  if (parts > 1) {
    from = code.mul(part, code.i64(partLength));
    depth = code.min(code.sub(depth, from), code.i64(partLength));
    bTile = code.at(bTile, code.mul(from, code.i64(Code::width)));
  }
  Value column = code.mul(panel, code.i64(Code::width));
  // Row counts that occur.
  SmallVector<int64_t> counts;
  if (std::optional<int64_t> known = m.asConstant()) {
    int64_t number = *tiles.asConstant();
    if (number && *known % number)
      counts.push_back(*known / number + 1);
    if (number)
      counts.push_back(*known / number);
  } else {
    for (int64_t r = tileRows; r >= 1; --r)
      counts.push_back(r);
  }
  if (counts.empty())
    return;
  code.loop(firstTile, endTile, code.i64(1), [&](Value tile) {
    std::pair<Value, Value> span = rowsOf(body, code, tile);
    Value first = span.first, rows = span.second;
    Value aTile = access == RowAccess::spaced
                      ? code.at(aBase, code.mul(first, size(a.rowStride)), arithmetic.aBytes())
                      : code.atPointer(table, code.mul(code.sub(tile, firstTile), code.i64(taps * tableRows)));
    if (from)
      aTile = code.at(aTile, from);
    auto address = [&](Value pointer, const Operand &operand, int64_t bytes = 4) {
      pointer = code.at(pointer, code.mul(first, size(operand.rowStride)), bytes);
      return operand.columns ? code.at(pointer, column, bytes) : pointer;
    };
    // The first tile of a column waits for its panels to come from memory, the others find them in the cache: while these
    // compute, the next column's panels are fetched. Half of them in each tile, so that two tiles of rows are enough.
    auto ahead = [&](Value tile) {
      Value next = code.at(bTile, code.mul(size(panelStep), code.i64(panels)));
      Value half = code.rem(code.sub(tile, firstTile), code.i64(2));
      Value steps = access == RowAccess::table ? code.mul(depth, code.i64(taps)) : depth;
      return code.at(next, code.mul(half, code.mul(steps, code.i64(Code::width / 2))));
    };
    SmallVector<Value> arguments{aTile,
                                 access == RowAccess::spaced ? size(a.rowStride) : code.i64(taps),
                                 depth,
                                 bTile,
                                 size(panelStep),
                                 address(yBase, y, arithmetic.resultBytes),
                                 size(y.rowStride),
                                 columns,
                                 ahead(tile)};
    if (parts > 1) {
      // A column tile has its place by its first panel, in it the row tiles one after the other.
      Value place = code.add(code.mul(code.sub(panel, firstPanel), code.i64(blockTiles)),
                             code.mul(code.sub(tile, firstTile), code.i64(panels)));
      Value sums = code.at(partSums, code.mul(place, code.i64(tableRows * Code::width)));
      Value none = LLVM::ZeroOp::create(code.builder, code.loc, code.ptr());
      arguments.push_back(
          code.select(code.equal(part, code.i64(0)), body.zeros(tableRows * tilePanels * Code::width), sums));
      arguments.push_back(code.select(code.equal(part, code.i64(parts - 1)), none, sums));
    }
    for (auto [pointer, extra] : llvm::zip_equal(extraBases, extras))
      arguments.append({address(pointer, extra), size(extra.rowStride)});
    code.choose(rows, counts, [&](int64_t count) {
      LLVM::CallOp::create(code.builder, code.loc, kernels->get({unsigned(count), panels, masked, half}), arguments);
    });
  });
}

} // namespace mopt
