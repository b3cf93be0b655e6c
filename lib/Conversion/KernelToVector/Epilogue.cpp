//===- Epilogue.cpp - the elementwise part of a kernel op on vectors -----------------------------------------------===//
#include "Epilogue.h"
#include "VectorMath.h"

namespace mopt {

Value Epilogue::apply(KernelBody &body, Code &code, ArrayRef<Value> arguments) const {
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    auto scalar = cast<kernel::ScalarOp>(op);
    SmallVector<Value> operands;
    for (Value operand : scalar.getOperands())
      operands.push_back(values.lookup(operand));
    Value result = vectorOp(code, scalar.getOp(), scalar.getAttrs(), operands);
    values[scalar.getResult()] = result ? result : body.laneByLane(scalar, operands);
  }
  return values.lookup(block.getTerminator()->getOperand(0));
}

bool Epilogue::isCheap() const {
  return llvm::all_of(block.without_terminator(),
                      [](Operation &op) { return mopt::isCheap(cast<kernel::ScalarOp>(op).getOp()); });
}

std::string Epilogue::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value argument : block.getArguments())
    numbers.insert({argument, numbers.size()});
  for (Operation &op : block.without_terminator()) {
    auto scalar = cast<kernel::ScalarOp>(op);
    os << scalar.getOp() << scalar.getAttrs();
    for (Value operand : scalar.getOperands())
      os << " " << numbers.lookup(operand);
    os << ";";
    numbers.insert({scalar.getResult(), numbers.size()});
  }
  os << numbers.lookup(block.getTerminator()->getOperand(0));
  return text;
}

std::string Epilogue::name() const {
  std::string name;
  for (auto scalar : block.getOps<kernel::ScalarOp>())
    name += "+" + scalar.getOp().str();
  return name;
}

} // namespace mopt
