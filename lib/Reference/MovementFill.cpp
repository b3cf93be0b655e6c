//===- MovementFill.cpp - results made from sizes, scalars and positions ------------------------------------------===//
#include "Movement.h"

using namespace mopt::ref;

MOPT_REFERENCE_FUNCTION(shape) {
  int64_t rank = in[0].rank, first = attrInt(attr, MOPT_SHAPE_START), last = attrInt(attr, MOPT_SHAPE_END, rank);
  first = first < 0 ? first + rank : first;
  last = last < 0 ? last + rank : last;
  first = first < 0 ? 0 : first > rank ? rank : first;
  last = last < 0 ? 0 : last > rank ? rank : last;
  int64_t count = last > first ? last - first : 0;
  if (out[0].rank != 1) return fail(fault, MOPT_STEP_SHAPE, 0, out[0].rank, 1);
  if (int32_t status = expectSize(fault, 0, count, out[0].dims[0])) return status;
  for (int64_t i = 0; i < count; ++i) store<int64_t>(out[0], i * out[0].strides[0], in[0].dims[first + i]);
  return MOPT_STEP_OK;
}
MOPT_REFERENCE_FUNCTION(size) {
  store<int64_t>(out[0], 0, numElements(in[0]));
  return MOPT_STEP_OK;
}
MOPT_REFERENCE_FUNCTION(constant_of_shape) {
  const mopt_tensor &r = out[0];
  if (in[1].type != r.type) return MOPT_STEP_TYPE;
  if (numElements(in[1]) != 1) return fail(fault, MOPT_STEP_SHAPE, 1, numElements(in[1]), 1);
  if (int32_t status = expectSize(fault, 0, listSize(in[0]), r.rank)) return status;
  for (int32_t i = 0; i < r.rank; ++i)
    if (int32_t status = expectSize(fault, 0, listAt(in[0], i), r.dims[i])) return status;
  const int64_t strides[MOPT_MAX_RANK] = {};
  return copyStrided(in[1], 0, strides, r, begin, end);
}
/// start + i * delta. As many elements as there are multiples before `limit`; floats divide in double.
MOPT_REFERENCE_FUNCTION(range) {
  const mopt_tensor &r = out[0];
  if (in[0].type != r.type || in[1].type != r.type || in[2].type != r.type) return MOPT_STEP_TYPE;
  if (r.rank != 1) return fail(fault, MOPT_STEP_SHAPE, 0, r.rank, 1);
  return withCompute(r.type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    C start = load<C>(in[0], 0), limit = load<C>(in[1], 0), delta = load<C>(in[2], 0);
    if (delta == 0) return fail(fault, MOPT_STEP_VALUE, 2, 0, 0);
    int64_t count = 0;
    if constexpr (isFloat<C>) {
      double steps = ceil((double)(limit - start) / (double)delta);
      count = steps > 0.0 ? truncateToI64(steps) : 0;
    } else {
      bool up = delta > 0;
      uint64_t span = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
      uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta;
      if (up ? limit > start : limit < start) count = (int64_t)((span - 1) / step) + 1;
    }
    if (int32_t status = expectSize(fault, 1, count, r.dims[0])) return status;
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (isFloat<C>) store(r, i * r.strides[0], start + (C)i * delta);
      else store(r, i * r.strides[0], (C)((uint64_t)start + (uint64_t)i * (uint64_t)delta));
    }
    return MOPT_STEP_OK;
  });
}
MOPT_REFERENCE_FUNCTION(one_hot) {
  const mopt_tensor &indices = in[0], &values = in[2], &r = out[0];
  int64_t axis = attrInt(attr, MOPT_ONE_HOT_AXIS, -1), depth = load<int64_t>(in[1], 0);
  if (values.type != r.type) return MOPT_STEP_TYPE;
  if (!normalizeAxis(axis, r.rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, r.rank);
  if (int32_t status = expectSize(fault, 0, indices.rank + 1, r.rank)) return status;
  if (values.rank != 1 || values.dims[0] != 2) return fail(fault, MOPT_STEP_SHAPE, 2, numElements(values), 2);
  if (int32_t status = expectSize(fault, 1, depth, r.dims[axis])) return status;
  for (int32_t i = 0; i < indices.rank; ++i)
    if (int32_t status = expectSize(fault, 0, indices.dims[i], r.dims[i < axis ? i : i + 1])) return status;
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(values), to = kind.of(r);
    auto off = from.get(0), on = from.get(values.strides[0]);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t where = 0;
      for (int32_t i = 0; i < indices.rank; ++i) where += index[i < axis ? i : i + 1] * indices.strides[i];
      int64_t hot = load<int64_t>(indices, where);
      hot = hot < 0 ? hot + depth : hot;
      to.set(offsetOf(r, index), hot == index[axis] ? on : off);
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(trilu) {
  const mopt_tensor &r = out[0], *diagonal = operand(in, nin, 1);
  if (in[0].type != r.type) return MOPT_STEP_TYPE;
  if (int32_t status = expectDims(fault, 0, in[0], r)) return status;
  if (r.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, r.rank, 2);
  bool upper = attrInt(attr, MOPT_TRILU_UPPER, 1) != 0;
  int64_t k = diagonal ? listAt(*diagonal, 0) : 0;
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(in[0]), to = kind.of(r);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t over = index[r.rank - 1] - index[r.rank - 2];
      bool keep = upper ? over >= k : over <= k;
      to.set(offsetOf(r, index), keep ? from.get(offsetOf(in[0], index)) : decltype(from.get(0)){});
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(eye_like) {
  const mopt_tensor &r = out[0];
  if (int32_t status = expectDims(fault, 0, in[0], r)) return status;
  if (r.rank != 2) return fail(fault, MOPT_STEP_SHAPE, 0, r.rank, 2);
  int64_t k = attrInt(attr, MOPT_EYE_LIKE_K);
  return withCompute(r.type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      store(r, offsetOf(r, index), (C)(index[1] - index[0] == k));
      return MOPT_STEP_OK;
    });
  });
}

