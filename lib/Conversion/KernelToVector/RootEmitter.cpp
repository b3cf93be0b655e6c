//===- RootEmitter.cpp - which emitter a kernel op has -------------------------------------------------------------===//
#include "RootEmitter.h"
#include "Code.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

/// Panels of bytes have as many columns as the vectors that read them.
static bool fitsVectors(Operation *op) {
  if (!isa<kernel::MatMulOp, kernel::ConvOp>(op))
    return true;
  auto b = cast<ShapedType>(op->getOperand(1).getType());
  return b.getElementType().isF32() || b.getShape().take_back(2).front() == Code::width;
}

std::unique_ptr<RootEmitter> makeRootEmitter(Operation *op, PlanView &plan, const Schedule &schedule) {
  if (!fitsVectors(op)) {
    op->emitError("MOPT-C004: its panels are as wide as another target's vectors; convert the model to kernels anew");
    return nullptr;
  }
  return llvm::TypeSwitch<Operation *, std::unique_ptr<RootEmitter>>(op)
      .Case([&](kernel::ConvOp conv) { return emitConv(conv, plan, schedule); })
      .Case([&](kernel::ConvTransposeOp conv) { return emitConvTranspose(conv, plan, schedule); })
      .Case([&](kernel::DepthwiseOp conv) { return emitDepthwise(conv, plan, schedule); })
      .Case([&](kernel::GatherOp gather) { return emitGather(gather, plan, schedule); })
      .Case([&](kernel::MatMulOp matmul) { return emitMatMul(matmul, plan, schedule); })
      .Case([&](kernel::MoveOp move) { return emitMove(move, plan, schedule); })
      .Case([&](kernel::NormOp norm) { return emitNorm(norm, plan, schedule); })
      .Case([&](kernel::PackOp pack) { return emitPack(pack, plan, schedule); })
      .Case([&](kernel::PoolOp pool) { return emitPool(pool, plan, schedule); })
      .Case([&](kernel::ReduceOp reduce) { return emitReduce(reduce, plan, schedule); })
      .Case([&](kernel::ResizeOp resize) { return emitResize(resize, plan, schedule); })
      .Case([&](kernel::SoftmaxOp softmax) { return emitSoftmax(softmax, plan, schedule); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace mopt
