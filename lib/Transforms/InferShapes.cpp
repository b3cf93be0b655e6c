//===- InferShapes.cpp - result types by the shape rules ----------------------------------------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Transforms/Passes.h"

namespace mopt {
#define GEN_PASS_DEF_INFERSHAPES
#include "mopt/Transforms/Passes.h.inc"

namespace {
void reserveNames(Type type, ShapeContext &context) {
  for (DimExpr dim : dimsOf(type))
    dim.forEachSymbol([&](StringRef name) { context.reserveName(name); });
}

bool isNegative(DimExpr dim) {
  auto value = dim.asConstant();
  return value && *value < 0;
}

/// `inferred`, with what `present` says of sizes that the rule knows nothing of.
Type merge(Type present, Type inferred, const ShapeContext &context) {
  auto have = dyn_cast<RankedTensorType>(present), want = dyn_cast<RankedTensorType>(inferred);
  if (!have || !want || have.getRank() != want.getRank())
    return inferred;
  SmallVector<DimExpr> old = dimsOf(have), dims = dimsOf(want);
  for (size_t i = 0; i < dims.size(); ++i)
    if (context.isNew(dims[i]) && old[i] && !isNegative(old[i]))
      dims[i] = old[i];
  return tensorType(dims, want.getElementType());
}

struct InferShapes : impl::InferShapesBase<InferShapes> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    ShapeContext context(&getContext());
    func.walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          reserveNames(argument.getType(), context);
      for (Type type : op->getResultTypes())
        reserveNames(type, context);
    });
    if (failed(nameInputs(func, context)))
      return signalPassFailure();
    WalkResult result = func.walk([&](Operation *op) { return infer(op, context); });
    if (result.wasInterrupted())
      return signalPassFailure();
    SmallVector<Type> results(func.getResultTypes());
    func.walk([&](func::ReturnOp op) { results.assign(op.getOperandTypes().begin(), op.getOperandTypes().end()); });
    func.setFunctionType(FunctionType::get(&getContext(), func.getBody().getArgumentTypes(), results));
  }

  LogicalResult nameInputs(func::FuncOp func, ShapeContext &context) {
    for (BlockArgument argument : func.getArguments()) {
      RankedTensorType type = tensorOf(argument);
      if (!type)
        continue;
      SmallVector<DimExpr> dims = dimsOf(type);
      for (DimExpr &dim : dims) {
        dim = dim ? dim : context.newSymbol();
        if (isNegative(dim))
          return context.fail(func, "MOPT-S002",
                              "input " + Twine(argument.getArgNumber()) + " has the negative size " + dim.str());
      }
      set(argument, tensorType(dims, type.getElementType()));
    }
    return success();
  }

  void set(Value value, Type type) {
    if (value.getType() == type)
      return;
    value.setType(type);
    ++numChanged;
  }

  WalkResult infer(Operation *op, ShapeContext &context) {
    if (auto group = dyn_cast<GroupOp>(op)) { // its body was walked before it
      auto yield = dyn_cast<YieldOp>(group.getBody().front().back());
      for (auto [result, value] :
           llvm::zip(group.getResults(), yield ? yield.getOperands() : OperandRange(op->getOperands())))
        set(result, value.getType());
      return WalkResult::advance();
    }
    auto rule = dyn_cast<MoptOpInterface>(op);
    if (!rule)
      return WalkResult::advance();
    SmallVector<Type> types;
    if (failed(rule.inferTypes(context, types)))
      return WalkResult::interrupt();
    if (types.size() != op->getNumResults())
      return WalkResult(context.fail(op, "MOPT-S018", "the rule gives " + Twine(types.size()) + " results"));
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      set(result, merge(result.getType(), type, context));
    return WalkResult::advance();
  }
};
} // namespace
} // namespace mopt
