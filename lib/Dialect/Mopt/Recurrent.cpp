//===- Recurrent.cpp - shape rules of recurrent layers ------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Recurrent.h"
#include "ShapeRules.h"

#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Recurrent.cpp.inc"

namespace mopt {

void MoptDialect::addRecurrentOps() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Mopt/Recurrent.cpp.inc"
      >();
}

/// `gates`: matrices stacked in w and r. `states`: hidden state only, or also the cell.
template <typename OpTy>
static LogicalResult inferRecurrent(OpTy op, ShapeContext &context, int64_t gates, unsigned states, Types &types) {
  Rule rule(op, context);
  Dims x, w, r;
  if (failed(rule.sizes(0, x, 3)) || failed(rule.sizes(1, w, 3)) || failed(rule.sizes(2, r, 3)) ||
      failed(rule.flag(op.getLayout(), "layout")) || failed(rule.sameElementTypes({0, 1, 2, 3, 5})))
    return failure();
  int64_t size = op.getHiddenSizeAttr() ? static_cast<int64_t>(op.getHiddenSize()) : 0;
  if (size < 1 || size > INT32_MAX)
    return rule.fail("MOPT-S009", "hidden_size is " + Twine(size) + ", expected at least 1");
  bool batchFirst = op.getLayout();
  DimExpr sequence = x[batchFirst ? 1 : 0], batch = x[batchFirst ? 0 : 1], input = x[2];
  DimExpr directions = rule.constant(op.getDirection() == "bidirectional" ? 2 : 1), hidden = rule.constant(size);

  auto check = [&](unsigned index, ArrayRef<DimExpr> expected, StringRef name) -> LogicalResult {
    Dims dims;
    if (!rule.operand(index))
      return success();
    if (failed(rule.sizes(index, dims, expected.size())))
      return failure();
    for (auto [have, want] : llvm::zip(dims, expected))
      if (!mayBeEqual(have, want))
        return rule.fail("MOPT-S010", name + " has sizes " + text(dims) + ", expected " + text(expected));
    return success();
  };
  Dims state = batchFirst ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  if (failed(check(1, {directions, hidden * gates, input}, "w")) ||
      failed(check(2, {directions, hidden * gates, hidden}, "r")) ||
      failed(check(3, {directions, hidden * (2 * gates)}, "b")) || failed(check(4, {batch}, "sequence_lens")) ||
      failed(check(5, state, "initial_h")))
    return failure();
  if (states == 2 && (failed(check(6, state, "initial_c")) || failed(check(7, {directions, hidden * 3}, "p"))))
    return failure();
  Dims y = batchFirst ? Dims{batch, sequence, directions, hidden} : Dims{sequence, directions, batch, hidden};
  if (failed(rule.optionalResult(0, y, rule.element(0), types)))
    return failure();
  for (unsigned i = 1; i <= states; ++i)
    if (failed(rule.optionalResult(i, state, rule.element(0), types)))
      return failure();
  return success();
}

LogicalResult RNNOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferRecurrent(*this, context, 1, 1, types);
}
LogicalResult GRUOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferRecurrent(*this, context, 3, 1, types);
}
LogicalResult LSTMOp::inferTypes(ShapeContext &context, SmallVectorImpl<Type> &types) {
  return inferRecurrent(*this, context, 4, 2, types);
}

} // namespace mopt
