//===- ShapeRules.cpp - what the shape rules of all families share ------------------------------------------------===//
#include "ShapeRules.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "llvm/ADT/SmallBitVector.h"
#include <numeric>

namespace mopt {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//
static bool isNonNegative(DimExpr dim, unsigned depth) {
  if (!dim || depth > 16)
    return false;
  if (auto value = dim.asConstant())
    return *value >= 0;
  DimAttr attr = dim.attr();
  auto arg = [&](unsigned i) { return DimExpr(dyn_cast<DimAttr>(attr.getArgs()[i])); };
  auto all = [&] {
    return llvm::all_of(attr.getArgs(),
                        [&](Attribute a) { return isNonNegative(DimExpr(dyn_cast<DimAttr>(a)), depth + 1); });
  };
  switch (attr.getKind()) {
  case DimKind::Const:
  case DimKind::Symbol:
    return true;
  case DimKind::Sum:
  case DimKind::Product:
    return attr.getValue() >= 0 && all();
  case DimKind::FloorDiv:
  case DimKind::CeilDiv:
  case DimKind::Min:
  case DimKind::Bcast:
    return all();
  case DimKind::Mod:
    return isNonNegative(arg(1), depth + 1);
  case DimKind::Max:
    return isNonNegative(arg(0), depth + 1) || isNonNegative(arg(1), depth + 1);
  }
  return false;
}
bool isNonNegative(DimExpr dim) { return isNonNegative(dim, 0); }

DimExpr clampToZero(DimExpr dim) {
  if (!dim || isNonNegative(dim))
    return dim;
  return DimExpr::max(dim, DimExpr::constant(dim.context(), 0));
}

bool mayBeEqual(DimExpr a, DimExpr b) {
  DimExpr difference = a - b;
  if (!difference)
    return true;
  if (auto value = difference.asConstant())
    return *value == 0;
  // x + 1 is never 0, and neither is -1 - x
  return !isNonNegative(difference - 1) && !isNonNegative(b - a - 1);
}

DimExpr quotient(ArrayRef<DimExpr> numerators, ArrayRef<DimExpr> denominators, MLIRContext *context) {
  Dims over(numerators), under;
  for (DimExpr dim : denominators) {
    auto *found = llvm::find(over, dim);
    if (found != over.end() && !dim.asConstant())
      over.erase(found);
    else
      under.push_back(dim);
  }
  return DimExpr::product(over, context).floorDiv(DimExpr::product(under, context));
}

std::string text(ArrayRef<DimExpr> dims) {
  std::string s = "[";
  for (auto [i, dim] : llvm::enumerate(dims))
    s += (i ? ", " : "") + dim.str();
  return s + "]";
}

//===----------------------------------------------------------------------===//
// Rule
//===----------------------------------------------------------------------===//
Value Rule::operand(unsigned index) {
  if (index >= op->getNumOperands())
    return {};
  Value value = op->getOperand(index);
  return isAbsent(value) ? Value() : value;
}

RankedTensorType Rule::tensor(unsigned index) {
  if (index >= op->getNumOperands()) {
    (void)fail("MOPT-S003", "operand " + Twine(index) + " is missing; found " + Twine(op->getNumOperands()) + " operands");
    return {};
  }
  auto type = tensorOf(op->getOperand(index));
  if (!type) {
    if (isAbsent(op->getOperand(index)))
      (void)fail("MOPT-S003", "operand " + Twine(index) + " is left out, expected a tensor");
    else
      (void)fail("MOPT-S003", "operand " + Twine(index) + " is not a tensor of known rank");
  }
  return type;
}

Type Rule::element(unsigned index) {
  auto type = index < op->getNumOperands() ? tensorOf(op->getOperand(index)) : RankedTensorType();
  return type ? type.getElementType() : Type();
}

LogicalResult Rule::sizes(unsigned index, Dims &dims, int64_t rank) {
  RankedTensorType type = tensor(index);
  if (!type)
    return failure();
  if (rank >= 0 && type.getRank() != rank)
    return fail("MOPT-S004", "operand " + Twine(index) + " has rank " + Twine(type.getRank()) + ", expected " + Twine(rank));
  if (type.getRank() > maxRank)
    return fail("MOPT-S005", "operand " + Twine(index) + " has rank " + Twine(type.getRank()) + ", expected at most 8");
  dims.assign(dimsOf(type));
  for (DimExpr &dim : dims) {
    if (!dim)
      dim = context.newSymbol();
    if (auto value = dim.asConstant(); value && *value < 0) // `?` whose expression says so
      return fail("MOPT-S002", "operand " + Twine(index) + " has a negative size: " + text(dims));
  }
  return success();
}

LogicalResult Rule::sizesAtLeast(unsigned index, Dims &dims, int64_t rank) {
  if (failed(sizes(index, dims)))
    return failure();
  if (static_cast<int64_t>(dims.size()) < rank)
    return fail("MOPT-S004",
                "operand " + Twine(index) + " has rank " + Twine(dims.size()) + ", expected at least " + Twine(rank));
  return success();
}

LogicalResult Rule::vectorOf(unsigned index, DimExpr size, StringRef what) {
  Dims dims;
  if (failed(sizes(index, dims, 1)))
    return failure();
  return equal(dims[0], size, what);
}

LogicalResult Rule::sameElementTypes(ArrayRef<unsigned> operands) {
  Type first;
  for (unsigned index : operands) {
    Type type = element(index);
    if (!type)
      continue;
    if (first && type != first) {
      std::string message;
      llvm::raw_string_ostream(message) << "operand " << index << " has elements of " << type << ", expected " << first;
      return fail("MOPT-S011", message);
    }
    first = type;
  }
  return success();
}

LogicalResult Rule::axis(int64_t &axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return fail("MOPT-S006", "axis " + Twine(axis) + " is outside the operand of rank " + Twine(rank));
  axis += axis < 0 ? rank : 0;
  return success();
}

LogicalResult Rule::axes(SmallVectorImpl<int64_t> &axes, int64_t rank) {
  for (int64_t &a : axes)
    if (failed(axis(a, rank)))
      return failure();
  llvm::sort(axes);
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i] == axes[i - 1])
      return fail("MOPT-S007", "axis " + Twine(axes[i]) + " is named twice");
  return success();
}

