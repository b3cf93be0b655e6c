//===- ThreadCode.h - writing the code of one thread of a GPU ------------------------------------------------------===//
//
// Ops of arith, memref, scf and gpu; `index` is 32 bits on the device. Products and sums of constants fold.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOGPU_THREADCODE_H
#define MOPT_LIB_CONVERSION_KERNELTOGPU_THREADCODE_H

#include "../MatrixShape.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mopt {

class ThreadCode {
public:
  ThreadCode(OpBuilder &builder, Location loc, PlanView &plan) : builder(builder), loc(loc), plan(plan) {}
  OpBuilder &builder;
  Location loc;
  PlanView &plan;
  Value group, thread;                  // number of the workgroup, and of the thread in it
  llvm::DenseMap<Value, Value> buffers; // by base: argument of the kernel

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b) { return mul(a, index(b)); }
  Value div(Value a, int64_t b); // of numbers >= 0
  Value rem(Value a, int64_t b); // of numbers >= 0
  /// a < b, of which b is not negative; false where a is negative.
  Value below(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b); }
  Value below(Value a, int64_t b) { return below(a, index(b)); }
  Value both(Value a, Value b) { return a && b ? Value(arith::AndIOp::create(builder, loc, a, b)) : a ? a : b; } // null: yes
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  /// Digits of a number, the last one counting fastest; the first has no bound.
  SmallVector<Value> digits(Value number, ArrayRef<int64_t> sizes);

  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)); }
  Value fma(Value a, Value b, Value c);

  Value load(Value memref, Value at);
  /// Zero where `inside` is not set; nothing is read there but element 0.
  Value loadIf(Value inside, Value memref, Value at);
  void store(Value value, Value memref, Value at);
  /// Memory of the workgroup.
  Value shared(int64_t floats);
  Value loadShared(Value memory, Value at) { return memref::LoadOp::create(builder, loc, memory, at); }
  void storeShared(Value value, Value memory, Value at) { memref::StoreOp::create(builder, loc, value, memory, at); }
  void barrier() { gpu::BarrierOp::create(builder, loc); }

  SmallVector<Value> loop(int64_t upper, int64_t step, ValueRange initial,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void when(Value condition, llvm::function_ref<void()> body); // null: always
  uint64_t sharedBytes = 0;

private:
  Value bufferOf(Value memref) { return buffers.lookup(plan.view(memref).base); }
};

} // namespace mopt
#endif
