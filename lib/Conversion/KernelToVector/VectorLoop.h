//===- VectorLoop.h - the inner axis of an elementwise loop in vectors ---------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_VECTORLOOP_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_VECTORLOOP_H

#include "Code.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mopt/Dialect/Kernel/Kernel.h"

namespace mopt {

/// Operands of f32, and of bool as bytes, that move along the axis or stay. 16 elements at a time; what is left at the end is
/// a vector of the same code of which only some lanes are read and written, so that a result never depends on where in the
/// axis or chunk its element stands.
class VectorLoop {
public:
  struct Operand {
    Value base;
    Type element;
    Value offset; // in elements: of the first one
    bool moves;
  };
  /// Computes an op without vector code lane by lane.
  using PerLane = llvm::function_ref<Value(kernel::ScalarOp, ArrayRef<Value>)>;

  VectorLoop(Code &code, linalg::GenericOp op, ArrayRef<Operand> operands, PerLane perLane)
      : code(code), op(op), operands(operands), perLane(perLane) {}
  /// Whether all values of the loop are of types that it has; `elements` are those of its operands.
  static bool fits(linalg::GenericOp op, ArrayRef<Type> elements);
  /// Elements [lower, upper) of the axis.
  void run(Value lower, Value upper);

private:
  /// Lanes that exist: all, those of a mask, or the first few of a number known now.
  struct Part {
    Value mask;
    int64_t count = Code::width;
  };
  void body(Value index, Part part);
  Value evaluate(kernel::ScalarOp scalar, ArrayRef<Value> values);
  Value address(const Operand &operand, Value index, int64_t lane = 0);
  Type storedType(const Operand &operand, int64_t lanes);
  Value load(const Operand &operand, Value index, Part part);
  void store(const Operand &operand, Value index, Part part, Value value);
  bool isCheap();

  Code &code;
  linalg::GenericOp op;
  ArrayRef<Operand> operands;
  PerLane perLane;
  llvm::SmallDenseMap<Value, Value> invariant; // block arguments that stay
};

} // namespace mopt
#endif
