//===- Softmax.cpp - softmax and log_softmax -----------------------------------------------------------------------===//
#include "RowNest.h"
#include "VectorMath.h"

namespace mopt {
namespace {

/// Three passes: the largest element; e = exp(x - largest), kept in y, and its sum; y = e * (1 / sum). A row stays in the
/// first-level cache between them. A NaN anywhere reaches the sum, so that the search for the largest need not see it.
class Softmax : public RowNest {
public:
  Softmax(kernel::SoftmaxOp op, PlanView &plan) : RowNest(op, plan, op.getAxes()), logarithm(op.getLogarithm()) {
    work = work * workPerElement;
  }

protected:
  void piece(KernelBody &body, Code &code, const Piece &piece) override {
    SmallVector<Value> largest =
        reduce(body, code, piece, Kind::largestNumber, [&](const Cell &cell) { return load(code, cell, x); });
    // Two exponentials at once: four would not fit the registers of narrow CPUs.
    SmallVector<Value> sums = reduce(
        body, code, piece, Kind::sum,
        [&](const Cell &cell) {
          Value value = vectorExpOfNegative(code, subtract(code, load(code, cell, x), largest[cell.vector]));
          if (!logarithm)
            code.store(value, cell.pointers[y], cell.mask);
          return value;
        },
        /*unroll=*/2);
    for (Value &sum : sums)
      sum = logarithm ? math(body, code, "log", sum) : divide(code, code.constant(1), sum);
    forEach(body, code, piece, [&](const Cell &cell) {
      if (!logarithm)
        return multiply(code, load(code, cell, y), sums[cell.vector]);
      return subtract(code, subtract(code, load(code, cell, x), largest[cell.vector]), sums[cell.vector]);
    });
  }

private:
  static constexpr int64_t workPerElement = 4; // an exponential, in multiply-adds
  bool logarithm;
};

} // namespace

std::unique_ptr<RootEmitter> emitSoftmax(kernel::SoftmaxOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Softmax>(op, plan);
}

} // namespace mopt
