//===- DimExpr.h - sizes as expressions over named symbols --------------------------------------------------------===//
//
// A size is an integer or an expression over symbols. Expressions are kept in one normal form (a sorted sum of products
// with integer factors over symbols and calls), so equality of sizes is equality of pointers. What the form cannot
// decide (is `a floordiv 2` equal to `b`?) is decided when the model runs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_DIMEXPR_H
#define MOPT_DIALECT_MOPT_DIMEXPR_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mopt {

enum class DimKind : uint32_t { Const, Symbol, Sum, Product, FloorDiv, CeilDiv, Mod, Min, Max, Bcast };
inline llvm::hash_code hash_value(DimKind kind) { return llvm::hash_value(static_cast<uint32_t>(kind)); }

class DimAttr;

/// A size. Null when an operation overflowed or had no meaning; null absorbs everything built on it, so a rule checks
/// once, at its end.
class DimExpr {
public:
  DimExpr() = default;
  explicit DimExpr(DimAttr attr);
  static DimExpr constant(mlir::MLIRContext *context, int64_t value);
  static DimExpr symbol(mlir::MLIRContext *context, llvm::StringRef name);

  explicit operator bool() const { return static_cast<bool>(impl); }
  bool operator==(DimExpr other) const { return impl == other.impl; }
  bool operator!=(DimExpr other) const { return impl != other.impl; }
  DimAttr attr() const;
  mlir::MLIRContext *context() const { return impl.getContext(); }

  std::optional<int64_t> asConstant() const;
  bool isConstant(int64_t value) const { return asConstant() == value; }
  std::optional<llvm::StringRef> asSymbol() const;

  DimExpr operator+(DimExpr other) const;
  DimExpr operator-(DimExpr other) const;
  DimExpr operator*(DimExpr other) const;
  DimExpr operator+(int64_t value) const { return *this + like(value); }
  DimExpr operator-(int64_t value) const { return *this - like(value); }
  DimExpr operator*(int64_t value) const { return *this * like(value); }
  DimExpr floorDiv(DimExpr other) const;
  DimExpr ceilDiv(DimExpr other) const;
  DimExpr mod(DimExpr other) const;
  DimExpr floorDiv(int64_t value) const { return floorDiv(like(value)); }
  DimExpr ceilDiv(int64_t value) const { return ceilDiv(like(value)); }
  static DimExpr min(DimExpr a, DimExpr b);
  static DimExpr max(DimExpr a, DimExpr b);
  /// Size of an axis after broadcasting a with b. Null for two different numbers, neither of them 1.
  static DimExpr broadcast(DimExpr a, DimExpr b);
  /// The product of sizes: the number of elements. Null also where it would have more terms than anything can need: a model
  /// of a few nodes can ask for more than fit in memory.
  static DimExpr product(llvm::ArrayRef<DimExpr> dims, mlir::MLIRContext *context);
  /// Nodes of the expression, counted up to a little over `limit`.
  unsigned weight(unsigned limit) const;

  /// Value for given symbol values; nothing on overflow, division by zero, a failed broadcast or an unknown symbol.
  std::optional<int64_t> evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> valueOf) const;
  /// The expression with symbols replaced; `replacement` returns null to keep one.
  DimExpr substitute(llvm::function_ref<DimExpr(llvm::StringRef)> replacement) const;
  /// Calls `visit` for every symbol in it.
  void forEachSymbol(llvm::function_ref<void(llvm::StringRef)> visit) const;
  /// Code of the run-time evaluator (mopt_abi.h, enum mopt_op). `symbolNumber` gives the table number of a symbol.
  void encode(llvm::function_ref<int64_t(llvm::StringRef)> symbolNumber, llvm::SmallVectorImpl<int64_t> &code) const;
  std::string str() const;

private:
  DimExpr like(int64_t value) const;
  mlir::Attribute impl;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, DimExpr expr);

} // namespace mopt
#endif
