//===- TileNest.h - the loops around register tiles ----------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_TILENEST_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_TILENEST_H

#include "MicroKernel.h"
#include "RootEmitter.h"

namespace mopt {

/// y[batch..., m, n] = sum over k of a[batch..., m, k] * b[batch..., k, n], tile by tile, of floats or bytes. Rows of `a` are equally spaced, or
/// found through a table that `fillTable` makes.
///
/// Rows are cut into T = ceil(m / R) tiles whose sizes differ by at most one, so that no tile is a small rest; some tiles
/// are a row block, some panels a column block. A unit is one block of rows and columns of one batch index. In a unit,
/// panels are the outer loop: their part of b comes from memory once and then from the second-level cache. Where k is so
/// large that rows and panel do not fit there, k comes in parts, outside of both. A sum that waits is stored as the float it
/// is, so the order and the bits stay the same (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication).
class TileNest : public RootEmitter {
public:
  using Operand = MatrixOperand;
  void emit(KernelBody &body) override;

protected:
  TileNest(kernel::RootOpInterface op, PlanView &plan, const Schedule &schedule)
      : op(op), plan(plan), schedule(schedule), context(op->getContext()), epilogue(op.getEpilogue()) {
    Type element = plan.view(op.getInputs()[0]).element;
    arithmetic.bytes = !element.isF32();
    arithmetic.isUnsigned = element.isUnsignedInteger();
    arithmetic.dot = schedule.dot;
    arithmetic.resultBytes = storedBits(plan.view(op.getOuts()[0]).element) / 8;
  }
  /// Rows of a panel for `size` elements of k: of bytes, four share one.
  DimExpr panelRows(DimExpr size) const { return arithmetic.bytes ? size.ceilDiv(4) : size; }
  /// Call when all fields below are set.
  void finish(RowAccess access, int64_t taps);
  /// Code before the first unit.
  virtual void start(KernelBody &, Code &) {}
  /// Writes pointers to the rows [first, first + rows) of `a` for each tap: table[tap * tableRows + row]. `tile`: number of
  /// the tile in its block.
  virtual void fillTable(KernelBody &, Code &, Value table, Value tile, ValueRange batch, Value first, Value rows) {}
  DimExpr constant(int64_t value) const { return DimExpr::constant(context, value); }
  /// Takes sizes and operands; `panelStep` follows k.
  void take(const MatrixShape &shape) {
    std::tie(batch, m, n, k, a, b, y, extras) =
        std::tie(shape.batch, shape.m, shape.n, shape.k, shape.a, shape.b, shape.y, shape.extras);
    panelStep = panelRows(k) * Code::width;
  }

  kernel::RootOpInterface op;
  PlanView &plan;
  const Schedule &schedule;
  MLIRContext *context;
  Epilogue epilogue;
  SmallVector<DimExpr> batch; // outer loops
  DimExpr m, n, k;            // k: of one tap
  DimExpr panelStep;          // floats (four bytes) between panels of b
  Arithmetic arithmetic;
  Operand a, b, y;
  SmallVector<Operand> extras;
  unsigned tableRows = 0;
  int64_t stripBytes = 0;           // of stack for each pointer of the table
  int64_t taps = 1, blockTiles = 1; // blockTiles: tiles in a row block
  int64_t rowFloats = 0;            // of a that a row brings into the cache where rows share elements; 0: all it has

private:
  void unit(KernelBody &body, Code &code, Value index);
  /// First row and number of rows of a tile.
  std::pair<Value, Value> rowsOf(KernelBody &body, Code &code, Value tile);
  void tileColumns(KernelBody &body, Code &code, Value lower, Value upper, unsigned panels, bool masked);
  void restColumns(KernelBody &body, Code &code, Value panel, Value columns, unsigned panels, bool masked,
                   bool half = false);
  void columnsOf(KernelBody &body, Code &code, Value lower, Value upper);
  void chooseParts();

  RowAccess access = RowAccess::spaced;
  unsigned tilePanels = 1, tileRows = 1;
  int64_t blockColumns = 1; // column tiles in a column block
  // k in parts: a panel is then read part by part, and sums wait in memory in between
  int64_t parts = 1, partLength = 0;
  DimExpr tiles, rowBlocks, columnTiles, columnBlocks, fullColumnTiles;
  SmallVector<ExtraAccess> extraAccess;
  std::optional<MicroKernels> kernels;
  // Of the unit that is being emitted
  Value aBase, bBase, yBase, table, firstTile, endTile, firstPanel, partSums, part;
  SmallVector<Value> extraBases;
};

} // namespace mopt
#endif
