//===- Conv.cpp - convolutions as matrix products over a table of rows ---------------------------------------------===//
//
// For each tap of the kernel, a row of the left operand is the channels of one pixel of x, or zeros where the tap is outside.
// The table of those rows costs a few instructions for each row and tap, no copy of x and no border in memory; see
// docs/rationale/rows-by-table.md. Taps that lie side by side in memory (the last axis without dilation) are one tap with
// their channels one after the other, a run: fewer pointers and a longer inner loop, which matters for few channels. Only a
// pixel at an end of the row has a run that is partly outside; it is copied, with zeros, into a strip on the stack.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

/// Bytes of a run at most: longer ones gain nothing, and strips take stack.
constexpr int64_t maxRun = 512;

class Conv : public TileNest {
public:
  Conv(kernel::ConvOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule), conv(op) {
    xDims = plan.view(op.getInputs()[0]).dims;
    yDims = plan.view(op.getOuts()[0]).dims;
    take(matrixShape(op, plan));
    group = op.getGroup();
    channels = *xDims.back().asConstant();
    int64_t run = 1, taps = 1;
    // In panels of bytes each tap begins with a group of four.
    bool adjacent = !arithmetic.bytes || channels % 4 == 0;
    if (group == 1 && adjacent && op.getDilations().back() == 1 && op.getKernel().back() * channels * aBytes() <= maxRun)
      run = op.getKernel().back();
    merged = run > 1;
    for (int64_t size : op.getKernel())
      taps *= size;
    panelStep = panelRows(constant(channels / group)) * (taps * Code::width);
    b.batchStrides[1] = n.ceilDiv(Code::width) * panelStep;
    taps /= run;
    k = constant(channels / group * run); // of one entry of the table
    // Windows of neighbouring pixels overlap: of a square one a block of rows brings about three pixels for each of its own.
    rowFloats = channels / group * std::min<int64_t>(taps * run, 3);
    stripBytes = merged ? channels * run * aBytes() : 0;
    llvm::append_range(sizes, xDims);
    llvm::append_range(sizes, yDims);
    finish(RowAccess::table, taps);
  }

protected:
  void start(KernelBody &body, Code &code) override {
    if (merged)
      strips = code.stack(body.function, blockTiles * TileNest::taps * tableRows * stripBytes);
  }

  void fillTable(KernelBody &body, Code &code, Value table, Value tile, ValueRange position, Value first,
                 Value rows) override {
    unsigned axes = conv.getKernel().size();
    ArrayRef<int64_t> kernel = conv.getKernel(), strides = conv.getStrides(), dilations = conv.getDilations(),
                      pads = conv.getPads();
    Value x = body.base(plan.view(conv.getInputs()[0]).base);
    x = xAt(code, x, code.mul(position[0], body.size(a.batchStrides[0])));
    if (group != 1)
      x = xAt(code, x, code.mul(position[1], body.size(a.batchStrides[1])));
    Value zeros = arithmetic.bytes ? body.bytes(static_cast<int64_t>(conv.getZeroPoint()), *k.asConstant())
                                   : body.zeros(*k.asConstant());
    SmallVector<Value> steps(axes); // elements from one element of an axis of x to the next
    Value step = code.i64(channels);
    for (unsigned d = axes; d-- > 0;) {
      steps[d] = step;
      step = code.mul(step, body.size(xDims[d + 1]));
    }
    Value tileStrips;
    if (merged)
      tileStrips = xAt(code, strips, code.mul(tile, code.i64(TileNest::taps * tableRows * *k.asConstant())));
    // Position of the first row, then counted up.
    SmallVector<Value> at(axes);
    Value rest = first;
    for (unsigned d = axes; d-- > 0;) {
      at[d] = d == 0 ? rest : code.rem(rest, body.size(yDims[d + 1]));
      if (d)
        rest = code.div(rest, body.size(yDims[d + 1]));
    }
    code.loop(code.i64(0), rows, code.i64(1), at, [&](Value row, ValueRange carried) {
      SmallVector<Value> origin;
      for (unsigned d = 0; d < axes; ++d)
        origin.push_back(code.sub(code.mul(carried[d], code.i64(strides[d])), code.i64(pads[d])));
      tapsOf(body, code, kernel, dilations, origin, steps, zeros, 0, x, Value(), code.atPointer(table, row),
             merged ? xAt(code, tileStrips, code.mul(row, code.i64(*k.asConstant()))) : Value());
      SmallVector<Value> next(carried);
      Value carry = code.i64(1);
      for (unsigned d = axes; d-- > 0;) {
        Value sum = code.add(next[d], carry);
        if (d == 0) {
          next[d] = sum;
          break;
        }
        Value full = code.equal(sum, body.size(yDims[d + 1]));
        next[d] = code.select(full, code.i64(0), sum);
        carry = code.select(full, code.i64(1), code.i64(0));
      }
      return next;
    });
  }

private:
  int64_t aBytes() const { return arithmetic.aBytes(); }
  Value xAt(Code &code, Value pointer, Value elements) const { return code.at(pointer, elements, aBytes()); }

