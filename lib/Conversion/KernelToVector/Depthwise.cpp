//===- Depthwise.cpp - convolutions with one channel in a group ----------------------------------------------------===//
//
// A unit is one row of pixels along the last axis. For each panel of channels, the pixels whose taps are all inside of the
// row go four at a time, so that a weight is loaded once for four; those at the ends one by one with the taps they have.
// Rows of taps outside of x are skipped for both. Taps ascend for every pixel.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Epilogue.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

/// Pixels at a time: 4 x 16 floats are 8 of the 16 registers of AVX2.
constexpr int64_t pixels = 4;

class Depthwise : public RootEmitter {
public:
  Depthwise(kernel::DepthwiseOp op, PlanView &plan) : op(op), plan(plan), epilogue(op.getEpilogue()) {
    xDims = plan.view(op.getInputs()[0]).dims;
    yDims = plan.view(op.getOuts()[0]).dims;
    MLIRContext *context = op.getContext();
    axes = op.getKernel().size();
    channels = *yDims.back().asConstant();
    for (int64_t size : op.getKernel())
      taps *= size;
    units = DimExpr::product(ArrayRef(yDims).drop_back(2), context);
    macs = work = DimExpr::product(yDims, context) * taps;
    yStrides = rowMajorStrides(yDims, context);
    xStrides = rowMajorStrides(xDims, context);
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> strides = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> moves(yDims.size(), DimExpr::constant(context, 0));
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          moves[dim.getPosition()] = strides[i];
      extraStrides.push_back(moves);
      llvm::append_range(sizes, moves);
    }
    for (ArrayRef<DimExpr> list : {ArrayRef(xDims), ArrayRef(yDims), ArrayRef(xStrides), ArrayRef(yStrides)})
      llvm::append_range(sizes, list);
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) { row(body, code, unit); });
  }

