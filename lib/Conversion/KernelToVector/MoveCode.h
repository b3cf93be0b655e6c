//===- MoveCode.h - rows and tiles of a copy -----------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_MOVECODE_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_MOVECODE_H

#include "Epilogue.h"

namespace mopt {

/// Where a copy reads and writes: offsets or strides in elements, or pointers.
struct RowPlace {
  Value from, to;
  SmallVector<Value> extras; // of the epilogue
};

/// Code that copies elements of any type of 1, 2, 4 or 8 bytes. An epilogue (f32 only) works on vectors of 16.
class MoveCode {
public:
  MoveCode(KernelBody &body, Code &code, const Epilogue &epilogue, Type element, int64_t bytes)
      : body(body), code(code), epilogue(epilogue), bytes(bytes),
        type(element.isF32() ? element : Type(code.builder.getIntegerType(bytes * 8))), lanes(64 / bytes) {}

  /// Pointers from the bases and the offsets in `offsets`.
  RowPlace pointers(const RowPlace &offsets, Value from, Value to, ArrayRef<Value> extras);
  /// The pointers after `by` steps.
  RowPlace advance(const RowPlace &pointers, const RowPlace &steps, Value by);
  /// `count` elements.
  void row(const RowPlace &first, const RowPlace &steps, Value count);
  /// rows x columns elements where rows are adjacent in the source, columns in the result; both at least 8.
  void tiles(const RowPlace &first, const RowPlace &p, const RowPlace &q, Value rows, Value columns);

  /// `count` positions of `channels` elements each, adjacent in the result and in planes in the source: to[i * channels + c]
  /// from plane c. With `apart`, the other way round.
  void channels(const RowPlace &first, Value planeStep, int64_t channels, Value count, bool apart);

private:
  Value at(Value pointer, Value elements);
  Value at(Value pointer, int64_t elements) { return at(pointer, code.i64(elements)); }
  Value load(Value pointer, int64_t count);
  void store(Value vector, Value pointer);
  Value shuffle(Value a, Value b, ArrayRef<int32_t> lanes);
  Value splat(Value scalar, int64_t count);
  Value pick(ArrayRef<Value> vectors, llvm::function_ref<int64_t(int64_t)> flat);
  void plainRow(const RowPlace &first, bool still, Value count);
  void stridedRow(const RowPlace &first, const RowPlace &steps, Value count);
  void epilogueRow(const RowPlace &first, const RowPlace &steps, Value count);
  void tile(const RowPlace &first, const RowPlace &p, const RowPlace &q);

  KernelBody &body;
  Code &code;
  const Epilogue &epilogue;
  int64_t bytes;
  Type type;
  int64_t lanes; // of 64 bytes
};

} // namespace mopt
#endif
