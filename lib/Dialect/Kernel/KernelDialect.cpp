//===- KernelDialect.cpp - the dialect, verifiers, effects --------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Dialect/Mopt/OpTable.h"

#include "mopt/Dialect/Kernel/KernelDialect.cpp.inc"
#include "mopt/Dialect/Kernel/KernelInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "mopt/Dialect/Kernel/Kernel.cpp.inc"

namespace mopt::kernel {

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Kernel/Kernel.cpp.inc"
      >();
}

LogicalResult SizeOp::verify() { return isa<DimAttr>(getExpr()) ? success() : emitOpError("needs a #mopt.dim attribute"); }

LogicalResult ViewOp::verify() {
  auto result = cast<ShapedType>(getResult().getType());
  if (static_cast<int64_t>(getSizes().size()) != static_cast<int64_t>(result.getNumDynamicDims()))
    return emitOpError() << "has " << getSizes().size() << " sizes for " << result.getNumDynamicDims() << " dynamic axes";
  if (cast<ShapedType>(getSource().getType()).getElementType() != result.getElementType())
    return emitOpError("changes the element type");
  return success();
}

LogicalResult ReferenceOp::verify() {
  const OpRow *row = findOp((Twine("mopt.") + getOp()).str());
  if (!row || !row->reference)
    return emitOpError() << "names no op with a reference function: '" << getOp() << "'";
  auto ones = [](ArrayRef<int64_t> mask) { return static_cast<size_t>(llvm::count(mask, 1)); };
  if (ones(getPresent()) != getInputs().size() || ones(getWritten()) != getOuts().size())
    return emitOpError("operands do not match `present` and `written`");
  return success();
}

void ReferenceOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addBufferEffects(getOperation(), effects);
}

LogicalResult WeightOp::verify() {
  if (!getPanels())
    return success();
  std::optional<Panels> panels = Panels::fromArray(*getPanels());
  auto type = cast<ShapedType>(getType());
  if (!panels || !type.hasStaticShape() || type.getNumElements() != panels->elements() ||
      !type.getElementType().isF32())
    return emitOpError("its panels do not fit its type");
  return success();
}

LogicalResult verifyRoot(Operation *op) {
  auto root = cast<RootOpInterface>(op);
  Region &region = root.getEpilogue();
  if (region.empty() || !isa<ResultOp>(region.front().back()))
    return op->emitOpError("has no epilogue that ends in kernel.result");
  if (root.getOuts().size() != 1)
    return op->emitOpError("writes one result");
  SmallVector<AffineMap> maps = root.getExtraMaps();
  if (maps.size() != root.getExtras().size() || region.front().getNumArguments() != maps.size() + 1)
    return op->emitOpError("epilogue, extras and maps do not match");
  auto out = cast<ShapedType>(root.getOuts().front().getType());
  for (auto [map, extra] : llvm::zip(maps, root.getExtras()))
    if (map.getNumDims() != out.getRank() || map.getNumResults() != cast<ShapedType>(extra.getType()).getRank())
      return op->emitOpError("a map does not fit its extra");
  return success();
}

/// Axes and shapes of an op that combines elements along axes; `whole`: the result has the sizes of the input.
static LogicalResult verifyRows(Operation *op, ValueRange inputs, ValueRange outs, ArrayRef<int64_t> axes, bool whole) {
  if (inputs.size() != 1 || outs.size() != 1)
    return op->emitOpError("has one input and one result");
  auto x = cast<ShapedType>(inputs.front().getType()), y = cast<ShapedType>(outs.front().getType());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis < (i ? axes[i - 1] + 1 : 0) || axis >= x.getRank())
      return op->emitOpError("axes are not ascending numbers of axes of its input");
  bool same = x.getRank() == y.getRank();
  if (!x.getElementType().isF32() || !y.getElementType().isF32() ||
      (!same && (whole || y.getRank() != x.getRank() - static_cast<int64_t>(axes.size()))))
    return op->emitOpError("its result does not fit its input");
  int64_t yAxis = 0;
  for (int64_t d = 0; d < x.getRank(); ++d) {
    bool reduced = llvm::is_contained(axes, d);
    if (reduced && !same)
      continue;
    int64_t expected = reduced && !whole ? 1 : x.getDimSize(d), size = y.getDimSize(yAxis++);
    if (ShapedType::isStatic(expected) && ShapedType::isStatic(size) && size != expected)
      return op->emitOpError("its result does not fit its input");
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  if (!llvm::is_contained({"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"}, getKind()))
    return emitOpError() << "knows no kind '" << getKind() << "'";
  return verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/false);
}
LogicalResult SoftmaxOp::verify() { return verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/true); }
LogicalResult NormOp::verify() {
  if (failed(verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/true)))
    return failure();
  if (!getSplit())
    return success();
  ArrayRef<int64_t> split = *getSplit();
  auto x = cast<ShapedType>(getInputs().front().getType());
  if (split.size() != 2 || split[1] < 1 || !llvm::is_contained(getAxes(), split[0]) || x.isDynamicDim(split[0]) ||
      x.getDimSize(split[0]) % split[1])
    return emitOpError("its split names no axis that divides into the parts");
  return success();
}

void addBufferEffects(Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (dps.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
  }
}

Value materializeSize(OpBuilder &builder, Location loc, DimExpr size) {
  if (auto value = size.asConstant())
    return arith::ConstantIndexOp::create(builder, loc, *value);
  return SizeOp::create(builder, loc, builder.getIndexType(), size.attr());
}

DimExpr sizeOf(Value value) {
  if (auto size = value.getDefiningOp<SizeOp>())
    return DimExpr(cast<DimAttr>(size.getExpr()));
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return DimExpr::constant(value.getContext(), number.getInt());
  return {};
}

} // namespace mopt::kernel
