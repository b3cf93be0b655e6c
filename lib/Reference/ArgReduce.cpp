//===- ArgReduce.cpp - ArgMax, ArgMin, CumSum, TopK ---------------------------------------------------------------===//
//
// ONNX: ArgMax, ArgMin, CumSum, TopK. Order of values: NaN counts as the largest number in TopK, as numpy sorts it, and wins
// in ArgMax and ArgMin, as in numpy.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Slice.h"
using namespace mopt::ref;

MOPT_REFERENCE_FUNCTION(arg_reduce) {
  const mopt_tensor &x = in[0], &y = out[0];
  int64_t axis = attrInt(attr, MOPT_ARG_REDUCE_AXIS), given = axis;
  if (!normalizeAxis(axis, x.rank ? x.rank : 1)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  bool smallest = attrInt(attr, MOPT_ARG_REDUCE_KIND) == MOPT_ARG_REDUCE_KIND_MIN;
  bool last = attrInt(attr, MOPT_ARG_REDUCE_SELECT_LAST_INDEX) != 0;
  int64_t results = sizeOf(x, 0, (int32_t)axis) * sizeOf(x, (int32_t)axis + 1, x.rank);
  if (numElements(y) != results) return fail(fault, MOPT_STEP_SHAPE, -1, numElements(y), results);
  if (sliceAlong(x, (int32_t)axis).size == 0 && results > 0) return fail(fault, MOPT_STEP_SHAPE, 0, 0, 1);
  return withCompute(x.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    constexpr int64_t block = 64;
    Slice s = sliceAlong(x, (int32_t)axis);
    T line[block];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t base = sliceOffset(s, unit), where = 0;
      T best = 0;
      for (int64_t i = 0; i < s.size; i += block) {
        int64_t n = minOf(block, s.size - i);
        loadSlice(s, base, i, n, (T *)line);
        for (int64_t j = 0; j < n; ++j) {
          T v = line[j];
          bool better = smallest ? v < best : v > best, equal = v == best;
          if constexpr (isFloat<T>) {
            better = (better && best == best) || (v != v && best == best);
            equal = equal || (v != v && best != best);
          }
          if (i + j == 0 || better || (last && equal)) best = v, where = i + j;
        }
      }
      uint64_t result = (uint64_t)where;
      storeRun((const uint64_t *)&result, y.data, y.type, offsetOfFlat(y, unit), 1, 1);
    }
    return MOPT_STEP_OK;
  });
}

// ONNX CumSum: one chain along the axis, from its end with `reverse`; without the element itself with `exclusive`.
MOPT_REFERENCE_FUNCTION(cumsum) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (numElements(in[1]) != 1) return fail(fault, MOPT_STEP_SHAPE, 1, numElements(in[1]), 1);
  int64_t given = (int64_t)loadOne<uint64_t>(in[1], 0), axis = given;
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, 1, given, x.rank);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  bool exclusive = attrInt(attr, MOPT_CUMSUM_EXCLUSIVE) != 0, reverse = attrInt(attr, MOPT_CUMSUM_REVERSE) != 0;
  if (begin >= end) return MOPT_STEP_OK;
  return withSum(x.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    Slice sx = sliceAlong(x, (int32_t)axis), sy = sliceAlong(y, (int32_t)axis);
    int64_t units = sizeOf(x, 0, (int32_t)axis) * sizeOf(x, (int32_t)axis + 1, x.rank);
    for (int64_t unit = 0; unit < units; ++unit) {
      int64_t from = sliceOffset(sx, unit), to = sliceOffset(sy, unit);
      T sum = 0;
      for (int64_t k = 0; k < sx.size; ++k) {
        int64_t i = reverse ? sx.size - 1 - k : k;
        T value = loadOne<T>(x, from + i * sx.stride), after = sum + value;
        storeRun(exclusive ? &sum : &after, y.data, y.type, to + i * sy.stride, 1, 1);
        sum = after;
      }
    }
    return MOPT_STEP_OK;
  });
}

