//===- Int8Tile.h - sums of products of bytes in registers ---------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_INT8TILE_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_INT8TILE_H

#include "Code.h"
#include "mopt/Conversion/Schedule.h"

namespace mopt {

/// The sums of a tile of `rows` by `panels` * 16 elements, as vectors of i32 that are as wide as the dot instruction of the
/// CPU. One step adds four products to each sum, exact modulo 2^32: the same bits whatever the instruction.
class Int8Tile {
public:
  /// `half`: the last panel has at most 8 columns that matter.
  Int8Tile(Code &code, Dot dot, bool isUnsigned, unsigned rows, unsigned panels, bool half)
      : code(code), dot(dot), isUnsigned(isUnsigned), half(half), rows(rows), panels(panels) {}

  /// Sums of nothing: what loops carry.
  SmallVector<Value> zeros();
  /// Adds the products of `bytes` elements of k (at most 4) at the position `at`, counted in groups of four: of the rows and
  /// panels that begin at these addresses. Bytes past the `bytes` are not read.
  SmallVector<Value> step(ArrayRef<Value> rowPointers, ArrayRef<Value> panelPointers, Value at, SmallVector<Value> sums,
                          unsigned bytes = 4);
  /// rows * panels vectors of 16 i32.
  SmallVector<Value> finish(ArrayRef<Value> sums);

private:
  int64_t lanes() const; // sums of one vector
  /// Vectors of a panel that are computed.
  unsigned chunks(unsigned panel) const {
    int64_t columns = half && panel + 1 == panels ? 8 : Code::width;
    return (columns + lanes() - 1) / lanes();
  }
  /// Whether bytes of a change their sign to suit the instruction; what that adds to the sums is summed up beside them.
  bool isFlipped() const { return dot == Dot::sdot ? isUnsigned : isVnni() && !isUnsigned; }
  bool isVnni() const { return dot == Dot::vnni256 || dot == Dot::vnni512; }

  VectorType ints() const { return VectorType::get({lanes()}, code.builder.getI32Type()); }
  VectorType words() const { return VectorType::get({2 * lanes()}, code.builder.getI16Type()); }
  VectorType bytesType() const { return VectorType::get({4 * lanes()}, code.builder.getI8Type()); }
  Value splat(Value word);
  Value constant(VectorType type, int64_t value);
  Value cast(Type type, Value value) { return LLVM::BitcastOp::create(code.builder, code.loc, type, value); }
  Value intrinsic(StringRef name, Type type, ValueRange operands);
  Value loadWord(Value pointer, unsigned bytes);

  /// What a vector of weights becomes once for all rows, and four bytes of a row once for all panels.
  SmallVector<Value> weights(Value address);
  SmallVector<Value> row(Value word);
  Value add(Value sum, ArrayRef<Value> weights, ArrayRef<Value> row);

  Code &code;
  Dot dot;
  bool isUnsigned, half;
  unsigned rows, panels;
};

} // namespace mopt
#endif
