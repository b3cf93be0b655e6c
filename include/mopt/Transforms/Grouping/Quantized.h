//===- Quantized.h - contractions of 8-bit integers, as kernels take them ------------------------------------------===//
#ifndef MOPT_TRANSFORMS_GROUPING_QUANTIZED_H
#define MOPT_TRANSFORMS_GROUPING_QUANTIZED_H

#include "mopt/Dialect/Mopt/Mopt.h"

namespace mopt {

/// matmul_integer, conv_integer, qlinear_matmul or qlinear_conv: the roles of its operands.
struct QuantizedOperands {
  Value a, weights, bias;                // bias: of i32, null for none
  Value aZero, weightZero;               // null: 0
  Value aScale, weightScale, yScale;     // null: the result is the sum
  Value yZero;
  bool conv = false;
};
/// Nothing for other ops.
std::optional<QuantizedOperands> quantizedOperands(Operation *op);

/// Whether its results are requantized in integers alone.
bool isFixed(Operation *op);

/// Zero point of 8-bit weights that makes them signed ones without: 0 of i8, or 128 of ui8.
int64_t plainZeroPoint(RankedTensorType weights);

/// One number for all columns of the result, or one for each; nothing when it is not constant, or another kind.
std::optional<SmallVector<int64_t>> perColumnInts(Value value, int64_t columns);
/// (a scale * weight scale) / y scale in f32, as the reference functions compute it: one, or one for each column.
std::optional<SmallVector<float>> requantizeScales(const QuantizedOperands &op, int64_t columns);
/// A constant scale of a qlinear op for which mode `fixed` has no multiplier (FixedPoint.h); nothing when all have one, or
/// only the run can tell.
std::optional<float> scaleWithoutMultiplier(Operation *op);

/// Why the integer kernel cannot run the parts of an op that have to do with integers; empty if it can. Shapes are checked
/// as for floats.
std::string whyNotQuantized(Operation *op);

} // namespace mopt
#endif
