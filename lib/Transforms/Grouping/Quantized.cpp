//===- Quantized.cpp - contractions of 8-bit integers, as kernels take them ----------------------------------------===//
#include "mopt/Transforms/Grouping/Quantized.h"
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Reference/FixedPoint.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

std::optional<QuantizedOperands> quantizedOperands(Operation *op) {
  auto present = [](Value value) { return isAbsent(value) ? Value() : value; };
  auto qlinear = [&](ValueRange x, Value bias, bool conv) {
    return QuantizedOperands{x[0], x[3], bias, x[2], x[5], x[1], x[4], x[6], x[7], conv};
  };
  auto integer = [&](ValueRange x, bool conv) {
    return QuantizedOperands{x[0], x[1], {}, present(x[2]), present(x[3]), {}, {}, {}, {}, conv};
  };
  return llvm::TypeSwitch<Operation *, std::optional<QuantizedOperands>>(op)
      .Case<MatMulIntegerOp>([&](Operation *) { return integer(op->getOperands(), false); })
      .Case<ConvIntegerOp>([&](Operation *) { return integer(op->getOperands(), true); })
      .Case<QLinearMatMulOp>([&](Operation *) { return qlinear(op->getOperands(), {}, false); })
      .Case([&](QLinearConvOp conv) { return qlinear(op->getOperands(), present(conv.getB()), true); })
      .Default([](Operation *) { return std::nullopt; });
}

bool isFixed(Operation *op) {
  auto mode = dyn_cast_or_null<StringAttr>(op->getInherentAttr("requantize").value_or(Attribute()));
  return mode && mode.getValue() == "fixed"; // left out: float
}

int64_t plainZeroPoint(RankedTensorType weights) { return weights.getElementType().isUnsignedInteger(8) ? 128 : 0; }

/// Whether a constant is one number, or one for each column: the last axis of a matrix, whatever axes of 1 are before it.
static bool isPerColumn(Value value, int64_t columns) {
  RankedTensorType type = tensorOf(value);
  if (!type || !type.hasStaticShape())
    return false;
  int64_t n = type.getNumElements();
  return n == 1 || (n == columns && type.getShape().back() == columns);
}

std::optional<SmallVector<int64_t>> perColumnInts(Value value, int64_t columns) {
  return isPerColumn(value, columns) ? constantInts(value) : std::nullopt;
}

std::optional<SmallVector<float>> requantizeScales(const QuantizedOperands &op, int64_t columns) {
  auto number = [](Value value) -> std::optional<float> {
    auto list = constantFloats(value);
    if (!list || list->size() != 1)
      return std::nullopt;
    return static_cast<float>(list->front());
  };
  std::optional<float> left = number(op.aScale), result = number(op.yScale);
  auto right = isPerColumn(op.weightScale, columns) ? constantFloats(op.weightScale) : std::nullopt;
  if (!left || !result || !right)
    return std::nullopt;
  SmallVector<float> scales;
  for (double scale : *right) {
    float product = *left * static_cast<float>(scale);
    scales.push_back(product / *result);
  }
  return scales;
}

/// Columns of the result: output channels.
static std::optional<int64_t> columnsOf(const QuantizedOperands &op) {
  RankedTensorType w = tensorOf(op.weights);
  if (!w || !w.getRank())
    return std::nullopt;
  int64_t columns = op.conv ? w.getDimSize(0) : w.getShape().back();
  return ShapedType::isDynamic(columns) ? std::nullopt : std::optional(columns);
}

std::optional<float> scaleWithoutMultiplier(Operation *operation) {
  std::optional<QuantizedOperands> op = quantizedOperands(operation);
  std::optional<int64_t> columns = op ? columnsOf(*op) : std::nullopt;
  auto scales = columns && op->aScale ? requantizeScales(*op, *columns) : std::nullopt;
  FixedScale fixed;
  if (scales)
    for (float scale : *scales)
      if (!fixedScale(scale, fixed))
        return scale;
  return std::nullopt;
}

std::string whyNotQuantized(Operation *operation) {
  QuantizedOperands op = *quantizedOperands(operation);
  auto isByte = [](Value value) {
    RankedTensorType type = tensorOf(value);
    return type && type.getElementType().getIntOrFloatBitWidth() == 8 && isa<IntegerType>(type.getElementType());
  };
  if (!isByte(op.a) || !isByte(op.weights) || (op.yZero && !isByte(op.yZero)))
    return "its operands are not 8-bit integers";
  RankedTensorType w = tensorOf(op.weights);
  if (!op.weights.getDefiningOp<ConstantOp>() || !w.hasStaticShape() || !w.getNumElements())
    return "its weights are not constant";
  int64_t columns = *columnsOf(op), plain = plainZeroPoint(w);
  SmallVector<int64_t> zeros{0};
  if (op.weightZero) {
    auto given = perColumnInts(op.weightZero, columns);
    if (!given)
      return "the zero point of its weights is not constant, or one for each row";
    zeros = *given;
  }
  for (int64_t zero : zeros)
    if (zero != plain)
      return "the zero point of its weights is " + std::to_string(zero) + ", the kernel takes " + std::to_string(plain);
  if (op.aZero && !perColumnInts(op.aZero, 1))
    return "the zero point of its left operand is not one constant";
  if (op.bias && !constantInts(op.bias))
    return "its bias is not constant";
  if (!op.aScale)
    return "";
  if (!requantizeScales(op, columns))
    return "its scales are not constant, or change along the rows of the result";
  if (!perColumnInts(op.yZero, 1))
    return "the zero point of its result is not one constant";
  if (isFixed(operation) && scaleWithoutMultiplier(operation))
    return "a scale has no fixed-point multiplier";
  return "";
}

} // namespace mopt
