//===- MicroKernel.cpp - one register tile of a matrix product -----------------------------------------------------===//
//
// All accumulators stay in registers for the whole of k: one chain of multiply-adds for each element, k ascending, whatever
// the tile. Four steps of k a turn; more gained nothing and cost code. The functions are shared by all steps with the same
// epilogue: a call costs a few ns, a copy in each step 1.5 KB and 15 ms of compile time.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "MicroKernel.h"
#include "Int8Tile.h"
#include "llvm/Support/FormatVariadic.h"

namespace mopt {
namespace {

constexpr int64_t unroll = 4;

/// The first 8 of 16 floats, and back.
Value narrow(Code &code, Value vector) {
  return LLVM::ShuffleVectorOp::create(code.builder, code.loc, vector, vector, SmallVector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
}
Value widen(Code &code, Value half) {
  SmallVector<int32_t> lanes(Code::width, -1);
  std::iota(lanes.begin(), lanes.begin() + 8, 0);
  return LLVM::ShuffleVectorOp::create(code.builder, code.loc, half, half, lanes);
}

} // namespace

LLVM::LLVMFuncOp MicroKernels::get(TileShape shape) {
  std::string key =
      llvm::formatv("tile_{0}x{1}{2}{3}|{4}|{5}|{6}|", shape.rows, shape.panels, access == RowAccess::table ? "_table" : "",
                    shape.half     ? "_half"
                    : shape.masked ? "_masked"
                                   : "",
                    access == RowAccess::table ? tableRows : 0, depth, epilogue.text());
  key += parts ? "p" : "";
  for (ExtraAccess extra : extras)
    key += extra.rows ? extra.columns ? "f" : "r" : extra.columns ? "c" : "s";
  if (arithmetic.bytes)
    key =
        llvm::formatv("int8_{0}{1}{2}{3}", key, arithmetic.isUnsigned ? "u" : "i", arithmetic.rest, arithmetic.resultBytes);
  return emitter.shared(
      key, StringRef(key).split('|').first, [&](LLVM::LLVMFuncOp function) { emit(function, shape); },
      [&] {
        Type ptr = LLVM::LLVMPointerType::get(emitter.context()), i64 = IntegerType::get(emitter.context(), 64);
        SmallVector<Type> types{ptr, i64, i64, ptr, i64, ptr, i64, i64, ptr};
        if (parts)
          types.append({ptr, ptr});
        for (unsigned i = 0; i < extras.size(); ++i)
          types.append({ptr, i64});
        return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(emitter.context()), types);
      }());
}

void MicroKernels::emit(LLVM::LLVMFuncOp function, TileShape shape) {
  KernelBody body(emitter, function);
  Code code(body.builder, body.loc);
  auto argument = [&](unsigned i) { return function.getArgument(i); };
  Value a = argument(0), aStep = argument(1), k = argument(2), b = argument(3), panelStep = argument(4);
  const unsigned rows = shape.rows, panels = shape.panels;
  const unsigned firstExtra = parts ? 11 : 9;
  constexpr int64_t aheadFloats = 2 * Code::width / unroll; // of each panel, for a step of k

  std::optional<Int8Tile> int8;
  if (arithmetic.bytes)
    int8.emplace(code, arithmetic.dot, arithmetic.isUnsigned, rows, panels, shape.half);
  SmallVector<Value> sums = int8 ? int8->zeros() : SmallVector<Value>(rows * panels, code.constant(0));
  VectorType eight = VectorType::get({8}, code.f32());
  auto isHalf = [&](unsigned p) { return shape.half && p + 1 == panels; };
  if (shape.half && !int8) {
    Value zero = arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(eight, 0.0f));
    for (unsigned r = 0; r < rows; ++r)
      sums[r * panels + panels - 1] = zero;
  }
  if (parts)
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = LLVM::LoadOp::create(code.builder, code.loc, sum.getType(), code.at(argument(9), i * Code::width), 4);
  // Adds the products of one run of k to the sums.
  auto run = [&](ArrayRef<Value> rowPointers, Value panel, Value ahead, ValueRange initial) {
    SmallVector<Value> panelPointers;
    for (unsigned p = 0; p < panels; ++p)
      panelPointers.push_back(code.at(panel, code.mul(panelStep, code.i64(p))));
    // Both kinds have 64 bytes of a panel and 4 of a row for each step.
    auto step = [&](Value at, SmallVector<Value> sums) {
      if (int8)
        return int8->step(rowPointers, panelPointers, at, std::move(sums));
      SmallVector<Value> columns;
      Value scaled = code.mul(at, code.i64(Code::width));
      for (auto [p, pointer] : llvm::enumerate(panelPointers)) {
        Value address = code.at(pointer, scaled);
        columns.push_back(isHalf(p) ? LLVM::LoadOp::create(code.builder, code.loc, eight, address, 4).getResult()
                                    : code.load(address));
      }
      for (unsigned r = 0; r < rows; ++r) {
        Value element = code.splat(code.loadScalar(code.at(rowPointers[r], at)));
        for (unsigned p = 0; p < panels; ++p)
          sums[r * panels + p] = code.fma(isHalf(p) ? narrow(code, element) : element, columns[p], sums[r * panels + p]);
      }
      return sums;
    };
    auto withRest = [&](SmallVector<Value> sums) {
      return arithmetic.rest ? int8->step(rowPointers, panelPointers, k, std::move(sums), arithmetic.rest) : sums;
    };
    if (depth) {
      SmallVector<Value> sums(initial);
      for (int64_t at = 0; at < depth; ++at)
        sums = step(code.i64(at), sums);
      return withRest(sums);
    }
    Value whole = code.sub(k, code.rem(k, code.i64(unroll)));
    SmallVector<Value> most = code.loop(code.i64(0), whole, code.i64(unroll), initial, [&](Value at, ValueRange carried) {
      SmallVector<Value> sums(carried);
      for (unsigned p = 0; p < panels; ++p) {
        Value lines = code.at(code.at(ahead, code.mul(panelStep, code.i64(p))), code.mul(at, code.i64(aheadFloats)));
        code.prefetch(lines);
        code.prefetch(code.at(lines, Code::width));
      }
      for (int64_t u = 0; u < unroll; ++u)
        sums = step(code.add(at, code.i64(u)), sums);
      return sums;
    });
    return withRest(code.loop(whole, k, code.i64(1), most,
                              [&](Value at, ValueRange carried) { return step(at, SmallVector<Value>(carried)); }));
  };
  if (access == RowAccess::spaced) {
    SmallVector<Value> pointers;
    for (unsigned r = 0; r < rows; ++r)
      pointers.push_back(code.at(a, code.mul(aStep, code.i64(r)), arithmetic.aBytes()));
    sums = run(pointers, b, argument(8), sums);
  } else {
    Value tapStep = code.mul(code.add(k, code.i64(arithmetic.rest != 0)), code.i64(Code::width));
    sums = code.loop(code.i64(0), aStep, code.i64(1), sums, [&](Value tap, ValueRange carried) {
      SmallVector<Value> pointers;
      Value entry = code.atPointer(a, code.mul(tap, code.i64(tableRows)));
      for (unsigned r = 0; r < rows; ++r)
        pointers.push_back(code.loadPointer(code.atPointer(entry, code.i64(r))));
      Value offset = code.mul(tap, tapStep);
      Value ahead = code.at(argument(8), code.div(offset, code.i64(Code::width / aheadFloats)));
      return run(pointers, code.at(b, offset), ahead, carried);
    });
  }

