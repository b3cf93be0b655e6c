//===- Reduce.cpp - ReduceSum and its kin -------------------------------------------------------------------------===//
//
// ONNX: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp,
// ReduceSumSquare. Where the last axis is reduced, the elements are combined by lanes (LaneReduce.h), counted in row-major
// order over the reduced axes; where it stays, each result combines them in that order, long sums by halves (Cascade), and
// vectors run over the last axis.
// float16 and bfloat16 accumulate in f32. Integer sums wrap; a mean of integers and roots and logarithms truncate.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
using namespace mopt::ref;

namespace {
/// The axes that stay and those that are reduced, each with sizes and strides, in their order.
struct Axes {
  int32_t nkept, nreduced;
  int64_t keptDims[MOPT_MAX_RANK], keptStrides[MOPT_MAX_RANK];
  int64_t dims[MOPT_MAX_RANK], strides[MOPT_MAX_RANK];
  int64_t count, results; // elements of one result; results
  bool adjacent;          // the reduced elements have one stride, `step`
  int64_t step;
  bool lastStays;
};
MOPT_INLINE int32_t makeAxes(const mopt_tensor &x, const mopt_tensor *axes, bool noop, Axes &a, mopt_fault *fault) {
  uint32_t reduced = 0;
  int64_t n = axes ? numElements(*axes) : 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t given = (int64_t)loadOne<uint64_t>(*axes, i * (axes->rank > 0 ? axes->strides[axes->rank - 1] : 0)),
            axis = given;
    if (!normalizeAxis(axis, x.rank ? x.rank : 1)) return fail(fault, MOPT_STEP_VALUE, 1, given, x.rank);
    reduced |= 1u << axis;
  }
  if (n == 0 && !noop) reduced = ~0u;
  a.nkept = a.nreduced = 0;
  a.count = a.results = 1;
  for (int32_t i = 0; i < x.rank; ++i) {
    if (reduced >> i & 1) {
      a.dims[a.nreduced] = x.dims[i];
      a.strides[a.nreduced++] = x.strides[i];
      a.count *= x.dims[i];
    } else {
      a.keptDims[a.nkept] = x.dims[i];
      a.keptStrides[a.nkept++] = x.strides[i];
      a.results *= x.dims[i];
    }
  }
  a.lastStays = x.rank > 0 && !(reduced >> (x.rank - 1) & 1);
  a.adjacent = true;
  a.step = 1;
  int64_t expected = 0;
  for (int32_t i = a.nreduced; i-- > 0;) {
    if (a.dims[i] == 1) continue;
    if (expected == 0) a.step = expected = a.strides[i];
    if (a.strides[i] != expected) a.adjacent = false;
    expected *= a.dims[i];
  }
  return MOPT_STEP_OK;
}
/// Offset of position `flat` of axes.
MOPT_INLINE int64_t flatOffset(const int64_t *dims, const int64_t *strides, int32_t n, int64_t flat) {
  int64_t offset = 0;
  for (int32_t i = n; i-- > 0;) {
    int64_t dim = dims[i] > 0 ? dims[i] : 1;
    offset += flat % dim * strides[i];
    flat /= dim;
  }
  return offset;
}
/// Reduced elements [i, i + n) of the result at `base`.
template <class T>
MOPT_INLINE void loadReduced(const mopt_tensor &x, const Axes &a, int64_t base, int64_t i, int64_t n, T *dst) {
  if (a.adjacent) return loadRun(dst, x.data, x.type, base + i * a.step, a.step, n);
  int64_t inner = a.dims[a.nreduced - 1], step = a.strides[a.nreduced - 1];
  while (n > 0) { // cut at the ends of the innermost axis
    int64_t at = i % inner, m = minOf(n, inner - at);
    loadRun(dst, x.data, x.type, base + flatOffset(a.dims, a.strides, a.nreduced, i), step, m);
    dst += m, i += m, n -= m;
  }
}

