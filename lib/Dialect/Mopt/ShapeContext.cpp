//===- ShapeContext.cpp - what is known of the values of small integer tensors ------------------------------------===//
//
// Exporters compute shapes with ordinary ops: shape, gather, concat, arithmetic, casts to float and back. Following them
// gives sizes as expressions. Values are kept flat, row-major; an element that is not known is a null DimExpr. Float
// tensors take part as long as their elements are whole numbers.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Dialect/Mopt/ShapeContext.h"
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/Elementwise.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace mopt {

namespace {
constexpr int64_t maxElements = 64;
constexpr unsigned maxDepth = 64; // definitions followed; bounds the native stack
} // namespace

/// Values of one definition, from those of its operands.
class ValueReader {
public:
  ValueReader(ShapeContext &context, unsigned depth) : context(context), depth(depth) {}

  std::optional<Dims> read(Value value);

private:
  using Values = std::optional<Dims>;

  Values of(Value value) { return context.compute(value, depth + 1); }
  /// The one element of a value; null when there are more, or it is not known.
  DimExpr single(Value value) {
    Values v = of(value);
    return v && v->size() == 1 ? v->front() : DimExpr();
  }
  std::optional<SmallVector<int64_t>> numbers(Value value) {
    Values v = of(value);
    if (!v)
      return std::nullopt;
    SmallVector<int64_t> out;
    for (DimExpr e : *v) {
      auto number = e.asConstant();
      if (!number)
        return std::nullopt;
      out.push_back(*number);
    }
    return out;
  }
  DimExpr constant(int64_t value) { return context.constant(value); }
  DimExpr boolean(std::optional<bool> value) { return value ? constant(*value) : DimExpr(); }

  Values constantOf(ConstantOp op);
  Values unary(Value x, llvm::function_ref<DimExpr(DimExpr)> f);
  Values binary(Operation *op, llvm::function_ref<DimExpr(DimExpr, DimExpr)> f);
  Values dispatch(Operation *op, Value result);
  Values elementwise(Operation *op);
  Values roundTo(Value x, bool up);
  Values slice(SliceOp op);
  Values gather(GatherOp op);
  Values transpose(TransposeOp op);
  Values concat(ConcatOp op);
  Values split(SplitOp op, Value result);
  Values reduce(ReduceOp op);
  Values range(RangeOp op);
  Values where(WhereOp op);
  Values repeat(Value x, Value result);

  ShapeContext &context;
  unsigned depth;
};

/// Number of elements of a tensor, when it is known and small.
static std::optional<int64_t> smallCount(Value value) {
  RankedTensorType type = tensorOf(value);
  if (!type || !type.hasStaticShape() || type.getRank() > maxRank)
    return std::nullopt;
  int64_t n = 1;
  for (int64_t size : type.getShape()) {
    if (size > maxElements)
      return std::nullopt;
    n *= size; // at most 64^8
  }
  return n <= maxElements ? std::optional<int64_t>(n) : std::nullopt;
}

std::optional<Dims> ValueReader::read(Value value) {
  auto count = smallCount(value);
  RankedTensorType type = tensorOf(value);
  if (!count || !isa<IntegerType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type.getElementType()))
    return std::nullopt;
  Dims unknown(*count);
  Operation *def = value.getDefiningOp();
  if (!def || depth > maxDepth)
    return unknown;
  Values values = dispatch(def, value);
  if (!values || static_cast<int64_t>(values->size()) != *count)
    return unknown;
  // ONNX's integers wrap; a size that does not fit its own type is not followed.
  if (type.getElementType().isInteger(32))
    for (DimExpr &e : *values)
      if (auto v = e.asConstant(); v && (*v > INT32_MAX || *v < INT32_MIN))
        e = {};
  return values;
}

ValueReader::Values ValueReader::constantOf(ConstantOp op) {
  Dims out;
  if (auto ints = constantInts(op.getResult())) {
    for (int64_t v : *ints)
      out.push_back(constant(v));
    return out;
  }
  auto floats = constantFloats(op.getResult());
  if (!floats)
    return std::nullopt;
  for (double v : *floats)
    out.push_back(v == std::floor(v) && std::fabs(v) < 1e15 ? constant(static_cast<int64_t>(v)) : DimExpr());
  return out;
}