//===----------------------------------------------------------------------===//
// Positions that move in a pattern
//===----------------------------------------------------------------------===//
/// Holds the sizes of depth [n, c b b, h, w] against those of space [n, c, h b, w b].
static inline __attribute__((always_inline)) int32_t checkBlocks(const mopt_tensor &deep, const mopt_tensor &wide, int64_t b,
                                                                 mopt_fault *fault) {
  if (deep.type != wide.type) return MOPT_STEP_TYPE;
  if (deep.rank != 4 || wide.rank != 4) return fail(fault, MOPT_STEP_SHAPE, 0, deep.rank, 4);
  if (b < 1 || b > 65535) return fail(fault, MOPT_STEP_VALUE, -1, b, 65535);
  bool fits = deep.dims[0] == wide.dims[0] && deep.dims[1] % (b * b) == 0 && deep.dims[1] / (b * b) == wide.dims[1] &&
              wide.dims[2] % b == 0 && wide.dims[2] / b == deep.dims[2] && wide.dims[3] % b == 0 &&
              wide.dims[3] / b == deep.dims[3];
  return fits ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_SHAPE, 0, deep.dims[1], wide.dims[1]);
}
MOPT_REFERENCE_FUNCTION(depth_to_space) {
  const mopt_tensor &deep = in[0], &wide = out[0];
  int64_t b = attrInt(attr, MOPT_DEPTH_TO_SPACE_BLOCKSIZE), channels = wide.dims[1];
  bool depthFirst = attrInt(attr, MOPT_DEPTH_TO_SPACE_MODE) == MOPT_DEPTH_TO_SPACE_MODE_DCR;
  if (int32_t status = checkBlocks(deep, wide, b, fault)) return status;
  return withElement(wide.type, [&](auto kind) -> int32_t {
    auto from = kind.of(deep), to = kind.of(wide);
    return forEachIndex(wide.dims, 4, begin, end, [&](const int64_t *i, int64_t) -> int32_t {
      int64_t inBlock = i[2] % b * b + i[3] % b;
      const int64_t source[] = {i[0], depthFirst ? inBlock * channels + i[1] : i[1] * b * b + inBlock, i[2] / b, i[3] / b};
      to.set(offsetOf(wide, i), from.get(offsetOf(deep, source)));
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(space_to_depth) {
  const mopt_tensor &wide = in[0], &deep = out[0];
  int64_t b = attrInt(attr, MOPT_SPACE_TO_DEPTH_BLOCKSIZE), channels = wide.dims[1];
  bool depthFirst = attrInt(attr, MOPT_SPACE_TO_DEPTH_MODE) == MOPT_SPACE_TO_DEPTH_MODE_DCR;
  if (int32_t status = checkBlocks(deep, wide, b, fault)) return status;
  return withElement(deep.type, [&](auto kind) -> int32_t {
    auto from = kind.of(wide), to = kind.of(deep);
    return forEachIndex(deep.dims, 4, begin, end, [&](const int64_t *i, int64_t) -> int32_t {
      int64_t inBlock = depthFirst ? i[1] / channels : i[1] % (b * b), c = depthFirst ? i[1] % channels : i[1] / (b * b);
      const int64_t source[] = {i[0], c, i[2] * b + inBlock / b, i[3] * b + inBlock % b};
      to.set(offsetOf(deep, i), from.get(offsetOf(wide, source)));
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(reverse_sequence) {
  const mopt_tensor &data = in[0], &lengths = in[1], &r = out[0];
  int64_t batch = attrInt(attr, MOPT_REVERSE_SEQUENCE_BATCH_AXIS, 1), time = attrInt(attr, MOPT_REVERSE_SEQUENCE_TIME_AXIS);
  if (data.type != r.type) return MOPT_STEP_TYPE;
  if (int32_t status = expectDims(fault, 0, data, r)) return status;
  if (!normalizeAxis(batch, r.rank) || !normalizeAxis(time, r.rank) || batch == time)
    return fail(fault, MOPT_STEP_VALUE, -1, batch, time);
  if (int32_t status = expectSize(fault, 1, listSize(lengths), r.dims[batch])) return status;
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t length = listAt(lengths, index[batch]), t = index[time];
      if (length < 0 || length > r.dims[time]) return fail(fault, MOPT_STEP_VALUE, 1, length, r.dims[time]);
      int64_t shift = t < length ? length - 1 - 2 * t : 0;
      to.set(offsetOf(r, index), from.get(offsetOf(data, index) + shift * data.strides[time]));
      return MOPT_STEP_OK;
    });
  });
}