private:
  /// What the code of one row and panel reads.
  struct Row {
    SmallVector<Value> origin; // of the outer axes: coordinate in x of tap 0
    Value x, weights, y, mask;
    SmallVector<Value> extras;
  };

  void row(KernelBody &body, Code &code, Value unit) {
    auto size = [&](DimExpr dim) { return body.size(dim); };
    ArrayRef<int64_t> strides = op.getStrides(), pads = op.getPads();
    // Image and outer coordinates.
    SmallVector<Value> position(axes); // image, outer axes
    Value rest = unit;
    for (unsigned d = axes; d-- > 0;) {
      position[d] = d == 0 ? rest : code.rem(rest, size(yDims[d]));
      if (d)
        rest = code.div(rest, size(yDims[d]));
    }
    Row base;
    base.x = code.at(body.base(plan.view(op.getInputs()[0]).base), code.mul(position[0], size(xStrides[0])));
    base.y = body.base(plan.view(op.getOuts()[0]).base);
    base.weights = body.base(plan.view(op.getInputs()[1]).base);
    for (Value memref : op.getExtras())
      base.extras.push_back(body.base(plan.view(memref).base));
    for (unsigned d = 0; d < axes; ++d) {
      base.y = code.at(base.y, code.mul(position[d], size(yStrides[d])));
      for (auto [pointer, moves] : llvm::zip_equal(base.extras, extraStrides))
        pointer = code.at(pointer, code.mul(position[d], size(moves[d])));
      if (d)
        base.origin.push_back(code.sub(code.mul(position[d], code.i64(strides[d - 1])), code.i64(pads[d - 1])));
    }
    int64_t whole = channels / Code::width, left = channels % Code::width;
    auto panel = [&](Value index, Value mask) {
      Row row = base;
      Value channel = code.mul(index, code.i64(Code::width));
      row.x = code.at(row.x, channel);
      row.y = code.at(row.y, channel);
      row.weights = code.at(row.weights, code.mul(channel, code.i64(taps)));
      for (auto [pointer, moves] : llvm::zip_equal(row.extras, extraStrides))
        if (!moves.back().isConstant(0))
          pointer = code.at(pointer, channel);
      row.mask = mask;
      pixelsOf(body, code, row);
    };
    code.loop(code.i64(0), code.i64(whole), code.i64(1), [&](Value index) { panel(index, {}); });
    if (left)
      panel(code.i64(whole), code.mask(code.i64(left)));
  }

  void pixelsOf(KernelBody &body, Code &code, const Row &row) {
    int64_t kernel = op.getKernel().back(), stride = op.getStrides().back(), dilation = op.getDilations().back(),
            pad = op.getPads().back();
    Value width = body.size(xDims[axes]), count = body.size(yDims[axes]);
    // First and last pixel whose taps are all inside.
    Value first = code.min(count, code.i64((pad + stride - 1) / stride));
    Value room = code.add(width, code.i64(pad - (kernel - 1) * dilation - 1 + stride));
    Value inside = code.max(first, code.min(count, code.div(code.max(room, code.i64(0)), code.i64(stride))));
    auto border = [&](Value pixel) {
      Value origin = code.sub(code.mul(pixel, code.i64(stride)), code.i64(pad));
      auto [lower, upper] = tapRange(code, origin, width, kernel, dilation);
      finish(body, code, row, pixel, products(body, code, row, origin, 1, lower, upper));
    };
    code.loop(code.i64(0), first, code.i64(1), border);
    Value tiled = code.sub(inside, code.rem(code.sub(inside, first), code.i64(pixels)));
    auto tile = [&](Value pixel, int64_t n) {
      Value origin = code.sub(code.mul(pixel, code.i64(stride)), code.i64(pad));
      finish(body, code, row, pixel, products(body, code, row, origin, n, {}, {}));
    };
    code.loop(first, tiled, code.i64(pixels), [&](Value pixel) { tile(pixel, pixels); });
    code.loop(tiled, inside, code.i64(1), [&](Value pixel) { tile(pixel, 1); });
    code.loop(inside, count, code.i64(1), border);
  }

  /// Taps [lower, upper) of an axis of `size` elements lie inside, when tap 0 is at `origin`.
  static std::pair<Value, Value> tapRange(Code &code, Value origin, Value size, int64_t kernel, int64_t dilation) {
    auto ceiling = [&](Value distance) {
      return code.div(code.add(code.max(distance, code.i64(0)), code.i64(dilation - 1)), code.i64(dilation));
    };
    Value upper = code.min(code.i64(kernel), ceiling(code.sub(size, origin)));
    return {code.min(upper, ceiling(code.sub(code.i64(0), origin))), upper};
  }

  /// Sums for `n` pixels; the taps of the last axis are [lower, upper), or all and unrolled.
  SmallVector<Value> products(KernelBody &body, Code &code, const Row &row, Value origin, int64_t n, Value lower,
                              Value upper) {
    int64_t stride = op.getStrides().back(), dilation = op.getDilations().back(), kernel = op.getKernel().back();
    Value pixel = code.i64(channels);
    std::function<SmallVector<Value>(unsigned, Value, Value, SmallVector<Value>)> axis =
        [&](unsigned d, Value x, Value weights, SmallVector<Value> sums) -> SmallVector<Value> {
      if (d + 1 < axes) {
        int64_t below = 1;
        for (int64_t size : op.getKernel().drop_front(d + 1))
          below *= size;
        auto [from, to] = tapRange(code, row.origin[d], body.size(xDims[d + 1]), op.getKernel()[d], op.getDilations()[d]);
        return code.loop(from, to, code.i64(1), sums, [&](Value tap, ValueRange carried) {
          Value coordinate = code.add(row.origin[d], code.mul(tap, code.i64(op.getDilations()[d])));
          return axis(d + 1, code.at(x, code.mul(coordinate, body.size(xStrides[d + 1]))),
                      code.at(weights, code.mul(tap, code.i64(below * Code::width))), SmallVector<Value>(carried));
        });
      }
      auto tap = [&](Value index, SmallVector<Value> sums) {
        Value weight = code.load(code.at(weights, code.mul(index, code.i64(Code::width))));
        Value at = code.add(origin, code.mul(index, code.i64(dilation)));
        for (int64_t t = 0; t < n; ++t) {
          Value from = code.at(x, code.mul(code.add(at, code.i64(t * stride)), pixel));
          sums[t] = code.fma(code.load(from, row.mask), weight, sums[t]);
        }
        return sums;
      };
      if (lower)
        return code.loop(lower, upper, code.i64(1), sums,
                         [&](Value index, ValueRange carried) { return tap(index, SmallVector<Value>(carried)); });
      if (kernel <= 9) {
        for (int64_t i = 0; i < kernel; ++i)
          sums = tap(code.i64(i), sums);
        return sums;
      }
      return code.loop(code.i64(0), code.i64(kernel), code.i64(1), sums,
                       [&](Value index, ValueRange carried) { return tap(index, SmallVector<Value>(carried)); });
    };
    return axis(0, row.x, row.weights, SmallVector<Value>(n, code.constant(0)));
  }

  void finish(KernelBody &body, Code &code, const Row &row, Value pixel, ArrayRef<Value> sums) {
    for (auto [t, sum] : llvm::enumerate(sums)) {
      Value at = code.add(pixel, code.i64(t));
      SmallVector<Value> arguments{sum};
      for (auto [pointer, moves] : llvm::zip_equal(row.extras, extraStrides)) {
        Value from = code.at(pointer, code.mul(at, body.size(moves[axes])));
        arguments.push_back(moves.back().isConstant(0) ? code.splat(code.loadScalar(from)) : code.load(from, row.mask));
      }
      code.store(epilogue.apply(body, code, arguments), code.at(row.y, code.mul(at, code.i64(channels))), row.mask);
    }
  }

  kernel::DepthwiseOp op;
  PlanView &plan;
  Epilogue epilogue;
  SmallVector<DimExpr> xDims, yDims, xStrides, yStrides;
  SmallVector<SmallVector<DimExpr>> extraStrides; // per axis of y
  unsigned axes = 0;
  int64_t channels = 0, taps = 1;
};

} // namespace

std::unique_ptr<RootEmitter> emitDepthwise(kernel::DepthwiseOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Depthwise>(op, plan);
}

} // namespace mopt
