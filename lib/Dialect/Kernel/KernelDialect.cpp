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