ValueReader::Values ValueReader::unary(Value x, llvm::function_ref<DimExpr(DimExpr)> f) {
  Values values = of(x);
  if (values)
    for (DimExpr &e : *values)
      e = e ? f(e) : e;
  return values;
}

ValueReader::Values ValueReader::binary(Operation *op, llvm::function_ref<DimExpr(DimExpr, DimExpr)> f) {
  Values a = of(op->getOperand(0)), b = of(op->getOperand(1));
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1))
    return std::nullopt;
  // Equal counts are equal shapes only where ranks are 0 or 1, or both are the same.
  if (a->size() != 1 && b->size() != 1 && op->getOperand(0).getType() != op->getOperand(1).getType() &&
      (tensorOf(op->getOperand(0)).getRank() > 1 || tensorOf(op->getOperand(1)).getRank() > 1))
    return std::nullopt;
  Dims out;
  for (size_t i = 0, n = a->empty() || b->empty() ? 0 : std::max(a->size(), b->size()); i < n; ++i) {
    DimExpr x = (*a)[a->size() == 1 ? 0 : i], y = (*b)[b->size() == 1 ? 0 : i];
    out.push_back(x && y ? f(x, y) : DimExpr());
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//
/// a < b, where that follows.
static std::optional<bool> isLess(DimExpr a, DimExpr b) {
  if (isNonNegative(b - a - 1))
    return true;
  return isNonNegative(a - b) ? std::optional<bool>(false) : std::nullopt;
}

/// floor or ceil of x; x * p / q and x / q are followed, which ordinary values cannot hold.
ValueReader::Values ValueReader::roundTo(Value x, bool up) {
  Operation *def = x.getDefiningOp();
  if (!def || !isa<MulOp, DivOp>(def))
    return of(x);
  for (unsigned side : {1u, 0u}) {
    if (side == 0 && isa<DivOp>(def))
      break;
    auto factor = def->getOperand(side).getDefiningOp<ConstantOp>();
    auto values = factor ? constantFloats(factor.getResult()) : std::nullopt;
    if (!values || values->size() != 1)
      continue;
    int64_t p = 0, q = 0;
    for (int64_t d = 1; d <= 64 && !q; ++d)
      if (double n = values->front() * static_cast<double>(d); n == std::floor(n) && n > 0 && n < 1e6)
        p = static_cast<int64_t>(n), q = d;
    if (!q)
      continue;
    if (isa<DivOp>(def))
      std::swap(p, q);
    return unary(def->getOperand(1 - side), [&](DimExpr e) { return up ? (e * p).ceilDiv(q) : (e * p).floorDiv(q); });
  }
  return of(x);
}

ValueReader::Values ValueReader::where(WhereOp op) {
  Values c = of(op->getOperand(0)), x = of(op->getOperand(1)), y = of(op->getOperand(2));
  if (!c || !x || !y || c->empty() || x->empty() || y->empty())
    return std::nullopt;
  size_t n = std::max({c->size(), x->size(), y->size()});
  auto at = [](const Dims &values, size_t i) {
    return values.size() == 1 ? values[0] : i < values.size() ? values[i] : DimExpr();
  };
  for (Value v : op->getOperands())
    if (tensorOf(v).getRank() > 1)
      return std::nullopt;
  Dims out;
  for (size_t i = 0; i < n; ++i) {
    DimExpr a = at(*x, i), b = at(*y, i);
    auto chosen = at(*c, i).asConstant();
    out.push_back(chosen ? (*chosen ? a : b) : a == b ? a : DimExpr());
  }
  return out;
}

ValueReader::Values ValueReader::elementwise(Operation *op) {
  bool isFloat =
      op->getNumOperands() && tensorOf(op->getOperand(0)) && isa<FloatType>(tensorOf(op->getOperand(0)).getElementType());
  auto less = [&](DimExpr a, DimExpr b) { return boolean(isLess(a, b)); };
  auto lessOrEqual = [&](DimExpr a, DimExpr b) {
    auto greater = isLess(b, a);
    return boolean(greater ? std::optional<bool>(!*greater) : std::nullopt);
  };
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<AddOp>([&](auto) { return binary(op, [](DimExpr a, DimExpr b) { return a + b; }); })
      .Case<SubOp>([&](auto) { return binary(op, [](DimExpr a, DimExpr b) { return a - b; }); })
      .Case<MulOp>([&](auto) { return binary(op, times); })
      .Case<DivOp>([&](auto) {
        return binary(op, [&](DimExpr a, DimExpr b) -> DimExpr {
          auto x = a.asConstant(), y = b.asConstant();
          if (y == 0)
            return {};
          if (x && y) {
            if ((isFloat && *x % *y) || (*x == INT64_MIN && *y == -1))
              return {};
            return constant(*x / *y); // integers divide towards zero
          }
          DimExpr q = a.floorDiv(b);
          if (isFloat)
            return q && q * b == a ? q : DimExpr();
          return isNonNegative(a) && isNonNegative(b) ? q : DimExpr();
        });
      })
      .Case<ModOp>([&](ModOp mod) {
        return binary(op, [&](DimExpr a, DimExpr b) -> DimExpr {
          if (b.isConstant(0) || ((mod.getFmod() || !b.asConstant()) && !(isNonNegative(a) && isNonNegative(b))))
            return {};
          return a.mod(b);
        });
      })
      .Case<MaxOp>([&](auto) {
        return binary(op, [](DimExpr a, DimExpr b) { return isAtMost(a, b) ? b : isAtMost(b, a) ? a : DimExpr::max(a, b); });
      })
      .Case<MinOp>([&](auto) {
        return binary(op, [](DimExpr a, DimExpr b) { return isAtMost(a, b) ? a : isAtMost(b, a) ? b : DimExpr::min(a, b); });
      })
      .Case<EqualOp>([&](auto) {
        return binary(op, [&](DimExpr a, DimExpr b) {
          return boolean(a == b ? std::optional<bool>(true) : mayBeEqual(a, b) ? std::nullopt : std::optional<bool>(false));
        });
      })
      .Case<LessOp>([&](auto) { return binary(op, less); })
      .Case<GreaterOp>([&](auto) { return binary(op, [&](DimExpr a, DimExpr b) { return less(b, a); }); })
      .Case<LessOrEqualOp>([&](auto) { return binary(op, lessOrEqual); })
      .Case<GreaterOrEqualOp>([&](auto) { return binary(op, [&](DimExpr a, DimExpr b) { return lessOrEqual(b, a); }); })
      .Case<AndOp>([&](auto) { return binary(op, [](DimExpr a, DimExpr b) { return a * b; }); })
      .Case<OrOp>([&](auto) { return binary(op, [](DimExpr a, DimExpr b) { return DimExpr::max(a, b); }); })
      .Case<NotOp>([&](auto) { return unary(op->getOperand(0), [&](DimExpr e) { return constant(1) - e; }); })
      .Case<NegOp>([&](auto) { return unary(op->getOperand(0), [](DimExpr e) { return e * -1; }); })
      .Case<AbsOp, ReluOp>([&](auto) {
        bool isAbs = isa<AbsOp>(op);
        return unary(op->getOperand(0), [&](DimExpr e) -> DimExpr {
          if (isNonNegative(e))
            return e;
          if (isNonNegative(e * -1))
            return isAbs ? e * -1 : constant(0);
          return {};
        });
      })
      .Case<FloorOp>([&](auto) { return roundTo(op->getOperand(0), false); })
      .Case<CeilOp>([&](auto) { return roundTo(op->getOperand(0), true); })
      .Case<RoundOp>([&](auto) { return of(op->getOperand(0)); })
      .Case<CastOp>([&](CastOp cast) -> Values {
        Type to = tensorOf(cast->getResult(0)).getElementType();
        bool isSize = to.isInteger(64) || to.isInteger(32) || isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(to);
        if (to.isInteger(1))
          return unary(op->getOperand(0), [&](DimExpr e) {
            return boolean(mayBeEqual(e, constant(0)) ? (e.isConstant(0) ? std::optional<bool>(false) : std::nullopt)
                                                      : std::optional<bool>(true));
          });
        if (!isSize)
          return std::nullopt;
        // Towards zero is down for what is not negative, and scaled sizes are not.
        return isFloat && isa<IntegerType>(to) ? roundTo(op->getOperand(0), false) : of(op->getOperand(0));
      })
      .Case<WhereOp>([&](WhereOp op) { return where(op); })
      .Default([](Operation *) -> Values { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//
ValueReader::Values ValueReader::gather(GatherOp op) {
  Values data = of(op->getOperand(0));
  auto indices = numbers(op->getOperand(1));
  RankedTensorType type = tensorOf(op->getOperand(0));
  if (!data || !indices || type.getRank() != 1)
    return std::nullopt;
  Dims out;
  int64_t n = data->size();
  for (int64_t i : *indices)
    out.push_back(i >= -n && i < n ? (*data)[i < 0 ? i + n : i] : DimExpr());
  return out;
}

/// Row-major strides.
static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}
/// Reads `data` at first + index * stride for every index of `shape`.
static Dims readStrided(const Dims &data, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, int64_t first) {
  Dims out;
  if (llvm::is_contained(shape, 0))
    return out;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    int64_t at = first;
    for (size_t i = 0; i < shape.size(); ++i)
      at += index[i] * strides[i];
    out.push_back(at >= 0 && at < static_cast<int64_t>(data.size()) ? data[at] : DimExpr());
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return out;
  }
}

ValueReader::Values ValueReader::slice(SliceOp op) {
  Values data = of(op->getOperand(0));
  auto starts = numbers(op->getOperand(1)), ends = numbers(op->getOperand(2));
  if (!data || !starts || !ends || starts->size() != ends->size())
    return std::nullopt;
  ArrayRef<int64_t> shape = tensorOf(op->getOperand(0)).getShape();
  int64_t rank = shape.size(), first = 0;
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size())), steps(starts->size(), 1);
  for (auto [operand, list] : {std::pair(3u, &axes), std::pair(4u, &steps)}) {
    if (isAbsent(op->getOperand(operand)))
      continue;
    auto values = numbers(op->getOperand(operand));
    if (!values || values->size() != list->size())
      return std::nullopt;
    *list = *values;
  }
  SmallVector<int64_t> lengths(shape), strides = stridesOf(shape);
  SmallVector<bool> cut(rank, false);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i], step = steps[i];
    if (axis < 0 || axis >= rank || cut[axis] || step == 0 || step < -maxElements || step > maxElements)
      return std::nullopt;
    cut[axis] = true;
    int64_t size = shape[axis], low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto clamp = [&](int64_t v) { return std::min(std::max(v < 0 ? v + size : v, low), high); };
    int64_t from = std::min(std::max<int64_t>(clamp((*starts)[i]), 0), high), to = clamp((*ends)[i]);
    lengths[axis] = std::max<int64_t>(0, step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step);
    first += from * strides[axis];
    strides[axis] *= step;
  }
  return readStrided(*data, lengths, strides, first);
}

