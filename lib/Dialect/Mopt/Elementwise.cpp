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

/// Slopes broadcast to x, which keeps its sizes: ONNX's unidirectional broadcasting. Axes of size 1 may stand in front of those
/// of x; onnxruntime and ONNX's reference implementation give them to the result.
static LogicalResult broadcastSlope(Rule &rule, Dims &x, ArrayRef<DimExpr> slope) {
  ArrayRef<DimExpr> front = slope.drop_back(std::min(slope.size(), x.size()));
  if (llvm::all_of(front, [](DimExpr dim) { return dim.isConstant(1); }))
    x.insert(x.begin(), front.begin(), front.end());
  return rule.broadcast(x, slope, /*oneWay=*/true);
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
    else if (failed(isa<PReluOp>(op) ? broadcastSlope(rule, out, dims) : rule.broadcast(out, dims)))
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
