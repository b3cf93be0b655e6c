//===- ShapeRules.h - what the shape rules of all families share --------------------------------------------------===//
//
// A rule reads operands and attributes through `Rule`, which trusts nothing: rules run on ops that no verifier has seen.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_DIALECT_MOPT_SHAPERULES_H
#define MOPT_LIB_DIALECT_MOPT_SHAPERULES_H

#include "mopt/Dialect/Mopt/Mopt.h"

namespace mopt {

using Dims = SmallVector<DimExpr>;
using Types = SmallVectorImpl<Type>;
constexpr int64_t maxRank = 8;

/// True where it follows from symbols being sizes (0 or more). False says nothing.
bool isNonNegative(DimExpr dim);
/// True where a <= b for all sizes.
inline bool isAtMost(DimExpr a, DimExpr b) { return isNonNegative(b - a); }
/// max(dim, 0), without the call where it is not needed.
DimExpr clampToZero(DimExpr dim);
/// False where a and b differ whatever the symbols are.
bool mayBeEqual(DimExpr a, DimExpr b);
/// Weight of a size at which rules stop.
constexpr unsigned maxWeight = 256;
/// a * b; null where the expression would be too large.
inline DimExpr times(DimExpr a, DimExpr b) { return a && b ? DimExpr::product({a, b}, a.context()) : DimExpr(); }
/// numerators / denominators; common factors are taken out first, so that what divides exactly has an exact form.
DimExpr quotient(ArrayRef<DimExpr> numerators, ArrayRef<DimExpr> denominators, MLIRContext *context);
/// "[2, s, 3]", for messages.
std::string text(ArrayRef<DimExpr> dims);

/// Attributes of ops that move a window; lists that are left out are empty.
struct Window {
  StringRef autoPad = "NOTSET";
  bool ceilMode = false;
  ArrayRef<int64_t> dilations, kernel, pads, strides;
  int64_t dilation(size_t axis) const { return dilations.empty() ? 1 : dilations[axis]; }
  int64_t stride(size_t axis) const { return strides.empty() ? 1 : strides[axis]; }
  int64_t padBegin(size_t axis) const { return pads.empty() || autoPad != "NOTSET" ? 0 : pads[axis]; }
  int64_t padEnd(size_t axis) const { return pads.empty() || autoPad != "NOTSET" ? 0 : pads[axis + pads.size() / 2]; }
};
template <typename OpTy> Window windowOf(OpTy op) {
  auto list = [](DenseI64ArrayAttr attr) { return attr ? attr.asArrayRef() : ArrayRef<int64_t>(); };
  Window window;
  window.autoPad = op.getAutoPad();
  window.dilations = list(op.getDilationsAttr());
  window.kernel = list(op.getKernelShapeAttr());
  window.pads = list(op.getPadsAttr());
  window.strides = list(op.getStridesAttr());
  return window;
}

class Rule {
public:
  Rule(Operation *op, ShapeContext &context) : op(op), context(context) {}

  LogicalResult fail(StringRef code, const Twine &message) { return context.fail(op, code, message); }

  /// The operand, null when there are not that many or it is `none`.
  Value operand(unsigned index);
  /// Type of operand `index`, which has to be a tensor; reports and returns null else.
  RankedTensorType tensor(unsigned index);
  Type element(unsigned index);
  /// Sizes of an operand; an axis without a name gets a new symbol. `rank` < 0: any.
  LogicalResult sizes(unsigned index, Dims &dims, int64_t rank = -1);
  LogicalResult sizesAtLeast(unsigned index, Dims &dims, int64_t rank);
  /// Sizes of the vector in operand `index`, which has to have `size` elements; `what` names it in the message.
  LogicalResult vectorOf(unsigned index, DimExpr size, StringRef what);
  LogicalResult sameElementTypes(ArrayRef<unsigned> operands);

  /// Replaces a negative axis; fails when it is outside [-rank, rank).
  LogicalResult axis(int64_t &axis, int64_t rank);
  /// The same for a list, whose entries have to differ. Sorted.
  LogicalResult axes(SmallVectorImpl<int64_t> &axes, int64_t rank);
  /// Fails when a and b cannot be equal. `what`: "columns of a and rows of b".
  LogicalResult equal(DimExpr a, DimExpr b, const Twine &what);
  /// Broadcasts `b` onto `a` from the right. Both ways, or only such that `a` stays as it is.
  LogicalResult broadcast(Dims &a, ArrayRef<DimExpr> b, bool oneWay = false);
  LogicalResult flag(int64_t value, StringRef name);

  /// Sizes after a window moved over `spatial`.
  LogicalResult window(const Window &window, ArrayRef<DimExpr> spatial, ArrayRef<DimExpr> kernel, Dims &out);
  LogicalResult checkWindow(const Window &window, size_t spatialRank);

  /// Sizes of operand 0 as N, C, spatial... when the op says that its channels are last. Fails for other values than 0, 1.
  LogicalResult channelsFirst(int64_t channelsLast, Dims &x);
  /// Appends the type of result 0 from sizes in the order N, C, spatial... .
  LogicalResult imageResult(int64_t channelsLast, ArrayRef<DimExpr> dims, Type element, Types &types);
  /// Appends a result type after checking its sizes.
  LogicalResult result(ArrayRef<DimExpr> dims, Type element, Types &types);
  /// The same for result `index` unless the caller left it out.
  LogicalResult optionalResult(unsigned index, ArrayRef<DimExpr> dims, Type element, Types &types);
  /// Element type that the op's result has at present; null when it has none.
  Type presentElement(unsigned index);

  DimExpr constant(int64_t value) { return context.constant(value); }
  DimExpr one() { return constant(1); }
  Dims newSymbols(size_t count);

  Operation *op;
  ShapeContext &context;
};

/// numpy's matmul on two lists of sizes.
LogicalResult matmulSizes(Rule &rule, Dims a, Dims b, Dims &out);

class ShapeOp;
/// Axes [first, second) that a `shape` op gives.
std::pair<int64_t, int64_t> shapeRange(ShapeOp op);

} // namespace mopt
#endif
