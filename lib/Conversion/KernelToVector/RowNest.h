//===- RowNest.h - loops of kernels that combine elements along axes -----------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_ROWNEST_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_ROWNEST_H

#include "Code.h"
#include "Epilogue.h"
#include "RootEmitter.h"

namespace mopt {

/// Reductions, softmax and norms: passes over the elements of x that differ only in the reduced axes. Axes of size 1 are
/// dropped and neighbours merged where every operand allows it; vectors then lie along the last axis, the line.
/// (rows) If the line is reduced, a unit is one row, and a combined value is the same in all lanes. (columns) If it stays, a
/// unit is up to four vectors of the line, and each lane has a value of its own.
///
/// Order of a combination: rows in accumulators of `unroll` vectors over 4096 elements, columns one after the other over 64;
/// then 64 such parts, then 64 of those, and so on. So errors grow with the logarithm of the size, for a few instructions per
/// part, and the order depends on the sizes of the axes only.
class RowNest : public RootEmitter {
public:
  void emit(KernelBody &body) override;

protected:
  enum class Kind { sum, product, largest, smallest, largestNumber }; // largestNumber: NaN may be lost
  enum : unsigned { x = 0, y = 1, firstExtra = 2 };                   // operands
  /// Where a unit is: operands at its first element, and for columns the lanes of each vector (null: all).
  struct Piece {
    SmallVector<Value> pointers, masks;
  };
  /// One vector of a pass: operands at its first lane, its lanes, and its number among the vectors of the unit.
  struct Cell {
    SmallVector<Value> pointers;
    Value mask;
    unsigned vector = 0;
  };
  using Element = llvm::function_ref<Value(const Cell &)>;

  /// `axes` are reduced. `split`: an axis and a number of parts; the axis is cut into so many, of which each is reduced on
  /// its own. Sizes of x and y are equal, or y lacks the reduced axes or has 1 for them.
  RowNest(kernel::RootOpInterface op, PlanView &plan, ArrayRef<int64_t> axes,
          std::optional<std::pair<int64_t, int64_t>> split = {});

  /// The code of one unit.
  virtual void piece(KernelBody &body, Code &code, const Piece &piece) = 0;

  /// Combines `element` over the reduced axes: one value per vector of the unit, for rows one splat.
  SmallVector<Value> reduce(KernelBody &body, Code &code, const Piece &piece, Kind kind, Element element,
                            unsigned unroll = 4);
  /// Stores epilogue(element) to y for all elements of the unit.
  void forEach(KernelBody &body, Code &code, const Piece &piece, Element element);
  /// Operand `number` of the cell: a vector, or a splat where it does not move along the line.
  Value load(Code &code, const Cell &cell, unsigned number);
  /// The epilogue of `value` at the cell.
  Value finish(KernelBody &body, Code &code, const Cell &cell, Value value);
  /// Operands at position `index` of `axes`, counted in row-major order.
  struct Axis {
    DimExpr size;
    bool reduced;
    SmallVector<DimExpr> strides; // one per operand, floats
  };
  SmallVector<Value> move(KernelBody &body, Code &code, ArrayRef<Axis> axes, Value index, ArrayRef<Value> pointers);
  SmallVector<Value> bases(KernelBody &body);
  /// Number of elements that are combined, as floats.
  Value countAsFloat(KernelBody &body, Code &code);

  static Value combine(Code &code, Kind kind, Value a, Value b);
  /// "exp" and the like, lane by lane where there is no code for vectors.
  static Value math(KernelBody &body, Code &code, StringRef op, Value value);
  static Value subtract(Code &code, Value a, Value b) { return arith::SubFOp::create(code.builder, code.loc, a, b); }
  static Value multiply(Code &code, Value a, Value b) { return arith::MulFOp::create(code.builder, code.loc, a, b); }
  static Value divide(Code &code, Value a, Value b) { return arith::DivFOp::create(code.builder, code.loc, a, b); }

  kernel::RootOpInterface op;
  PlanView &plan;
  MLIRContext *context;
  Epilogue epilogue;
  Axis line;
  SmallVector<Axis> kept, reduced; // the others, outermost first
  bool rows = false;               // the line is reduced
  DimExpr keptCount, count;        // units of rows; elements that are combined

private:
  using Leaf = llvm::function_ref<SmallVector<Value>(Value, Value)>;
  void addAxes(ArrayRef<int64_t> axes, std::optional<std::pair<int64_t, int64_t>> split);
  Cell cellAt(Code &code, ArrayRef<Value> pointers, Value offset, Value mask, unsigned vector);
  /// Combines what `leaf` gives for ranges of at most `size` of [0, count).
  SmallVector<Value> blocks(KernelBody &body, Code &code, DimExpr count, int64_t size, Kind kind, unsigned vectors,
                            Leaf leaf);
  Value reduceLine(KernelBody &body, Code &code, ArrayRef<Value> pointers, Kind kind, Element element, unsigned unroll);
  static Value identity(Code &code, Kind kind);
  static Value acrossLanes(Code &code, Kind kind, Value vector);

  unsigned vectors = 1; // of a unit of columns
  DimExpr tiles, runs;
};

} // namespace mopt
#endif
