//===- Pool.cpp - maxima and averages over windows -----------------------------------------------------------------===//
//
// Channels last: vectors along the channels, so a window is a loop over its taps and borders cost nothing but loop bounds.
// Channels first: vectors along the last axis of the result; where a vector touches a border, or strides are large, its taps
// are masked or gathered.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Epilogue.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

/// Vectors of channels that are summed up together: they stay in registers on every CPU and share the loops over taps.
constexpr int64_t together = 4;

class Pool : public RootEmitter {
public:
  Pool(kernel::PoolOp op, PlanView &plan) : op(op), plan(plan), context(op.getContext()), epilogue(op.getEpilogue()) {
    name = op.getOp().str() + epilogue.name();
    isMax = op.getOp() == "max_pool";
    channelsLast = op.getChannelsLast();
    x = plan.view(op.getInputs()[0]).dims;
    y = plan.view(op.getOuts()[0]).dims;
    axes = op.getKernel().size();
    for (DimAttr pad : cast<DimsAttr>(op.getPads()).getDims())
      pads.push_back(DimExpr(pad));
    first = channelsLast ? 1 : 2;
    int64_t taps = 1;
    for (int64_t size : op.getKernel())
      taps *= size;
    // A row of the result; with channels first a plane, whose rows are short.
    units = DimExpr::product(channelsLast ? ArrayRef(y).drop_back(2) : ArrayRef(y).take_front(2), context);
    work = DimExpr::product(y, context) * taps;
    macs = DimExpr::constant(context, 0);
    xStrides = rowMajorStrides(x, context);
    yStrides = rowMajorStrides(y, context);
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> strides(y.size(), DimExpr::constant(context, 0));
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          strides[dim.getPosition()] = own[i];
      extraStrides.push_back(strides);
    }
    for (ArrayRef<DimExpr> list : {ArrayRef(x), ArrayRef(y), ArrayRef(pads), ArrayRef(xStrides), ArrayRef(yStrides)})
      llvm::append_range(sizes, list);
    for (const auto &list : extraStrides)
      llvm::append_range(sizes, list);
    llvm::erase_if(sizes, [](DimExpr size) { return size && size.asConstant(); });
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
      Place place{body.base(plan.view(op.getInputs()[0]).base), body.base(plan.view(op.getOuts()[0]).base), {}};
      for (Value extra : op.getExtras())
        place.extras.push_back(body.base(plan.view(extra).base));
      if (channelsLast) {
        // n and all spatial axes but the last.
        Value rest = unit;
        SmallVector<Value> position(axes);
        for (size_t d = axes - 1; d-- > 0;) {
          position[d] = code.rem(rest, body.size(y[d + 1]));
          rest = code.div(rest, body.size(y[d + 1]));
        }
        move(body, code, place, 0, rest, true);
        SmallVector<Span> spans;
        for (size_t d = 0; d + 1 < axes; ++d) {
          move(body, code, place, d + 1, position[d], false);
          spans.push_back(spanOf(body, code, d, position[d]));
        }
        code.loop(code.i64(0), body.size(y[axes]), code.i64(1), [&](Value column) {
          Place pixel = place;
          move(body, code, pixel, axes, column, false);
          SmallVector<Span> all(spans);
          all.push_back(spanOf(body, code, axes - 1, column));
          channels(body, code, pixel, all);
        });
        return;
      }
      Value channel = code.rem(unit, body.size(y[1])), image = code.div(unit, body.size(y[1]));
      move(body, code, place, 0, image, true);
      move(body, code, place, 1, channel, true);
      rows(body, code, place, {}, 0);
    });
  }

