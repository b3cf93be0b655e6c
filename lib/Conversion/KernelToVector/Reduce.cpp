//===- Reduce.cpp - reductions and global pooling ------------------------------------------------------------------===//
#include "RowNest.h"
#include "llvm/ADT/StringSwitch.h"

namespace mopt {
namespace {

/// Results of rows that are finished together: one vector of them, so that roots and divisions cost one sixteenth.
constexpr int64_t together = Code::width;
/// Elements of a row from which on a unit is one row, so that threads share few long rows.
constexpr int64_t longRow = 4096;

class Reduce : public RowNest {
public:
  Reduce(kernel::ReduceOp op, PlanView &plan) : RowNest(op, plan, op.getAxes()) {
    name = op.getKind();
    combination = llvm::StringSwitch<Kind>(name)
                      .Case("prod", Kind::product)
                      .Case("max", Kind::largest)
                      .Case("min", Kind::smallest)
                      .Default(Kind::sum);
    if (!rows)
      return;
    lines = count.asConstant() && *count.asConstant() >= longRow ? 1 : together;
    units = keptCount.ceilDiv(lines);
  }

  void emit(KernelBody &body) override {
    if (!rows)
      return RowNest::emit(body);
    Code code(body.builder, body.loc);
    SmallVector<Value> start = bases(body);
    unsigned extras = start.size() - firstExtra;
    // One vector for each argument of the epilogue, and the largest elements where the result needs them.
    SmallVector<Value> buffers;
    for (unsigned i = 0; i < extras + 2; ++i)
      buffers.push_back(code.stack(body.function, Code::width * sizeof(float)));
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
      Value first = code.mul(unit, code.i64(lines)), last = code.min(code.add(first, code.i64(lines)), body.size(keptCount));
      code.loop(first, last, code.i64(1), [&](Value index) {
        Piece piece{move(body, code, kept, index, start), {Value()}};
        auto [values, largest] = combined(body, code, piece);
        Value at = code.sub(index, first);
        code.storeScalar(firstLane(code, values.front()), code.at(buffers[0], at));
        if (!largest.empty())
          code.storeScalar(firstLane(code, largest.front()), code.at(buffers[1], at));
        for (unsigned i = 0; i < extras; ++i)
          code.storeScalar(code.loadScalar(piece.pointers[firstExtra + i]), code.at(buffers[2 + i], at));
      });
      Value value = result(body, code, code.load(buffers[0]), code.load(buffers[1]));
      SmallVector<Value> arguments{value};
      for (unsigned i = 0; i < extras; ++i)
        arguments.push_back(code.load(buffers[2 + i]));
      code.store(epilogue.apply(body, code, arguments), code.at(start[y], first), code.mask(code.sub(last, first)));
    });
  }

protected:
  void piece(KernelBody &body, Code &code, const Piece &piece) override {
    auto [values, largest] = combined(body, code, piece);
    for (unsigned v = 0; v < values.size(); ++v) {
      Cell cell{piece.pointers, piece.masks[v], v};
      for (auto [pointer, stride] : llvm::zip_equal(cell.pointers, line.strides))
        if (!stride.isConstant(0))
          pointer = code.at(pointer, v * Code::width);
      Value value = result(body, code, values[v], largest.empty() ? Value() : largest[v]);
      code.store(finish(body, code, cell, value), cell.pointers[y], cell.mask);
    }
  }

private:
  static Value firstLane(Code &code, Value vector) {
    Value zero =
        LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
    return LLVM::ExtractElementOp::create(code.builder, code.loc, vector, zero);
  }

  /// The combined values, and for log_sum_exp what was taken out of the exponents.
  std::pair<SmallVector<Value>, SmallVector<Value>> combined(KernelBody &body, Code &code, const Piece &piece) {
    SmallVector<Value> largest;
    if (name == "log_sum_exp") {
      largest = reduce(body, code, piece, Kind::largest, [&](const Cell &cell) { return load(code, cell, x); });
      for (Value &value : largest) { // an infinite one would give NaN
        Value rest = subtract(code, value, value);
        Value finite = arith::CmpFOp::create(code.builder, code.loc, arith::CmpFPredicate::OEQ, rest, rest);
        value = code.select(finite, value, code.constant(0));
      }
    }
    SmallVector<Value> values = reduce(body, code, piece, combination, [&](const Cell &cell) {
      Value value = load(code, cell, x);
      if (name == "l1")
        return LLVM::FAbsOp::create(code.builder, code.loc, value).getResult();
      if (name == "l2" || name == "sum_square")
        return multiply(code, value, value);
      if (name == "log_sum_exp")
        return math(body, code, "exp", subtract(code, value, largest[cell.vector]));
      return value;
    });
    return {values, largest};
  }

  Value result(KernelBody &body, Code &code, Value value, Value largest) {
    if (name == "mean")
      return divide(code, value, countAsFloat(body, code));
    if (name == "l2")
      return LLVM::SqrtOp::create(code.builder, code.loc, value);
    if (name == "log_sum" || name == "log_sum_exp")
      value = math(body, code, "log", value);
    return name == "log_sum_exp" ? arith::AddFOp::create(code.builder, code.loc, value, largest).getResult() : value;
  }

  StringRef name;
  Kind combination;
  int64_t lines = 1;
};

} // namespace

std::unique_ptr<RootEmitter> emitReduce(kernel::ReduceOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Reduce>(op, plan);
}

} // namespace mopt
