//===- Norm.cpp - layer, instance, group and RMS normalization -----------------------------------------------------===//
#include "RowNest.h"

namespace mopt {
namespace {

/// (x - mean) / sqrt(variance + epsilon), the variance as the mean of (x - mean)^2; or x / sqrt(mean of x^2 + epsilon).
/// Scale and bias are part of the epilogue. Two or three passes over a row, of which the first brings it into the cache.
class Norm : public RowNest {
public:
  Norm(kernel::NormOp op, PlanView &plan) : RowNest(op, plan, op.getAxes(), splitOf(op)), norm(op) {}

protected:
  void piece(KernelBody &body, Code &code, const Piece &piece) override {
    Value share = divide(code, code.constant(1), countAsFloat(body, code)); // once for all rows: it does not depend on them
    SmallVector<Value> means;
    if (!norm.getRms()) {
      means = reduce(body, code, piece, Kind::sum, [&](const Cell &cell) { return load(code, cell, x); });
      for (Value &mean : means)
        mean = multiply(code, mean, share);
    }
    auto centred = [&](const Cell &cell) {
      Value value = load(code, cell, x);
      return norm.getRms() ? value : subtract(code, value, means[cell.vector]);
    };
    SmallVector<Value> factors = reduce(body, code, piece, Kind::sum, [&](const Cell &cell) {
      Value value = centred(cell);
      return multiply(code, value, value);
    });
    for (Value &factor : factors) {
      Value shifted = arith::AddFOp::create(code.builder, code.loc, multiply(code, factor, share),
                                            code.constant(norm.getEpsilon().convertToFloat()));
      factor = divide(code, code.constant(1), LLVM::SqrtOp::create(code.builder, code.loc, shifted));
    }
    forEach(body, code, piece, [&](const Cell &cell) { return multiply(code, centred(cell), factors[cell.vector]); });
  }

private:
  static std::optional<std::pair<int64_t, int64_t>> splitOf(kernel::NormOp op) {
    if (!op.getSplit())
      return std::nullopt;
    return std::pair((*op.getSplit())[0], (*op.getSplit())[1]);
  }
  kernel::NormOp norm;
};

} // namespace

std::unique_ptr<RootEmitter> emitNorm(kernel::NormOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Norm>(op, plan);
}

} // namespace mopt
