//===- MatrixShape.h - kernel ops as matrix products --------------------------------------------------------------===//
//
// What matmul and conv mean in rows, columns and strides, for the emitters of every class: the loops around differ, where an
// element lies does not.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_MATRIXSHAPE_H
#define MOPT_LIB_CONVERSION_MATRIXSHAPE_H

#include "StepEmitter.h"

namespace mopt {

/// Where the elements of an operand lie, in elements from its first.
struct MatrixOperand {
  Value memref;
  SmallVector<DimExpr> batchStrides; // one per batch axis; 0 where it does not move
  DimExpr rowStride;
  bool columns = true; // moves with n; its stride is then 1
};

/// y[batch..., m, n] = sum over k of a[batch..., m, k] * b[batch..., k, n]; b in panels (Panels.h).
struct MatrixShape {
  SmallVector<DimExpr> batch;
  DimExpr m, n, k;
  MatrixOperand a, b, y; // b: strides between matrices
  SmallVector<MatrixOperand> extras;
};

/// Batch axes that are nothing but more rows are rows.
MatrixShape matrixShape(kernel::MatMulOp op, PlanView &plan);
/// Batch axes: images and groups; m: pixels of y; k: taps, then channels of a group. Rows of a are not evenly spaced: how they
/// are found is left to the emitter; its batch strides are those of images and of groups.
MatrixShape matrixShape(kernel::ConvOp op, PlanView &plan);

/// Strides of a row-major tensor, in elements.
SmallVector<DimExpr> rowMajorStrides(ArrayRef<DimExpr> dims, MLIRContext *context);
/// How far an operand of an epilogue moves along each axis of the result.
SmallVector<DimExpr> movesOf(AffineMap map, ArrayRef<DimExpr> dims, MLIRContext *context);

} // namespace mopt
#endif
