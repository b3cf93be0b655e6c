//===- Conv.cpp - convolutions on Hexagon --------------------------------------------------------------------------===//
//
// As on CPUs a convolution is a matrix product whose rows are found tap by tap, without a copy of x with a border. What a CPU
// keeps as a table of pointers is followed at once here, when the rows of a tile are packed (HvxNest.h): the pointers of eight
// rows would take a third of the scalar registers in the innermost loop.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "HvxEmitter.h"
#include "HvxNest.h"

namespace mopt {
namespace {

class HvxConv : public HvxNest {
public:
  HvxConv(kernel::ConvOp op, PlanView &plan) : HvxNest(cast<kernel::RootOpInterface>(op.getOperation()), plan), conv(op) {}

  LogicalResult prepare() {
    xDims = dims(op.getInputs()[0]);
    yDims = dims(op.getOuts()[0]);
    const unsigned rank = yDims.size();
    const int64_t group = conv.getGroup(), channels = xDims.back(), outputs = yDims.back(), bytes = tiles.resultBytes();
    c = channels / group;
    n = outputs / group;
    m = 1;
    for (int64_t size : ArrayRef(yDims).drop_front().drop_back())
      m *= size;
    for (int64_t size : conv.getKernel())
      taps *= size;
    int64_t image = channels;
    steps.resize(rank - 2);
    for (unsigned d = rank - 2; d-- > 0;) {
      steps[d] = image;
      image *= xDims[d + 1];
    }
    yStep = outputs * bytes;
    batch = {yDims.front(), group};
    const int64_t panels = (n + HvxCode::width - 1) / HvxCode::width;
    a = {op.getInputs()[0], {image, c}};
    b = {op.getInputs()[1], {0, panels * taps * ((c + 3) / 4) * HvxCode::vectorBytes}};
    y = {op.getOuts()[0], {m * yStep, n * bytes}};
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      bool columns = map.isFunctionOfDim(rank - 1);
      int64_t image = 0;
      if (map.isFunctionOfDim(0)) {
        SmallVector<int64_t> sizes = dims(memref);
        for (int64_t stride = 4, d = sizes.size(); d-- > 0; stride *= sizes[d])
          if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(d)); dim && dim.getPosition() == 0)
            image = stride;
      }
      extras.push_back({memref, {image, columns ? 4 * n : 0}, columns});
    }
    alignment = channels % 8 == 0 && c % 8 == 0 ? 8 : channels % 4 == 0 && c % 4 == 0 ? 4 : 1;
    return finish();
  }

protected:
  /// The position in x of the first tap, axis by axis.
  SmallVector<Value> locate(HvxCode &code, ValueRange, Value row) override {
    SmallVector<Value> origin(steps.size());
    Value rest = row;
    for (unsigned d = steps.size(); d-- > 0;) {
      Value at = d == 0 ? rest : code.rem(rest, yDims[d + 1]);
      origin[d] = code.sub(code.mul(at, conv.getStrides()[d]), code.number(conv.getPads()[d]));
      if (d)
        rest = code.div(rest, yDims[d + 1]);
    }
    return origin;
  }

  Value forTaps(KernelBody &body, HvxCode &code, ValueRange row0, ValueRange row1, Value sums, CopyTap copy) override {
    Value outside = body.bytes(static_cast<int64_t>(conv.getZeroPoint()), c);
    Row rows[2] = {{row0, code.number(0), Value()}, {row1, code.number(0), Value()}};
    return axis(code, 0, code.number(0), rows, outside, sums, copy);
  }

private:
  struct Row {
    ValueRange origin;
    Value offset; // bytes, of the axes so far
    Value inside; // whether they are inside of x; null: yes
  };

  /// All taps from axis `d` on.
  Value axis(HvxCode &code, unsigned d, Value tap, ArrayRef<Row> rows, Value outside, Value sums, CopyTap copy) {
    if (d == steps.size()) {
      SmallVector<Value> bytes;
      for (const Row &row : rows) {
        Value there = code.at(aBase, row.offset);
        bytes.push_back(row.inside ? arith::SelectOp::create(code.builder, code.loc, row.inside, there, outside).getResult()
                                   : there);
      }
      return copy(tap, bytes[0], bytes[1], sums);
    }
    const int64_t size = xDims[d + 1], length = conv.getKernel()[d], dilation = conv.getDilations()[d];
    const int64_t lastOrigin = (yDims[d + 1] - 1) * conv.getStrides()[d] - conv.getPads()[d];
    const bool always = conv.getPads()[d] <= 0 && lastOrigin + (length - 1) * dilation < size;
    return code
        .loop(code.number(0), code.number(length), sums,
              [&](Value index, ValueRange carried) {
                SmallVector<Row> next;
                for (const Row &row : rows) {
                  Value at = code.add(row.origin[d], code.mul(index, dilation)), within = row.inside;
                  if (!always) {
                    within = code.inside(at, size);
                    if (row.inside)
                      within = arith::AndIOp::create(code.builder, code.loc, row.inside, within);
                  }
                  next.push_back({row.origin, code.add(row.offset, code.mul(at, steps[d])), within});
                }
                Value inner = code.add(code.mul(tap, length), index);
                return SmallVector<Value>{axis(code, d + 1, inner, next, outside, carried[0], copy)};
              })
        .front();
  }

  kernel::ConvOp conv;
  SmallVector<int64_t> xDims, yDims, steps; // steps: bytes of x from one element of an axis to the next
};

} // namespace

FailureOr<std::unique_ptr<RootEmitter>> emitHvxConv(kernel::ConvOp op, PlanView &plan) {
  auto emitter = std::make_unique<HvxConv>(op, plan);
  if (failed(emitter->prepare()))
    return failure();
  return std::unique_ptr<RootEmitter>(std::move(emitter));
}

} // namespace mopt
