//===- Movement.h - what ops share that move elements -------------------------------------------------------------===//
//
// Sizes of results are decided before (shape inference, or the run-time shape function): here they are held against what
// the operands say now, so that no value of an operand can lead outside a tensor.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_MOVEMENT_H
#define MOPT_LIB_REFERENCE_MOVEMENT_H
#include "Elementwise.h"

namespace mopt {
namespace ref {

/// Elements of a one-dimensional operand; a scalar counts as one.
MOPT_INLINE int64_t listSize(const mopt_tensor &t) { return t.rank == 0 ? 1 : t.dims[0]; }
MOPT_INLINE int64_t listAt(const mopt_tensor &t, int64_t i) { return load<int64_t>(t, t.rank == 0 ? 0 : i * t.strides[0]); }

/// Status of `got` against the size that is expected.
MOPT_INLINE int32_t expectSize(mopt_fault *fault, int32_t operand, int64_t got, int64_t expected) {
  return got == expected ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_SHAPE, operand, got, expected);
}
/// Status of all sizes of `t` against those of `out`.
MOPT_INLINE int32_t expectDims(mopt_fault *fault, int32_t operand, const mopt_tensor &t, const mopt_tensor &out) {
  if (int32_t status = expectSize(fault, operand, t.rank, out.rank)) return status;
  for (int32_t i = 0; i < t.rank; ++i)
    if (int32_t status = expectSize(fault, operand, t.dims[i], out.dims[i])) return status;
  return MOPT_STEP_OK;
}

/// Calls f(index, flat, count) for each row (last axis) or part of one in the flat positions [begin, end) of `dims`: what
/// depends on outer axes only is then computed once a row. `index` is that of the first element.
template <class F> MOPT_INLINE int32_t forEachRow(const int64_t *dims, int32_t rank, int64_t begin, int64_t end, F f) {
  int64_t index[MOPT_MAX_RANK] = {};
  if (begin >= end) return MOPT_STEP_OK;
  unravel(begin, dims, rank, index);
  int64_t columns = rank ? dims[rank - 1] : 1;
  for (int64_t flat = begin; flat < end;) {
    int64_t count = columns - (rank ? index[rank - 1] : 0);
    if (count > end - flat) count = end - flat;
    if (int32_t status = f((const int64_t *)index, flat, count)) return status;
    flat += count;
    if (rank) index[rank - 1] = 0;
    advance(dims, rank - 1, index);
  }
  return MOPT_STEP_OK;
}
MOPT_INLINE int64_t lastStride(const mopt_tensor &t) { return t.rank ? t.strides[t.rank - 1] : 0; }

/// Result element at an index is the element of `in` at `offset` plus that index times `strides` (one per axis of `out`).
MOPT_INLINE int32_t copyStrided(const mopt_tensor &in, int64_t offset, const int64_t *strides, const mopt_tensor &out,
                                int64_t begin, int64_t end) {
  return withElement(out.type, [&](auto kind) -> int32_t {
    auto from = kind.of(in), to = kind.of(out);
    int64_t fromStep = out.rank ? strides[out.rank - 1] : 0, toStep = lastStride(out);
    return forEachRow(out.dims, out.rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
      int64_t source = offset, target = 0;
      for (int32_t i = 0; i < out.rank; ++i) {
        source += index[i] * strides[i];
        target += index[i] * out.strides[i];
      }
      for (int64_t j = 0; j < count; ++j) to.set(target + j * toStep, from.get(source + j * fromStep));
      return MOPT_STEP_OK;
    });
  });
}
/// The same elements in row-major order under other sizes.
MOPT_INLINE int32_t copyFlat(const mopt_tensor &in, const mopt_tensor &out, int64_t begin, int64_t end) {
  if (in.data == out.data && isContiguous(in) && isContiguous(out)) return MOPT_STEP_OK;
  return withElement(out.type, [&](auto kind) -> int32_t {
    auto from = kind.of(in), to = kind.of(out);
    if (isContiguous(in) && isContiguous(out)) {
      for (int64_t i = begin; i < end; ++i) to.set(i, from.get(i));
      return MOPT_STEP_OK;
    }
    int64_t source[MOPT_MAX_RANK] = {};
    if (begin < end) unravel(begin, in.dims, in.rank, source);
    return forEachIndex(out.dims, out.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      to.set(offsetOf(out, index), from.get(offsetOf(in, source)));
      advance(in.dims, in.rank, source);
      return MOPT_STEP_OK;
    });
  });
}

} // namespace ref
} // namespace mopt
#endif