LogicalResult Rule::equal(DimExpr a, DimExpr b, const Twine &what) {
  if (mayBeEqual(a, b))
    return success();
  return fail("MOPT-S010", what + " have to be equal, found " + a.str() + " and " + b.str());
}

LogicalResult Rule::broadcast(Dims &a, ArrayRef<DimExpr> b, bool oneWay) {
  Dims before = a;
  auto bad = [&](const char *how) {
    return fail("MOPT-S001", "sizes " + text(b) + " cannot be broadcast " + how + " " + text(before));
  };
  if (b.size() > a.size()) {
    if (oneWay)
      return bad("to");
    a.insert(a.begin(), b.begin(), b.begin() + (b.size() - a.size()));
  }
  size_t shift = a.size() - b.size(), own = a.size() - before.size();
  for (size_t i = std::max(shift, own); i < a.size(); ++i) {
    DimExpr y = b[i - shift], joint = DimExpr::broadcast(a[i], y);
    if (!joint)
      return bad(oneWay ? "to" : "with");
    if (oneWay) {
      auto x = a[i].asConstant(), v = y.asConstant();
      if (x && v && *v != 1 && *v != *x)
        return bad("to");
    } else {
      a[i] = joint;
    }
  }
  return success();
}

LogicalResult Rule::flag(int64_t value, StringRef name) {
  if (value == 0 || value == 1)
    return success();
  return fail("MOPT-S009", name + " is " + Twine(value) + ", expected 0 or 1");
}

LogicalResult Rule::result(ArrayRef<DimExpr> dims, Type element, Types &types) {
  if (!element)
    return fail("MOPT-S011", "the element type of the result is not known");
  if (static_cast<int64_t>(dims.size()) > maxRank)
    return fail("MOPT-S005", "the result has rank " + Twine(dims.size()) + ", expected at most 8");
  for (DimExpr dim : dims) {
    if (!dim)
      return fail("MOPT-S002", "a size of the result does not fit in 64 bits, or its expression is too large");
    if (dim.weight(maxWeight) > maxWeight)
      return fail("MOPT-S002", "the expression of a size has more than " + Twine(maxWeight) + " terms");
    if (auto value = dim.asConstant(); value && *value < 0)
      return fail("MOPT-S002", "a size of the result is negative: " + text(dims));
  }
  types.push_back(tensorType(dims, element));
  return success();
}

LogicalResult Rule::optionalResult(unsigned index, ArrayRef<DimExpr> dims, Type element, Types &types) {
  if (index < op->getNumResults() && isa<NoneType>(op->getResult(index).getType())) {
    types.push_back(NoneType::get(context.getContext()));
    return success();
  }
  return result(dims, element, types);
}

