//===- MicroKernel.h - one register tile of a matrix product -------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_MICROKERNEL_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_MICROKERNEL_H

#include "Epilogue.h"
#include "mopt/Conversion/Schedule.h"

namespace mopt {

/// A tile of `rows` by `panels` * 16 elements.
struct TileShape {
  unsigned rows, panels;
  bool masked; // the last panel has fewer than 16 columns to store
  bool half;   // it has at most 8: half of its products are not computed
};

/// What the rows of the left operand are: equally spaced, or a table of pointers [tap][tableRows].
enum class RowAccess { spaced, table };

/// An operand of the epilogue: whether it moves with rows and columns of the tile. Elements of four bytes.
struct ExtraAccess {
  bool rows, columns;
  Type element;
};

/// What is multiplied: floats, or bytes into sums of i32.
struct Arithmetic {
  bool bytes = false, isUnsigned = false;
  Dot dot = Dot::none;
  unsigned rest = 0;       // bytes of k past the last four of a row, or of a tap
  int64_t resultBytes = 4; // of an element of y
  int64_t aBytes() const { return bytes ? 1 : 4; }
};

/// Functions `void tile(a, aStep, k, b, panelStep, y, yStep, columns, ahead, (extra, extraStep)...)`, made when first asked for.
/// a: first row (spaced; aStep elements between rows) or the table (aStep taps). k: floats, or whole fours of bytes, of a row,
/// of each tap. b: first panel; panelStep floats (four bytes) between panels. y: yStep elements between rows. columns: stored
/// in the last panel. ahead: what a later tile reads, fetched into the second-level cache meanwhile: of each of its panels two
/// lines of 64 bytes for each turn of four steps of k.
/// With `parts`, two more pointers before the extras: sums to begin with, and where they are left when k goes on in another
/// call (null: this is the last part, y is written). [rows][panels * 16] floats.
class MicroKernels {
public:
  /// `depth`: k where it is small and known; the code is then straight. 0: any k. `parts`: of floats only.
  MicroKernels(FunctionEmitter &emitter, Epilogue epilogue, SmallVector<ExtraAccess> extras, RowAccess access,
               Arithmetic arithmetic, unsigned tableRows, int64_t depth, bool parts)
      : emitter(emitter), epilogue(epilogue), extras(std::move(extras)), access(access), arithmetic(arithmetic),
        tableRows(tableRows), depth(depth), parts(parts) {}
  LLVM::LLVMFuncOp get(TileShape shape);

private:
  void emit(LLVM::LLVMFuncOp function, TileShape shape);
  void finish(KernelBody &body, Code &code, TileShape shape, unsigned firstExtra, SmallVector<Value> sums);
  FunctionEmitter &emitter;
  Epilogue epilogue;
  SmallVector<ExtraAccess> extras;
  RowAccess access;
  Arithmetic arithmetic;
  unsigned tableRows;
  int64_t depth;
  bool parts;
};

} // namespace mopt
#endif