ValueReader::Values ValueReader::transpose(TransposeOp op) {
  Values data = of(op->getOperand(0));
  if (!data)
    return std::nullopt;
  ArrayRef<int64_t> shape = tensorOf(op->getOperand(0)).getShape();
  SmallVector<int64_t> perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, shape.size())));
  if (op.getPermAttr())
    perm.assign(op.getPermAttr().asArrayRef().begin(), op.getPermAttr().asArrayRef().end());
  SmallVector<int64_t> lengths, strides, own = stridesOf(shape);
  for (int64_t axis : perm) {
    axis += axis < 0 ? shape.size() : 0;
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
      return std::nullopt;
    lengths.push_back(shape[axis]);
    strides.push_back(own[axis]);
  }
  if (lengths.size() != shape.size())
    return std::nullopt;
  return readStrided(*data, lengths, strides, 0);
}

ValueReader::Values ValueReader::concat(ConcatOp op) {
  Dims out;
  for (Value v : op->getOperands()) {
    Values part = of(v);
    RankedTensorType type = tensorOf(v);
    // Rows after rows: the first axis, or vectors.
    if (!part || !op.getAxisAttr() || (op.getAxisAttr().getInt() != 0 && type.getRank() != 1))
      return std::nullopt;
    llvm::append_range(out, *part);
  }
  return out;
}