/// One reduction for all results [begin, end). prepare(dst, n, which, n results before): elements as they enter; finish: the
/// result of a finished chain. `line` has a value per result, `which` counts from the first of them.
template <class T, class Kind, class Prepare, class Finish>
MOPT_INLINE void reduceAll(const mopt_tensor &x, const Axes &a, int64_t begin, int64_t end, Prepare prepare, Finish finish) {
  constexpr int64_t width = 64;
  alignas(64) T acc[width], line[width];
  if (a.lastStays) {
    int64_t row = a.keptDims[a.nkept - 1], step = a.keptStrides[a.nkept - 1];
    for (int64_t first = begin; first < end;) {
      int64_t n = minOf(minOf(width, end - first), row - first % row),
              base = flatOffset(a.keptDims, a.keptStrides, a.nkept, first);
      auto pass = [&](auto kind, const T *with, auto before) MOPT_LAMBDA {
        using K = decltype(kind);
        combineAll<T, K, width>(a.count, 1, acc, [&](int64_t from, int64_t count) MOPT_LAMBDA {
          for (int64_t i = from; i < from + count; ++i) {
            int64_t offset = base + (a.adjacent ? i * a.step : flatOffset(a.dims, a.strides, a.nreduced, i));
            loadRun(line, x.data, x.type, offset, step, n);
            for (int64_t j = 0; j < n; ++j) line[j] = before(line[j], with[j]);
            for (int64_t j = 0; j < n; ++j) acc[j] = K::combine(acc[j], line[j]);
          }
        });
      };
      alignas(64) T with[width];
      fillRun(with, (T)0, width);
      if (Prepare::needsLargest) {
        pass(Largest<T>(), (const T *)with, [](T v, T) MOPT_LAMBDA { return v; });
        for (int64_t j = 0; j < n; ++j) with[j] = Prepare::shift(acc[j]);
      }
      pass(Kind(), (const T *)with, prepare);
      finish(first, n, (T *)acc, (const T *)with);
      first += n;
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t base = flatOffset(a.keptDims, a.keptStrides, a.nkept, i);
    T with = 0;
    if (Prepare::needsLargest)
      with = Prepare::shift(reduceLanes<T, Largest<T>>(a.count, [&](int64_t k, int64_t n, T *dst)
                                                                    MOPT_LAMBDA { loadReduced(x, a, base, k, n, dst); }));
    acc[0] = reduceLanes<T, Kind>(a.count, [&](int64_t k, int64_t n, T *dst) MOPT_LAMBDA {
      loadReduced(x, a, base, k, n, dst);
      for (int64_t j = 0; j < n; ++j) dst[j] = prepare(dst[j], with);
    });
    finish(i, 1, (T *)acc, (const T *)&with);
  }
}

/// What happens to an element before it is combined.
struct Plain {
  static constexpr bool needsLargest = false;
  template <class T> static T shift(T v) { return v; }
  template <class T> __attribute__((always_inline)) T operator()(T v, T) const { return v; }
};
struct Absolute : Plain {
  template <class T> __attribute__((always_inline)) T operator()(T v, T) const {
    if constexpr (isFloat<T>) return abs(v);
    else return (int64_t)v < 0 ? (T)0 - v : v; // signed: computed as unsigned, which wraps
  }
};
struct Square : Plain {
  template <class T> __attribute__((always_inline)) T operator()(T v, T) const { return v * v; }
};
struct Exponential {
  static constexpr bool needsLargest = true;
  /// The largest element goes into the exponent and comes out of the logarithm; an infinite one would give NaN.
  template <class T> static __attribute__((always_inline)) T shift(T v) { return v - v == 0 ? v : (T)0; }
  template <class T> __attribute__((always_inline)) T operator()(T v, T largest) const { return exp(v - largest); }
};

enum After { nothing, divide, root, logarithm, logarithmPlus };
template <class T, class Kind, After after, class Prepare>
MOPT_INLINE void run(const mopt_tensor &x, const mopt_tensor &y, const Axes &a, int64_t begin, int64_t end,
                     Prepare prepare) {
  bool isSigned = computeOf(x.type) == Compute::i64;
  reduceAll<T, Kind>(x, a, begin, end, prepare, [&](int64_t first, int64_t n, T *acc, const T *with) MOPT_LAMBDA {
    if constexpr (after == divide) {
      for (int64_t j = 0; j < n; ++j) {
        if constexpr (isFloat<T>) acc[j] = acc[j] / (T)a.count;
        else acc[j] = a.count == 0 ? 0 : isSigned ? (T)((int64_t)acc[j] / a.count) : acc[j] / (T)a.count;
      }
    }
    if constexpr (after == nothing && isSame<T, int64_t>) {
      // The largest of nothing is the smallest of the element type, not of the compute type.
      int32_t bits = y.type == MOPT_I8 ? 8 : y.type == MOPT_I16 ? 16 : y.type == MOPT_I32 ? 32 : 64;
      int64_t least = INT64_MIN >> (64 - bits), most = INT64_MAX >> (64 - bits);
      if (a.count == 0)
        for (int64_t j = 0; j < n; ++j) acc[j] = acc[j] < least ? least : acc[j] > most ? most : acc[j];
    }
    if constexpr (after == root)
      for (int64_t j = 0; j < n; ++j) acc[j] = sqrt(acc[j]);
    if constexpr (after == logarithm || after == logarithmPlus)
      for (int64_t j = 0; j < n; ++j) acc[j] = log(acc[j]);
    if constexpr (after == logarithmPlus)
      for (int64_t j = 0; j < n; ++j) acc[j] = acc[j] + with[j];
    if (isContiguous(y)) return storeRun(acc, y.data, y.type, first, 1, n);
    for (int64_t j = 0; j < n; ++j) storeRun(acc + j, y.data, y.type, offsetOfFlat(y, first + j), 1, 1);
  });
}
} // namespace

