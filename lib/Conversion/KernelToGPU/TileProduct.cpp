//===- TileProduct.cpp - matrix products tile by tile -------------------------------------------------------------===//
#include "TileProduct.h"
#include "mopt/Dialect/Kernel/Panels.h"

namespace mopt {

TileProduct::TileProduct(const GpuSchedule &schedule, ArrayRef<int64_t> batch, int64_t m, int64_t n, int64_t k)
    : schedule(schedule), batchSizes(batch), m(m), n(n), k(k), tile(schedule.tileFor(m, n)) {
  rowTiles = (m + tile.tileRows() - 1) / tile.tileRows();
  columnTiles = (n + tile.tileColumns() - 1) / tile.tileColumns();
  int64_t count = 1;
  for (int64_t size : batch)
    count *= size;
  groups = count * rowTiles * columnTiles;
  macs = count * m * n * k;
}

/// The tile's products of this thread, row by row.
SmallVector<Value> TileProduct::products(ThreadCode &code, ArrayRef<Value> batch, Value firstRow, Value firstColumn,
                                         Value rowThread, Value columnThread) {
  const int64_t threads = schedule.threads, depth = schedule.depth, tileRows = tile.tileRows(),
                tileColumns = tile.tileColumns();
  SmallVector<Value> sums(tile.rows * tile.columns, code.zero());
  if (!k)
    return sums;
  // One row more than there is: threads that copy neighbours of k then write to different banks.
  const int64_t pitch = tileRows + 1;
  Value aTile = code.shared(depth * pitch), bTile = code.shared(depth * tileColumns);

  // Copies: element e = thread + threads * s of a tile; of a along k first, of b along columns first, as both lie in memory.
  struct Copy {
    Value row, column, place, there, rowInside; // there: the tile has such an element; null: yes
    SmallVector<Value> state;
  };
  auto copiesOf = [&](int64_t elements, int64_t inner) {
    SmallVector<Copy> copies;
    for (int64_t s = 0; s < elements; s += threads) {
      Value e = code.add(code.thread, code.index(s));
      Copy copy{code.div(e, inner), code.rem(e, inner), {}, {}, {}, {}};
      if (s + threads > elements)
        copy.there = code.below(e, elements);
      copies.push_back(copy);
    }
    return copies;
  };
  SmallVector<Copy> aCopies = copiesOf(tileRows * depth, depth), bCopies = copiesOf(tileColumns * depth, tileColumns);
  for (Copy &copy : aCopies) {
    Value row = code.add(firstRow, copy.row);
    copy.rowInside = code.below(row, m);
    copy.state = rowOf(code, batch, row);
    copy.place = code.add(code.mul(copy.column, pitch), copy.row);
  }
  for (Copy &copy : bCopies) {
    Value column = code.add(firstColumn, copy.column);
    copy.rowInside = code.below(column, n);
    copy.state = columnOf(code, batch, column);
    copy.place = code.add(code.mul(copy.row, tileColumns), copy.column);
  }

  return code.loop(k, depth, sums, [&](Value first, ValueRange carried) {
    for (Copy &copy : aCopies)
      code.when(copy.there, [&] {
        Value at = code.add(first, copy.column);
        SmallVector<Value> depthState = depthOf(code, at);
        Value inside = code.both(copy.rowInside, code.below(at, k));
        code.storeShared(left(code, copy.state, depthState, inside), aTile, copy.place);
      });
    for (Copy &copy : bCopies)
      code.when(copy.there, [&] {
        Value at = code.add(first, copy.row);
        Value inside = code.both(copy.rowInside, code.below(at, k));
        code.storeShared(right(code, copy.state, at, inside), bTile, copy.place);
      });
    code.barrier();
    SmallVector<Value> next = code.loop(std::min(depth, k), 1, carried, [&](Value at, ValueRange partial) {
      SmallVector<Value> a, b, result;
      Value aRow = code.add(code.mul(at, pitch), rowThread), bRow = code.add(code.mul(at, tileColumns), columnThread);
      for (unsigned i = 0; i < tile.rows; ++i)
        a.push_back(code.loadShared(aTile, code.add(aRow, code.index(i * tile.rowThreads))));
      for (unsigned j = 0; j < tile.columns; ++j)
        b.push_back(code.loadShared(bTile, code.add(bRow, code.index(j * tile.columnThreads))));
      for (unsigned i = 0; i < tile.rows; ++i)
        for (unsigned j = 0; j < tile.columns; ++j)
          result.push_back(code.fma(a[i], b[j], partial[i * tile.columns + j]));
      return result;
    });
    code.barrier(); // before the next round overwrites what others still read
    return next;
  });
}

void TileProduct::emit(ThreadCode &code) {
  SmallVector<int64_t> sizes = batchSizes;
  sizes.append({rowTiles, columnTiles});
  SmallVector<Value> position = code.digits(code.group, sizes);
  Value firstColumn = code.mul(position.pop_back_val(), tile.tileColumns());
  Value firstRow = code.mul(position.pop_back_val(), tile.tileRows());
  Value rowThread = code.div(code.thread, tile.columnThreads), columnThread = code.rem(code.thread, tile.columnThreads);
  SmallVector<Value> sums = products(code, position, firstRow, firstColumn, rowThread, columnThread);
  for (unsigned i = 0; i < tile.rows; ++i)
    for (unsigned j = 0; j < tile.columns; ++j) {
      Value row = code.add(firstRow, code.add(rowThread, code.index(i * tile.rowThreads)));
      Value column = code.add(firstColumn, code.add(columnThread, code.index(j * tile.columnThreads)));
      code.when(code.both(code.below(row, m), code.below(column, n)),
                [&] { finish(code, position, row, column, sums[i * tile.columns + j]); });
    }
}

PanelProduct::PanelProduct(kernel::RootOpInterface op, const GpuSchedule &schedule, MatrixShape given)
    : TileProduct(schedule, numbersOf(given.batch), *given.m.asConstant(), *given.n.asConstant(), *given.k.asConstant()),
      shape(std::move(given)), op(op) {}

SmallVector<Value> PanelProduct::columnOf(ThreadCode &code, ArrayRef<Value> batch, Value column) {
  constexpr int64_t width = Panels::floatWidth;
  Value panel = code.mul(code.div(column, width), *shape.k.asConstant() * width);
  return {code.add(dot(code, batch, shape.b.batchStrides), code.add(panel, code.rem(column, width)))};
}

Value PanelProduct::right(ThreadCode &code, ArrayRef<Value> column, Value k, Value inside) {
  return code.loadIf(inside, shape.b.memref, code.add(column.front(), code.mul(k, Panels::floatWidth)));
}

void PanelProduct::finish(ThreadCode &code, ArrayRef<Value> batch, Value row, Value column, Value sum) {
  auto place = [&](const MatrixOperand &operand) {
    Value base = dot(code, batch, operand.batchStrides);
    Value at = code.add(base, code.mul(row, *operand.rowStride.asConstant()));
    return operand.columns ? code.add(at, column) : at;
  };
  SmallVector<Value> arguments = {sum};
  for (const MatrixOperand &extra : shape.extras)
    arguments.push_back(code.load(extra.memref, place(extra)));
  code.store(applyElementwise(code, op.getEpilogue().front(), arguments).front(), shape.y.memref, place(shape.y));
}

} // namespace mopt
