//===- ShapeContext.h - what a shape rule may ask and say ---------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_SHAPECONTEXT_H
#define MOPT_DIALECT_MOPT_SHAPECONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"
#include "mopt/Dialect/Mopt/DimExpr.h"
#include "mopt/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace mopt {

/// Serves the shape rules of one walk over a function. What is known of the values of small integer tensors (shapes,
/// axes, bounds of slices) is found by following their definitions: constants, `shape`, and arithmetic on them.
class ShapeContext {
public:
  /// `quiet`: rules fail without a diagnostic (used where failure is an answer).
  explicit ShapeContext(MLIRContext *context, bool quiet = false) : context(context), quiet(quiet) {}

  MLIRContext *getContext() const { return context; }
  /// Elements of an integer tensor of rank 0 or 1 with at most 64 elements, as sizes; nothing when not known.
  std::optional<SmallVector<DimExpr>> valuesOf(Value value);
  /// The same with a null size for each element that is not known; nothing when their number is not known.
  std::optional<SmallVector<DimExpr>> partialValuesOf(Value value);
  /// The same, when all are numbers.
  std::optional<SmallVector<int64_t>> constantsOf(Value value);
  /// Values of a constant float tensor with at most 64 elements (scales of a resize).
  std::optional<SmallVector<double>> floatsOf(Value value);
  /// A size that no symbol gives: data-dependent. Named d0, d1, ... past the names in use.
  DimExpr newSymbol();
  void reserveName(StringRef name) { names.insert(name); }
  /// True for a symbol that `newSymbol` made.
  bool isNew(DimExpr dim) const { return dim.asSymbol() && made.contains(*dim.asSymbol()); }
  DimExpr constant(int64_t value) { return DimExpr::constant(context, value); }

  /// Reports `message` at `op` with a code and returns failure.
  LogicalResult fail(Operation *op, StringRef code, const Twine &message);

  /// Makes failures for want of a known value (MOPT-S008) silent; `metUnknown` tells them.
  void tolerateUnknown() { tolerant = true; }
  bool metUnknown() const { return unknown; }

private:
  friend class ValueReader; // ShapeContext.cpp
  std::optional<SmallVector<DimExpr>> compute(Value value, unsigned depth);
  MLIRContext *context;
  bool quiet;
  llvm::DenseMap<Value, std::optional<SmallVector<DimExpr>>> cache;
  llvm::StringSet<> names, made;
  unsigned nextSymbol = 0;
  bool tolerant = false, unknown = false;
};

} // namespace mopt
#endif
