//===- Resize.cpp - interpolation along axes -----------------------------------------------------------------------===//
//
// Coordinates are those of the reference function, in double, and worked out where they are used: a table would have to be
// made for every chunk. Where the last axis stays, a row of the result is a weighted sum of rows of x; where it is resized,
// the taps of 16 elements are gathered.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Epilogue.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

/// Arithmetic on doubles and 64-bit integers: one of each, or vectors of 16.
class Doubles {
public:
  Doubles(Code &code, bool isVector) : b(code.builder), loc(code.loc), isVector(isVector) {}
  OpBuilder &b;
  Location loc;
  bool isVector;

  Type type(Type element) const { return isVector ? Type(VectorType::get({Code::width}, element)) : element; }
  Value number(double value) const {
    Type t = type(b.getF64Type());
    if (isVector)
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(cast<ShapedType>(t), value));
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
  }
  Value spread(Value scalar) const {
    if (!isVector)
      return scalar;
    Value undefined = LLVM::PoisonOp::create(b, loc, VectorType::get({Code::width}, scalar.getType()));
    Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(0));
    Value first = LLVM::InsertElementOp::create(b, loc, undefined, scalar, zero);
    return LLVM::ShuffleVectorOp::create(b, loc, first, undefined, SmallVector<int32_t>(Code::width, 0));
  }
  Value fromInt(Value v) const { return arith::SIToFPOp::create(b, loc, type(b.getF64Type()), v); }
  Value toInt(Value v) const { return arith::FPToSIOp::create(b, loc, type(b.getI64Type()), v); }
  Value toFloat(Value v) const { return arith::TruncFOp::create(b, loc, type(b.getF32Type()), v); }
  Value roundToFloat(Value v) const { return arith::ExtFOp::create(b, loc, type(b.getF64Type()), toFloat(v)); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, y); }
  Value floor(Value x) const { return LLVM::FFloorOp::create(b, loc, x); }
  Value test(arith::CmpFPredicate predicate, Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value c, Value x, Value y) const { return arith::SelectOp::create(b, loc, c, x, y); }
  Value either(Value x, Value y) const { return arith::OrIOp::create(b, loc, x, y); }
};

class Resize : public RootEmitter {
public:
  Resize(kernel::ResizeOp op, PlanView &plan) : op(op), plan(plan), context(op.getContext()), epilogue(op.getEpilogue()) {
    name = "resize" + epilogue.name();
    isLinear = op.getMode() == "linear";
    x = plan.view(op.getInputs()[0]).dims;
    y = plan.view(op.getOuts()[0]).dims;
    xStrides = rowMajorStrides(x, context);
    yStrides = rowMajorStrides(y, context);
    units = DimExpr::product(ArrayRef(y).drop_back(), context);
    int64_t taps = 1;
    for (double scale : op.getScales())
      taps *= scale != 0 && isLinear ? 2 : 1;
    work = DimExpr::product(y, context) * taps;
    macs = DimExpr::constant(context, 0);
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> strides(y.size(), DimExpr::constant(context, 0));
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          strides[dim.getPosition()] = own[i];
      extraStrides.push_back(strides);
      llvm::append_range(sizes, strides);
    }
    for (ArrayRef<DimExpr> list : {ArrayRef(x), ArrayRef(y), ArrayRef(xStrides), ArrayRef(yStrides)})
      llvm::append_range(sizes, list);
    llvm::erase_if(sizes, [](DimExpr size) { return size && size.asConstant(); });
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    unsigned last = y.size() - 1;
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
      Row row;
      row.x = {body.base(plan.view(op.getInputs()[0]).base)};
      row.weights = {Value()};
      row.y = body.base(plan.view(op.getOuts()[0]).base);
      for (Value extra : op.getExtras())
        row.extras.push_back(body.base(plan.view(extra).base));
      Value rest = unit;
      for (unsigned d = last; d-- > 0;) {
        Value position = d == 0 ? rest : code.rem(rest, body.size(y[d]));
        if (d)
          rest = code.div(rest, body.size(y[d]));
        row.y = code.at(row.y, code.mul(position, body.size(yStrides[d])));
        for (auto [pointer, strides] : llvm::zip_equal(row.extras, extraStrides))
          pointer = code.at(pointer, code.mul(position, body.size(strides[d])));
        advance(body, code, row, d, position);
      }
      Value count = body.size(y[last]), rem = code.rem(count, code.i64(Code::width)), whole = code.sub(count, rem);
      auto vector = [&](Value column, Value mask) {
        Value sum = op.getScales()[last] == 0 ? along(code, row, column, mask) : across(body, code, row, column, mask);
        SmallVector<Value> arguments{sum};
        for (auto [pointer, strides] : llvm::zip_equal(row.extras, extraStrides))
          arguments.push_back(strides[last].isConstant(0) ? code.splat(code.loadScalar(pointer))
                                                          : code.load(code.at(pointer, column), mask));
        code.store(epilogue.apply(body, code, arguments), code.at(row.y, column), mask);
      };
      code.loop(code.i64(0), whole, code.i64(Code::width), [&](Value column) { vector(column, Value()); });
      if (y[last].asConstant() && *y[last].asConstant() % Code::width == 0)
        return;
      code.when(code.less(whole, count), [&] { vector(whole, code.mask(rem)); });
    });
  }