ValueReader::Values ValueReader::split(SplitOp op, Value result) {
  Values data = of(op->getOperand(0));
  if (!data || tensorOf(op->getOperand(0)).getRank() != 1)
    return std::nullopt;
  size_t first = 0;
  for (Value v : op->getResults()) {
    auto count = smallCount(v);
    if (!count || first + *count > data->size())
      return std::nullopt;
    if (v == result)
      return Dims(data->begin() + first, data->begin() + first + *count);
    first += *count;
  }
  return std::nullopt;
}

ValueReader::Values ValueReader::reduce(ReduceOp op) {
  Values data = of(op->getOperand(0));
  if (!data || data->empty() || tensorOf(op->getOperand(0)).getRank() > 1)
    return std::nullopt;
  bool hasAxes = !isAbsent(op->getOperand(1));
  auto axes = hasAxes ? numbers(op->getOperand(1)) : std::nullopt;
  if (hasAxes && !axes)
    return std::nullopt;
  if ((!hasAxes || axes->empty()) && op.getNoopWithEmptyAxes())
    return data;
  DimExpr total = data->front();
  for (DimExpr e : llvm::drop_begin(*data)) {
    if (!total || !e)
      return std::nullopt;
    total = llvm::StringSwitch<DimExpr>(op.getKind())
                .Case("sum", total + e)
                .Case("prod", times(total, e))
                .Case("max", DimExpr::max(total, e))
                .Case("min", DimExpr::min(total, e))
                .Default({});
  }
  static const StringRef followed[] = {"sum", "prod", "max", "min", "mean"};
  return total && llvm::is_contained(followed, op.getKind()) ? Values(Dims{total}) : std::nullopt;
}

