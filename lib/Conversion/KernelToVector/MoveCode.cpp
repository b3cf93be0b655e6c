//===- MoveCode.cpp - rows and tiles of a copy ---------------------------------------------------------------------===//
#include "MoveCode.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"

namespace mopt {
namespace {

constexpr int64_t side = 8;
/// Vectors that a row of known length is written out for.
constexpr int64_t straight = 8;

std::optional<int64_t> number(Value value) {
  APInt result;
  if (matchPattern(value, m_ConstantInt(&result)))
    return result.getSExtValue();
  return std::nullopt;
}

} // namespace

Value MoveCode::at(Value pointer, Value elements) {
  if (number(elements) == 0)
    return pointer;
  if (auto n = number(elements); n && llvm::isInt<31>(*n))
    return LLVM::GEPOp::create(code.builder, code.loc, code.ptr(), type, pointer,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*n)});
  return LLVM::GEPOp::create(code.builder, code.loc, code.ptr(), type, pointer, ArrayRef<LLVM::GEPArg>{elements});
}
Value MoveCode::load(Value pointer, int64_t count) {
  Type result = count == 1 ? type : Type(VectorType::get({count}, type));
  return LLVM::LoadOp::create(code.builder, code.loc, result, pointer, bytes);
}
void MoveCode::store(Value vector, Value pointer) { LLVM::StoreOp::create(code.builder, code.loc, vector, pointer, bytes); }
Value MoveCode::shuffle(Value a, Value b, ArrayRef<int32_t> lanes) {
  return LLVM::ShuffleVectorOp::create(code.builder, code.loc, a, b, lanes);
}
Value MoveCode::splat(Value scalar, int64_t count) {
  if (count == 1)
    return scalar;
  Value undefined = LLVM::PoisonOp::create(code.builder, code.loc, VectorType::get({count}, type));
  Value zero =
      LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(code.builder, code.loc, undefined, scalar, zero);
  return shuffle(first, undefined, SmallVector<int32_t>(count, 0));
}

RowPlace MoveCode::pointers(const RowPlace &offsets, Value from, Value to, ArrayRef<Value> extras) {
  RowPlace place{at(from, offsets.from), at(to, offsets.to), {}};
  for (auto [base, offset] : llvm::zip_equal(extras, offsets.extras))
    place.extras.push_back(code.at(base, offset));
  return place;
}
RowPlace MoveCode::advance(const RowPlace &pointers, const RowPlace &steps, Value by) {
  RowPlace place{at(pointers.from, code.mul(by, steps.from)), at(pointers.to, code.mul(by, steps.to)), {}};
  for (auto [pointer, step] : llvm::zip_equal(pointers.extras, steps.extras))
    place.extras.push_back(code.at(pointer, code.mul(by, step)));
  return place;
}

void MoveCode::row(const RowPlace &first, const RowPlace &steps, Value count) {
  if (!epilogue.isEmpty())
    return epilogueRow(first, steps, count);
  bool still = number(steps.from) == 0;
  if (number(steps.to) == 1 && (still || number(steps.from) == 1))
    return plainRow(first, still, count);
  stridedRow(first, steps, count);
}

/// The rest of a row is a vector that ends with it and may overlap the one before: both write what they read. A row shorter
/// than a vector is cut into powers of two.
void MoveCode::plainRow(const RowPlace &first, bool still, Value count) {
  Value scalar = still ? load(first.from, 1) : Value();
  auto piece = [&](Value offset, int64_t n) {
    store(still ? splat(scalar, n) : load(at(first.from, offset), n), at(first.to, offset));
  };
  // Two vectors a turn: a loop over one becomes a call of memcpy, which costs more than rows of usual length.
  auto loop = [&](Value whole) {
    code.loop(code.i64(0), whole, code.i64(2 * lanes), [&](Value offset) {
      piece(offset, lanes);
      piece(code.add(offset, code.i64(lanes)), lanes);
    });
  };
  if (auto n = number(count)) {
    if (*n < lanes) {
      if (int64_t part = llvm::bit_floor(static_cast<uint64_t>(*n)); part > 0) {
        piece(code.i64(0), part);
        if (part < *n)
          piece(code.i64(*n - part), part);
      }
      return;
    }
    int64_t done = 0;
    if (*n > straight * lanes) {
      done = *n / (2 * lanes) * (2 * lanes);
      loop(code.i64(done));
    }
    for (; done + lanes <= *n; done += lanes)
      piece(code.i64(done), lanes);
    if (done < *n)
      piece(code.i64(*n - lanes), lanes);
    return;
  }
  code.either(
      code.less(count, code.i64(lanes)),
      [&] {
        Value done = code.i64(0);
        for (int64_t n = lanes / 2; n >= 1; n /= 2) {
          Value bit = arith::AndIOp::create(code.builder, code.loc, count, code.i64(n));
          code.when(code.less(code.i64(0), bit), [&] { piece(done, n); });
          done = code.add(done, bit);
        }
      },
      [&] {
        Value whole = code.sub(count, code.rem(count, code.i64(2 * lanes)));
        loop(whole);
        code.when(code.less(whole, code.sub(count, code.i64(lanes - 1))), [&] { piece(whole, lanes); });
        piece(code.sub(count, code.i64(lanes)), lanes);
      });
}

