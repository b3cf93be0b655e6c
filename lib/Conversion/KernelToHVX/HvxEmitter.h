//===- HvxEmitter.h - steps for Hexagon with HVX -------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOHVX_HVXEMITTER_H
#define MOPT_LIB_CONVERSION_KERNELTOHVX_HVXEMITTER_H

#include "../KernelToVector/RootEmitter.h"
#include "HvxCode.h"

namespace mopt {

/// The functions of a CPU's steps, on a machine with pointers of 32 bits, and with emitters of its own. Reference functions
/// do not run there: their bitcode is for 64 bits.
class HvxEmitter : public FunctionEmitter {
public:
  /// `refused`: set when a step is refused for what the model asks for.
  HvxEmitter(ModuleOp code, PlanView &plan, bool &refused)
      : FunctionEmitter(code, plan, hvxSchedule(), {}), refused(refused) {}
  FailureOr<StepCode> emit(GroupOp group) override;
  uint64_t weightAlignment() const override { return HvxCode::vectorBytes; }

protected:
  FailureOr<std::unique_ptr<RootEmitter>> rootEmitter(Operation *root, const Schedule &schedule) override;
  int64_t pointerBytes() const override { return 4; }

private:
  bool &refused;
};

// One for each kernel op, in the file of its name. They report what they do not take. Sizes of all operands are numbers.
FailureOr<std::unique_ptr<RootEmitter>> emitHvxConv(kernel::ConvOp op, PlanView &plan);
FailureOr<std::unique_ptr<RootEmitter>> emitHvxMatMul(kernel::MatMulOp op, PlanView &plan);
FailureOr<std::unique_ptr<RootEmitter>> emitHvxMove(kernel::MoveOp op, PlanView &plan);

/// Reports what tiles cannot do with the types, the panels, the epilogue and the extras of a matmul or conv.
LogicalResult checkHvxOperands(kernel::RootOpInterface op, PlanView &plan);

} // namespace mopt
#endif
