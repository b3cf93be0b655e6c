//===- Int8Tile.cpp - sums of products of bytes in registers -------------------------------------------------------===//
//
// What CPUs offer, and what is exact of it:
//
//   vpdpbusd  unsigned times signed, four products a sum. For signed rows 128 is added, and 128 * the sum of the weights,
//             made by one more instruction a vector of weights, subtracted.
//   sdot      signed times signed, likewise; for unsigned rows 128 is subtracted.
//   pmaddwd   products of 16-bit numbers in pairs. Bytes 0 and 2 of each four are one operand, bytes 1 and 3 another: two
//             shifts split them, and the pair of pmaddwd is again one sum, no shuffles. (pmaddubsw saturates: not exact.)
//   none      each of the four bytes is widened to 32 bits and multiplied there.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Int8Tile.h"

namespace mopt {

int64_t Int8Tile::lanes() const {
  switch (dot) {
  case Dot::sdot:
  case Dot::pmadd128:
    return 4;
  case Dot::pmadd256:
  case Dot::vnni256:
    return 8;
  default:
    return Code::width;
  }
}

Value Int8Tile::splat(Value word) {
  OpBuilder &b = code.builder;
  Value undefined = LLVM::PoisonOp::create(b, code.loc, ints());
  Value zero = LLVM::ConstantOp::create(b, code.loc, b.getI32Type(), b.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(b, code.loc, undefined, word, zero);
  return LLVM::ShuffleVectorOp::create(b, code.loc, first, undefined, SmallVector<int32_t>(lanes(), 0));
}
Value Int8Tile::constant(VectorType type, int64_t value) {
  APInt number(type.getElementTypeBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  return arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(type, number));
}
Value Int8Tile::intrinsic(StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(code.builder, code.loc, type, code.builder.getStringAttr(name), operands).getResult(0);
}

/// `bytes` bytes as an i32, zeros above them.
Value Int8Tile::loadWord(Value pointer, unsigned bytes) {
  OpBuilder &b = code.builder;
  Type i32 = b.getI32Type();
  auto piece = [&](unsigned at, unsigned size) -> Value {
    Value address = at ? code.at(pointer, code.i64(at), 1) : pointer;
    Value value = LLVM::LoadOp::create(b, code.loc, b.getIntegerType(8 * size), address, 1);
    return size == 4 ? value : arith::ExtUIOp::create(b, code.loc, i32, value).getResult();
  };
  if (bytes != 3)
    return piece(0, bytes);
  Value shift = arith::ConstantOp::create(b, code.loc, b.getI32IntegerAttr(16));
  return arith::OrIOp::create(b, code.loc, piece(0, 2), arith::ShLIOp::create(b, code.loc, piece(2, 1), shift));
}

SmallVector<Value> Int8Tile::zeros() {
  SmallVector<Value> sums;
  for (unsigned p = 0; p < panels; ++p)
    sums.append(chunks(p) * (rows + isFlipped()), constant(ints(), 0));
  return sums;
}

SmallVector<Value> Int8Tile::weights(Value address) {
  OpBuilder &b = code.builder;
  auto load = [&](Type type) { return LLVM::LoadOp::create(b, code.loc, type, address, 4).getResult(); };
  auto signedShift = [&](Value value, VectorType type, int64_t left, int64_t right) {
    if (left)
      value = arith::ShLIOp::create(b, code.loc, value, constant(type, left));
    return right ? arith::ShRSIOp::create(b, code.loc, value, constant(type, right)).getResult() : value;
  };
  switch (dot) {
  case Dot::vnni256:
  case Dot::vnni512:
  case Dot::sdot:
    return {load(bytesType())};
  case Dot::pmadd128:
  case Dot::pmadd256:
  case Dot::pmadd512: {
    Value all = load(words());
    return {signedShift(all, words(), 8, 8), signedShift(all, words(), 0, 8)};
  }
  case Dot::none:
    break;
  }
  Value all = load(ints());
  SmallVector<Value> parts;
  for (int64_t j = 0; j < 4; ++j)
    parts.push_back(signedShift(all, ints(), 24 - 8 * j, 24));
  return parts;
}

SmallVector<Value> Int8Tile::row(Value word) {
  OpBuilder &b = code.builder;
  if (isFlipped())
    word = arith::XOrIOp::create(b, code.loc, word,
                                 arith::ConstantOp::create(b, code.loc, b.getI32IntegerAttr(int32_t(0x80808080))));
  switch (dot) {
  case Dot::vnni256:
  case Dot::vnni512:
  case Dot::sdot:
    return {cast(bytesType(), splat(word))};
  case Dot::pmadd128:
  case Dot::pmadd256:
  case Dot::pmadd512: {
    Value all = cast(words(), splat(word)), eight = constant(words(), 8);
    if (isUnsigned)
      return {arith::AndIOp::create(b, code.loc, all, constant(words(), 255)),
              arith::ShRUIOp::create(b, code.loc, all, eight)};
    return {arith::ShRSIOp::create(b, code.loc, arith::ShLIOp::create(b, code.loc, all, eight), eight),
            arith::ShRSIOp::create(b, code.loc, all, eight)};
  }
  case Dot::none:
    break;
  }
  SmallVector<Value> parts;
  for (int32_t j = 0; j < 4; ++j) {
    auto number = [&](int32_t value) { return arith::ConstantOp::create(b, code.loc, b.getI32IntegerAttr(value)); };
    Value up = arith::ShLIOp::create(b, code.loc, word, number(24 - 8 * j));
    parts.push_back(splat(isUnsigned ? arith::ShRUIOp::create(b, code.loc, up, number(24)).getResult()
                                     : arith::ShRSIOp::create(b, code.loc, up, number(24)).getResult()));
  }
  return parts;
}

Value Int8Tile::add(Value sum, ArrayRef<Value> w, ArrayRef<Value> a) {
  switch (dot) {
  case Dot::vnni256:
    return intrinsic("llvm.x86.avx512.vpdpbusd.256", ints(), {sum, a[0], w[0]});
  case Dot::vnni512:
    return intrinsic("llvm.x86.avx512.vpdpbusd.512", ints(), {sum, a[0], w[0]});
  case Dot::sdot:
    return intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", ints(), {sum, w[0], a[0]});
  default:
    break;
  }
  for (auto [x, y] : llvm::zip_equal(w, a)) {
    Value product;
    switch (dot) {
    case Dot::pmadd128:
      product = intrinsic("llvm.x86.sse2.pmadd.wd", ints(), {x, y});
      break;
    case Dot::pmadd256:
      product = intrinsic("llvm.x86.avx2.pmadd.wd", ints(), {x, y});
      break;
    case Dot::pmadd512:
      product = intrinsic("llvm.x86.avx512.pmaddw.d.512", ints(), {x, y});
      break;
    default:
      product = arith::MulIOp::create(code.builder, code.loc, x, y);
    }
    sum = arith::AddIOp::create(code.builder, code.loc, sum, product);
  }
  return sum;
}

// Sums lie panel by panel, vector by vector, rows last; behind the rows the sum of the weights times 128, if it is needed.
SmallVector<Value> Int8Tile::step(ArrayRef<Value> rowPointers, ArrayRef<Value> panelPointers, Value at,
                                  SmallVector<Value> sums, unsigned bytes) {
  SmallVector<SmallVector<Value>> factors;
  for (Value pointer : rowPointers)
    factors.push_back(row(loadWord(code.at(pointer, at), bytes)));
  if (isFlipped()) // 128 as vpdpbusd reads it, -128 as sdot does
    factors.push_back({constant(bytesType(), 0x80)});
  unsigned next = 0;
  for (unsigned p = 0; p < panels; ++p)
    for (unsigned chunk = 0; chunk < chunks(p); ++chunk) {
      Value address = code.at(panelPointers[p], code.add(code.mul(at, code.i64(Code::width)), code.i64(chunk * lanes())));
      SmallVector<Value> columns = weights(address);
      for (const SmallVector<Value> &factor : factors) {
        sums[next] = add(sums[next], columns, factor);
        ++next;
      }
    }
  return sums;
}

SmallVector<Value> Int8Tile::finish(ArrayRef<Value> sums) {
  OpBuilder &b = code.builder;
  const unsigned stride = rows + isFlipped();
  SmallVector<Value> result(rows * panels);
  unsigned base = 0;
  for (unsigned p = 0; p < panels; ++p) {
    for (unsigned r = 0; r < rows; ++r) {
      Value whole;
      for (unsigned chunk = 0; chunk < chunks(p); ++chunk) {
        Value part = sums[base + chunk * stride + r];
        if (isFlipped())
          part = arith::SubIOp::create(b, code.loc, part, sums[base + chunk * stride + rows]);
        if (lanes() == Code::width) {
          whole = part;
          break;
        }
        // Widened, then put behind what is there.
        SmallVector<int32_t> wide(Code::width, -1), join(Code::width, -1);
        std::iota(wide.begin(), wide.begin() + lanes(), 0);
        part = LLVM::ShuffleVectorOp::create(b, code.loc, part, part, wide);
        if (!whole) {
          whole = part;
          continue;
        }
        std::iota(join.begin(), join.begin() + chunk * lanes(), 0);
        std::iota(join.begin() + chunk * lanes(), join.begin() + (chunk + 1) * lanes(), int32_t(Code::width));
        whole = LLVM::ShuffleVectorOp::create(b, code.loc, whole, part, join);
      }
      result[r * panels + p] = whole;
    }
    base += chunks(p) * stride;
  }
  return result;
}

} // namespace mopt