void MoveCode::stridedRow(const RowPlace &first, const RowPlace &steps, Value count) {
  code.loop(code.i64(0), count, code.i64(1),
            [&](Value i) { store(load(at(first.from, code.mul(i, steps.from)), 1), at(first.to, code.mul(i, steps.to))); });
}

/// Vectors of 16, the last one masked. A source that is not adjacent is gathered on the stack.
void MoveCode::epilogueRow(const RowPlace &first, const RowPlace &steps, Value count) {
  std::optional<int64_t> from = number(steps.from);
  Value scalar = from == 0 ? code.splat(code.loadScalar(first.from)) : Value();
  Value buffer = from == 0 || from == 1 ? Value() : code.stack(body.function, Code::width * sizeof(float));
  auto piece = [&](Value offset, Value mask, Value n) {
    Value value = scalar;
    if (from == 1) {
      value = code.load(code.at(first.from, offset), mask);
    } else if (!value) {
      code.store(code.constant(0), buffer);
      code.loop(code.i64(0), n, code.i64(1), [&](Value i) {
        code.storeScalar(code.loadScalar(code.at(first.from, code.mul(code.add(offset, i), steps.from))),
                         code.at(buffer, i));
      });
      value = code.load(buffer);
    }
    SmallVector<Value> arguments{value};
    for (auto [pointer, step] : llvm::zip_equal(first.extras, steps.extras))
      arguments.push_back(number(step) == 0 ? code.splat(code.loadScalar(pointer))
                                            : code.load(code.at(pointer, offset), mask));
    code.store(epilogue.apply(body, code, arguments), code.at(first.to, offset), mask);
  };
  Value width = code.i64(Code::width), rest = code.rem(count, width), whole = code.sub(count, rest);
  auto tail = [&] { piece(whole, code.mask(rest), rest); };
  if (auto n = number(whole); n && *n <= Code::width)
    for (int64_t i = 0; i < *n; i += Code::width)
      piece(code.i64(i), Value(), width);
  else
    code.loop(code.i64(0), whole, width, [&](Value offset) { piece(offset, Value(), width); });
  if (auto n = number(rest)) {
    if (*n)
      tail();
  } else {
    code.when(code.less(code.i64(0), rest), tail);
  }
}

/// The last tile of a row or column ends with it and may overlap the one before.
void MoveCode::tiles(const RowPlace &first, const RowPlace &p, const RowPlace &q, Value rows, Value columns) {
  auto count = [&](Value n) { return code.div(code.add(n, code.i64(side - 1)), code.i64(side)); };
  auto start = [&](Value index, Value n) {
    Value at = code.mul(index, code.i64(side));
    return number(n) && *number(n) % side == 0 ? at : code.min(at, code.sub(n, code.i64(side)));
  };
  // Two tiles along the result's rows: together they write whole cache lines.
  Value columnTiles = count(columns), pairs = code.div(code.add(columnTiles, code.i64(1)), code.i64(2));
  code.loop(code.i64(0), pairs, code.i64(1), [&](Value pair) {
    Value left = code.mul(pair, code.i64(2)), right = code.add(left, code.i64(1));
    RowPlace a = advance(first, q, start(left, columns)), b = advance(first, q, start(right, columns));
    bool isEven = number(columnTiles) && *number(columnTiles) % 2 == 0;
    code.loop(code.i64(0), count(rows), code.i64(1), [&](Value index) {
      Value row = start(index, rows);
      tile(advance(a, p, row), p, q);
      if (isEven)
        tile(advance(b, p, row), p, q);
      else
        code.when(code.less(right, columnTiles), [&] { tile(advance(b, p, row), p, q); });
    });
  });
}

/// Lane j of the result is element flat(j) of the vectors of 16, one after the other.
Value MoveCode::pick(ArrayRef<Value> vectors, llvm::function_ref<int64_t(int64_t)> flat) {
  Value result;
  for (auto [v, vector] : llvm::enumerate(vectors)) {
    SmallVector<int32_t> mask(Code::width, -1);
    bool takes = false;
    for (int32_t lane = 0; lane < Code::width; ++lane) {
      int64_t from = flat(lane);
      if (from / Code::width == static_cast<int64_t>(v)) {
        mask[lane] = (result ? Code::width : 0) + from % Code::width;
        takes = true;
      } else if (from / Code::width < static_cast<int64_t>(v)) {
        mask[lane] = lane;
      }
    }
    if (takes)
      result = shuffle(result ? result : vector, vector, mask);
  }
  return result;
}

