//===- HvxCode.cpp - writing straight-line code for Hexagon with HVX -----------------------------------------------===//
#include "HvxCode.h"
#include "../FoldedIndex.h"

namespace mopt {
Value HvxCode::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value HvxCode::add(Value a, Value b) { return folded::add(builder, loc, a, b); }
Value HvxCode::sub(Value a, Value b) { return folded::sub(builder, loc, a, b); }
Value HvxCode::min(Value a, Value b) { return folded::min(builder, loc, a, b); }
Value HvxCode::mul(Value a, int64_t b) { return folded::mul(builder, loc, a, number(b)); }
Value HvxCode::div(Value a, int64_t b) { return folded::div(builder, loc, a, number(b)); }
Value HvxCode::rem(Value a, int64_t b) { return folded::rem(builder, loc, a, number(b)); }
/// One unsigned comparison for both ends.
Value HvxCode::inside(Value a, int64_t size) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, number(size));
}
Value HvxCode::narrow(Value a) { return arith::TruncIOp::create(builder, loc, builder.getI32Type(), a); }

Value HvxCode::at(Value pointer, Value bytes) {
  if (folded::number(bytes) == 0)
    return pointer;
  if (auto n = folded::number(bytes))
    return LLVM::GEPOp::create(builder, loc, ptr(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*n)});
  return LLVM::GEPOp::create(builder, loc, ptr(), builder.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

Value HvxCode::mask(int64_t lanes, int64_t count) {
  SmallVector<bool> bits(lanes);
  std::fill_n(bits.begin(), std::min(count, lanes), true);
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
}
Value HvxCode::loadFirst(VectorType type, int64_t count, Value pointer, int64_t alignment) {
  int64_t lanes = type.getNumElements();
  if (count >= lanes)
    return load(type, pointer, alignment);
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(builder, loc, type, pointer, mask(lanes, count), zeros, alignment);
}
void HvxCode::storeFirst(Value vector, int64_t count, Value pointer, int64_t alignment) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  if (count >= lanes)
    return store(vector, pointer, alignment);
  LLVM::MaskedStoreOp::create(builder, loc, vector, pointer, mask(lanes, count), alignment);
}

Value HvxCode::stack(LLVM::LLVMFuncOp function, int64_t bytes) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  return LLVM::AllocaOp::create(builder, loc, ptr(), type, number(1), /*alignment=*/8);
}

Value HvxCode::splat(Value scalar) {
  Value undefined = LLVM::PoisonOp::create(builder, loc, vector());
  Value first = LLVM::InsertElementOp::create(builder, loc, undefined, scalar, number(0));
  return LLVM::ShuffleVectorOp::create(builder, loc, first, undefined, SmallVector<int32_t>(width, 0));
}
Value HvxCode::splat(int64_t scalar) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector(), static_cast<int32_t>(scalar)));
}
Value HvxCode::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result, builder.getStringAttr("llvm.hexagon." + name), operands)
      .getResults();
}

void HvxCode::loop(Value lower, Value upper, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
SmallVector<Value> HvxCode::loop(Value lower, Value upper, ValueRange initial,
                                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, number(1), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}
void HvxCode::either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  yes();
  builder.setInsertionPointToStart(branch.elseBlock());
  no();
}

} // namespace mopt
