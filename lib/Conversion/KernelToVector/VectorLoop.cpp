//===- VectorLoop.cpp - the inner axis of an elementwise loop in vectors -------------------------------------------===//
#include "VectorLoop.h"
#include "VectorMath.h"
#include "mlir/IR/Matchers.h"

namespace mopt {
namespace {

bool isMask(Type element) { return element.isInteger(1); }

std::optional<int64_t> number(Value value) {
  APInt result;
  if (matchPattern(value, m_ConstantInt(&result)))
    return result.getSExtValue();
  return std::nullopt;
}
/// Lanes `from` up to `from + count` of a vector of 16, or the other way round: -1 is a lane that nobody reads.
SmallVector<int32_t> lanes(int64_t size, int64_t at, int64_t count, int32_t first) {
  SmallVector<int32_t> result(size, -1);
  std::iota(result.begin() + at, result.begin() + at + count, first);
  return result;
}

} // namespace

bool VectorLoop::fits(linalg::GenericOp op, ArrayRef<Type> elements) {
  auto fits = [](Type element) { return element.isF32() || isMask(element); };
  return llvm::all_of(elements, fits) &&
         llvm::all_of(op.getBody()->getOps<kernel::ScalarOp>(),
                      [&](kernel::ScalarOp scalar) { return fits(scalar.getResult().getType()); });
}

Value VectorLoop::address(const Operand &operand, Value index, int64_t lane) {
  Type stored = storedType(operand, 1);
  Value place = operand.moves ? code.add(code.add(operand.offset, index), code.i64(lane)) : operand.offset;
  return LLVM::GEPOp::create(code.builder, code.loc, code.ptr(), stored, operand.base, ArrayRef<LLVM::GEPArg>{place});
}
Type VectorLoop::storedType(const Operand &operand, int64_t lanes) {
  Type stored = isMask(operand.element) ? code.builder.getI8Type() : operand.element;
  return lanes == 1 ? stored : VectorType::get({lanes}, stored);
}

Value VectorLoop::load(const Operand &operand, Value index, Part part) {
  OpBuilder &b = code.builder;
  Location loc = code.loc;
  Type type = storedType(operand, Code::width);
  unsigned alignment = isMask(operand.element) ? 1 : 4;
  Value value;
  if (part.mask) {
    Value zero = LLVM::ZeroOp::create(b, loc, type);
    value = LLVM::MaskedLoadOp::create(b, loc, type, address(operand, index), part.mask, zero, alignment);
  } else if (part.count == Code::width) {
    value = LLVM::LoadOp::create(b, loc, type, address(operand, index), alignment);
  } else {
    // Pieces of 8, 4, 2 and 1: no CPU needs masks for them, and registers that only hold missing lanes drop out.
    value = LLVM::PoisonOp::create(b, loc, type);
    for (int64_t at = 0, size = 8; size; size /= 2) {
      if (!(part.count & size))
        continue;
      Value piece = LLVM::LoadOp::create(b, loc, storedType(operand, size), address(operand, index, at), alignment);
      if (size == 1) {
        Value lane = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(at));
        value = LLVM::InsertElementOp::create(b, loc, value, piece, lane);
      } else {
        Value wide = LLVM::ShuffleVectorOp::create(b, loc, piece, piece, lanes(Code::width, at, size, 0));
        SmallVector<int32_t> join = lanes(Code::width, at, size, Code::width + at);
        std::iota(join.begin(), join.begin() + at, 0);
        value = LLVM::ShuffleVectorOp::create(b, loc, value, wide, join);
      }
      at += size;
    }
  }
  if (!isMask(operand.element))
    return value;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, LLVM::ZeroOp::create(b, loc, type));
}

