//===- Roots.h - the kernel op of a root ---------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_MOPTTOKERNEL_ROOTS_H
#define MOPT_LIB_CONVERSION_MOPTTOKERNEL_ROOTS_H

#include "mlir/IR/IRMapping.h"
#include "mopt/Conversion/Conversion.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Dialect/Mopt/Mopt.h"

namespace mopt {

/// What is needed to make operands of kernel ops before the group.
struct OperandBuilder {
  OpBuilder &builder;
  IRMapping &map; // values of the graph -> tensors
  std::function<Value(Location, ArrayRef<DimExpr>)> destination;
  int64_t int8Width; // columns of panels of 8-bit weights
};

/// A kernel op that waits for its epilogue.
struct KernelParts {
  Value scale, bias;           // values of the graph that are multiplied and then added first; null for none
  AffineMap scaleMap, biasMap; // null: they broadcast from the right
  /// `order`: axis i of the result is axis order[i] of `out`; empty: as it is. Only for contractions.
  std::function<Operation *(OpBuilder &, ValueRange extras, Value out, ArrayRef<AffineMap> maps, ArrayRef<int64_t> order)>
      create;
  // Instead of scale and bias, of a kernel whose sums have another type than its result:
  Type sum;                                        // null: that of the result
  SmallVector<std::pair<Value, AffineMap>> extras; // tensors, and where they are read
  std::function<Value(OpBuilder &, Value sum, ValueRange extras)> finish; // what is stored
};

/// What a convolution does beside its types; the operands may be of a conv, conv_integer or qlinear_conv.
struct ConvGeometry {
  Panels panels; // of its weights [o, c/g, k...]; floats
  SmallVector<int64_t> kernel, strides, dilations, pads;
  int64_t group = 1;
  bool pointwise = false; // a matrix product over all pixels
};
ConvGeometry convGeometry(Operation *op, Value weights);

/// A constant in panels: packed when the artifact is written. `outer`: axes before those of the panels.
Value packedWeight(OpBuilder &builder, ConstantOp constant, ArrayRef<int64_t> outer, const Panels &panels);
/// The panels of a constant b[...,k,n] of floats.
Panels matrixPanels(ArrayRef<int64_t> shape, ArrayRef<int64_t> order = {});
/// Of an op on 8-bit integers (QuantizedRoots.cpp).
KernelParts makeQuantizedParts(Operation *root, OperandBuilder &operands);

/// For a root that hasKernel(). Packs operands before the group.
KernelParts makeKernelParts(Operation *root, OperandBuilder &operands);

} // namespace mopt
#endif
