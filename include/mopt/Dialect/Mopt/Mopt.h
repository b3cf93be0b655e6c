//===- Mopt.h - the mopt dialect ----------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_MOPT_H
#define MOPT_DIALECT_MOPT_MOPT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mopt/Dialect/Mopt/DimExpr.h"
#include "mopt/Dialect/Mopt/ShapeContext.h"
#include "mopt/Dialect/Mopt/WeightStore.h"
#include "mopt/Support/LLVM.h"

#include "mopt/Dialect/Mopt/MoptDialect.h.inc"
namespace mopt {
/// Verifier of every op: its shape rule holds, and does not contradict the result types.
LogicalResult verifyShapeRule(Operation *op);
} // namespace mopt
#include "mopt/Dialect/Mopt/MoptInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "mopt/Dialect/Mopt/MoptAttributes.h.inc"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Structure.h.inc"

namespace mopt {

/// Shape rule of every elementwise op: numpy broadcasting; the element type of the result is that of the operands, or
/// boolean where the record says so.
LogicalResult inferElementwise(Operation *op, ShapeContext &context, SmallVectorImpl<Type> &types);

/// Sizes of a tensor type: numbers, symbols and expressions. A dynamic axis without encoding is a null DimExpr.
SmallVector<DimExpr> dimsOf(Type type);
inline SmallVector<DimExpr> dimsOf(Value value) { return dimsOf(value.getType()); }
/// The tensor type with these sizes: `?` and the encoding for those that are not numbers.
RankedTensorType tensorType(ArrayRef<DimExpr> dims, Type element);
/// Whether a transpose of a tensor with these sizes leaves the order of its elements: only axes of size 1 change places.
bool movesUnitAxesOnly(ArrayRef<DimExpr> dims, ArrayRef<int64_t> perm);
/// An operand or result that ONNX leaves out.
inline bool isAbsent(Value value) { return isa<NoneType>(value.getType()); }
inline RankedTensorType tensorOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// Elements of a constant; weights are read through the dialect's store. Nothing for other values, or when the source is
/// not at hand.
std::optional<SmallVector<int64_t>> constantInts(Value value);
std::optional<SmallVector<double>> constantFloats(Value value);
/// Raw bytes of a constant in ONNX's packing, without a copy where they lie in a weight source; `scratch` owns them else.
std::optional<ArrayRef<uint8_t>> constantBytes(Attribute value, MLIRContext *context, std::vector<uint8_t> &scratch);
/// A constant attribute of `type` from raw bytes: in the IR when small, else kept in the dialect's weight store.
TypedAttr constantFromBytes(RankedTensorType type, std::vector<uint8_t> bytes);

/// ONNX's TensorProto.DataType of an element type, 0 for others; and back (null for others).
int32_t onnxType(Type element);
Type elementType(MLIRContext *context, int32_t onnxType);
/// Bits of one element as stored: booleans take a byte, 4-bit types half of one.
int64_t storedBits(Type element);
/// Bytes of a tensor with `elements` elements; nothing on overflow.
std::optional<int64_t> storedBytes(Type element, int64_t elements);

/// ONNX node name of an operation: the name of its location, or "" when it has none.
std::string onnxName(Location location);
/// All ONNX node names in a (possibly fused) location, in order, each once.
SmallVector<std::string> onnxNames(Location location);

} // namespace mopt
#endif
