//===- MovementGather.cpp - elements by index, and back -----------------------------------------------------------===//
#include "Movement.h"

using namespace mopt::ref;

/// -1 counts from the end. False outside [-size, size), also for the smallest integer.
static inline __attribute__((always_inline)) bool normalizeIndex(int64_t &index, int64_t size) {
  int64_t given = index;
  if (given < 0) index = given + size;
  return index >= 0 && given < size;
}

MOPT_REFERENCE_FUNCTION(gather) {
  const mopt_tensor &data = in[0], &indices = in[1], &r = out[0];
  int64_t axis = attrInt(attr, MOPT_GATHER_AXIS);
  if (data.type != r.type) return MOPT_STEP_TYPE;
  if (!normalizeAxis(axis, data.rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, data.rank);
  if (int32_t status = expectSize(fault, 0, data.rank + indices.rank - 1, r.rank)) return status;
  int32_t at = (int32_t)axis, after = at + indices.rank; // result axes [at, after) are those of the indices
  for (int32_t i = 0; i < r.rank; ++i) {
    int64_t size = i < at ? data.dims[i] : i < after ? indices.dims[i - at] : data.dims[i - indices.rank + 1];
    if (int32_t status = expectSize(fault, i >= at && i < after ? 1 : 0, size, r.dims[i])) return status;
  }
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    return forEachRow(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
      int64_t source = 0, target = offsetOf(r, index), where = 0;
      for (int32_t i = 0; i < r.rank; ++i)
        if (i < at) source += index[i] * data.strides[i];
        else if (i < after) where += index[i] * indices.strides[i - at];
        else source += index[i] * data.strides[i - indices.rank + 1];
      bool byRow = after < r.rank; // one index for the whole row
      int64_t toStep = lastStride(r), fromStep = byRow ? data.strides[data.rank - 1] : 0;
      if (byRow || r.rank == 0 || indices.rank == 0) {
        int64_t i = load<int64_t>(indices, where), given = i;
        if (!normalizeIndex(i, data.dims[at])) return fail(fault, MOPT_STEP_INDEX, 1, given, data.dims[at]);
        source += i * data.strides[at];
        if (!byRow && r.rank) fromStep = data.strides[at - 1]; // a scalar index on the last axis: rows of the axis before
        for (int64_t j = 0; j < count; ++j) to.set(target + j * toStep, from.get(source + j * fromStep));
        return MOPT_STEP_OK;
      }
      for (int64_t j = 0; j < count; ++j) {
        int64_t i = load<int64_t>(indices, where + j * indices.strides[indices.rank - 1]), given = i;
        if (!normalizeIndex(i, data.dims[at])) return fail(fault, MOPT_STEP_INDEX, 1, given, data.dims[at]);
        to.set(target + j * toStep, from.get(source + i * data.strides[at]));
      }
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(gather_elements) {
  const mopt_tensor &data = in[0], &indices = in[1], &r = out[0];
  int64_t axis = attrInt(attr, MOPT_GATHER_ELEMENTS_AXIS);
  if (data.type != r.type) return MOPT_STEP_TYPE;
  if (!normalizeAxis(axis, data.rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, data.rank);
  if (int32_t status = expectDims(fault, 1, indices, r)) return status;
  if (int32_t status = expectSize(fault, 0, data.rank, r.rank)) return status;
  for (int32_t i = 0; i < r.rank; ++i)
    if (i != axis && r.dims[i] > data.dims[i]) return fail(fault, MOPT_STEP_SHAPE, 1, r.dims[i], data.dims[i]);
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t i = load<int64_t>(indices, offsetOf(indices, index)), given = i;
      if (!normalizeIndex(i, data.dims[axis])) return fail(fault, MOPT_STEP_INDEX, 1, given, data.dims[axis]);
      to.set(offsetOf(r, index), from.get(offsetOf(data, index) + (i - index[axis]) * data.strides[axis]));
      return MOPT_STEP_OK;
    });
  });
}
/// Offset in `data` of the tuple of indices at `where`; tuples index the axes from `batch` on.
static inline __attribute__((always_inline)) int32_t offsetOfTuple(const mopt_tensor &data, const mopt_tensor &indices,
                                                                   int64_t where, int32_t batch, int64_t length,
                                                                   int64_t &offset, mopt_fault *fault) {
  int64_t step = indices.strides[indices.rank - 1];
  for (int64_t k = 0; k < length; ++k) {
    int64_t i = load<int64_t>(indices, where + k * step), given = i;
    if (!normalizeIndex(i, data.dims[batch + k])) return fail(fault, MOPT_STEP_INDEX, 1, given, data.dims[batch + k]);
    offset += i * data.strides[batch + k];
  }
  return MOPT_STEP_OK;
}
MOPT_REFERENCE_FUNCTION(gather_nd) {
  const mopt_tensor &data = in[0], &indices = in[1], &r = out[0];
  int64_t batch = attrInt(attr, MOPT_GATHER_ND_BATCH_DIMS);
  if (data.type != r.type) return MOPT_STEP_TYPE;
  if (indices.rank < 1) return fail(fault, MOPT_STEP_SHAPE, 1, indices.rank, 1);
  int32_t tuples = indices.rank - 1;
  int64_t length = indices.dims[tuples];
  if (batch < 0 || batch > tuples || batch > data.rank || length > data.rank - batch)
    return fail(fault, MOPT_STEP_SHAPE, 1, length, data.rank - batch);
  int32_t first = (int32_t)(batch + length); // axis of `data` that is copied whole
  if (int32_t status = expectSize(fault, 0, tuples + data.rank - first, r.rank)) return status;
  for (int32_t i = 0; i < r.rank; ++i) {
    int64_t size = i < tuples ? indices.dims[i] : data.dims[first + i - tuples];
    if (int32_t status = expectSize(fault, i < tuples ? 1 : 0, size, r.dims[i])) return status;
    if (i < batch)
      if (int32_t status = expectSize(fault, 0, data.dims[i], r.dims[i])) return status;
  }
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t where = 0, source = 0;
      for (int32_t i = 0; i < tuples; ++i) {
        where += index[i] * indices.strides[i];
        if (i < batch) source += index[i] * data.strides[i];
      }
      for (int32_t i = tuples; i < r.rank; ++i) source += index[i] * data.strides[first + i - tuples];
      if (int32_t status = offsetOfTuple(data, indices, where, (int32_t)batch, length, source, fault)) return status;
      to.set(offsetOf(r, index), from.get(source));
      return MOPT_STEP_OK;
    });
  });
}

