//===- VectorMath.cpp - elementwise ops on vectors: the table ------------------------------------------------------===//
//
// Ops whose record says "exact" do what their scalar function does, operation by operation: the same bits.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "VectorMath.h"
#include "Lanes.h"
#include "mopt/Dialect/Mopt/OpTable.h"

namespace mopt {
namespace {

/// Attributes of one op, defaults filled in.
class Attributes {
public:
  Attributes(StringRef op, DictionaryAttr attrs) : row(findOp(("mopt." + op).str())), values(*row, attrs) {}
  double number(StringRef name) const { return *static_cast<const double *>(slot(name).values); }
  int64_t integer(StringRef name) const { return *static_cast<const int64_t *>(slot(name).values); }

private:
  const mopt_attr &slot(StringRef name) const {
    for (auto [attr, value] : llvm::zip_equal(row->attrRows(), values.attrs()))
      if (name == attr.name)
        return value;
    llvm_unreachable("a name of the table below is not in the record");
  }
  const OpRow *row;
  AttrValues values;
};

using Operands = ArrayRef<Value>;
using Emit = Value (*)(Lanes &m, Operands x, const Attributes &attrs);

/// NaN if either is.
Value withNaN(Lanes &m, Value a, Value result) { return m.select(m.isNaN(a), a, result); }
Value ifPositive(Lanes &m, Value x) { return m.select(m.less(x, m.c(0)), m.c(0), x); } // keeps NaN and -0

Value emitGate(Lanes &m, Value x, double slope, double offset) {
  return m.min(m.c(1), ifPositive(m, m.add(m.mul(x, m.c(slope)), m.c(offset))));
}
Value emitSign(Lanes &m, Operands x, const Attributes &) {
  Value unit = m.copySign(m.c(1), x[0]);
  Value other = withNaN(m, x[0], m.c(0));
  return m.select(m.either(m.less(x[0], m.c(0)), m.greater(x[0], m.c(0))), unit, other);
}
Value emitElu(Lanes &m, Operands x, const Attributes &attrs) {
  Value below = m.mul(m.c(attrs.number("alpha")), vectorExpm1OfNegative(m, m.min(m.c(0), x[0])));
  return m.select(m.less(x[0], m.c(0)), below, x[0]);
}
Value emitSelu(Lanes &m, Operands x, const Attributes &attrs) {
  Value below = m.mul(m.c(attrs.number("alpha")), vectorExpm1OfNegative(m, m.min(m.c(0), x[0])));
  return m.mul(m.c(attrs.number("gamma")), m.select(m.lessEqual(x[0], m.c(0)), below, x[0]));
}
Value emitCelu(Lanes &m, Operands x, const Attributes &attrs) {
  double alpha = attrs.number("alpha");
  if (!(alpha > 0))
    return {}; // the terms change places
  Value scaled = alpha == 1 ? x[0] : m.div(x[0], m.c(alpha));
  return m.add(ifPositive(m, x[0]), m.mul(m.c(alpha), vectorExpm1OfNegative(m, m.min(m.c(0), scaled))));
}
Value emitShrink(Lanes &m, Operands x, const Attributes &attrs) {
  Value bias = m.c(attrs.number("bias"));
  double lambda = attrs.number("lambd");
  Value y = m.select(m.greater(x[0], m.c(lambda)), m.sub(x[0], bias), withNaN(m, x[0], m.c(0)));
  return m.select(m.less(x[0], m.c(-lambda)), m.add(x[0], bias), y);
}
Value emitIsInf(Lanes &m, Operands x, const Attributes &attrs) {
  bool below = attrs.integer("detect_negative"), above = attrs.integer("detect_positive");
  if (below && above)
    return m.equal(m.abs(x[0]), m.c(INFINITY));
  // NaN is never equal.
  return m.equal(x[0], m.c(above ? INFINITY : below ? -INFINITY : NAN));
}
bool isMask(Value value) { return getElementTypeOrSelf(value.getType()).isInteger(1); }

#define EMIT(expression)                                                                                                    \
  [](Lanes &m, Operands x, const Attributes &attrs) -> Value { return (void)x, (void)attrs, expression; }

struct Row {
  StringLiteral name;
  Emit emit;
  bool cheap;
  bool doubles = false; // calls for doubles, and for its scalar function where numbers are large
};
const Row table[] = {
    {"add", EMIT(m.add(x[0], x[1])), true},
    {"sub", EMIT(m.sub(x[0], x[1])), true},
    {"mul", EMIT(m.mul(x[0], x[1])), true},
    {"div", EMIT(m.div(x[0], x[1])), false},
    {"max", EMIT(withNaN(m, x[0], m.max(x[0], x[1]))), true},
    {"min", EMIT(withNaN(m, x[0], m.min(x[0], x[1]))), true},
    // `high` wins where the bounds cross, as in ONNX. A bound that is NaN bounds nothing.
    {"clip", EMIT(m.min(x[2], m.max(x[1], x[0]))), true},
    {"relu", EMIT(m.max(m.c(0), x[0])), true},
    {"neg", EMIT(m.neg(x[0])), true},
    {"abs", EMIT(m.abs(x[0])), true},
    {"sign", emitSign, true},
    {"floor", EMIT(m.floor(x[0])), true},
    {"ceil", EMIT(m.ceil(x[0])), true},
    {"round", EMIT(m.round(x[0])), true},
    {"sqrt", EMIT(m.sqrt(x[0])), false},
    {"reciprocal", EMIT(m.div(m.c(1), x[0])), false},
    {"leaky_relu", EMIT(m.select(m.less(x[0], m.c(0)), m.mul(m.c(attrs.number("alpha")), x[0]), x[0])), true},
    {"prelu", EMIT(m.select(m.less(x[0], m.c(0)), m.mul(x[0], x[1]), x[0])), true},
    {"thresholded_relu", EMIT(m.select(m.greater(x[0], m.c(attrs.number("alpha"))), x[0], m.c(0))), true},
    {"hard_sigmoid", EMIT(emitGate(m, x[0], attrs.number("alpha"), attrs.number("beta"))), true},
    {"hard_swish", EMIT(m.mul(x[0], emitGate(m, x[0], 0.16666667f, 0.5))), true}, // ONNX: alpha = 1/6 in float
    {"shrink", emitShrink, true},
    {"softsign", EMIT(m.div(x[0], m.add(m.c(1), m.abs(x[0])))), false},

    {"exp", EMIT(vectorExp(m, x[0])), false},
    {"log", EMIT(vectorLog(m, x[0])), false},
    {"erf", EMIT(vectorErf(m, x[0])), false},
    {"tanh", EMIT(vectorTanh(m, x[0])), false},
    {"sigmoid", EMIT(vectorSigmoid(m, x[0])), false},
    {"swish", EMIT(vectorSwish(m, x[0], attrs.number("alpha"))), false},
    // The first choice is erf, the other one tanh.
    {"gelu", EMIT(vectorGelu(m, x[0], attrs.integer("approximate") != 0)), false},
    {"softplus", EMIT(vectorSoftplus(m, x[0])), false},
    {"mish", EMIT(vectorMish(m, x[0])), false},
    {"elu", emitElu, false},
    {"selu", emitSelu, false},
    {"celu", emitCelu, false},
    {"pow", EMIT(vectorPow(m, x[0], x[1])), false, true},
    {"sin", EMIT(vectorSin(m, x[0])), false, true},
    {"cos", EMIT(vectorCos(m, x[0])), false, true},
    {"tan", EMIT(vectorTan(m, x[0])), false, true},
    {"asin", EMIT(vectorAsin(m, x[0])), false},
    {"acos", EMIT(vectorAcos(m, x[0])), false},
    {"atan", EMIT(vectorAtan(m, x[0])), false},

    {"equal", EMIT(isMask(x[0]) ? m.inverse(m.differ(x[0], x[1])) : m.equal(x[0], x[1])), true},
    {"less", EMIT(m.less(x[0], x[1])), true},
    {"greater", EMIT(m.greater(x[0], x[1])), true},
    {"less_or_equal", EMIT(m.lessEqual(x[0], x[1])), true},
    {"greater_or_equal", EMIT(m.greaterEqual(x[0], x[1])), true},
    {"is_nan", EMIT(m.isNaN(x[0])), true},
    {"is_inf", emitIsInf, true},
    {"not", EMIT(m.inverse(x[0])), true},
    {"and", EMIT(m.both(x[0], x[1])), true},
    {"or", EMIT(m.either(x[0], x[1])), true},
    {"xor", EMIT(m.differ(x[0], x[1])), true},
    {"where", EMIT(m.select(x[0], x[1], x[2])), true},
};

const Row *find(StringRef op) {
  const Row *found = llvm::find_if(table, [&](const Row &row) { return row.name == op; });
  return found == std::end(table) ? nullptr : found;
}

} // namespace

Value vectorOp(Code &code, StringRef op, DictionaryAttr attrs, ArrayRef<Value> operands) {
  const Row *row = find(op);
  if (!row)
    return {};
  Lanes lanes(code);
  return row->emit(lanes, operands, Attributes(op, attrs));
}

Value scalarOp(Code &code, StringRef op, DictionaryAttr attrs, ArrayRef<Value> operands) {
  const Row *row = find(op);
  if (!row || row->doubles)
    return {};
  Lanes lanes(code, Lanes::Of::oneFloat);
  return row->emit(lanes, operands, Attributes(op, attrs));
}

bool isCheap(StringRef op) {
  const Row *row = find(op);
  return op == "identity" || (row && row->cheap);
}

} // namespace mopt