ValueReader::Values ValueReader::range(RangeOp op) {
  DimExpr start = single(op->getOperand(0)), delta = single(op->getOperand(2));
  auto count = smallCount(op->getResult(0));
  if (!start || !delta || !count)
    return std::nullopt;
  Dims out;
  for (int64_t i = 0; i < *count; ++i)
    out.push_back(start + delta * i);
  return out;
}

/// One element, or the same shape: all that is followed of expand and tile.
ValueReader::Values ValueReader::repeat(Value x, Value result) {
  Values values = of(x);
  auto count = smallCount(result);
  if (!values || !count)
    return std::nullopt;
  if (values->size() == 1)
    return Dims(*count, values->front());
  return static_cast<int64_t>(values->size()) == *count && tensorOf(x).getShape() == tensorOf(result).getShape()
             ? values
             : std::nullopt;
}

ValueReader::Values ValueReader::dispatch(Operation *op, Value result) {
  const unsigned needed = op->getNumOperands();
  auto atLeast = [&](unsigned n) { return needed >= n; };
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<ConstantOp>([&](ConstantOp op) { return constantOf(op); })
      .Case<ShapeOp>([&](ShapeOp op) -> Values {
        if (!atLeast(1) || !tensorOf(op->getOperand(0)))
          return std::nullopt;
        auto [begin, end] = shapeRange(op);
        Dims dims = dimsOf(op->getOperand(0));
        return Dims(dims.begin() + begin, dims.begin() + end);
      })
      .Case<SizeOp>([&](SizeOp op) -> Values {
        if (!atLeast(1) || !tensorOf(op->getOperand(0)))
          return std::nullopt;
        return Dims{DimExpr::product(dimsOf(op->getOperand(0)), context.getContext())};
      })
      .Case<GroupOp>([&](GroupOp group) -> Values {
        Region &body = group.getBody();
        auto yield = body.empty() || body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
        unsigned number = cast<OpResult>(result).getResultNumber();
        return yield && number < yield->getNumOperands() ? of(yield->getOperand(number)) : std::nullopt;
      })
      .Case<IdentityOp, ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(
          [&](auto) { return atLeast(1) ? of(op->getOperand(0)) : std::nullopt; })
      .Case<GatherOp>([&](GatherOp op) { return atLeast(2) ? gather(op) : std::nullopt; })
      .Case<SliceOp>([&](SliceOp op) { return atLeast(5) ? slice(op) : std::nullopt; })
      .Case<TransposeOp>([&](TransposeOp op) { return atLeast(1) ? transpose(op) : std::nullopt; })
      .Case<ConcatOp>([&](ConcatOp op) { return concat(op); })
      .Case<SplitOp>([&](SplitOp op) { return atLeast(1) ? split(op, result) : std::nullopt; })
      .Case<ReduceOp>([&](ReduceOp op) { return atLeast(2) ? reduce(op) : std::nullopt; })
      .Case<RangeOp>([&](RangeOp op) { return atLeast(3) ? range(op) : std::nullopt; })
      .Case<ExpandOp, TileOp>([&](auto) { return atLeast(1) ? repeat(op->getOperand(0), result) : std::nullopt; })
      .Case<ConstantOfShapeOp>([&](auto) { return atLeast(2) ? repeat(op->getOperand(1), result) : std::nullopt; })
      .Default([&](Operation *op) -> Values {
        unsigned least = isa<WhereOp>(op)                                                         ? 3
                         : isa<CastOp, NotOp, NegOp, AbsOp, ReluOp, FloorOp, CeilOp, RoundOp>(op) ? 1
                                                                                                  : 2;
        return atLeast(least) && llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ? elementwise(op)
                                                                                                      : std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// ShapeContext
//===----------------------------------------------------------------------===//
std::optional<SmallVector<DimExpr>> ShapeContext::compute(Value value, unsigned depth) {
  auto found = cache.find(value);
  if (found != cache.end())
    return found->second;
  auto values = ValueReader(*this, depth).read(value);
  if (values)
    for (DimExpr &e : *values)
      if (e.weight(maxWeight) > maxWeight)
        e = {};
  cache[value] = values; // also where the depth limit cut it: a second way through the same definitions costs too much
  return values;
}

std::optional<SmallVector<DimExpr>> ShapeContext::partialValuesOf(Value value) {
  RankedTensorType type = value ? tensorOf(value) : RankedTensorType();
  if (!type || type.getRank() > 1)
    return std::nullopt;
  return compute(value, 0);
}

std::optional<SmallVector<DimExpr>> ShapeContext::valuesOf(Value value) {
  auto values = partialValuesOf(value);
  return values && llvm::all_of(*values, [](DimExpr e) { return static_cast<bool>(e); }) ? values : std::nullopt;
}

std::optional<SmallVector<int64_t>> ShapeContext::constantsOf(Value value) {
  auto values = partialValuesOf(value);
  if (!values)
    return std::nullopt;
  SmallVector<int64_t> out;
  for (DimExpr e : *values) {
    auto number = e.asConstant();
    if (!number)
      return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

std::optional<SmallVector<double>> ShapeContext::floatsOf(Value value) {
  if (!value || !smallCount(value))
    return std::nullopt;
  if (auto floats = constantFloats(value))
    return SmallVector<double>(floats->begin(), floats->end());
  auto whole = constantsOf(value);
  return whole ? std::optional(SmallVector<double>(whole->begin(), whole->end())) : std::nullopt;
}

DimExpr ShapeContext::newSymbol() {
  std::string name;
  do
    name = "d" + std::to_string(nextSymbol++);
  while (!names.insert(name).second);
  made.insert(name);
  return DimExpr::symbol(context, name);
}

LogicalResult ShapeContext::fail(Operation *op, StringRef code, const Twine &message) {
  bool missing = code == "MOPT-S008";
  unknown |= missing;
  if (!quiet && !(missing && tolerant))
    op->emitError() << code << ": " << op->getName() << ": " << message;
  return failure();
}

} // namespace mopt
