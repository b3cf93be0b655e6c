//===- Kernel.h - the kernel dialect ------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_KERNEL_KERNEL_H
#define MOPT_DIALECT_KERNEL_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mopt/Dialect/Mopt/Mopt.h"

#include "mopt/Dialect/Kernel/KernelDialect.h.inc"
namespace mopt::kernel {
/// Verifier of RootOpInterface: the epilogue fits operands and maps.
LogicalResult verifyRoot(Operation *op);
/// Effects of a destination-passing op on its buffers; none on tensors.
void addBufferEffects(Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects);
} // namespace mopt::kernel
#include "mopt/Dialect/Kernel/KernelInterfaces.h.inc"
#define GET_OP_CLASSES
#include "mopt/Dialect/Kernel/Kernel.h.inc"

namespace mopt::kernel {

/// Makes kernel ops and mopt.group known to One-Shot Bufferize. Every tool calls it.
void registerBufferization(DialectRegistry &registry);

/// `index` value of a size at the builder's position: arith constant or kernel.size.
Value materializeSize(OpBuilder &builder, Location loc, DimExpr size);
/// The size an index value stands for: a constant or the expression of its kernel.size; null for others.
DimExpr sizeOf(Value value);

} // namespace mopt::kernel
#endif
