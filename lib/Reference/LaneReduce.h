//===- LaneReduce.h - reductions whose order depends on sizes only ------------------------------------------------===//
//
// Numeric contract: element i of n goes to lane i mod L (L = 16 for f32, 8 for 64-bit types), each lane in ascending order;
// then lane j takes lane j + L/2, j < L/2, and so on. A float sum of more than 64 elements a lane has its elements in leaves
// of that many, and the sums of leaves are added by halves (Cascade). Layout, chunks and machine do not matter. Where
// elements are computed (exp, squares), that is a loop of its own over a block: in one loop with a sum the math would stay
// scalar.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_LANEREDUCE_H
#define MOPT_LIB_REFERENCE_LANEREDUCE_H
#include "Math.h"
#include "Panel.h"

namespace mopt {
namespace ref {

/// Kinds of reduction: first value, how two are combined, for one element or a vector of them, and whether the order of many
/// decides how exact the result is. (Factors round by as much in any order.)
template <class T> struct Sum {
  static constexpr bool cascades = isFloat<T>;
  static constexpr T first() { return 0; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) { return a + b; }
};
template <class T> struct Product {
  static constexpr bool cascades = false;
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
  static constexpr bool cascades = false;
  static constexpr T first() { return lowestOf<T>; }
  template <class V> static __attribute__((always_inline)) V combine(V a, V b) {
    V m = b > a ? b : a;
    return b != b ? b : m;
  }
};
template <class T> struct Smallest {
  static constexpr bool cascades = false;
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

/// `width` sums of many addends each. Leaf k of 2^h stands beside leaf k xor 1; their sum beside that of the next two, and so
/// on: rounding errors grow with the logarithm of the number of addends. In one chain they grow with the number: 3e6 equal
/// floats were off by 0.2 %, as what each adds is rounded the same way.
template <class T, int64_t width> struct Cascade {
  static constexpr int64_t leafSize = 64;
  static constexpr int levels = 24; // 2^30 addends; what is beyond is one chain of sums of half as many
  alignas(64) T halves[levels][width];
  uint64_t waiting = 0; // bit i: halves[i] holds the sum of 2^i leaves, for that of those beside it
  int64_t leaf = 0;

  /// Ends the leaf whose addends are in `sums`, which become 0, and begins leaf `next`. Leaves in between are empty.
  __attribute__((always_inline)) void turnTo(int64_t next, T *sums) {
    if (next == leaf) return;
    int top = 63 - __builtin_clzll((uint64_t)(leaf ^ next)); // at this level the two leaves are on either side
    top = top < levels ? top : levels - 1;
    takeUp(top + 1, sums);
    for (int64_t j = 0; j < width; ++j) halves[top][j] = sums[j], sums[j] = 0;
    waiting |= (uint64_t)1 << top;
    leaf = next;
  }
  __attribute__((always_inline)) void finish(T *sums) { takeUp(levels, sums); }

private:
  __attribute__((always_inline)) void takeUp(int end, T *sums) {
    for (int i = 0; i < end && waiting >> i; ++i)
      if (waiting >> i & 1)
        for (int64_t j = 0; j < width; ++j) sums[j] = halves[i][j] + sums[j];
    waiting = waiting >> end << end;
  }
};
/// Combines n elements for each of `width` results in `acc`: body(i, m) combines elements [i, i + m) into it.
template <class T, class Kind, int64_t width, class Body>
MOPT_INLINE void combineAll(int64_t n, int64_t perElement, T *acc, Body body) {
  for (int64_t j = 0; j < width; ++j) acc[j] = Kind::first();
  if constexpr (Kind::cascades) {
    Cascade<T, width> cascade;
    const int64_t leaf = cascade.leafSize * perElement;
    for (int64_t i = 0; i < n; i += leaf) {
      cascade.turnTo(i / leaf, acc);
      body(i, minOf(leaf, n - i));
    }
    cascade.finish(acc);
  } else {
    body(0, n);
  }
}

/// fetch(i, n, dst): elements [i, i + n) as they enter the reduction, n <= 64.
template <class T, class Kind, class Fetch> MOPT_INLINE T reduceLanes(int64_t n, Fetch fetch) {
  constexpr int64_t lanes = Lanes<T>::count, block = 64;
  using V = typename Lanes<T>::vector;
  alignas(64) T buffer[block], sums[lanes];
  combineAll<T, Kind, lanes>(n, lanes, sums, [&](int64_t first, int64_t count) MOPT_LAMBDA {
    V acc = loadLanes((const T *)sums);
    for (int64_t i = first; i < first + count; i += block) {
      int64_t m = minOf(block, first + count - i);
      fetch(i, m, (T *)buffer);
      for (int64_t j = m; j < ceilDiv(m, lanes) * lanes; ++j) buffer[j] = Kind::first();
      for (int64_t j = 0; j < m; j += lanes) acc = Kind::combine(acc, loadLanes((const T *)buffer + j));
    }
    storeLanes((T *)sums, acc);
  });
#pragma clang loop unroll(full)
  for (int64_t half = lanes / 2; half > 0; half /= 2)
#pragma clang loop unroll(full)
    for (int64_t j = 0; j < half; ++j) sums[j] = Kind::combine(sums[j], sums[j + half]);
  return sums[0];
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
