//===- GpuKernel.cpp - what kernels of GPUs have in common ---------------------------------------------------------===//
#include "GpuKernel.h"
#include "../KernelToVector/VectorMath.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

std::unique_ptr<GpuKernel> makeGpuKernel(Operation *op, PlanView &plan, const GpuSchedule &schedule) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<GpuKernel>>(op)
      .Case([&](kernel::ConvOp conv) { return gpuConv(conv, plan, schedule); })
      .Case([&](kernel::DepthwiseOp conv) { return gpuDepthwise(conv, plan, schedule); })
      .Case([&](kernel::MatMulOp matmul) { return gpuMatMul(matmul, plan, schedule); })
      .Case([&](kernel::MoveOp move) { return gpuMove(move, plan, schedule); })
      .Case([&](kernel::PackOp pack) { return gpuPack(pack, plan, schedule); })
      .Case([&](kernel::ReduceOp reduce) { return gpuReduce(reduce, plan, schedule); })
      .Case([&](kernel::ReferenceOp reference) { return gpuReference(reference, plan, schedule); })
      .Case([&](linalg::GenericOp loop) { return gpuLoop(loop, plan, schedule); })
      .Default([](Operation *) { return nullptr; });
}

void ElementKernel::setElements(int64_t count) {
  elements = count;
  groups = (count + schedule.threads - 1) / schedule.threads;
}

void ElementKernel::emit(ThreadCode &code) {
  Value index = code.add(code.mul(code.group, schedule.threads), code.thread);
  code.when(code.below(index, elements), [&] { element(code, index); });
}

namespace {

/// Null if the op has no code on GPUs.
Value scalar(OpBuilder &builder, kernel::ScalarOp op, ArrayRef<Value> operands) {
  if (op.getOp() == "identity" && operands.size() == 1)
    return operands.front();
  Code code(builder, builder.getUnknownLoc());
  return scalarOp(code, op.getOp(), op.getAttrs(), operands);
}

} // namespace

LogicalResult checkElementwise(Block &block) {
  auto fits = [](Type type) { return type.isF32() || type.isInteger(1); };
  // Built once for nothing: the table itself says what it has.
  OpBuilder builder(block.getParentOp()->getContext());
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(scratch->getBody());
  for (Operation &op : block.without_terminator()) {
    auto scalarOp = dyn_cast<kernel::ScalarOp>(op);
    auto name = scalarOp ? scalarOp.getOp() : op.getName().getStringRef();
    for (Type type : llvm::concat<const Type>(op.getOperandTypes(), op.getResultTypes()))
      if (!fits(type))
        return op.emitError() << "MOPT-C021: '" << name << "' has elements of type " << type
                              << ", where GPU code takes float32; compile the model for a CPU, or in float32";
    SmallVector<Value> operands;
    for (Type type : op.getOperandTypes()) {
      TypedAttr none = type.isF32() ? TypedAttr(builder.getF32FloatAttr(0)) : TypedAttr(builder.getBoolAttr(false));
      operands.push_back(arith::ConstantOp::create(builder, builder.getUnknownLoc(), none));
    }
    if (!scalarOp || !scalar(builder, scalarOp, operands))
      return op.emitError() << "MOPT-C021: '" << name
                            << "' has no code for GPUs; compile the model for a CPU, or leave the node to the host";
  }
  return success();
}

SmallVector<Value> applyElementwise(ThreadCode &code, Block &block, ArrayRef<Value> arguments) {
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    values[op.getResult(0)] = scalar(code.builder, cast<kernel::ScalarOp>(op), operands);
  }
  SmallVector<Value> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(values.lookup(result));
  return results;
}

SmallVector<int64_t> numbersOf(ArrayRef<DimExpr> sizes) {
  SmallVector<int64_t> numbers;
  for (DimExpr size : sizes)
    numbers.push_back(*size.asConstant());
  return numbers;
}

Value dot(ThreadCode &code, ArrayRef<Value> position, ArrayRef<DimExpr> strides) {
  Value sum = code.index(0);
  for (auto [p, stride] : llvm::zip_equal(position, strides))
    sum = code.add(sum, code.mul(p, *stride.asConstant()));
  return sum;
}

} // namespace mopt