void MoveCode::channels(const RowPlace &first, Value planeStep, int64_t channels, Value count, bool apart) {
  Value width = code.i64(Code::width);
  auto planes = [&](Value pointer, Value at_) {
    return llvm::map_to_vector(llvm::seq<int64_t>(0, channels),
                               [&](int64_t c) { return at(at(pointer, code.mul(planeStep, code.i64(c))), at_); });
  };
  auto pixels = [&](Value pointer, Value at_) {
    Value start = at(pointer, code.mul(at_, code.i64(channels)));
    return llvm::map_to_vector(llvm::seq<int64_t>(0, channels), [&](int64_t k) { return at(start, k * Code::width); });
  };
  auto vectors = [&](Value position) {
    SmallVector<Value> from = apart ? pixels(first.from, position) : planes(first.from, position);
    SmallVector<Value> to = apart ? planes(first.to, position) : pixels(first.to, position), loaded;
    for (Value pointer : from)
      loaded.push_back(load(pointer, Code::width));
    for (int64_t k = 0; k < static_cast<int64_t>(to.size()); ++k)
      store(pick(loaded,
                 [&](int64_t lane) {
                   int64_t i = k * Code::width + lane;
                   return apart ? lane * channels + k : i % channels * Code::width + i / channels;
                 }),
            to[k]);
  };
  // The last vectors end with the last position and may overlap the ones before.
  code.either(
      code.less(count, width),
      [&] {
        code.loop(code.i64(0), count, code.i64(1), [&](Value i) {
          for (int64_t c = 0; c < channels; ++c) {
            Value plane = code.add(code.mul(planeStep, code.i64(c)), i),
                  pixel = code.add(code.mul(i, code.i64(channels)), code.i64(c));
            store(load(at(first.from, apart ? pixel : plane), 1), at(first.to, apart ? plane : pixel));
          }
        });
      },
      [&] {
        Value last = code.sub(count, width);
        code.loop(code.i64(0), count, width, [&](Value i) { vectors(code.min(i, last)); });
      });
}

void MoveCode::tile(const RowPlace &first, const RowPlace &p, const RowPlace &q) {
  // Halves of rows k and k + 4 in one vector: what is left is two rounds of shuffles inside 128 bits.
  SmallVector<Value> columns(side);
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<Value> rows;
    for (int64_t k = 0; k < 4; ++k) {
      auto quarter = [&](int64_t row) { return load(at(at(first.from, code.mul(q.from, code.i64(row))), half * 4), 4); };
      rows.push_back(shuffle(quarter(k), quarter(k + 4), {0, 1, 2, 3, 4, 5, 6, 7}));
    }
    Value low01 = shuffle(rows[0], rows[1], {0, 8, 1, 9, 4, 12, 5, 13}),
          high01 = shuffle(rows[0], rows[1], {2, 10, 3, 11, 6, 14, 7, 15});
    Value low23 = shuffle(rows[2], rows[3], {0, 8, 1, 9, 4, 12, 5, 13}),
          high23 = shuffle(rows[2], rows[3], {2, 10, 3, 11, 6, 14, 7, 15});
    const int32_t even[] = {0, 1, 8, 9, 4, 5, 12, 13}, odd[] = {2, 3, 10, 11, 6, 7, 14, 15};
    columns[half * 4] = shuffle(low01, low23, even);
    columns[half * 4 + 1] = shuffle(low01, low23, odd);
    columns[half * 4 + 2] = shuffle(high01, high23, even);
    columns[half * 4 + 3] = shuffle(high01, high23, odd);
  }
  auto target = [&](int64_t row) { return advance(first, p, code.i64(row)); };
  if (epilogue.isEmpty()) {
    for (int64_t row = 0; row < side; ++row)
      store(columns[row], target(row).to);
    return;
  }
  SmallVector<int32_t> both(2 * side);
  std::iota(both.begin(), both.end(), 0);
  for (int64_t row = 0; row < side; row += 2) {
    RowPlace upper = target(row), lower = target(row + 1);
    SmallVector<Value> arguments{shuffle(columns[row], columns[row + 1], both)};
    for (auto [a, b, step] : llvm::zip_equal(upper.extras, lower.extras, q.extras)) {
      bool still = number(step) == 0;
      auto operand = [&](Value pointer) { return still ? splat(load(pointer, 1), side) : load(pointer, side); };
      arguments.push_back(shuffle(operand(a), operand(b), both));
    }
    Value result = epilogue.apply(body, code, arguments);
    store(shuffle(result, result, ArrayRef(both).take_front(side)), upper.to);
    store(shuffle(result, result, ArrayRef(both).drop_front(side)), lower.to);
  }
}

} // namespace mopt