void VectorLoop::store(const Operand &operand, Value index, Part part, Value value) {
  OpBuilder &b = code.builder;
  Location loc = code.loc;
  unsigned alignment = isMask(operand.element) ? 1 : 4;
  if (isMask(operand.element))
    value = arith::ExtUIOp::create(b, loc, storedType(operand, Code::width), value);
  if (part.mask) {
    LLVM::MaskedStoreOp::create(b, loc, value, address(operand, index), part.mask, alignment);
  } else if (part.count == Code::width) {
    LLVM::StoreOp::create(b, loc, value, address(operand, index), alignment);
  } else {
    for (int64_t at = 0, size = 8; size; size /= 2) {
      if (!(part.count & size))
        continue;
      Value piece;
      if (size == 1) {
        Value lane = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(at));
        piece = LLVM::ExtractElementOp::create(b, loc, value, lane);
      } else {
        piece = LLVM::ShuffleVectorOp::create(b, loc, value, value, lanes(size, 0, size, at));
      }
      LLVM::StoreOp::create(b, loc, piece, address(operand, index, at), alignment);
      at += size;
    }
  }
}

Value VectorLoop::evaluate(kernel::ScalarOp scalar, ArrayRef<Value> values) {
  OpBuilder &b = code.builder;
  if (scalar.getOp() == "cast") { // between the two types
    bool from = isMask(getElementTypeOrSelf(values.front().getType())), to = isMask(scalar.getResult().getType());
    if (from == to)
      return values.front();
    if (from)
      return arith::UIToFPOp::create(b, code.loc, code.vector(), values.front());
    return arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::UNE, values.front(), code.constant(0));
  }
  if (Value value = vectorOp(code, scalar.getOp(), scalar.getAttrs(), values))
    return value;
  return perLane(scalar, values);
}

void VectorLoop::body(Value index, Part part) {
  llvm::SmallDenseMap<Value, Value> values = invariant;
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned k = 0; k < inputs; ++k)
    if (operands[k].moves)
      values[op.getBody()->getArgument(k)] = load(operands[k], index, part);
  for (auto scalar : op.getBody()->getOps<kernel::ScalarOp>()) {
    SmallVector<Value> arguments;
    for (Value operand : scalar.getOperands())
      arguments.push_back(values.lookup(operand));
    values[scalar.getResult()] = evaluate(scalar, arguments);
  }
  for (auto [i, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands()))
    store(operands[inputs + i], index, part, values.lookup(value));
}

bool VectorLoop::isCheap() {
  auto scalars = op.getBody()->getOps<kernel::ScalarOp>();
  return std::distance(scalars.begin(), scalars.end()) <= 4 &&
         llvm::all_of(scalars, [](kernel::ScalarOp scalar) { return mopt::isCheap(scalar.getOp()); });
}

void VectorLoop::run(Value lower, Value upper) {
  for (unsigned k = 0; k < op.getNumDpsInputs(); ++k) {
    if (operands[k].moves)
      continue;
    Value scalar = LLVM::LoadOp::create(code.builder, code.loc, storedType(operands[k], 1), address(operands[k], Value()));
    if (isMask(operands[k].element)) {
      Value zero = LLVM::ZeroOp::create(code.builder, code.loc, scalar.getType());
      scalar = arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ne, scalar, zero);
    }
    invariant[op.getBody()->getArgument(k)] = code.splat(scalar);
  }
  auto from = number(lower), to = number(upper);
  Value width = code.i64(Code::width);
  if (from && to) {
    int64_t rest = (*to - *from) % Code::width;
    if (*to - rest > *from + Code::width)
      code.loop(lower, code.i64(*to - rest), width, [&](Value index) { body(index, {}); });
    else if (*to - rest > *from)
      body(lower, {});
    if (rest)
      body(code.i64(*to - rest), {Value(), rest});
    return;
  }
  Value rest = code.rem(code.max(code.sub(upper, lower), code.i64(0)), width);
  Value full = code.sub(upper, rest);
  code.loop(lower, full, width, [&](Value index) { body(index, {}); });
  code.when(code.less(full, upper), [&] { body(full, {code.mask(rest)}); });
}

} // namespace mopt
