//===- HvxCode.h - writing straight-line code for Hexagon with HVX -------------------------------------------------===//
//
// Addresses and counts are 32 bits wide, as the machine's registers are, and shapes are numbers. A vector is 32 sums of
// 32 bits, one register of 128 bytes. What LLVM does not find by itself (the dot products, products of 64 bits, packing) is
// written as intrinsics.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOHVX_HVXCODE_H
#define MOPT_LIB_CONVERSION_KERNELTOHVX_HVXCODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

class HvxCode {
public:
  static constexpr int64_t width = 32, vectorBytes = 128;

  HvxCode(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}
  OpBuilder &builder;
  Location loc;

  Type ptr() const { return LLVM::LLVMPointerType::get(builder.getContext()); }
  VectorType vector() const { return VectorType::get({width}, builder.getI32Type()); }

  // 32-bit integers; constants fold.
  Value number(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b); // of numbers >= 0
  Value rem(Value a, int64_t b); // of numbers >= 0
  Value min(Value a, Value b);
  Value inside(Value a, int64_t size); // 0 <= a < size; i1
  Value narrow(Value a);               // of 64 bits

  // Memory. Distances are counted in bytes.
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes) { return at(pointer, number(bytes)); }
  Value load(Type type, Value pointer, int64_t alignment) {
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
  }
  void store(Value value, Value pointer, int64_t alignment) {
    LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
  }
  /// The first `count` elements of a vector.
  Value loadFirst(VectorType type, int64_t count, Value pointer, int64_t alignment);
  void storeFirst(Value vector, int64_t count, Value pointer, int64_t alignment);
  /// `bytes` on the stack of `function`, once per call of it.
  Value stack(LLVM::LLVMFuncOp function, int64_t bytes);

  // Vectors
  Value splat(Value scalar);
  Value splat(int64_t scalar);
  /// llvm.hexagon.<name>
  Value intrinsic(StringRef name, Type result, ValueRange operands);
  /// llvm.hexagon.V6.<name>.128B on vectors of 32 sums.
  Value hvx(StringRef name, ValueRange operands) { return intrinsic(("V6." + name + ".128B").str(), vector(), operands); }

  // Control
  void loop(Value lower, Value upper, llvm::function_ref<void(Value)> body);
  SmallVector<Value> loop(Value lower, Value upper, ValueRange initial,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);

private:
  Value mask(int64_t lanes, int64_t count);
};

} // namespace mopt
#endif
