//===- Code.h - writing straight-line vector code ------------------------------------------------------------------===//
//
// Everything is written for vectors of 16 floats, whatever the CPU has: the back end splits them. One text then serves
// AVX-512, AVX2, SSE and NEON, and two narrow vectors in flight are what hides latency on narrow CPUs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_CODE_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_CODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

class Code {
public:
  static constexpr int64_t width = 16;

  Code(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}
  OpBuilder &builder;
  Location loc;

  Type ptr() const { return LLVM::LLVMPointerType::get(builder.getContext()); }
  Type f32() const { return builder.getF32Type(); }
  VectorType vector() const { return VectorType::get({width}, builder.getF32Type()); }
  VectorType integers() const { return VectorType::get({width}, builder.getI32Type()); }

  // 64-bit integers; constants fold.
  Value i64(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b); // of numbers >= 0
  Value rem(Value a, Value b); // of numbers >= 0
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value less(Value a, Value b); // signed; i1
  Value equal(Value a, Value b);
  Value both(Value a, Value b);
  Value select(Value condition, Value a, Value b);

  // Memory. Distances are counted in floats, or in elements of so many bytes.
  Value at(Value pointer, Value floats);
  Value at(Value pointer, int64_t floats) { return at(pointer, i64(floats)); }
  Value at(Value pointer, Value elements, int64_t bytes);
  Value atPointer(Value array, Value index); // address of element `index` of an array of pointers
  Value loadPointer(Value address);
  void storePointer(Value pointer, Value address);
  Value loadScalar(Value pointer) { return loadScalar(pointer, f32()); }
  Value loadScalar(Value pointer, Type element);
  void storeScalar(Value value, Value pointer);
  Value load(Value pointer);             // 16 floats
  Value load(Value pointer, Value mask); // zeros where the mask is off, and nothing is read there
  Value load(Value pointer, Value mask, Type element);
  void store(Value vector, Value pointer);
  void store(Value vector, Value pointer, Value mask);
  Value mask(Value count); // lanes below count
  /// `count` bytes on the stack of `function`, once per call of it.
  Value stack(LLVM::LLVMFuncOp function, int64_t bytes, int64_t alignment = 64);

  // Vectors of 16 floats
  Value splat(Value scalar);
  Value constant(double value);
  Value constantInt(int32_t value);
  Value fma(Value a, Value b, Value c); // fused where the CPU can

  // Control. Bounds are i64. `rolled`: the back end must not unroll it; else it unrolls what has few iterations, and then
  // keeps what several loops load in registers that narrow CPUs do not have.
  void loop(Value lower, Value upper, Value step, llvm::function_ref<void(Value)> body, bool rolled = false);
  SmallVector<Value> loop(Value lower, Value upper, Value step, ValueRange initial,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body, bool rolled = false);
  void when(Value condition, llvm::function_ref<void()> body);
  void either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);
  /// Runs the body of the case that `value` equals; each of `cases` once. The last one is taken for granted.
  void choose(Value value, ArrayRef<int64_t> cases, llvm::function_ref<void(int64_t)> body);
};

} // namespace mopt
#endif
