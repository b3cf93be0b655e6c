//===- ThreadCode.cpp - writing the code of one thread of a GPU ----------------------------------------------------===//
#include "ThreadCode.h"
#include "../FoldedIndex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVAttributes.h"

namespace mopt {
Value ThreadCode::add(Value a, Value b) { return folded::add(builder, loc, a, b); }
Value ThreadCode::sub(Value a, Value b) { return folded::sub(builder, loc, a, b); }
Value ThreadCode::mul(Value a, Value b) { return folded::mul(builder, loc, a, b); }
Value ThreadCode::div(Value a, int64_t b) { return folded::div(builder, loc, a, index(b)); }
Value ThreadCode::rem(Value a, int64_t b) { return folded::rem(builder, loc, a, index(b)); }

SmallVector<Value> ThreadCode::digits(Value number, ArrayRef<int64_t> sizes) {
  SmallVector<Value> result(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    result[d] = d == 0 ? number : rem(number, sizes[d]);
    if (d)
      number = div(number, sizes[d]);
  }
  return result;
}

Value ThreadCode::fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }

Value ThreadCode::load(Value memref, Value at) { return memref::LoadOp::create(builder, loc, bufferOf(memref), at); }
Value ThreadCode::loadIf(Value inside, Value memref, Value at) {
  return inside ? select(inside, load(memref, select(inside, at, index(0))), zero()) : load(memref, at);
}
void ThreadCode::store(Value value, Value memref, Value at) {
  memref::StoreOp::create(builder, loc, value, bufferOf(memref), at);
}

Value ThreadCode::shared(int64_t floats) {
  sharedBytes += floats * sizeof(float);
  auto space = spirv::StorageClassAttr::get(builder.getContext(), spirv::StorageClass::Workgroup);
  return memref::AllocOp::create(builder, loc,
                                 MemRefType::get({floats}, builder.getF32Type(), MemRefLayoutAttrInterface(), space));
}

SmallVector<Value> ThreadCode::loop(int64_t upper, int64_t step, ValueRange initial,
                                    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, index(0), index(upper), index(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void ThreadCode::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

} // namespace mopt
