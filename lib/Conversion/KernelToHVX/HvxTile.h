//===- HvxTile.h - one register tile of an integer matrix product on Hexagon ---------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOHVX_HVXTILE_H
#define MOPT_LIB_CONVERSION_KERNELTOHVX_HVXTILE_H

#include "../ToLLVM/KernelBody.h"
#include "HvxCode.h"
#include "mopt/Dialect/Kernel/Kernel.h"

namespace mopt {

/// An operand of the epilogue; it does not change along the rows of a tile.
struct HvxExtra {
  bool columns;      // moves with n; else it is one number
  int64_t alignment; // of what a tile reads, bytes
  int64_t least;     // of its numbers, where they are known
};

/// What the tiles of one kernel have in common. Bytes, but for steps and rowWords.
struct HvxTiles {
  kernel::RootOpInterface op;
  bool isUnsigned = false; // the left operand
  Type result;             // element: i32 or a byte
  int64_t steps = 0;       // groups of four of k
  int64_t rowWords = 0;    // words between steps of the packed rows; even
  int64_t panelBytes = 0;  // between panels
  int64_t yStep = 0;       // between rows of y
  SmallVector<HvxExtra> extras;

  int64_t resultBytes() const { return result.isInteger(32) ? 4 : 1; }
  /// `void tile(rows, sums, panels, y, extra...)` for `rows` by `panels` * 32 elements, of which `columns` are stored; made
  /// when first asked for. rows: packed, [step][rowWords] words of four bytes. sums: what each row starts with.
  LLVM::LLVMFuncOp get(FunctionEmitter &emitter, int64_t rows, int64_t panels, int64_t columns) const;
  /// Why the epilogue has no code; empty if it has.
  static std::string whyNot(kernel::RootOpInterface op);

private:
  void emit(FunctionEmitter &emitter, LLVM::LLVMFuncOp function, int64_t rows, int64_t panels, int64_t columns) const;
  SmallVector<Value> multiply(HvxCode &code, LLVM::LLVMFuncOp function, int64_t rows, int64_t panels) const;
};

/// The code of kernel.requantize for rows of sums, row by row, each of as many vectors as there are scales, four at most: a
/// vector of bytes for each row, of which the first 32 for each scale count. The same bits as the reference functions.
/// `leastShift`: what no shift is below.
SmallVector<Value> hvxRequantize(HvxCode &code, kernel::RequantizeOp op, ArrayRef<Value> sums, ArrayRef<Value> scales,
                                 ArrayRef<Value> shifts, int64_t leastShift);

} // namespace mopt
#endif