LogicalResult Rule::channelsFirst(int64_t channelsLast, Dims &x) {
  if (failed(flag(channelsLast, "channels_last")))
    return failure();
  if (channelsLast)
    x = mopt::channelsFirst(ArrayRef(x));
  return success();
}

LogicalResult Rule::imageResult(int64_t channelsLast, ArrayRef<DimExpr> dims, Type element, Types &types) {
  Dims out(dims);
  if (channelsLast)
    for (auto [axis, dim] : llvm::enumerate(dims))
      out[channelsLastAxis(axis, dims.size())] = dim;
  return result(out, element, types);
}

Type Rule::presentElement(unsigned index) {
  if (index >= op->getNumResults())
    return {};
  auto type = dyn_cast<TensorType>(op->getResult(index).getType());
  return type ? type.getElementType() : Type();
}

Dims Rule::newSymbols(size_t count) {
  Dims dims;
  for (size_t i = 0; i < count; ++i)
    dims.push_back(context.newSymbol());
  return dims;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//
LogicalResult Rule::checkWindow(const Window &w, size_t spatialRank) {
  auto list = [&](ArrayRef<int64_t> values, StringRef name, size_t expected, int64_t least) -> LogicalResult {
    if (values.empty())
      return success();
    if (values.size() != expected)
      return fail("MOPT-S012", name + " has " + Twine(values.size()) + " entries, expected " + Twine(expected));
    for (int64_t v : values)
      if (v < least || v > INT32_MAX)
        return fail("MOPT-S012", name + " holds " + Twine(v) + ", expected at least " + Twine(least));
    return success();
  };
  return failure(failed(list(w.kernel, "kernel_shape", spatialRank, 1)) ||
                 failed(list(w.strides, "strides", spatialRank, 1)) ||
                 failed(list(w.dilations, "dilations", spatialRank, 1)) ||
                 (w.autoPad == "NOTSET" && failed(list(w.pads, "pads", 2 * spatialRank, 0))));
}

LogicalResult Rule::window(const Window &w, ArrayRef<DimExpr> spatial, ArrayRef<DimExpr> kernel, Dims &out) {
  if (failed(checkWindow(w, spatial.size())))
    return failure();
  if (kernel.size() != spatial.size())
    return fail("MOPT-S012", "the kernel has " + Twine(kernel.size()) + " axes, the input " + Twine(spatial.size()));
  for (size_t i = 0; i < spatial.size(); ++i) {
    int64_t stride = w.stride(i), begin = w.padBegin(i), end = w.padEnd(i);
    if (w.autoPad == "SAME_UPPER" || w.autoPad == "SAME_LOWER") {
      out.push_back(spatial[i].ceilDiv(stride));
      continue;
    }
    DimExpr extent = (kernel[i] - 1) * w.dilation(i) + 1;
    DimExpr room = spatial[i] + begin + end - extent;
    if (auto value = room.asConstant(); value && *value < 0)
      return fail("MOPT-S012", "axis " + Twine(i + 2) + ": the kernel covers " + extent.str() +
                                   ", the padded input has only " + (spatial[i] + begin + end).str());
    if (w.ceilMode) {
      // A last window that starts in the padding on the right is dropped: ceil(room / stride) + 1, but at most as many
      // windows as start before the padding. Both are ceilings over the same stride, so the smaller numerator decides.
      DimExpr windows = room + stride, starts = spatial[i] + begin;
      out.push_back(DimExpr::min(windows, starts).ceilDiv(stride));
    } else {
      out.push_back(room.floorDiv(stride) + 1);
    }
  }
  return success();
}

LogicalResult matmulSizes(Rule &rule, Dims a, Dims b, Dims &out) {
  if (a.empty() || b.empty())
    return rule.fail("MOPT-S004", "a scalar has no rows or columns, expected rank 1 or more");
  bool vectorA = a.size() == 1, vectorB = b.size() == 1;
  if (vectorA)
    a.insert(a.begin(), rule.one());
  if (vectorB)
    b.push_back(rule.one());
  if (failed(rule.equal(a.back(), b[b.size() - 2], "columns of a and rows of b")))
    return failure();
  out.assign(a.begin(), a.end() - 2);
  if (failed(rule.broadcast(out, ArrayRef<DimExpr>(b).drop_back(2))))
    return failure();
  if (!vectorA)
    out.push_back(a[a.size() - 2]);
  if (!vectorB)
    out.push_back(b.back());
  return success();
}

} // namespace mopt