  if (!parts) {
    finish(body, code, shape, firstExtra, int8 ? int8->finish(sums) : sums);
  } else {
    Value isLast = LLVM::ICmpOp::create(code.builder, code.loc, LLVM::ICmpPredicate::eq, argument(10),
                                        LLVM::ZeroOp::create(code.builder, code.loc, code.ptr()));
    code.either(
        isLast, [&] { finish(body, code, shape, firstExtra, sums); },
        [&] {
          for (auto [i, sum] : llvm::enumerate(sums))
            LLVM::StoreOp::create(code.builder, code.loc, sum, code.at(argument(10), i * Code::width), 4);
        });
  }
  LLVM::ReturnOp::create(body.builder, body.loc, ValueRange{});
}

/// The epilogue of complete sums, to y.
void MicroKernels::finish(KernelBody &body, Code &code, TileShape shape, unsigned firstExtra, SmallVector<Value> sums) {
  LLVM::LLVMFuncOp function = body.function;
  auto argument = [&](unsigned i) { return function.getArgument(i); };
  Value y = argument(5), yStep = argument(6);
  const unsigned rows = shape.rows, panels = shape.panels;
  const bool int8 = arithmetic.bytes != 0;
  for (unsigned r = 0; r < rows && shape.half && !int8; ++r)
    sums[r * panels + panels - 1] = widen(code, sums[r * panels + panels - 1]);
  Value mask = shape.masked ? code.mask(argument(7)) : Value();
  auto one = [&](Value r, unsigned p, Value sum) {
    Value lanes = p + 1 == panels ? mask : Value();
    SmallVector<Value> arguments{sum};
    for (auto [i, extra] : llvm::enumerate(extras)) {
      Value pointer = argument(firstExtra + 2 * i);
      if (extra.rows)
        pointer = code.at(pointer, code.mul(argument(firstExtra + 1 + 2 * i), r));
      arguments.push_back(extra.columns ? code.load(code.at(pointer, p * Code::width), lanes, extra.element)
                                        : code.splat(code.loadScalar(pointer, extra.element)));
    }
    auto at = [&](Value pointer, Value elements) { return code.at(pointer, elements, arithmetic.resultBytes); };
    Value place = at(at(y, code.mul(yStep, r)), code.i64(p * Code::width));
    code.store(epilogue.apply(body, code, arguments), place, lanes);
  };
  if (epilogue.isCheap()) {
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned p = 0; p < panels; ++p)
        one(code.i64(r), p, sums[r * panels + p]);
  } else {
    // Through a tile in the first-level cache: the code of a long epilogue stands once for each panel, not for each register.
    Value tile = code.stack(function, int64_t(rows) * panels * Code::width * sizeof(float));
    for (unsigned i = 0; i < rows * panels; ++i)
      code.store(sums[i], code.at(tile, i * Code::width));
    Type element = getElementTypeOrSelf(sums.front().getType());
    code.loop(code.i64(0), code.i64(rows), code.i64(1), [&](Value r) {
      Value row = code.at(tile, code.mul(r, code.i64(panels * Code::width)));
      for (unsigned p = 0; p < panels; ++p)
        one(r, p, code.load(code.at(row, p * Code::width), Value(), element));
    });
  }
}

} // namespace mopt
