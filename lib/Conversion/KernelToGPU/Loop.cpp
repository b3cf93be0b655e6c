//===- Loop.cpp - elementwise groups on GPUs -----------------------------------------------------------------------===//
#include "GpuKernel.h"

namespace mopt {
namespace {

class Loop : public ElementKernel {
public:
  Loop(linalg::GenericOp op, PlanView &plan, const GpuSchedule &schedule)
      : ElementKernel(schedule), op(op), sizes(numbersOf(plan.view(op.getDpsInits().front()).dims)) {
    for (auto [memref, map] : llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray()))
      moves.push_back(movesOf(map, plan.view(memref).dims, op.getContext()));
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    setElements(count);
  }

private:
  void element(ThreadCode &code, Value index) override {
    SmallVector<Value> position = code.digits(index, sizes);
    // An operand of the result's shape lies as the result does.
    auto place = [&](unsigned k) { return moves[k] == moves[op.getNumDpsInputs()] ? index : dot(code, position, moves[k]); };
    SmallVector<Value> arguments;
    for (auto [k, memref] : llvm::enumerate(op.getDpsInputs()))
      arguments.push_back(code.load(memref, place(k)));
    for (auto [k, value] : llvm::enumerate(applyElementwise(code, *op.getBody(), arguments)))
      code.store(value, op.getDpsInits()[k], place(op.getNumDpsInputs() + k));
  }

  linalg::GenericOp op;
  SmallVector<int64_t> sizes;
  SmallVector<SmallVector<DimExpr>> moves;
};

} // namespace

std::unique_ptr<GpuKernel> gpuLoop(linalg::GenericOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<Loop>(op, plan, schedule);
}

} // namespace mopt
