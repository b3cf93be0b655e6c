//===- KernelBody.h - the inside of one kernel function -----------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_TOLLVM_KERNELBODY_H
#define MOPT_LIB_CONVERSION_TOLLVM_KERNELBODY_H

#include "FunctionEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mopt {

/// Builds `i32 kernel(ptr buffer..., i64 size..., i64 begin, i64 end, ptr fault)` for one group, or a function that such
/// kernels call.
class KernelBody {
public:
  KernelBody(FunctionEmitter &emitter, OpBuilder builder, Location loc) : emitter(emitter), builder(builder), loc(loc) {}
  /// The body of another function: positioned in its entry block, which is made.
  KernelBody(FunctionEmitter &emitter, LLVM::LLVMFuncOp function);

  /// Sizes that are not numbers become arguments; call for every size before `start`.
  void addSize(DimExpr size) {
    if (size && !size.asConstant())
      sizeArgs.insert({size.attr(), Value()});
  }
  ArrayRef<std::pair<DimAttr, Value>> sizes() const { return sizeArgs.getArrayRef(); }
  void start(LLVM::LLVMFuncOp function, ArrayRef<Value> bases);

  /// Calls the reference function; returns its status.
  Value reference(kernel::ReferenceOp op, PlanView &plan);
  /// Emits the loop over [begin, end) units; `whole` when these are always all units.
  void loop(linalg::GenericOp op, PlanView &plan, bool whole);

  Value size(DimExpr expr);
  Value size(ArrayRef<DimExpr> factors);
  Value i64(int64_t value);
  Value i32(int32_t value);
  Type ptrType() const { return LLVM::LLVMPointerType::get(builder.getContext()); }

  /// Memory of a buffer.
  Value base(Value memref) const { return bases.lookup(memref); }
  /// Address of a constant row of zeros.
  Value zeros(int64_t floats);
  /// Address of a constant row of equal bytes.
  Value bytes(int64_t value, int64_t count);
  /// An elementwise op on vectors of f32 or bool by its scalar function, for ops that have no vector form.
  Value laneByLane(kernel::ScalarOp op, ArrayRef<Value> vectors) {
    return laneByLane(op.getOp(), op.getAttrs(), vectors, op.getResult().getType());
  }
  Value laneByLane(StringRef op, DictionaryAttr attrs, ArrayRef<Value> vectors, Type element);

  FunctionEmitter &emitter;
  OpBuilder builder;
  Location loc;
  LLVM::LLVMFuncOp function;
  Value begin, end, fault;
  Value status; // i32 that the function returns; null: MOPT_STEP_OK

  /// Units of a loop group: rows of the collapsed iteration space, or elements when it has one axis.
  static DimExpr loopUnits(linalg::GenericOp op, PlanView &plan);

private:
  /// An element in a register: float, double, or int64_t / uint64_t in an i64.
  struct Scalar {
    Value value;
    char kind; // 'f', 'd', 'i', 'u'
  };
  struct Axis {
    SmallVector<DimExpr> sizes; // collapsed: their product
    SmallVector<bool> full;     // per operand: whether it moves along this axis
  };
  static SmallVector<Axis> collapse(linalg::GenericOp op, PlanView &plan);
  void innerLoop(linalg::GenericOp op, PlanView &plan, Value lower, Value upper, ArrayRef<Value> offsets,
                 ArrayRef<bool> moves);
  bool vectorLoop(linalg::GenericOp op, PlanView &plan, Value lower, Value upper, ArrayRef<Value> offsets,
                  ArrayRef<bool> moves);

  static char naturalKind(Type element);
  Type kindType(char kind);
  Scalar load(Value base, Value index, Type element);
  void store(Value base, Value index, Type element, Scalar value);
  Scalar convert(Scalar value, char kind);
  Scalar wrap(Scalar value, Type element);
  Scalar scalarOp(StringRef op, DictionaryAttr attrs, Type element, ArrayRef<Scalar> operands);
  Value attributes(StringRef opName, DictionaryAttr attrs);
  Value address(Value base, int64_t bytes);
  void storeAt(Value base, int64_t bytes, Value value);
  Value stackBytes(int64_t bytes, int64_t alignment = 16);

  llvm::MapVector<Value, Value> bases;
  llvm::MapVector<DimAttr, Value> sizeArgs;
};

} // namespace mopt
#endif
