//===- Roots.h - the kernel op of a root ---------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_MOPTTOKERNEL_ROOTS_H
#define MOPT_LIB_CONVERSION_MOPTTOKERNEL_ROOTS_H

#include "mlir/IR/IRMapping.h"
#include "mopt/Conversion/Conversion.h"

namespace mopt {

/// What is needed to make operands of kernel ops before the group.
struct OperandBuilder {
  OpBuilder &builder;
  IRMapping &map; // values of the graph -> tensors
  std::function<Value(Location, ArrayRef<DimExpr>)> destination;
};

/// A kernel op that waits for its epilogue.
struct KernelParts {
  Value scale, bias;           // values of the graph that are multiplied and then added first; null for none
  AffineMap scaleMap, biasMap; // null: they broadcast from the right
  /// `order`: axis i of the result is axis order[i] of `out`; empty: as it is. Only for contractions.
  std::function<Operation *(OpBuilder &, ValueRange extras, Value out, ArrayRef<AffineMap> maps, ArrayRef<int64_t> order)>
      create;
};

/// For a root that hasKernel(). Packs operands before the group.
KernelParts makeKernelParts(Operation *root, OperandBuilder &operands);

} // namespace mopt
#endif
