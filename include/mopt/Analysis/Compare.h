//===- Compare.h - are two tensors the same, within a tolerance ---------------------------------------------------===//
#ifndef MOPT_ANALYSIS_COMPARE_H
#define MOPT_ANALYSIS_COMPARE_H

#include "mopt/Analysis/Interpreter.h"

namespace mopt {

/// An element may be off by rtol * |expected| + atol * (largest finite |expected| of the tensor). Negative: the default of
/// the element type. Integers and booleans have to be equal.
struct Tolerance {
  double rtol = -1, atol = -1;
  Tolerance forType(int32_t dtype) const;
};

struct Difference {
  std::string what;   // of types or sizes, when these differ; else empty
  int64_t index = -1; // of the worst element, flat
  double got = 0, expected = 0;
  double excess = 0;                              // error / allowed error
  int64_t count = 0;                              // elements out of tolerance
  std::string text(ArrayRef<int64_t> dims) const; // "element [0, 3]: got 1, expected 2; 5 elements are out of tolerance"
};
/// The worst element out of tolerance, or nothing. NaN equals NaN, and an infinity the same infinity.
std::optional<Difference> compare(const TensorData &got, const TensorData &expected, const Tolerance &tolerance);

/// Element `index` as a double (large 64-bit integers lose bits).
double elementAsDouble(const TensorData &tensor, int64_t index);

} // namespace mopt
#endif
