//===- Code.cpp - writing straight-line vector code ----------------------------------------------------------------===//
#include "Code.h"
#include "../FoldedIndex.h"

namespace mopt {

Value Code::i64(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value)); }

Value Code::add(Value a, Value b) { return folded::add(builder, loc, a, b); }
Value Code::sub(Value a, Value b) { return folded::sub(builder, loc, a, b); }
Value Code::mul(Value a, Value b) { return folded::mul(builder, loc, a, b); }
Value Code::div(Value a, Value b) { return folded::div(builder, loc, a, b); }
Value Code::rem(Value a, Value b) { return folded::rem(builder, loc, a, b); }
Value Code::min(Value a, Value b) { return folded::min(builder, loc, a, b); }
Value Code::max(Value a, Value b) {
  auto x = folded::number(a), y = folded::number(b);
  if (x && y)
    return i64(std::max(*x, *y));
  return arith::MaxSIOp::create(builder, loc, a, b);
}
Value Code::less(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b); }
Value Code::equal(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b); }
Value Code::both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
Value Code::select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }

Value Code::at(Value pointer, Value floats) {
  if (folded::number(floats) == 0)
    return pointer;
  if (auto n = folded::number(floats); n && llvm::isInt<31>(*n))
    return LLVM::GEPOp::create(builder, loc, ptr(), f32(), pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*n)});
  return LLVM::GEPOp::create(builder, loc, ptr(), f32(), pointer, ArrayRef<LLVM::GEPArg>{floats});
}
Value Code::at(Value pointer, Value elements, int64_t bytes) {
  if (bytes == 4)
    return at(pointer, elements);
  if (folded::number(elements) == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, ptr(), builder.getIntegerType(8 * bytes), pointer,
                             ArrayRef<LLVM::GEPArg>{elements});
}
Value Code::atPointer(Value array, Value index) {
  return LLVM::GEPOp::create(builder, loc, ptr(), ptr(), array, ArrayRef<LLVM::GEPArg>{index});
}
Value Code::loadPointer(Value address) { return LLVM::LoadOp::create(builder, loc, ptr(), address, 8); }
void Code::storePointer(Value pointer, Value address) { LLVM::StoreOp::create(builder, loc, pointer, address, 8); }
Value Code::loadScalar(Value pointer, Type element) {
  return LLVM::LoadOp::create(builder, loc, element, pointer, element.getIntOrFloatBitWidth() / 8);
}
void Code::prefetch(Value pointer) { LLVM::Prefetch::create(builder, loc, pointer, /*rw=*/0, /*hint=*/2, /*cache=*/1); }
void Code::storeScalar(Value value, Value pointer) { LLVM::StoreOp::create(builder, loc, value, pointer, 4); }
Value Code::load(Value pointer) { return LLVM::LoadOp::create(builder, loc, vector(), pointer, 4); }
Value Code::load(Value pointer, Value mask) { return load(pointer, mask, f32()); }
Value Code::load(Value pointer, Value mask, Type element) {
  VectorType type = VectorType::get({width}, element);
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  if (!mask)
    return LLVM::LoadOp::create(builder, loc, type, pointer, bytes);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(builder, loc, type, pointer, mask, zero, bytes);
}
void Code::store(Value vector, Value pointer) { store(vector, pointer, Value()); }
void Code::store(Value vector, Value pointer, Value mask) {
  unsigned bytes = getElementTypeOrSelf(vector.getType()).getIntOrFloatBitWidth() / 8;
  if (!mask)
    LLVM::StoreOp::create(builder, loc, vector, pointer, bytes);
  else
    LLVM::MaskedStoreOp::create(builder, loc, vector, pointer, mask, bytes);
}

Value Code::mask(Value count) {
  SmallVector<int32_t> lanes(width);
  std::iota(lanes.begin(), lanes.end(), 0);
  Value index = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(integers(), ArrayRef<int32_t>(lanes)));
  Value narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), min(count, i64(width)));
  Value undefined = LLVM::PoisonOp::create(builder, loc, integers());
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(builder, loc, undefined, narrow, zero);
  Value all = LLVM::ShuffleVectorOp::create(builder, loc, first, undefined, SmallVector<int32_t>(width, 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index, all);
}

Value Code::stack(LLVM::LLVMFuncOp function, int64_t bytes, int64_t alignment) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(1));
  return LLVM::AllocaOp::create(builder, loc, ptr(), type, one, alignment);
}

Value Code::splat(Value scalar) {
  Value undefined = LLVM::PoisonOp::create(builder, loc, VectorType::get({width}, scalar.getType()));
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(builder, loc, undefined, scalar, zero);
  return LLVM::ShuffleVectorOp::create(builder, loc, first, undefined, SmallVector<int32_t>(width, 0));
}
Value Code::constant(double value) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector(), static_cast<float>(value)));
}
Value Code::constantInt(int32_t value) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(integers(), value));
}
Value Code::fma(Value a, Value b, Value c) { return LLVM::FMulAddOp::create(builder, loc, a, b, c); }

/// The branch that a loop becomes carries it.
static void keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {},
                                                                 {}, {}, ArrayRef<LLVM::AccessGroupAttr>()));
}

void Code::loop(Value lower, Value upper, Value step, llvm::function_ref<void(Value)> body, bool rolled) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step);
  if (rolled)
    keepRolled(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value> Code::loop(Value lower, Value upper, Value step, ValueRange initial,
                              llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body, bool rolled) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step, initial);
  if (rolled)
    keepRolled(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void Code::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

void Code::either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  yes();
  builder.setInsertionPointToStart(branch.elseBlock());
  no();
}

void Code::choose(Value value, ArrayRef<int64_t> cases, llvm::function_ref<void(int64_t)> body) {
  if (cases.size() == 1)
    return body(cases.front());
  auto branch = scf::IfOp::create(builder, loc, equal(value, i64(cases.front())), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body(cases.front());
  builder.setInsertionPointToStart(branch.elseBlock());
  choose(value, cases.drop_front(), body);
}

} // namespace mopt
