//===- MovementPad.cpp - pad, tile --------------------------------------------------------------------------------===//
#include "Movement.h"

using namespace mopt::ref;

/// What one axis of the result is made of: elements [low, high) of the operand, the first at position `before`. Negative
/// amounts cut elements away first; the modes then see only the rest, which may be nothing.
struct PadAxis {
  int64_t before, low, high;
};
/// Element of the operand at position `at` of the result; -1 for a padded one in constant mode.
static inline __attribute__((always_inline)) int64_t padSource(const PadAxis &axis, int64_t at, int64_t mode) {
  int64_t n = axis.high - axis.low, i = at - axis.before;
  if (i >= 0 && i < n) return axis.low + i;
  if (mode == MOPT_PAD_MODE_EDGE) return axis.low + (i < 0 ? 0 : n - 1);
  if (mode == MOPT_PAD_MODE_WRAP) {
    i %= n;
    return axis.low + (i < 0 ? i + n : i);
  }
  if (mode == MOPT_PAD_MODE_REFLECT) { // there and back without the ends twice, again and again
    if (n == 1) return axis.low;
    int64_t period = 2 * (n - 1);
    i %= period;
    i = i < 0 ? i + period : i;
    return axis.low + (i < n ? i : period - i);
  }
  return -1;
}
MOPT_REFERENCE_FUNCTION(pad) {
  const mopt_tensor &data = in[0], &r = out[0], *constant = operand(in, nin, 2), *axes = operand(in, nin, 3);
  int64_t mode = attrInt(attr, MOPT_PAD_MODE), n = axes ? listSize(*axes) : data.rank;
  int32_t rank = r.rank;
  uint32_t seen = 0;
  PadAxis table[MOPT_MAX_RANK];
  if (data.type != r.type || (constant && constant->type != r.type)) return MOPT_STEP_TYPE;
  if (int32_t status = expectSize(fault, 0, data.rank, rank)) return status;
  if (n > rank) return fail(fault, MOPT_STEP_SHAPE, 3, n, rank);
  if (int32_t status = expectSize(fault, 1, listSize(in[1]) * (rank > 0), 2 * n)) return status;
  for (int32_t i = 0; i < rank; ++i) table[i] = {0, 0, data.dims[i]};
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = axes ? listAt(*axes, i) : i, given = axis;
    if (!normalizeAxis(axis, rank) || seen >> axis & 1) return fail(fault, MOPT_STEP_VALUE, 3, given, rank);
    seen |= 1u << axis;
    int64_t before = listAt(in[1], i), after = listAt(in[1], n + i), size = data.dims[axis], sum;
    if (__builtin_add_overflow(size, before, &sum) || __builtin_add_overflow(sum, after, &sum))
      return fail(fault, MOPT_STEP_VALUE, 1, before, size);
    if (int32_t status = expectSize(fault, 1, sum, r.dims[axis])) return status;
    int64_t low = before >= 0 ? 0 : before < -size ? size : -before, high = after >= 0 ? size : size + after;
    if (high < low) high = low;
    if (high == low && sum > 0 && mode != MOPT_PAD_MODE_CONSTANT) return fail(fault, MOPT_STEP_VALUE, 0, size, 1);
    table[axis] = {before > 0 ? before : 0, low, high};
  }
  for (int32_t i = 0; i < rank; ++i)
    if (!(seen >> i & 1))
      if (int32_t status = expectSize(fault, 0, data.dims[i], r.dims[i])) return status;
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    decltype(from.get(0)) fill{};
    if (constant) fill = kind.of(*constant).get(0);
    return forEachRow(r.dims, rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
      int64_t source = 0, target = offsetOf(r, index), toStep = lastStride(r);
      bool inside = true;
      for (int32_t i = 0; i + 1 < rank; ++i) {
        int64_t at = padSource(table[i], index[i], mode);
        inside &= at >= 0;
        source += at * data.strides[i];
      }
      if (rank == 0) {
        to.set(target, from.get(0));
        return MOPT_STEP_OK;
      }
      for (int64_t j = 0; j < count; ++j) {
        int64_t at = inside ? padSource(table[rank - 1], index[rank - 1] + j, mode) : -1;
        to.set(target + j * toStep, at < 0 ? fill : from.get(source + at * data.strides[rank - 1]));
      }
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(tile) {
  const mopt_tensor &data = in[0], &r = out[0];
  if (data.type != r.type) return MOPT_STEP_TYPE;
  if (int32_t status = expectSize(fault, 0, data.rank, r.rank)) return status;
  if (int32_t status = expectSize(fault, 1, listSize(in[1]) * (r.rank > 0), r.rank)) return status;
  for (int32_t i = 0; i < r.rank; ++i) {
    int64_t repeats = listAt(in[1], i), size;
    if (repeats < 0) return fail(fault, MOPT_STEP_VALUE, 1, repeats, 0);
    if (__builtin_mul_overflow(data.dims[i], repeats, &size)) return fail(fault, MOPT_STEP_VALUE, 1, repeats, data.dims[i]);
    if (int32_t status = expectSize(fault, 1, size, r.dims[i])) return status;
  }
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto from = kind.of(data), to = kind.of(r);
    return forEachIndex(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t) -> int32_t {
      int64_t source = 0;
      for (int32_t i = 0; i < r.rank; ++i) source += index[i] % data.dims[i] * data.strides[i];
      to.set(offsetOf(r, index), from.get(source));
      return MOPT_STEP_OK;
    });
  });
}
