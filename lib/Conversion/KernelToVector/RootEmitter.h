//===- RootEmitter.h - one kernel op as code for one step ----------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_ROOTEMITTER_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_ROOTEMITTER_H

#include "../MatrixShape.h"
#include "../ToLLVM/KernelBody.h"
#include "mopt/Conversion/Schedule.h"

namespace mopt {

/// How one kernel op runs: what its independent pieces are, and the code of a range of them.
struct RootEmitter {
  virtual ~RootEmitter() = default;
  DimExpr units;        // pieces that may run in any order, by any thread
  DimExpr work;         // multiply-adds, or elements where there are none
  DimExpr macs;         // multiply-adds
  int64_t unitWork = 0; // work of one unit where that is known better than by guessing symbols; 0: it is not
  std::string name;     // of the step; empty: that of the op
  /// Sizes that `emit` asks the body for. Null entries are sizes that overflow.
  SmallVector<DimExpr> sizes;
  /// Code for the units [body.begin, body.end), at the builder's position in the kernel function.
  virtual void emit(KernelBody &body) = 0;
};

/// The emitter of a kernel op; null for an op that has none, and, after a report, for one that is made for other vectors. The plan and the op must outlive it.
std::unique_ptr<RootEmitter> makeRootEmitter(Operation *op, PlanView &plan, const Schedule &schedule);

// One for each kernel op, in the file of its name.
std::unique_ptr<RootEmitter> emitConv(kernel::ConvOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitConvTranspose(kernel::ConvTransposeOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitDepthwise(kernel::DepthwiseOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitGather(kernel::GatherOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitMatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitMove(kernel::MoveOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitNorm(kernel::NormOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitPack(kernel::PackOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitPool(kernel::PoolOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitReduce(kernel::ReduceOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitResize(kernel::ResizeOp op, PlanView &plan, const Schedule &schedule);
std::unique_ptr<RootEmitter> emitSoftmax(kernel::SoftmaxOp op, PlanView &plan, const Schedule &schedule);

} // namespace mopt
#endif
