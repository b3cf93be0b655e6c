//===- TileProduct.h - matrix products tile by tile ---------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOGPU_TILEPRODUCT_H
#define MOPT_LIB_CONVERSION_KERNELTOGPU_TILEPRODUCT_H

#include "GpuKernel.h"

namespace mopt {

/// y[batch..., m, n] = sum over k of a[batch..., m, k] * b[batch..., k, n], one workgroup for each tile of y. Elements of a and
/// b go through workgroup memory, `depth` of k at a time, so that each is read from the device's memory once for a tile; a
/// thread then has some rows and columns of the tile in registers. k ascends, one accumulator for each element. What a tile
/// has beyond m, n or k is zeros, and not stored.
class TileProduct : public GpuKernel {
public:
  void emit(ThreadCode &code) override;

protected:
  TileProduct(const GpuSchedule &schedule, ArrayRef<int64_t> batch, int64_t m, int64_t n, int64_t k);
  /// What is worked out once for a row of a and a column of b, before the loop over k, and once for each k that a thread
  /// copies.
  virtual SmallVector<Value> rowOf(ThreadCode &code, ArrayRef<Value> batch, Value row) = 0;
  virtual SmallVector<Value> columnOf(ThreadCode &code, ArrayRef<Value> batch, Value column) = 0;
  virtual SmallVector<Value> depthOf(ThreadCode &, Value k) { return {k}; }
  /// Elements of a and b; zero where `inside` is not set.
  virtual Value left(ThreadCode &code, ArrayRef<Value> row, ArrayRef<Value> depth, Value inside) = 0;
  virtual Value right(ThreadCode &code, ArrayRef<Value> column, Value k, Value inside) = 0;
  /// Stores an element of y.
  virtual void finish(ThreadCode &code, ArrayRef<Value> batch, Value row, Value column, Value sum) = 0;

private:
  SmallVector<Value> products(ThreadCode &code, ArrayRef<Value> batch, Value firstRow, Value firstColumn, Value rowThread,
                              Value columnThread);

  const GpuSchedule &schedule;
  SmallVector<int64_t> batchSizes;
  int64_t m, n, k, rowTiles, columnTiles;
  const GpuTile &tile;
};

/// A product as the kernel dialect has it: b in panels, an epilogue before y is stored.
class PanelProduct : public TileProduct {
protected:
  PanelProduct(kernel::RootOpInterface op, const GpuSchedule &schedule, MatrixShape shape);
  SmallVector<Value> columnOf(ThreadCode &code, ArrayRef<Value> batch, Value column) override;
  Value right(ThreadCode &code, ArrayRef<Value> column, Value k, Value inside) override;
  void finish(ThreadCode &code, ArrayRef<Value> batch, Value row, Value column, Value sum) override;

  MatrixShape shape;

private:
  kernel::RootOpInterface op;
};

} // namespace mopt
#endif
