//===- MatMul.cpp - batched matrix products ------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

class MatMul : public TileNest {
public:
  MatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule) {
    take(matrixShape(op, plan));
    finish(RowAccess::spaced, 1);
  }
};

} // namespace

std::unique_ptr<RootEmitter> emitMatMul(kernel::MatMulOp op, PlanView &plan, const Schedule &schedule) {
  return std::make_unique<MatMul>(op, plan, schedule);
}

} // namespace mopt
