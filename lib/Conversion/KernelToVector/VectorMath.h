//===- VectorMath.h - elementwise ops on vectors -------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_VECTORMATH_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_VECTORMATH_H

#include "Code.h"

namespace mopt {

/// The code of an elementwise mopt op ("add", "relu", ...) on vectors of 16 floats, booleans being vectors of i1; null when
/// there is none for the op or its attributes. Attributes are those of the op's record that are set.
Value vectorOp(Code &code, StringRef op, DictionaryAttr attrs, ArrayRef<Value> operands);
/// The same on one float, in ops of arith and math, which have no need of LLVM; null also for what is computed in doubles.
Value scalarOp(Code &code, StringRef op, DictionaryAttr attrs, ArrayRef<Value> operands);
/// Whether `vectorOp` is cheap enough to be repeated for every register of a tile: a few instructions.
bool isCheap(StringRef op);

/// exp of numbers that are not positive, as in softmax: results below the smallest normal number are zero, which makes it
/// cheaper than the op "exp".
Value vectorExpOfNegative(Code &code, Value x);

} // namespace mopt
#endif
