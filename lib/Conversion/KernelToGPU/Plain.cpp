//===- Plain.cpp - products of matrices that are not packed, on GPUs -----------------------------------------------===//
//
// What runs its reference function on CPUs, since a kernel would gain nothing there: Gemm with factors or a transposed A, MatMul
// with vectors, Conv with channels second, narrow groups or weights that are computed. A GPU has no reference functions, so
// these are tiles over matrices as they lie, in the same order of operations: of a convolution channels, then taps.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TileProduct.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Reference/Slots.h.inc"

namespace mopt {
namespace {

using Sizes = SmallVector<int64_t>;

Sizes sizesOf(PlanView &plan, Value memref) { return numbersOf(plan.view(memref).dims); }

Sizes stridesOf(ArrayRef<int64_t> sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

Value dotNumbers(ThreadCode &code, ArrayRef<Value> position, ArrayRef<int64_t> strides) {
  Value sum = code.index(0);
  for (auto [p, stride] : llvm::zip_equal(position, strides))
    sum = code.add(sum, code.mul(p, stride));
  return sum;
}

/// A matrix for each batch index, at any strides.
struct Plain {
  Value memref;
  Sizes batch;
  int64_t row = 0, column = 0;
  Value place(ThreadCode &code, ArrayRef<Value> position, Value r, Value c) const {
    return code.add(dotNumbers(code, position, batch), code.add(code.mul(r, row), code.mul(c, column)));
  }
};

struct Matrices {
  Sizes batch;
  int64_t m = 0, n = 0, k = 0;
  Plain a, b, c, y; // no memref of c: there is none
  float alpha = 1, beta = 1;
};

class PlainProduct : public TileProduct {
public:
  PlainProduct(const GpuSchedule &schedule, const Matrices &given)
      : TileProduct(schedule, given.batch, given.m, given.n, given.k), p(given) {}

private:
  SmallVector<Value> rowOf(ThreadCode &code, ArrayRef<Value> batch, Value row) override {
    return {p.a.place(code, batch, row, code.index(0))};
  }
  SmallVector<Value> columnOf(ThreadCode &code, ArrayRef<Value> batch, Value column) override {
    return {p.b.place(code, batch, code.index(0), column)};
  }
  Value left(ThreadCode &code, ArrayRef<Value> row, ArrayRef<Value> depth, Value inside) override {
    return code.loadIf(inside, p.a.memref, code.add(row.front(), code.mul(depth.front(), p.a.column)));
  }
  Value right(ThreadCode &code, ArrayRef<Value> column, Value k, Value inside) override {
    return code.loadIf(inside, p.b.memref, code.add(column.front(), code.mul(k, p.b.row)));
  }
  void finish(ThreadCode &code, ArrayRef<Value> batch, Value row, Value column, Value sum) override {
    auto number = [&](float value) {
      return arith::ConstantOp::create(code.builder, code.loc, code.builder.getF32FloatAttr(value));
    };
    if (p.alpha != 1)
      sum = arith::MulFOp::create(code.builder, code.loc, number(p.alpha), sum);
    if (p.c.memref)
      sum = code.fma(number(p.beta), code.load(p.c.memref, p.c.place(code, batch, row, column)), sum);
    code.store(sum, p.y.memref, p.y.place(code, batch, row, column));
  }
  Matrices p;
};

/// The operands of a reference op, with null for those that are left out.
SmallVector<Value> operandsOf(kernel::ReferenceOp op) {
  SmallVector<Value> operands;
  unsigned next = 0;
  for (int64_t present : op.getPresent())
    operands.push_back(present && next < op.getInputs().size() ? op.getInputs()[next++] : Value());
  operands.resize(3);
  return operands;
}

struct Attributes {
  explicit Attributes(kernel::ReferenceOp op) : values(*findOp(("mopt." + op.getOp()).str()), op.getAttrs()) {}
  int64_t integer(unsigned slot) const { return *static_cast<const int64_t *>(values.attrs()[slot].values); }
  float number(unsigned slot) const { return static_cast<float>(*static_cast<const double *>(values.attrs()[slot].values)); }
  /// A number for each axis; nothing where there are some, but not so many.
  std::optional<Sizes> list(unsigned slot, size_t count, int64_t otherwise) const {
    const mopt_attr &attr = values.attrs()[slot];
    if (!attr.n)
      return Sizes(count, otherwise);
    if (attr.n != static_cast<int64_t>(count))
      return std::nullopt;
    const int64_t *first = static_cast<const int64_t *>(attr.values);
    return Sizes(first, first + count);
  }
  AttrValues values;
};

std::unique_ptr<GpuKernel> plainGemm(kernel::ReferenceOp op, PlanView &plan, const GpuSchedule &schedule) {
  SmallVector<Value> operands = operandsOf(op);
  if (!operands[0] || !operands[1])
    return nullptr;
  Sizes a = sizesOf(plan, operands[0]), b = sizesOf(plan, operands[1]), y = sizesOf(plan, op.getOuts().front());
  Attributes attrs(op);
  bool transA = attrs.integer(MOPT_GEMM_TRANSA), transB = attrs.integer(MOPT_GEMM_TRANSB);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2 || a[!transA] != b[transB] || y[0] != a[transA] || y[1] != b[!transB])
    return nullptr;
  Matrices p;
  p.m = y[0], p.n = y[1], p.k = a[!transA];
  p.alpha = attrs.number(MOPT_GEMM_ALPHA), p.beta = attrs.number(MOPT_GEMM_BETA);
  p.a = {operands[0], {}, transA ? 1 : a[1], transA ? a[1] : 1};
  p.b = {operands[1], {}, transB ? 1 : b[1], transB ? b[1] : 1};
  p.y = {op.getOuts().front(), {}, p.n, 1};
  if (operands[2]) {
    Sizes c = sizesOf(plan, operands[2]);
    if (c.size() > 2)
      return nullptr;
    c.insert(c.begin(), 2 - c.size(), 1);
    if ((c[0] != 1 && c[0] != p.m) || (c[1] != 1 && c[1] != p.n))
      return nullptr;
    p.c = {operands[2], {}, c[0] == 1 ? 0 : c[1], c[1] == 1 ? 0 : 1};
  }
  return std::make_unique<PlainProduct>(schedule, p);
}

std::unique_ptr<GpuKernel> plainMatMul(kernel::ReferenceOp op, PlanView &plan, const GpuSchedule &schedule) {
  SmallVector<Value> operands = operandsOf(op);
  if (!operands[0] || !operands[1])
    return nullptr;
  Sizes a = sizesOf(plan, operands[0]), b = sizesOf(plan, operands[1]), y = sizesOf(plan, op.getOuts().front());
  if (a.empty() || b.empty())
    return nullptr;
  // A vector is a matrix of one row or column, which y then lacks.
  if (b.size() == 1)
    b.push_back(1), y.push_back(1);
  if (a.size() == 1)
    a.insert(a.begin(), 1), y.insert(y.empty() ? y.end() : y.end() - 1, 1);
  size_t rank = y.size();
  if (rank < 2 || a.size() > rank || b.size() > rank)
    return nullptr;
  Matrices p;
  p.m = a[a.size() - 2], p.n = b.back(), p.k = a.back();
  if (b[b.size() - 2] != p.k || y[rank - 2] != p.m || y[rank - 1] != p.n)
    return nullptr;
  p.batch.assign(y.begin(), y.end() - 2);
  bool fits = true;
  auto plain = [&](Value memref, ArrayRef<int64_t> sizes) {
    Sizes strides = stridesOf(sizes), batch(p.batch.size(), 0);
    size_t own = sizes.size() - 2, missing = batch.size() - own;
    for (size_t d = 0; d < own; ++d) {
      fits &= sizes[d] == 1 || sizes[d] == p.batch[missing + d];
      batch[missing + d] = sizes[d] == 1 ? 0 : strides[d];
    }
    return Plain{memref, batch, strides[own], strides[own + 1]};
  };
  p.a = plain(operands[0], a);
  p.b = plain(operands[1], b);
  p.y = plain(op.getOuts().front(), y);
  return fits ? std::make_unique<PlainProduct>(schedule, p) : nullptr;
}

/// Images and their pixels at any strides.
struct Window {
  Sizes kernel, strides, dilations, pads, input, output;  // of each axis
  Sizes steps;                                            // from one element of an axis of x to the next
  int64_t group = 1, channels = 0, outputs = 0, taps = 1; // channels and outputs of a group
  int64_t xImage = 0, xChannel = 0, yImage = 0, yChannel = 0, yPixel = 0, images = 0, pixels = 1;
  Value x, w, bias, y;
};

class PlainConv : public TileProduct {
public:
  PlainConv(const GpuSchedule &schedule, const Window &given)
      : TileProduct(schedule, {given.images, given.group}, given.pixels, given.outputs, given.channels * given.taps),
        w(given) {}

private:
  SmallVector<Value> rowOf(ThreadCode &code, ArrayRef<Value> batch, Value row) override {
    SmallVector<Value> state = {dotNumbers(code, batch, {w.xImage, w.channels * w.xChannel})};
    for (auto [d, at] : llvm::enumerate(code.digits(row, w.output)))
      state.push_back(code.sub(code.mul(at, w.strides[d]), code.index(w.pads[d])));
    return state;
  }
  SmallVector<Value> depthOf(ThreadCode &code, Value k) override {
    SmallVector<Value> state = {code.mul(code.div(k, w.taps), w.xChannel)};
    for (auto [d, tap] : llvm::enumerate(code.digits(code.rem(k, w.taps), w.kernel)))
      state.push_back(code.mul(tap, w.dilations[d]));
    return state;
  }
  Value left(ThreadCode &code, ArrayRef<Value> row, ArrayRef<Value> depth, Value inside) override {
    Value at = code.add(row.front(), depth.front());
    for (size_t d = 0; d < w.kernel.size(); ++d) {
      Value coordinate = code.add(row[d + 1], depth[d + 1]);
      inside = code.both(inside, code.below(coordinate, w.input[d]));
      at = code.add(at, code.mul(coordinate, w.steps[d]));
    }
    return code.loadIf(inside, w.x, at);
  }
  Value output(ThreadCode &code, ArrayRef<Value> batch, Value column) {
    return code.add(code.mul(batch[1], w.outputs), column);
  }
  SmallVector<Value> columnOf(ThreadCode &code, ArrayRef<Value> batch, Value column) override {
    return {code.mul(output(code, batch, column), w.channels * w.taps)};
  }
  Value right(ThreadCode &code, ArrayRef<Value> column, Value k, Value inside) override {
    return code.loadIf(inside, w.w, code.add(column.front(), k));
  }
  void finish(ThreadCode &code, ArrayRef<Value> batch, Value row, Value column, Value sum) override {
    Value channel = output(code, batch, column);
    if (w.bias)
      sum = arith::AddFOp::create(code.builder, code.loc, sum, code.load(w.bias, channel));
    code.store(sum, w.y, dotNumbers(code, {batch[0], channel, row}, {w.yImage, w.yChannel, w.yPixel}));
  }
  Window w;
};

std::unique_ptr<GpuKernel> plainConv(kernel::ReferenceOp op, PlanView &plan, const GpuSchedule &schedule) {
  SmallVector<Value> operands = operandsOf(op);
  if (!operands[0] || !operands[1])
    return nullptr;
  Sizes x = sizesOf(plan, operands[0]), weights = sizesOf(plan, operands[1]), y = sizesOf(plan, op.getOuts().front());
  size_t rank = x.size();
  if (rank < 3 || weights.size() != rank || y.size() != rank)
    return nullptr;
  size_t axes = rank - 2;
  bool last = isChannelsLast(*findOp("mopt.conv"), op.getAttrs());
  size_t channelAxis = last ? rank - 1 : 1, firstAxis = last ? 1 : 2;
  Attributes attrs(op);
  auto strides = attrs.list(MOPT_CONV_STRIDES, axes, 1), dilations = attrs.list(MOPT_CONV_DILATIONS, axes, 1),
       pads = attrs.list(MOPT_CONV_PADS, 2 * axes, 0);
  Window w;
  w.group = attrs.integer(MOPT_CONV_GROUP);
  if (!strides || !dilations || !pads || w.group < 1 || weights[0] % w.group || weights[1] * w.group != x[channelAxis] ||
      y[channelAxis] != weights[0] || x[0] != y[0])
    return nullptr;
  w.x = operands[0], w.w = operands[1], w.bias = operands[2], w.y = op.getOuts().front();
  if (w.bias && sizesOf(plan, w.bias) != Sizes{weights[0]})
    return nullptr;
  w.strides = *strides, w.dilations = *dilations;
  w.channels = weights[1], w.outputs = weights[0] / w.group, w.images = x[0];
  Sizes xSteps = stridesOf(x), ySteps = stridesOf(y);
  w.xImage = xSteps[0], w.xChannel = xSteps[channelAxis], w.yImage = ySteps[0], w.yChannel = ySteps[channelAxis];
  w.yPixel = ySteps[firstAxis + axes - 1];
  int64_t autoPad = attrs.integer(MOPT_CONV_AUTO_PAD);
  for (size_t d = 0; d < axes; ++d) {
    int64_t kernel = weights[d + 2], in = x[firstAxis + d], out = y[firstAxis + d];
    if (w.strides[d] < 1 || w.dilations[d] < 1 || kernel < 1)
      return nullptr;
    int64_t span = (kernel - 1) * w.dilations[d] + 1, total = std::max<int64_t>(0, (out - 1) * w.strides[d] + span - in);
    w.pads.push_back(autoPad == MOPT_CONV_AUTO_PAD_NOTSET       ? (*pads)[d]
                     : autoPad == MOPT_CONV_AUTO_PAD_VALID      ? 0
                     : autoPad == MOPT_CONV_AUTO_PAD_SAME_UPPER ? total / 2
                                                                : total - total / 2);
    w.kernel.push_back(kernel);
    w.input.push_back(in);
    w.output.push_back(out);
    w.steps.push_back(xSteps[firstAxis + d]);
    w.taps *= kernel;
    w.pixels *= out;
  }
  return std::make_unique<PlainConv>(schedule, w);
}

} // namespace

std::unique_ptr<GpuKernel> gpuReference(kernel::ReferenceOp op, PlanView &plan, const GpuSchedule &schedule) {
  if (op.getOp() == "conv")
    return plainConv(op, plan, schedule);
  if (op.getOp() == "gemm")
    return plainGemm(op, plan, schedule);
  return op.getOp() == "matmul" ? plainMatMul(op, plan, schedule) : nullptr;
}

} // namespace mopt
