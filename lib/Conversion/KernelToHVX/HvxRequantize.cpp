//===- HvxRequantize.cpp - sums to bytes on HVX --------------------------------------------------------------------===//
//
// (i64(sum) * scale + 2^(shift - 1)) >> shift, exactly, in registers of 32 bits. Let `high` and `low` be the halves of the
// product. From 33 on, the rounding is in the high half: (high + 2^(shift - 33)) >> (shift - 32). Of 32, what is added is the
// top bit of `low`. Below, the sum is shifted left by 32 - shift before the product, and the shift is 32. That would overflow
// for large sums, whose result is clamped in any case: with scale >= 2^30 and shift < 32 the factor is at least 1/2, so that
// 1024 and -1024 are as good as anything beyond them (512 in size at least; the clamp is to less than 512). And 22 is as good
// as any smaller shift: the factor is then at least 256, and one is already past the clamp, which ends at 255 in size.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "HvxTile.h"

namespace mopt {
namespace {

constexpr int64_t leastUseful = 22, largeSum = 1024;

/// What a panel's numbers are made into, once for all rows.
struct Column {
  Value scale, right, half; // right: shift - 32; half: what is added to round
  Value left, least, most;  // null where no shift is below 33; so is
  Value isWhole;            // right is 0
};

class Requantize {
public:
  Requantize(HvxCode &code, kernel::RequantizeOp op) : code(code), b(code.builder), op(op) {}

  Column column(Value scale, Value shift, int64_t leastShift) {
    Column c;
    c.scale = scale;
    if (leastShift > 32) {
      c.right = sub(shift, code.splat(32));
      c.half = shl(code.splat(1), sub(shift, code.splat(33)));
      return c;
    }
    Value zero = code.splat(0), thirtyTwo = code.splat(32);
    c.left = max(sub(thirtyTwo, max(shift, code.splat(leastUseful))), zero);
    c.right = max(sub(shift, thirtyTwo), zero);
    c.isWhole = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::eq, c.right, zero);
    c.half = shl(code.splat(1), max(sub(c.right, code.splat(1)), zero));
    Value small = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::sgt, c.left, zero);
    c.most = select(small, code.splat(largeSum), code.splat(INT32_MAX));
    c.least = select(small, code.splat(-largeSum), code.splat(INT32_MIN));
    return c;
  }

  /// Not clamped; what fits in 32 bits always does.
  Value round(Value sum, const Column &c) {
    if (c.left)
      sum = shl(min(max(sum, c.least), c.most), c.left);
    // The product of 64 bits: with the low halves of the scale, then with the high ones added.
    Type pair = VectorType::get({2 * HvxCode::width}, b.getI32Type());
    Value product = code.intrinsic("V6.vmpyewuh.64.128B", pair, {sum, c.scale});
    product = code.intrinsic("V6.vmpyowh.64.acc.128B", pair, {product, sum, c.scale});
    Value high = half(product, 1), add = c.half;
    if (c.isWhole)
      add = select(c.isWhole, arith::ShRUIOp::create(b, code.loc, half(product, 0), code.splat(31)), add);
    return arith::ShRSIOp::create(b, code.loc, arith::AddIOp::create(b, code.loc, high, add), c.right);
  }

  /// Up to four vectors of words to one of bytes, in their order. Packing saturates, so does the sum of halves: with the zero
  /// point added between them the result is clamped to the type as if all were done in 64 bits.
  Value bytes(ArrayRef<Value> words) {
    Value none = LLVM::PoisonOp::create(b, code.loc, code.vector());
    auto word = [&](size_t i) { return i < words.size() ? words[i] : none; };
    Value lower = halves(word(1), word(0)), upper = words.size() > 2 ? halves(word(3), word(2)) : none;
    bool isUnsigned = op.getResult().getType().isUnsignedInteger(8);
    Value packed = code.hvx(isUnsigned ? "vpackhub.sat" : "vpackhb.sat", {upper, lower});
    int64_t low = op.getLow(), high = op.getHigh(), least = isUnsigned ? 0 : -128;
    if (low > least)
      packed = code.hvx(isUnsigned ? "vmaxub" : "vmaxb", {packed, everyByte(low)});
    if (high < least + 255)
      packed = code.hvx(isUnsigned ? "vminub" : "vminb", {packed, everyByte(high)});
    return LLVM::BitcastOp::create(b, code.loc, VectorType::get({HvxCode::vectorBytes}, b.getI8Type()), packed);
  }

private:
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, code.loc, x, y); }
  Value shl(Value x, Value y) { return arith::ShLIOp::create(b, code.loc, x, y); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, code.loc, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, code.loc, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, code.loc, c, x, y); }
  Value half(Value pair, int64_t which) {
    SmallVector<int32_t> lanes(HvxCode::width);
    std::iota(lanes.begin(), lanes.end(), which * HvxCode::width);
    return LLVM::ShuffleVectorOp::create(b, code.loc, pair, pair, lanes);
  }
  Value halves(Value upper, Value lower) {
    Value packed = code.hvx("vpackwh.sat", {upper, lower});
    int64_t zero = op.getZeroPoint();
    return zero ? code.hvx("vaddhsat", {packed, code.splat((zero & 0xffff) * 0x10001)}) : packed;
  }
  Value everyByte(int64_t value) { return code.splat((value & 0xff) * 0x1010101); }

  HvxCode &code;
  OpBuilder &b;
  kernel::RequantizeOp op;
};

} // namespace

SmallVector<Value> hvxRequantize(HvxCode &code, kernel::RequantizeOp op, ArrayRef<Value> sums, ArrayRef<Value> scales,
                                 ArrayRef<Value> shifts, int64_t leastShift) {
  Requantize requantize(code, op);
  const size_t panels = scales.size();
  SmallVector<Column> columns;
  for (auto [scale, shift] : llvm::zip_equal(scales, shifts))
    columns.push_back(requantize.column(scale, shift, leastShift));
  SmallVector<Value> rows;
  for (size_t first = 0; first < sums.size(); first += panels) {
    SmallVector<Value> words;
    for (size_t p = 0; p < panels; ++p)
      words.push_back(requantize.round(sums[first + p], columns[p]));
    rows.push_back(requantize.bytes(words));
  }
  return rows;
}

} // namespace mopt
