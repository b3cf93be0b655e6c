//===- VerifyGrouped.cpp - the contract between the halves of the compiler ----------------------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "llvm/ADT/StringSet.h"

namespace mopt {
#define GEN_PASS_DEF_VERIFYGROUPED
#include "mopt/Transforms/Grouping/Passes.h.inc"

namespace {

struct VerifyGrouped : impl::VerifyGroupedBase<VerifyGrouped> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!llvm::hasSingleElement(function.getBody()))
      return fail(function, "a model function has one block");
    llvm::StringSet<> symbols;
    for (Value argument : function.getArguments())
      for (DimExpr dim : dimsOf(argument))
        if (auto name = dim.asSymbol())
          symbols.insert(*name);
    bool ok = true;
    for (Value argument : function.getArguments())
      ok &= checkType(function, argument, symbols);
    for (Operation &op : function.getBody().front()) {
      const OpRow *row = findOp(&op);
      if (auto group = dyn_cast<GroupOp>(&op))
        ok &= checkGroup(group);
      else if (!isa<func::ReturnOp>(op) && !(row && (row->kind == OpKind::structure || row->kind == OpKind::view)))
        ok &= complain(&op, "G1: stands outside a group");
      for (Value result : op.getResults())
        ok &= checkType(&op, result, symbols);
    }
    if (!ok)
      signalPassFailure();
  }

  void fail(Operation *op, const Twine &message) {
    complain(op, message);
    signalPassFailure();
  }
  static bool complain(Operation *op, const Twine &message) {
    op->emitError() << "MOPT-C002: '" << op->getName() << "' " << message;
    return false;
  }

  static bool checkType(Operation *op, Value value, const llvm::StringSet<> &symbols) {
    if (isa<NoneType>(value.getType()))
      return true;
    RankedTensorType type = tensorOf(value);
    if (!type)
      return complain(op, "G3: has a value that is not a ranked tensor");
    if (type.getRank() > MOPT_MAX_RANK)
      return complain(op, Twine("G3: has a value of rank ") + Twine(type.getRank()) + ", expected at most 8");
    if (!storedBits(type.getElementType()))
      return complain(op, "G4: has an element type that cannot be stored");
    bool ok = true;
    for (DimExpr dim : dimsOf(value)) {
      if (!dim)
        return complain(op, "G3: has an axis whose size has no name");
      dim.forEachSymbol([&](StringRef name) {
        if (ok && !symbols.contains(name))
          ok = complain(op, Twine("G5: has a size that depends on data, not on the shapes of inputs (symbol '") + name +
                                "'); give the input that decides it a constant value or a static shape");
      });
    }
    return ok;
  }

  static bool checkGroup(GroupOp group) {
    if (group.getBody().empty() || !isa_and_nonnull<YieldOp>(group.getBody().front().getTerminator()))
      return complain(group, "G2: has no yield");
    unsigned roots = 0;
    Operation *last = nullptr, *root = rootIn(group);
    for (Operation &op : group.getBody().front().without_terminator()) {
      const OpRow *row = findOp(&op);
      if (!row || (row->kind != OpKind::elementwise && row->kind != OpKind::reference))
        return complain(&op, "G2: cannot stand in a group");
      roots += !isLoopElementwise(&op) && !(&op != root && joinsMatMul(&op, root));
      last = &op;
    }
    if (!last)
      return complain(group, "G2: is empty");
    if (roots > 1)
      return complain(group, "G2: has more than one root");
    if (group.getRoot() != "none" && roots != 1)
      return complain(group, Twine("G2: says its root is '") + group.getRoot() + "' and has none");
    if (roots == 0)
      for (Operation &op : group.getBody().front().without_terminator())
        if (dimsOf(op.getResult(0)) != dimsOf(last->getResult(0)))
          return complain(&op, "G2: has other sizes than the group's result");
    return true;
  }
};

} // namespace
} // namespace mopt
