//===- Elementwise.cpp - the shape rule of elementwise ops --------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Elementwise.h"
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/OpTable.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Elementwise.cpp.inc"

namespace mopt {

void MoptDialect::addElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Elementwise.cpp.inc"
      >();
}

LogicalResult inferElementwise(Operation *op, ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(op, context);
  const OpRow *row = findOp(op);
  StringRef scalar = row && row->scalar ? row->scalar : "";
  Dims out;
  SmallVector<unsigned> sameType;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Dims dims;
    if (failed(rule.sizes(i, dims)))
      return failure();
    if (i == 0)
      out = dims;
    else if (failed(rule.broadcast(out, dims, /*oneWay=*/isa<PReluOp>(op))))
      return failure();
    // The condition of `where` has a type of its own, and ONNX lets the exponent of `pow` have one.
    if (!(isa<WhereOp>(op) && i == 0) && !(isa<PowOp>(op) && i == 1))
      sameType.push_back(i);
  }
  if (sameType.empty())
    return rule.fail("MOPT-S003", "found no operand, expected at least one");
  if (failed(rule.sameElementTypes(sameType)))
    return failure();
  bool isBoolean = scalar.ends_with("->B");
  return rule.result(out, isBoolean ? IntegerType::get(op->getContext(), 1) : rule.element(sameType.front()), types);
}

LogicalResult CastOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  Rule rule(*this, context);
  Dims x;
  if (failed(rule.sizes(0, x)) || failed(rule.flag(getSaturate(), "saturate")))
    return failure();
  Type element = rule.presentElement(0);
  if (!element)
    return rule.fail("MOPT-S011", "the result type of a cast says what to; found none");
  return rule.result(x, element, types);
}

} // namespace mopt
