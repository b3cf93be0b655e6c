//===- LaneReduce.h - reductions whose order depends on sizes only ------------------------------------------------===//
//
// Numeric contract: element i of n goes to lane i mod L (L = 16 for f32, 8 for 64-bit types), each lane in ascending order;
// then lane j takes lane j + L/2, j < L/2, and so on. Layout, chunks and machine do not matter. Where elements are computed
// (exp, squares), that is a loop of its own over a block: in one loop with a sum the math would stay scalar.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_LANEREDUCE_H
#define MOPT_LIB_REFERENCE_LANEREDUCE_H
#include "Math.h"
#include "Panel.h"

namespace mopt {
namespace ref {

/// Kinds of reduction: first value, and how two are combined, for one element or a vector of them.
template <class T> struct Sum {
  static constexpr T first() { return 0; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) { return a + b; }
};
template <class T> struct Product {
  static constexpr T first() { return 1; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) { return a * b; }
};
template <class T>
constexpr T lowestOf = isSame<T, float>     ? (T)-__builtin_inff()
                       : isSame<T, double>  ? (T)-__builtin_inf()
                       : isSame<T, int64_t> ? (T)INT64_MIN
                                            : (T)0;
template <class T>
constexpr T highestOf = isSame<T, float>     ? (T)__builtin_inff()
                        : isSame<T, double>  ? (T)__builtin_inf()
                        : isSame<T, int64_t> ? (T)INT64_MAX
                                             : (T)UINT64_MAX;
/// NaN wins, as in numpy.
template <class T> struct Largest {
  static constexpr T first() { return lowestOf<T>; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) {
    V m = b > a ? b : a;
    return b != b ? b : m;
  }
};
template <class T> struct Smallest {
  static constexpr T first() { return highestOf<T>; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) {
    V m = b < a ? b : a;
    return b != b ? b : m;
  }
};

/// Integers wrap: they are combined as unsigned ones (not for Largest and Smallest).
template <class T> struct Wrapping {
  using type = T;
};
template <> struct Wrapping<int64_t> {
  using type = uint64_t;
};

/// fetch(i, n, dst): elements [i, i + n) as they enter the reduction, n <= 64.
template <class T, class Kind, class Fetch> MOPT_INLINE T reduceLanes(int64_t n, Fetch fetch) {
  constexpr int64_t lanes = Lanes<T>::count, block = 64;
  using V = typename Lanes<T>::vector;
  alignas(64) T buffer[block];
  V acc = (V)Kind::first();
  for (int64_t i = 0; i < n; i += block) {
    int64_t m = minOf(block, n - i);
    fetch(i, m, (T *)buffer);
    for (int64_t j = m; j < ceilDiv(m, lanes) * lanes; ++j) buffer[j] = Kind::first();
    for (int64_t j = 0; j < m; j += lanes) acc = Kind::combine(acc, loadLanes((const T *)buffer + j));
  }
  storeLanes((T *)buffer, acc);
#pragma clang loop unroll(full)
  for (int64_t half = lanes / 2; half > 0; half /= 2)
#pragma clang loop unroll(full)
    for (int64_t j = 0; j < half; ++j) buffer[j] = Kind::combine(buffer[j], buffer[j + half]);
  return buffer[0];
}

/// |x|^p in place, for ONNX's p-norms.
template <class T> MOPT_INLINE void powers(T *x, int64_t n, int64_t p) {
  if (p == 1)
    for (int64_t i = 0; i < n; ++i) x[i] = abs(x[i]);
  else if (p == 2)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
  else
    for (int64_t i = 0; i < n; ++i) x[i] = pow(abs(x[i]), (T)p);
}
/// x^(1/p) in place.
template <class T> MOPT_INLINE void rootOf(T *x, int64_t n, int64_t p) {
  if (p == 2)
    for (int64_t i = 0; i < n; ++i) x[i] = sqrt(x[i]);
  else if (p != 1)
    for (int64_t i = 0; i < n; ++i) x[i] = pow(x[i], (T)1 / (T)p);
}

} // namespace ref
} // namespace mopt
#endif