private:
  struct Row {
    SmallVector<Value> x, weights; // rows of x and what they count, in double; null: 1
    Value y;
    SmallVector<Value> extras;
  };
  /// Elements of x for positions of the result along one axis, and their weights (linear only).
  struct Taps {
    SmallVector<Value> indices, weights;
  };

  Taps tapsOf(KernelBody &body, Code &code, unsigned d, Value position, bool isVector) {
    Doubles f(code, isVector);
    Doubles scalar(code, false);
    Value size = scalar.fromInt(body.size(x[d])), outSize = scalar.fromInt(body.size(y[d]));
    double given = op.getScales()[d];
    bool isGiven = given > 0;
    Value scale = isGiven ? scalar.number(given) : scalar.div(outSize, size);
    Value length = scalar.mul(scale, size), at = f.fromInt(position);
    auto quotient = [&](Value a) {
      Value q = f.div(a, f.spread(scale));
      return isGiven ? f.roundToFloat(q) : q; // 2 / 0.6666667f must still be 3
    };
    auto halfPixel = [&] { return f.sub(quotient(f.add(at, f.number(0.5))), f.number(0.5)); };
    auto isOne = [&](Value v) { return scalar.test(arith::CmpFPredicate::OEQ, v, scalar.number(1)); };
    StringRef mode = op.getCoordinates();
    Value c;
    if (mode == "align_corners") {
      Value spread =
          f.div(f.mul(at, f.spread(scalar.sub(size, scalar.number(1)))), f.spread(scalar.sub(length, scalar.number(1))));
      c = code.select(isOne(length), f.number(0), spread);
    } else if (mode == "asymmetric") {
      c = quotient(at);
    } else if (mode == "tf_half_pixel_for_nn") {
      c = quotient(f.add(at, f.number(0.5)));
    } else if (mode == "pytorch_half_pixel") {
      c = code.select(isOne(outSize), f.number(-0.5), halfPixel());
    } else if (mode == "half_pixel_symmetric") {
      Value offset =
          scalar.mul(scalar.div(size, scalar.number(2)), scalar.sub(scalar.number(1), scalar.div(outSize, length)));
      c = f.sub(f.add(f.spread(offset), quotient(f.add(at, f.number(0.5)))), f.number(0.5));
    } else {
      c = halfPixel();
    }
    // Far outside everything is the edge; this also keeps NaN and infinity away from the conversion.
    Value limit = f.spread(scalar.add(size, scalar.number(8)));
    c = f.select(f.test(arith::CmpFPredicate::OGT, c, f.number(-8)), c, f.number(-8));
    c = f.select(f.test(arith::CmpFPredicate::OGT, c, limit), limit, c);
    // A whole coordinate belongs to the interval on its left.
    Value below = f.floor(c);
    below = f.select(f.test(arith::CmpFPredicate::OEQ, below, c), f.sub(below, f.number(1)), below);
    Value ratio = f.sub(c, below), one = f.number(1);
    auto index = [&](Value v) {
      Value zero = f.spread(code.i64(0)), end = f.spread(code.sub(body.size(x[d]), code.i64(1)));
      Value i = arith::MaxSIOp::create(code.builder, code.loc, f.toInt(v), zero);
      return arith::MinSIOp::create(code.builder, code.loc, i, end).getResult();
    };
    if (isLinear)
      return {{index(below), index(f.add(below, one))}, {f.sub(one, ratio), f.sub(one, f.sub(one, ratio))}};
    Value up = f.test(arith::CmpFPredicate::OEQ, ratio, one);
    if (op.getNearestMode() == "round_prefer_floor")
      up = f.either(up, f.test(arith::CmpFPredicate::OGT, ratio, f.number(0.5)));
    if (op.getNearestMode() == "round_prefer_ceil")
      up = f.either(up, f.test(arith::CmpFPredicate::OGE, ratio, f.number(0.5)));
    if (op.getNearestMode() == "ceil")
      return {{index(f.add(below, one))}, {}};
    return {{index(f.select(up, f.add(below, one), below))}, {}};
  }

  /// Moves the rows of x to a position along axis d; where it is resized linearly, each becomes two.
  void advance(KernelBody &body, Code &code, Row &row, unsigned d, Value position) {
    Value stride = body.size(xStrides[d]);
    if (op.getScales()[d] == 0) {
      for (Value &pointer : row.x)
        pointer = code.at(pointer, code.mul(position, stride));
      return;
    }
    Taps taps = tapsOf(body, code, d, position, false);
    Row next = row;
    next.x.clear();
    next.weights.clear();
    Doubles f(code, false);
    // Axes come last to first, so the taps of this one are the outer ones.
    for (unsigned tap = 0; tap < taps.indices.size(); ++tap)
      for (auto [pointer, weight] : llvm::zip_equal(row.x, row.weights)) {
        next.x.push_back(code.at(pointer, code.mul(taps.indices[tap], stride)));
        Value own = taps.weights.empty() ? Value() : taps.weights[tap];
        next.weights.push_back(own && weight ? f.mul(own, weight) : own ? own : weight);
      }
    row = next;
  }

  Value isNotZero(Code &code, Value weight, bool isVector) {
    Doubles f(code, isVector);
    return f.test(arith::CmpFPredicate::ONE, weight, f.number(0));
  }

  /// The last axis stays: sums of rows. An infinity with weight 0 does not count.
  Value along(Code &code, const Row &row, Value column, Value mask) {
    Value sum;
    Doubles f(code, false);
    for (auto [pointer, weight] : llvm::zip_equal(row.x, row.weights)) {
      Value value = code.load(code.at(pointer, column), mask);
      if (!weight)
        return value;
      value = code.select(isNotZero(code, weight, false), value, code.constant(0));
      Value scale = code.splat(f.toFloat(weight));
      sum = sum ? code.fma(value, scale, sum) : arith::MulFOp::create(code.builder, code.loc, value, scale).getResult();
    }
    return sum;
  }

  /// The last axis is resized.
  Value across(KernelBody &body, Code &code, const Row &row, Value column, Value mask) {
    Doubles f(code, true), scalar(code, false);
    SmallVector<int64_t> numbers(Code::width);
    std::iota(numbers.begin(), numbers.end(), 0);
    VectorType wide = VectorType::get({Code::width}, code.builder.getI64Type());
    Value lanes =
        arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(wide, ArrayRef<int64_t>(numbers)));
    Value positions = arith::AddIOp::create(code.builder, code.loc, f.spread(column), lanes);
    Taps taps = tapsOf(body, code, y.size() - 1, positions, true);
    Value sum;
    Type pointers = VectorType::get({Code::width}, code.ptr());
    Value all = arith::ConstantOp::create(
        code.builder, code.loc, DenseElementsAttr::get(VectorType::get({Code::width}, code.builder.getI1Type()), true));
    for (auto [pointer, weight] : llvm::zip_equal(row.x, row.weights))
      for (unsigned tap = 0; tap < taps.indices.size(); ++tap) {
        Value addresses = LLVM::GEPOp::create(code.builder, code.loc, pointers, code.f32(), pointer,
                                              ArrayRef<LLVM::GEPArg>{taps.indices[tap]});
        Value scale = taps.weights.empty() ? Value() : taps.weights[tap];
        if (scale && weight)
          scale = f.mul(scale, f.spread(weight));
        Value counts = scale ? isNotZero(code, scale, true) : all;
        if (mask)
          counts = code.both(counts, mask);
        Value value = LLVM::masked_gather::create(code.builder, code.loc, code.vector(), addresses, counts,
                                                  ValueRange{code.constant(0)}, code.builder.getI32IntegerAttr(4));
        if (!scale)
          return value;
        scale = f.toFloat(scale);
        sum = sum ? code.fma(value, scale, sum) : arith::MulFOp::create(code.builder, code.loc, value, scale).getResult();
      }
    return sum;
  }

  kernel::ResizeOp op;
  PlanView &plan;
  MLIRContext *context;
  Epilogue epilogue;
  bool isLinear = false;
  SmallVector<DimExpr> x, y, xStrides, yStrides;
  SmallVector<SmallVector<DimExpr>> extraStrides;
};

} // namespace

std::unique_ptr<RootEmitter> emitResize(kernel::ResizeOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Resize>(op, plan);
}

} // namespace mopt
