//===- QuantizedRoots.cpp - the kernel op of a contraction of 8-bit integers ---------------------------------------===//
//
// The kernel adds products of bytes as they are. What zero points change is known now: that of the left operand is part of
// the bias, bias[n] - zero point * sum of column n, modulo 2^32 as all sums are; weights have none (Quantized.h).
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Roots.h"
#include "mopt/Reference/FixedPoint.h"
#include "mopt/Transforms/Grouping/Quantized.h"

namespace mopt {
namespace {

/// Sums of the columns of all groups of a constant, as the kernel sees its bytes.
SmallVector<uint32_t> columnSums(ConstantOp constant, const Panels &panels) {
  std::vector<uint8_t> scratch;
  auto bytes = constantBytes(constant.getValue(), constant.getContext(), scratch);
  SmallVector<uint32_t> sums;
  if (!bytes || static_cast<int64_t>(bytes->size()) < panels.extent())
    return sums; // the plan reports it
  uint8_t flip = panels.kind == Panels::Kind::shifted ? 0x80 : 0;
  for (int64_t g = 0; g < panels.groups; ++g)
    for (int64_t n = 0; n < panels.n; ++n) {
      uint32_t sum = 0;
      for (int64_t k0 = 0; k0 < panels.outer; ++k0)
        for (int64_t k1 = 0; k1 < panels.inner; ++k1)
          sum += static_cast<int8_t>((*bytes)[g * panels.groupStride + n * panels.nStride + k0 * panels.outerStride +
                                              k1 * panels.innerStride] ^
                                     flip);
      sums.push_back(sum);
    }
  return sums;
}

/// Makes the extras of the epilogue of one kernel.
class Extras {
public:
  Extras(OpBuilder &builder, Location loc, Operation *root, KernelParts &parts)
      : builder(builder), loc(loc), parts(parts), rank(tensorOf(root->getResult(0)).getRank()) {}

