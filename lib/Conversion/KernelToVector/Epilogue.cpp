//===- Epilogue.cpp - the elementwise part of a kernel op on vectors -----------------------------------------------===//
#include "Epilogue.h"
#include "Requantize.h"
#include "VectorMath.h"

namespace mopt {

Value Epilogue::apply(KernelBody &body, Code &code, ArrayRef<Value> arguments) const {
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (auto requantize = dyn_cast<kernel::RequantizeOp>(op)) {
      values[requantize.getResult()] = vectorRequantize(code, requantize, operands);
      continue;
    }
    auto scalar = cast<kernel::ScalarOp>(op);
    if (scalar.getOp() == "add" && scalar.getResult().getType().isSignlessInteger(32)) { // the bias of an integer kernel
      values[scalar.getResult()] = arith::AddIOp::create(code.builder, code.loc, operands[0], operands[1]);
      continue;
    }
    Value result = vectorOp(code, scalar.getOp(), scalar.getAttrs(), operands);
    values[scalar.getResult()] = result ? result : body.laneByLane(scalar, operands);
  }
  return values.lookup(block.getTerminator()->getOperand(0));
}

bool Epilogue::isCheap() const {
  return llvm::all_of(block.without_terminator(), [](Operation &op) {
    auto scalar = dyn_cast<kernel::ScalarOp>(op);
    return scalar && mopt::isCheap(scalar.getOp());
  });
}

std::string Epilogue::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value argument : block.getArguments())
    numbers.insert({argument, numbers.size()});
  for (Operation &op : block.without_terminator()) {
    if (auto scalar = dyn_cast<kernel::ScalarOp>(op))
      os << scalar.getOp() << scalar.getAttrs();
    else
      os << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << numbers.lookup(operand);
    os << ":" << op.getResult(0).getType() << ";";
    numbers.insert({op.getResult(0), numbers.size()});
  }
  os << numbers.lookup(block.getTerminator()->getOperand(0));
  return text;
}

std::string Epilogue::name() const {
  std::string name;
  for (Operation &op : block.without_terminator())
    if (auto scalar = dyn_cast<kernel::ScalarOp>(op))
      name += "+" + scalar.getOp().str();
    else
      name += "+" + op.getName().stripDialect().str();
  return name;
}

} // namespace mopt