//===----------------------------------------------------------------------===//
// Scatter: serial, since indices may repeat; updates are applied in row-major order
//===----------------------------------------------------------------------===//
/// The choices of `reduction` have the same positions in both records.
enum Reduction { replace, addTo, multiply, largest, smallest };
static_assert(MOPT_SCATTER_ND_REDUCTION_MIN == smallest && MOPT_SCATTER_ELEMENTS_REDUCTION_MIN == smallest, "");

/// Calls f(update), which applies the update at offset `from` to the result at `to`.
template <class F>
static inline __attribute__((always_inline)) int32_t withReduction(const mopt_tensor &updates, const mopt_tensor &r,
                                                                   int64_t reduction, F f) {
  if (reduction == replace)
    return withElement(r.type, [&](auto kind) -> int32_t {
      auto source = kind.of(updates), target = kind.of(r);
      return f([=](int64_t from, int64_t to) { target.set(to, source.get(from)); });
    });
  return withCompute(r.type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    const void *source = updates.data;
    void *target = r.data;
    int32_t type = r.type;
    return f([=](int64_t from, int64_t to) {
      C old = loadAt<C>(target, type, to), value = loadAt<C>(source, type, from);
      C sum, product;
      if constexpr (isFloat<C>) {
        sum = old + value, product = old * value;
      } else {
        sum = (C)((uint64_t)old + (uint64_t)value), product = (C)((uint64_t)old * (uint64_t)value);
      }
      C larger = old > value || old != old ? old : value, smaller = old < value || old != old ? old : value;
      storeAt(target, type, to,
              reduction == addTo      ? sum
              : reduction == multiply ? product
              : reduction == largest  ? larger
                                      : smaller);
    });
  });
}
MOPT_REFERENCE_FUNCTION(scatter_elements) {
  const mopt_tensor &data = in[0], &indices = in[1], &updates = in[2], &r = out[0];
  int64_t axis = attrInt(attr, MOPT_SCATTER_ELEMENTS_AXIS);
  if (data.type != r.type || updates.type != r.type) return MOPT_STEP_TYPE;
  if (!normalizeAxis(axis, data.rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, data.rank);
  if (int32_t status = expectDims(fault, 0, data, r)) return status;
  if (int32_t status = expectDims(fault, 2, updates, indices)) return status;
  if (int32_t status = expectSize(fault, 1, indices.rank, r.rank)) return status;
  for (int32_t i = 0; i < r.rank; ++i)
    if (i != axis && indices.dims[i] > r.dims[i]) return fail(fault, MOPT_STEP_SHAPE, 1, indices.dims[i], r.dims[i]);
  if (int32_t status = copyFlat(data, r, 0, numElements(r))) return status;
  return withReduction(updates, r, attrInt(attr, MOPT_SCATTER_ELEMENTS_REDUCTION), [&](auto apply) -> int32_t {
    return forEachIndex(indices.dims, indices.rank, 0, numElements(indices), [&](const int64_t *index, int64_t) -> int32_t {
      int64_t i = load<int64_t>(indices, offsetOf(indices, index)), given = i;
      if (!normalizeIndex(i, r.dims[axis])) return fail(fault, MOPT_STEP_INDEX, 1, given, r.dims[axis]);
      apply(offsetOf(updates, index), offsetOf(r, index) + (i - index[axis]) * r.strides[axis]);
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(scatter_nd) {
  const mopt_tensor &data = in[0], &indices = in[1], &updates = in[2], &r = out[0];
  if (data.type != r.type || updates.type != r.type) return MOPT_STEP_TYPE;
  if (indices.rank < 1) return fail(fault, MOPT_STEP_SHAPE, 1, indices.rank, 1);
  int32_t tuples = indices.rank - 1;
  int64_t length = indices.dims[tuples];
  if (length > r.rank) return fail(fault, MOPT_STEP_SHAPE, 1, length, r.rank);
  if (int32_t status = expectDims(fault, 0, data, r)) return status;
  if (int32_t status = expectSize(fault, 2, updates.rank, tuples + r.rank - length)) return status;
  for (int32_t i = 0; i < updates.rank; ++i) {
    int64_t size = i < tuples ? indices.dims[i] : r.dims[length + i - tuples];
    if (int32_t status = expectSize(fault, 2, updates.dims[i], size)) return status;
  }
  if (int32_t status = copyFlat(data, r, 0, numElements(r))) return status;
  return withReduction(updates, r, attrInt(attr, MOPT_SCATTER_ND_REDUCTION), [&](auto apply) -> int32_t {
    return forEachIndex(updates.dims, updates.rank, 0, numElements(updates), [&](const int64_t *index, int64_t) -> int32_t {
      int64_t where = 0, target = 0;
      for (int32_t i = 0; i < tuples; ++i) where += index[i] * indices.strides[i];
      for (int32_t i = tuples; i < updates.rank; ++i) target += index[i] * r.strides[length + i - tuples];
      if (int32_t status = offsetOfTuple(r, indices, where, 0, length, target, fault)) return status;
      apply(offsetOf(updates, index), target);
      return MOPT_STEP_OK;
    });
  });
}