namespace {
/// The k best elements so far, in the result tensors themselves: a heap whose root is the worst of them, then sorted.
template <class T> struct Heap {
  const mopt_tensor &values, &indices;
  int64_t valueBase, valueStride, indexBase, indexStride;
  bool largest;

  struct Entry {
    T value;
    int64_t index;
  };
  __attribute__((always_inline)) Entry get(int64_t i) const {
    return {loadOne<T>(values, valueBase + i * valueStride),
            (int64_t)loadOne<uint64_t>(indices, indexBase + i * indexStride)};
  }
  __attribute__((always_inline)) void set(int64_t i, Entry e) const {
    uint64_t index = (uint64_t)e.index;
    storeRun((const T *)&e.value, values.data, values.type, valueBase + i * valueStride, 1, 1);
    storeRun((const uint64_t *)&index, indices.data, indices.type, indexBase + i * indexStride, 1, 1);
  }
  /// Total order: the better value, then the lower index.
  __attribute__((always_inline)) bool better(Entry a, Entry b) const {
    bool aMore = a.value > b.value, bMore = b.value > a.value;
    if constexpr (isFloat<T>) {
      aMore = aMore || (a.value != a.value && b.value == b.value);
      bMore = bMore || (b.value != b.value && a.value == a.value);
    }
    if (aMore || bMore) return largest ? aMore : bMore;
    return a.index < b.index;
  }
  /// Puts `e` at or under place i of a heap of n.
  __attribute__((always_inline)) void sink(int64_t i, int64_t n, Entry e) const {
    for (;;) {
      int64_t child = 2 * i + 1;
      if (child >= n) break;
      Entry c = get(child);
      if (child + 1 < n) {
        Entry other = get(child + 1);
        if (better(c, other)) c = other, ++child;
      }
      if (!better(e, c)) break;
      set(i, c);
      i = child;
    }
    set(i, e);
  }
};
} // namespace

// ONNX TopK. Results are sorted also where that is left open (sorted = 0).
MOPT_REFERENCE_FUNCTION(topk) {
  const mopt_tensor &x = in[0], &values = out[0], &indices = out[1];
  int64_t axis = attrInt(attr, MOPT_TOPK_AXIS, -1), given = axis;
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  if (numElements(in[1]) != 1) return fail(fault, MOPT_STEP_SHAPE, 1, numElements(in[1]), 1);
  int64_t k = (int64_t)loadOne<uint64_t>(in[1], 0);
  if (k < 0 || k > x.dims[axis]) return fail(fault, MOPT_STEP_VALUE, 1, k, x.dims[axis]);
  if (values.rank != x.rank || !sameDims(values, indices)) return fail(fault, MOPT_STEP_SHAPE, -1, values.rank, x.rank);
  for (int32_t i = 0; i < x.rank; ++i) {
    int64_t expected = i == axis ? k : x.dims[i];
    if (values.dims[i] != expected) return fail(fault, MOPT_STEP_SHAPE, -1, values.dims[i], expected);
  }
  if (k == 0) return MOPT_STEP_OK;
  return withCompute(x.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    using Entry = typename Heap<T>::Entry;
    constexpr int64_t block = 64;
    Slice sx = sliceAlong(x, (int32_t)axis), sv = sliceAlong(values, (int32_t)axis), si = sliceAlong(indices, (int32_t)axis);
    T line[block];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit);
      Heap<T> heap = {values,
                      indices,
                      sliceOffset(sv, unit),
                      sv.stride,
                      sliceOffset(si, unit),
                      si.stride,
                      attrInt(attr, MOPT_TOPK_LARGEST, 1) != 0};
      Entry worst = {0, 0};
      for (int64_t i = 0; i < sx.size; i += block) {
        int64_t n = minOf(block, sx.size - i);
        loadSlice(sx, from, i, n, (T *)line);
        for (int64_t j = 0; j < n; ++j) {
          Entry e = {line[j], i + j};
          if (i + j < k) {
            heap.set(i + j, e);
            if (i + j + 1 < k) continue;
            for (int64_t p = k / 2; p-- > 0;) heap.sink(p, k, heap.get(p));
          } else {
            if (!heap.better(e, worst)) continue;
            heap.sink(0, k, e);
          }
          worst = heap.get(0);
        }
      }
      for (int64_t n = k - 1; n > 0; --n) { // the worst goes to the end
        Entry root = heap.get(0), moved = heap.get(n);
        heap.set(n, root);
        heap.sink(0, n, moved);
      }
    }
    return MOPT_STEP_OK;
  });
}
