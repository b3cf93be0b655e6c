//===- HvxNest.h - the loops around register tiles on Hexagon ------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOHVX_HVXNEST_H
#define MOPT_LIB_CONVERSION_KERNELTOHVX_HVXNEST_H

#include "../KernelToVector/RootEmitter.h"
#include "HvxTile.h"

namespace mopt {

/// y[batch..., m, n] = sum over taps and c of a(batch..., m, tap, c) * b[batch..., tap, c, n], of bytes, tile by tile.
///
/// The rows of a tile are packed first, in words of four bytes, those of all rows of a step of k side by side: the tile then
/// follows one pointer with aligned loads of two rows, a tap of c bytes that is no multiple of four ends in zeros, nothing is
/// read past the end of a, and the sum of each row comes with it. That is a load and a store for each word, which all panels
/// share. A unit is some tiles of rows, with all columns; in it, panels are the outer loop.
class HvxNest : public RootEmitter {
public:
  void emit(KernelBody &body) override;

  struct Operand {
    Value memref;
    SmallVector<int64_t> batchStrides = {}; // bytes, one for each batch axis; 0 where it does not move
    bool columns = true;                    // of an extra: moves with n
  };

protected:
  HvxNest(kernel::RootOpInterface op, PlanView &plan);
  /// Sizes of a buffer, which are numbers (checked before).
  SmallVector<int64_t> dims(Value memref) const;
  /// Call when the fields below are set. Reports what is too large.
  LogicalResult finish();

  /// What finds the bytes of a row of a.
  virtual SmallVector<Value> locate(HvxCode &code, ValueRange position, Value row) = 0;
  using CopyTap = llvm::function_ref<Value(Value tap, Value bytes0, Value bytes1, Value sums)>;
  /// Calls `copy` with the c bytes of each tap of two rows; hands the sums on.
  virtual Value forTaps(KernelBody &body, HvxCode &code, ValueRange row0, ValueRange row1, Value sums, CopyTap copy) = 0;

  kernel::RootOpInterface op;
  PlanView &plan;
  HvxTiles tiles;
  SmallVector<int64_t> batch;
  int64_t m = 0, n = 0, taps = 1, c = 0;
  int64_t alignment = 1; // of the bytes of taps
  int64_t yStep = 0;     // bytes
  Operand a, b, y;
  SmallVector<Operand> extras;
  Value aBase; // of the unit that is being emitted

private:
  void unit(KernelBody &body, HvxCode &code, Value index);
  void pack(KernelBody &body, HvxCode &code, ValueRange position, Value first, Value rows, Value packed, Value starts);
  Value copyTap(HvxCode &code, Value to, Value bytes0, Value bytes1, Value sums);
  void columnTiles(KernelBody &body, HvxCode &code, Value tile, int64_t panels, int64_t columns, Value firstTile,
                   Value endTile);
  int64_t tapWords() const { return (c + 3) / 4; }
  int64_t largerTiles() const { return m % rowTiles; }

  int64_t tilePanels = 1, rowTiles = 0, blockTiles = 1, rowBlocks = 0;
  Value bBase, yBase, packedRows, rowStarts;
  SmallVector<Value> extraBases;
};

} // namespace mopt
#endif