private:
  struct Place {
    Value x, y;
    SmallVector<Value> extras;
  };
  /// Taps of one axis at one position of the result: those inside of x, the coordinate of tap 0, and how many count.
  struct Span {
    Value first, last, origin, count;
  };

  /// Moves y and the extras along an axis, and x where it moves alike.
  void move(KernelBody &body, Code &code, Place &place, unsigned axis, Value by, bool input) {
    if (input)
      place.x = code.at(place.x, code.mul(by, body.size(xStrides[axis])));
    place.y = code.at(place.y, code.mul(by, body.size(yStrides[axis])));
    for (auto [pointer, strides] : llvm::zip_equal(place.extras, extraStrides))
      pointer = code.at(pointer, code.mul(by, body.size(strides[axis])));
  }

  Span spanOf(KernelBody &body, Code &code, unsigned d, Value position) {
    int64_t kernel = op.getKernel()[d], dilation = op.getDilations()[d];
    Value size = body.size(x[d + first]), pad = body.size(pads[d]), zero = code.i64(0);
    Value origin = code.sub(code.mul(position, code.i64(op.getStrides()[d])), pad);
    auto taps = [&](Value room) { // taps from the origin on that begin before `room`
      return code.div(code.add(code.max(room, zero), code.i64(dilation - 1)), code.i64(dilation));
    };
    Span span{taps(code.sub(zero, origin)), code.min(code.i64(kernel), taps(code.sub(size, origin))), origin, Value()};
    if (op.getCountPads())
      span.count = code.min(code.i64(kernel), taps(code.sub(code.add(size, body.size(pads[d + axes])), origin)));
    else
      span.count = code.max(zero, code.sub(span.last, span.first));
    return span;
  }

  Value accumulate(Code &code, Value sum, Value value) {
    if (!isMax)
      return arith::AddFOp::create(code.builder, code.loc, sum, value);
    // NaN is passed over: the comparison is false.
    Value larger = arith::CmpFOp::create(code.builder, code.loc, arith::CmpFPredicate::OGT, value, sum);
    return arith::SelectOp::create(code.builder, code.loc, larger, value, sum);
  }
  Value initial(Code &code) { return code.constant(isMax ? -std::numeric_limits<double>::infinity() : 0.0); }
  Value toFloat(Code &code, Value count) { return arith::SIToFPOp::create(code.builder, code.loc, code.f32(), count); }

  //===--------------------------------------------------------------------===//
  // Channels last
  //===--------------------------------------------------------------------===//
  void channels(KernelBody &body, Code &code, const Place &pixel, ArrayRef<Span> spans) {
    Value divisor;
    if (!isMax) {
      Value count = code.i64(1);
      for (const Span &span : spans)
        count = code.mul(count, span.count);
      divisor = code.splat(toFloat(code, count));
    }
    auto vectors = [&](Value channel, int64_t number, Value mask) {
      SmallVector<Value> sums(number, initial(code));
      sums = window(body, code, spans, 0, code.at(pixel.x, channel), sums, mask);
      for (int64_t v = 0; v < number; ++v)
        finish(body, code, pixel, code.add(channel, code.i64(v * Code::width)), y.size() - 1, sums[v], divisor, mask);
    };
    Value count = body.size(y.back()), width = code.i64(Code::width);
    Value whole = code.sub(count, code.rem(count, width)),
          most = code.sub(count, code.rem(count, code.i64(together * Code::width)));
    code.loop(code.i64(0), most, code.i64(together * Code::width), [&](Value c) { vectors(c, together, Value()); });
    code.loop(most, whole, width, [&](Value c) { vectors(c, 1, Value()); });
    if (y.back().asConstant() && *y.back().asConstant() % Code::width == 0)
      return;
    code.when(code.less(whole, count), [&] { vectors(whole, 1, code.mask(code.sub(count, whole))); });
  }

  SmallVector<Value> window(KernelBody &body, Code &code, ArrayRef<Span> spans, unsigned d, Value pointer,
                            SmallVector<Value> sums, Value mask) {
    if (d == axes) {
      for (auto [v, sum] : llvm::enumerate(sums))
        sum = accumulate(code, sum, code.load(code.at(pointer, v * Code::width), mask));
      return sums;
    }
    return code.loop(spans[d].first, spans[d].last, code.i64(1), sums, [&](Value tap, ValueRange carried) {
      Value at = code.add(spans[d].origin, code.mul(tap, code.i64(op.getDilations()[d])));
      return window(body, code, spans, d + 1, code.at(pointer, code.mul(at, body.size(xStrides[d + first]))),
                    SmallVector<Value>(carried), mask);
    });
  }

  /// Divides, runs the epilogue and stores 16 elements along `axis` from `offset` on.
  void finish(KernelBody &body, Code &code, const Place &place, Value offset, unsigned axis, Value sum, Value divisor,
              Value mask) {
    if (divisor)
      sum = arith::DivFOp::create(code.builder, code.loc, sum, divisor);
    SmallVector<Value> arguments{sum};
    for (auto [pointer, strides] : llvm::zip_equal(place.extras, extraStrides))
      arguments.push_back(strides[axis].isConstant(0) ? code.splat(code.loadScalar(pointer))
                                                      : code.load(code.at(pointer, offset), mask));
    code.store(epilogue.apply(body, code, arguments), code.at(place.y, offset), mask);
  }

  //===--------------------------------------------------------------------===//
  // Channels first
  //===--------------------------------------------------------------------===//
  void rows(KernelBody &body, Code &code, const Place &place, SmallVector<Span> spans, unsigned d) {
    if (d + 1 == axes)
      return row(body, code, place, spans);
    code.loop(code.i64(0), body.size(y[d + 2]), code.i64(1), [&](Value position) {
      Place next = place;
      move(body, code, next, d + 2, position, false);
      SmallVector<Span> all(spans);
      all.push_back(spanOf(body, code, d, position));
      rows(body, code, next, all, d + 1);
    });
  }

  void row(KernelBody &body, Code &code, const Place &place, ArrayRef<Span> spans) {
    unsigned last = axes - 1;
    int64_t kernel = op.getKernel()[last], stride = op.getStrides()[last], dilation = op.getDilations()[last];
    Value size = body.size(x.back()), pad = body.size(pads[last]), columns = body.size(y.back());
    Value outer = code.i64(1);
    for (const Span &span : spans)
      outer = code.mul(outer, span.count);
    auto vector = [&](Value column, Value mask) {
      Value origin = code.sub(code.mul(column, code.i64(stride)), pad);
      Value divisor = isMax ? Value() : counts(body, code, outer, origin);
      auto run = [&](bool inside) {
        Value sum = taps(body, code, place.x, spans, 0, initial(code), [&](Value pointer, Value sum) {
          auto tap = [&](Value index, Value sum) {
            Value at = code.add(origin, code.mul(index, code.i64(dilation)));
            Value valid = inside ? Value() : lanesInside(code, at, stride, size, mask);
            Value value = inside ? spaced(code, code.at(pointer, at), stride) : gather(code, pointer, at, stride, valid);
            Value next = accumulate(code, sum, value);
            return valid ? arith::SelectOp::create(code.builder, code.loc, valid, next, sum).getResult() : next;
          };
          if (kernel <= 4) {
            for (int64_t k = 0; k < kernel; ++k)
              sum = tap(code.i64(k), sum);
            return sum;
          }
          return code.loop(code.i64(0), code.i64(kernel), code.i64(1), sum,
                           [&](Value k, ValueRange carried) { return SmallVector<Value>{tap(k, carried[0])}; })[0];
        });
        finish(body, code, place, column, y.size() - 1, sum, divisor, mask);
      };
      // What the plain form reads: from the first tap of lane 0 to the end of the last vector of the last lane.
      int64_t reach = (Code::width - 1) * stride + (kernel - 1) * dilation + (stride == 2 ? 2 : 1);
      if (mask || stride > 2)
        return run(false);
      Value fits = code.both(code.less(code.i64(-1), origin), code.less(code.add(origin, code.i64(reach - 1)), size));
      code.either(fits, [&] { run(true); }, [&] { run(false); });
    };
    Value whole = code.sub(columns, code.rem(columns, code.i64(Code::width)));
    code.loop(code.i64(0), whole, code.i64(Code::width), [&](Value column) { vector(column, Value()); });
    if (y.back().asConstant() && *y.back().asConstant() % Code::width == 0)
      return;
    code.when(code.less(whole, columns), [&] { vector(whole, code.mask(code.sub(columns, whole))); });
  }

  /// Loops over the taps of all axes but the last.
  Value taps(KernelBody &body, Code &code, Value pointer, ArrayRef<Span> spans, unsigned d, Value sum,
             llvm::function_ref<Value(Value, Value)> inner) {
    if (d == spans.size())
      return inner(pointer, sum);
    return code.loop(spans[d].first, spans[d].last, code.i64(1), sum, [&](Value tap, ValueRange carried) {
      Value at = code.add(spans[d].origin, code.mul(tap, code.i64(op.getDilations()[d])));
      return SmallVector<Value>{
          taps(body, code, code.at(pointer, code.mul(at, body.size(xStrides[d + 2]))), spans, d + 1, carried[0], inner)};
    })[0];
  }

  VectorType wide() const { return VectorType::get({Code::width}, IntegerType::get(context, 64)); }
  /// first + lane * step.
  Value ramp(Code &code, Value first, int64_t step) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < Code::width; ++lane)
      lanes.push_back(lane * step);
    return arith::AddIOp::create(
        code.builder, code.loc, spread(code, first),
        arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(wide(), ArrayRef<int64_t>(lanes))));
  }
  Value spread(Code &code, Value scalar) {
    Value undefined = LLVM::PoisonOp::create(code.builder, code.loc, wide());
    Value zero =
        LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
    Value one = LLVM::InsertElementOp::create(code.builder, code.loc, undefined, scalar, zero);
    return LLVM::ShuffleVectorOp::create(code.builder, code.loc, one, undefined, SmallVector<int32_t>(Code::width, 0));
  }
  Value lanesInside(Code &code, Value at, int64_t stride, Value size, Value mask) {
    Value inside =
        arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ult, ramp(code, at, stride), spread(code, size));
    return mask ? code.both(inside, mask) : inside;
  }
  /// Every `stride`-th element, of stride 1 or 2.
  Value spaced(Code &code, Value pointer, int64_t stride) {
    if (stride == 1)
      return code.load(pointer);
    SmallVector<int32_t> even;
    for (int32_t lane = 0; lane < Code::width; ++lane)
      even.push_back(2 * lane);
    return LLVM::ShuffleVectorOp::create(code.builder, code.loc, code.load(pointer),
                                         code.load(code.at(pointer, Code::width)), even);
  }
  Value gather(Code &code, Value row, Value at, int64_t stride, Value valid) {
    if (stride == 1)
      return code.load(code.at(row, at), valid);
    Type pointers = VectorType::get({Code::width}, code.ptr());
    Value addresses = LLVM::GEPOp::create(code.builder, code.loc, pointers, code.f32(), row,
                                          ArrayRef<LLVM::GEPArg>{ramp(code, at, stride)});
    return LLVM::masked_gather::create(code.builder, code.loc, code.vector(), addresses, valid, ValueRange{code.constant(0)},
                                       code.builder.getI32IntegerAttr(4));
  }
  /// How many taps count for each of 16 elements.
  Value counts(KernelBody &body, Code &code, Value outer, Value origin) {
    unsigned last = axes - 1;
    int64_t kernel = op.getKernel()[last], stride = op.getStrides()[last], dilation = op.getDilations()[last];
    Value size = body.size(x.back());
    Value low = code.i64(0), high = size;
    if (op.getCountPads()) {
      low = code.sub(low, body.size(pads[last]));
      high = code.add(size, body.size(pads[2 * axes - 1]));
    }
    Value range = spread(code, code.sub(high, low)),
          count = arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(wide(), int64_t(0)));
    Value start = code.sub(origin, low);
    auto add = [&](Value tap, Value count) {
      Value at = ramp(code, code.add(start, code.mul(tap, code.i64(dilation))), stride);
      Value inside = arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ult, at, range);
      return arith::AddIOp::create(code.builder, code.loc, count,
                                   arith::ExtUIOp::create(code.builder, code.loc, wide(), inside))
          .getResult();
    };
    count = code.loop(code.i64(0), code.i64(kernel), code.i64(1), count,
                      [&](Value tap, ValueRange carried) { return SmallVector<Value>{add(tap, carried[0])}; })[0];
    count = arith::MulIOp::create(code.builder, code.loc, count, spread(code, outer));
    Value narrow = arith::TruncIOp::create(code.builder, code.loc, code.integers(), count);
    return arith::SIToFPOp::create(code.builder, code.loc, code.vector(), narrow);
  }

  kernel::PoolOp op;
  PlanView &plan;
  MLIRContext *context;
  Epilogue epilogue;
  bool isMax = false, channelsLast = false;
  unsigned axes = 0, first = 0; // first: of the spatial axes
  SmallVector<DimExpr> x, y, pads, xStrides, yStrides;
  SmallVector<SmallVector<DimExpr>> extraStrides;
};

} // namespace

std::unique_ptr<RootEmitter> emitPool(kernel::PoolOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Pool>(op, plan);
}

} // namespace mopt