MOPT_REFERENCE_FUNCTION(reduce) {
  const mopt_tensor &x = in[0], &y = out[0];
  Axes a;
  if (int32_t status = makeAxes(x, operand(in, nin, 1), attrInt(attr, MOPT_REDUCE_NOOP_WITH_EMPTY_AXES) != 0, a, fault))
    return status;
  if (numElements(y) != a.results) return fail(fault, MOPT_STEP_SHAPE, -1, numElements(y), a.results);
  int64_t kind = attrInt(attr, MOPT_REDUCE_KIND);
  // Sums: floats as they are, integers modulo 2^64. Order: as they are. Roots and logarithms of integers: in f64.
  if (kind == MOPT_REDUCE_KIND_MAX || kind == MOPT_REDUCE_KIND_MIN)
    return withCompute(x.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
      using T = decltype(zero);
      if (kind == MOPT_REDUCE_KIND_MAX) run<T, Largest<T>, nothing>(x, y, a, begin, end, Plain());
      else run<T, Smallest<T>, nothing>(x, y, a, begin, end, Plain());
      return MOPT_STEP_OK;
    });
  if (kind == MOPT_REDUCE_KIND_L2 || kind == MOPT_REDUCE_KIND_LOG_SUM || kind == MOPT_REDUCE_KIND_LOG_SUM_EXP) {
    auto body = [&](auto zero) MOPT_LAMBDA -> int32_t {
      using T = decltype(zero);
      if (kind == MOPT_REDUCE_KIND_L2) run<T, Sum<T>, root>(x, y, a, begin, end, Square());
      else if (kind == MOPT_REDUCE_KIND_LOG_SUM) run<T, Sum<T>, logarithm>(x, y, a, begin, end, Plain());
      else run<T, Sum<T>, logarithmPlus>(x, y, a, begin, end, Exponential());
      return MOPT_STEP_OK;
    };
    return computeOf(x.type) == Compute::none  ? (int32_t)MOPT_STEP_TYPE
           : computeOf(x.type) == Compute::f32 ? body(0.0f)
                                               : body(0.0);
  }
  return withSum(x.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    switch (kind) {
    case MOPT_REDUCE_KIND_SUM:
      run<T, Sum<T>, nothing>(x, y, a, begin, end, Plain());
      break;
    case MOPT_REDUCE_KIND_MEAN:
      run<T, Sum<T>, divide>(x, y, a, begin, end, Plain());
      break;
    case MOPT_REDUCE_KIND_PROD:
      run<T, Product<T>, nothing>(x, y, a, begin, end, Plain());
      break;
    case MOPT_REDUCE_KIND_L1:
      if (computeOf(x.type) == Compute::u64) run<T, Sum<T>, nothing>(x, y, a, begin, end, Plain());
      else run<T, Sum<T>, nothing>(x, y, a, begin, end, Absolute());
      break;
    case MOPT_REDUCE_KIND_SUM_SQUARE:
      run<T, Sum<T>, nothing>(x, y, a, begin, end, Square());
      break;
    default:
      return fail(fault, MOPT_STEP_VALUE, -1, kind, MOPT_REDUCE_KIND_SUM_SQUARE);
    }
    return MOPT_STEP_OK;
  });
}
