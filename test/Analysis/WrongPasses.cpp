//===- WrongPasses.cpp - passes that are wrong on purpose ---------------------------------------------------------===//
//
// Linked into a compiler of the tests only. Each changes the ops of one ONNX node.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mopt/Dialect/Mopt/Mopt.h"

namespace mopt {
namespace {

template <class Derived> struct WrongPass : PassWrapper<Derived, OperationPass<func::FuncOp>> {
  WrongPass() = default;
  WrongPass(const WrongPass &other) : PassWrapper<Derived, OperationPass<func::FuncOp>>(other) {}
  void runOnOperation() override {
    SmallVector<Operation *> chosen;
    this->getOperation().walk([&](Operation *op) {
      if (onnxName(op->getLoc()) == node && !isa<ConstantOp>(op))
        chosen.push_back(op);
    });
    for (Operation *op : chosen)
      static_cast<Derived *>(this)->change(op);
  }
  Pass::Option<std::string> node{*this, "node", llvm::cl::desc("name of the ONNX node")};
};

struct SwapOperands : WrongPass<SwapOperands> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SwapOperands)
  StringRef getArgument() const override { return "test-swap-operands"; }
  StringRef getDescription() const override { return "Swaps the first two operands"; }
  void change(Operation *op) {
    Value first = op->getOperand(0);
    op->setOperand(0, op->getOperand(1));
    op->setOperand(1, first);
  }
};

/// Afterwards the op is of no dialect that can be evaluated.
struct Lower : WrongPass<Lower> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Lower)
  StringRef getArgument() const override { return "test-lower"; }
  StringRef getDescription() const override { return "Replaces by a cast"; }
  void change(Operation *op) {
    OpBuilder builder(op);
    auto cast = UnrealizedConversionCastOp::create(builder, op->getLoc(), op->getResultTypes(), op->getOperand(0));
    op->replaceAllUsesWith(cast);
    op->erase();
  }
};

struct Fail : WrongPass<Fail> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fail)
  StringRef getArgument() const override { return "test-fail"; }
  StringRef getDescription() const override { return "Fails"; }
  void change(Operation *) { signalPassFailure(); }
};

const PassRegistration<SwapOperands> swapOperands;
const PassRegistration<Lower> lower;
const PassRegistration<Fail> fail;

} // namespace
} // namespace mopt