  /// Numbers for the last axes of the result, `shape`; axes of 1 do not move.
  template <class T> void add(Type element, ArrayRef<int64_t> shape, ArrayRef<T> numbers) {
    auto type = RankedTensorType::get(shape, element);
    SmallVector<AffineExpr> exprs;
    for (auto [i, size] : llvm::enumerate(shape))
      exprs.push_back(size == 1 ? getAffineConstantExpr(0, builder.getContext())
                                : getAffineDimExpr(rank - shape.size() + i, builder.getContext()));
    Value tensor = kernel::WeightOp::create(builder, loc, type, DenseElementsAttr::get(type, numbers));
    parts.extras.push_back({tensor, AffineMap::get(rank, 0, exprs, builder.getContext())});
  }

private:
  OpBuilder &builder;
  Location loc;
  KernelParts &parts;
  unsigned rank;
};

void addBias(const QuantizedOperands &op, const Panels &panels, ArrayRef<int64_t> batch, int64_t aZero, OpBuilder &builder,
             Extras &extras) {
  SmallVector<int64_t> bias = op.bias ? *constantInts(op.bias) : SmallVector<int64_t>();
  if (bias.empty() && !aZero)
    return;
  SmallVector<uint32_t> sums;
  if (aZero)
    sums = columnSums(op.weights.getDefiningOp<ConstantOp>(), panels);
  SmallVector<int32_t> numbers;
  for (int64_t i = 0, n = panels.groups * panels.n; i < n; ++i) {
    uint32_t given = bias.empty() ? 0 : static_cast<uint32_t>(bias[i]), sum = sums.empty() ? 0 : sums[i];
    numbers.push_back(static_cast<int32_t>(given - static_cast<uint32_t>(aZero) * sum));
  }
  SmallVector<int64_t> shape(batch);
  if (!shape.empty())
    shape.push_back(1); // rows
  shape.push_back(op.conv ? panels.groups * panels.n : panels.n);
  extras.add<int32_t>(builder.getI32Type(), shape, numbers);
}

/// Scales of the requantization, as the mode takes them.
void addScales(Operation *root, const QuantizedOperands &op, int64_t columns, OpBuilder &builder, Extras &extras) {
  SmallVector<float> scales = *requantizeScales(op, columns);
  int64_t count = scales.size();
  if (!isFixed(root))
    return extras.add<float>(builder.getF32Type(), {count}, scales);
  SmallVector<int32_t> multipliers, shifts;
  for (float scale : scales) {
    FixedScale fixed;
    fixedScale(scale, fixed); // one without is refused before
    multipliers.push_back(fixed.multiplier);
    shifts.push_back(fixed.shift);
  }
  extras.add<int32_t>(builder.getI32Type(), {count}, multipliers);
  extras.add<int32_t>(builder.getI32Type(), {count}, shifts);
}

} // namespace

KernelParts makeQuantizedParts(Operation *root, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  Location loc = root->getLoc();
  QuantizedOperands op = *quantizedOperands(root);
  RankedTensorType w = tensorOf(op.weights);
  int64_t aZero = op.aZero ? constantInts(op.aZero)->front() : 0;
  ConvGeometry geometry;
  SmallVector<int64_t> batch; // axes before those of the panels
  if (op.conv)
    geometry = convGeometry(root, op.weights);
  else {
    geometry.panels = matrixPanels(w.getShape());
    batch.assign(w.getShape().begin(), w.getShape().end() - 2);
  }
  Panels &panels = geometry.panels;
  panels.kind = plainZeroPoint(w) ? Panels::Kind::shifted : Panels::Kind::int8;
  panels.width = operands.int8Width;
  bool isMatMul = !op.conv || geometry.pointwise;
  SmallVector<int64_t> outer = isMatMul ? batch : SmallVector<int64_t>{geometry.group};
  Value a = operands.map.lookup(op.a), packed = packedWeight(builder, op.weights.getDefiningOp<ConstantOp>(), outer, panels);

  KernelParts parts;
  parts.sum = builder.getI32Type();
  Extras extras(builder, loc, root, parts);
  addBias(op, panels, batch, aZero, builder, extras);
  bool hasBias = !parts.extras.empty();
  if (op.aScale)
    addScales(root, op, panels.n * (op.conv ? panels.groups : 1), builder, extras);
  parts.create = [=](OpBuilder &b, ValueRange tensors, Value out, ArrayRef<AffineMap> maps, ArrayRef<int64_t>) -> Operation * {
    if (isMatMul)
      return kernel::MatMulOp::create(b, loc, out.getType(), ValueRange{a, packed}, tensors, out,
                                      b.getAffineMapArrayAttr(maps), DenseI64ArrayAttr(), DenseI64ArrayAttr());
    return kernel::ConvOp::create(b, loc, out.getType(), ValueRange{a, packed}, tensors, out, b.getAffineMapArrayAttr(maps),
                                  geometry.kernel, geometry.strides, geometry.dilations, geometry.pads, geometry.group,
                                  aZero);
  };
  Type result = tensorOf(root->getResult(0)).getElementType();
  bool isUnsigned = result.isUnsignedInteger();
  int64_t yZero = op.yZero ? constantInts(op.yZero)->front() : 0, low = isUnsigned ? 0 : -128;
  parts.finish = [=](OpBuilder &b, Value sum, ValueRange numbers) -> Value {
    if (hasBias) {
      sum = kernel::ScalarOp::create(b, loc, sum.getType(), "add", b.getDictionaryAttr({}), ValueRange{sum, numbers.front()});
      numbers = numbers.drop_front();
    }
    if (numbers.empty())
      return sum;
    return kernel::RequantizeOp::create(b, loc, result, sum, numbers[0], numbers.size() > 1 ? numbers[1] : Value(), yZero,
                                        low, low + 255);
  };
  return parts;
}

} // namespace mopt
