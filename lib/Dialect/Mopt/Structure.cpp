//===- Structure.cpp - constants and groups -----------------------------------------------------------------------===//
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Structure.cpp.inc"

namespace mopt {

void MoptDialect::addStructureOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Structure.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//
/// Type of the tensor in a constant's attribute; null for attributes that hold none.
static RankedTensorType typeOfValue(Attribute value) {
  if (auto elements = dyn_cast_or_null<ElementsAttr>(value))
    return dyn_cast<RankedTensorType>(elements.getShapedType());
  if (auto weight = dyn_cast_or_null<WeightAttr>(value))
    return dyn_cast<RankedTensorType>(weight.getType());
  return {};
}

LogicalResult ConstantOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Attribute value = getProperties().value;
  RankedTensorType type = typeOfValue(value);
  if (!type || !type.hasStaticShape())
    return context.fail(*this, "MOPT-S019", "the value is not a tensor with known sizes");
  if (type.getRank() > maxRank)
    return context.fail(*this, "MOPT-S005", "the constant has rank " + Twine(type.getRank()) + ", expected at most 8");
  types.push_back(RankedTensorType::get(type.getShape(), type.getElementType()));
  return success();
}

LogicalResult ConstantOp::verify() {
  auto weight = dyn_cast<WeightAttr>(getValue());
  RankedTensorType type = typeOfValue(getValue());
  if (!weight || !type || !type.hasStaticShape())
    return success(); // the shape rule reports
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    if (__builtin_mul_overflow(elements, size, &elements))
      return emitError("MOPT-S019: the constant has more than 2^63 elements");
  auto bytes = storedBytes(type.getElementType(), elements);
  if (!bytes || *bytes != weight.getBytes() || weight.getOffset() < 0)
    return emitError("MOPT-S019: the weight handle covers ")
           << weight.getBytes() << " bytes at " << weight.getOffset() << ", the type needs " << bytes.value_or(-1);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult NoneOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  types.push_back(NoneType::get(context.getContext()));
  return success();
}
OpFoldResult NoneOp::fold(FoldAdaptor) { return UnitAttr::get(getContext()); }

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//
LogicalResult GroupOp::verify() {
  if (getBody().empty())
    return emitError("MOPT-S018: the group has no body");
  Block &body = getBody().front();
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitError("MOPT-S018: the body of a group ends in mopt.yield");
  if (yield.getNumOperands() != getNumResults())
    return emitError("MOPT-S018: the group has ")
           << getNumResults() << " results and yields " << yield.getNumOperands() << " values";
  for (auto [value, result] : llvm::zip(yield.getOperands(), getResults()))
    if (value.getType() != result.getType())
      return emitError("MOPT-S017: a value of type ")
             << value.getType() << " is yielded for a result of " << result.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// The verifier of all ops
//===----------------------------------------------------------------------===//
static LogicalResult compatible(Operation *op, unsigned index, Type have, Type want) {
  auto error = [&](const Twine &what) {
    return op->emitError() << "MOPT-S017: " << op->getName() << ": result " << index << " has " << what << " (type " << have
                           << ", the rule gives " << want << ")";
  };
  if (have == want)
    return success();
  auto a = dyn_cast<RankedTensorType>(have), b = dyn_cast<RankedTensorType>(want);
  if (!a || !b)
    return error("another kind of type");
  if (a.getElementType() != b.getElementType())
    return error("another element type");
  if (a.getRank() != b.getRank())
    return error("another rank");
  for (auto [x, y] : llvm::zip(a.getShape(), b.getShape()))
    if (x != y && !ShapedType::isDynamic(x) && !ShapedType::isDynamic(y))
      return error("other sizes");
  return success();
}

LogicalResult verifyShapeRule(Operation *op) {
  auto rule = dyn_cast<MoptOpInterface>(op);
  if (!rule)
    return success();
  ShapeContext context(op->getContext());
  // A rule that stops at a value that is not known here (a weight file that is not at hand) proves nothing wrong.
  context.tolerateUnknown();
  SmallVector<Type> types;
  if (failed(rule.inferTypes(context, types)))
    return success(context.metUnknown());
  if (types.size() != op->getNumResults())
    return op->emitError() << "MOPT-S018: " << op->getName() << ": found " << op->getNumResults() << " results, expected "
                           << types.size();
  for (unsigned i = 0; i < types.size(); ++i)
    if (failed(compatible(op, i, op->getResult(i).getType(), types[i])))
      return failure();
  return success();
}

} // namespace mopt
