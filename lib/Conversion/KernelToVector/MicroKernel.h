//===- MicroKernel.h - one register tile of a matrix product -------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_MICROKERNEL_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_MICROKERNEL_H

#include "Epilogue.h"

namespace mopt {

/// A tile of `rows` by `panels` * 16 elements.
struct TileShape {
  unsigned rows, panels;
  bool masked; // the last panel has fewer than 16 columns to store
  bool half;   // it has at most 8: half of its products are not computed
};

/// What the rows of the left operand are: equally spaced, or a table of pointers [tap][tableRows].
enum class RowAccess { spaced, table };

/// An operand of the epilogue: whether it moves with rows and columns of the tile.
struct ExtraAccess {
  bool rows, columns;
};

/// Functions `void tile(a, aStep, k, b, panelStep, y, yStep, columns, (extra, extraStep)...)`, made when first asked for.
/// a: first row (spaced; aStep floats between rows) or the table (aStep taps). k: floats of a row, of each tap.
/// b: first panel; panelStep floats between panels. y: yStep floats between rows. columns: stored in the last panel.
class MicroKernels {
public:
  /// `depth`: k where it is small and known; the code is then straight. 0: any k.
  MicroKernels(FunctionEmitter &emitter, Epilogue epilogue, SmallVector<ExtraAccess> extras, RowAccess access,
               unsigned tableRows, int64_t depth)
      : emitter(emitter), epilogue(epilogue), extras(std::move(extras)), access(access), tableRows(tableRows), depth(depth) {
  }
  LLVM::LLVMFuncOp get(TileShape shape);

private:
  void emit(LLVM::LLVMFuncOp function, TileShape shape);
  FunctionEmitter &emitter;
  Epilogue epilogue;
  SmallVector<ExtraAccess> extras;
  RowAccess access;
  unsigned tableRows;
  int64_t depth;
};

} // namespace mopt
#endif
