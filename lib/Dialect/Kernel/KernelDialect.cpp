//===- KernelDialect.cpp - the dialect, verifiers, effects --------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Dialect/Mopt/OpTable.h"

#include "mopt/Dialect/Kernel/KernelDialect.cpp.inc"
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
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
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