  /// Stores the pointers of all taps from axis `d` on. `inside`: whether the outer axes are inside of x; null: yes.
  void tapsOf(KernelBody &body, Code &code, ArrayRef<int64_t> kernel, ArrayRef<int64_t> dilations, ArrayRef<Value> origin,
              ArrayRef<Value> steps, Value zeros, unsigned d, Value pointer, Value inside, Value entry, Value strip) {
    if (d == kernel.size()) {
      code.storePointer(inside ? code.select(inside, pointer, zeros) : pointer, entry);
      return;
    }
    if (merged && d + 1 == kernel.size())
      return run(body, code, origin[d], kernel[d], zeros, pointer, inside, entry, strip, xDims[d + 1]);
    int64_t below = 1;
    for (int64_t size : kernel.drop_front(d + 1))
      below *= size;
    if (merged)
      below /= kernel.back();
    auto tap = [&](Value index) {
      Value coordinate = code.add(origin[d], code.mul(index, code.i64(dilations[d])));
      Value within = isInside(body, code, coordinate, xDims[d + 1]);
      Value step = code.mul(index, code.i64(below * tableRows));
      tapsOf(body, code, kernel, dilations, origin, steps, zeros, d + 1, xAt(code, pointer, code.mul(coordinate, steps[d])),
             inside ? code.both(inside, within) : within, code.atPointer(entry, step),
             merged ? xAt(code, strip, code.mul(step, code.i64(*k.asConstant()))) : Value());
    };
    // One loop per axis but the last, which is unrolled where it is short.
    if (d + 1 == kernel.size() && kernel[d] <= 8)
      for (int64_t i = 0; i < kernel[d]; ++i)
        tap(code.i64(i));
    else
      code.loop(code.i64(0), code.i64(kernel[d]), code.i64(1), tap);
  }

  /// One unsigned comparison for both ends.
  Value isInside(KernelBody &body, Code &code, Value coordinate, DimExpr dim) {
    return arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ult, coordinate, body.size(dim));
  }

  /// The taps of the last axis as one: in x where all are inside, in the strip where some are.
  void run(KernelBody &body, Code &code, Value origin, int64_t length, Value zeros, Value row, Value inside, Value entry,
           Value strip, DimExpr dim) {
    Value first = xAt(code, row, code.mul(origin, code.i64(channels)));
    Value whole =
        code.both(isInside(body, code, origin, dim), isInside(body, code, code.add(origin, code.i64(length - 1)), dim));
    Value there = inside ? inside : arith::ConstantOp::create(code.builder, code.loc, code.builder.getBoolAttr(true));
    code.storePointer(code.select(there, code.select(whole, first, strip), zeros), entry);
    Value no = arith::ConstantOp::create(code.builder, code.loc, code.builder.getBoolAttr(false));
    code.when(code.both(there, code.equal(whole, no)), [&] {
      code.loop(code.i64(0), code.i64(length), code.i64(1), [&](Value tap) {
        Value coordinate = code.add(origin, tap);
        Value from = code.select(isInside(body, code, coordinate, dim),
                                 xAt(code, row, code.mul(coordinate, code.i64(channels))), zeros);
        Value to = xAt(code, strip, code.mul(tap, code.i64(channels)));
        const int64_t floats = channels * aBytes() / 4; // bytes come in fours
        for (int64_t c = 0; c < floats; c += Code::width) {
          Value mask = floats - c < Code::width ? code.mask(code.i64(floats - c)) : Value();
          code.store(code.load(code.at(from, c), mask), code.at(to, c), mask);
        }
      });
    });
  }

  kernel::ConvOp conv;
  SmallVector<DimExpr> xDims, yDims;
  int64_t group = 1, channels = 0;
  bool merged = false; // taps of the last axis are one
  Value strips;
};

} // namespace

std::unique_ptr<RootEmitter> emitConv(kernel::ConvOp op, PlanView &plan, const Schedule &schedule) {
  return std::make_unique<Conv>(op, plan, schedule);
}

} // namespace mopt
