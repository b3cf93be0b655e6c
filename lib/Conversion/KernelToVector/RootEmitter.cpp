//===- RootEmitter.cpp - which emitter a kernel op has -------------------------------------------------------------===//
#include "RootEmitter.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

std::unique_ptr<RootEmitter> makeRootEmitter(Operation *op, PlanView &plan, const Schedule &schedule) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<RootEmitter>>(op)
      .Case([&](kernel::ConvOp conv) { return emitConv(conv, plan, schedule); })
      .Case([&](kernel::ConvTransposeOp conv) { return emitConvTranspose(conv, plan, schedule); })
      .Case([&](kernel::DepthwiseOp conv) { return emitDepthwise(conv, plan, schedule); })
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
