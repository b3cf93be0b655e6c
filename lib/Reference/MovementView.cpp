//===- MovementView.cpp - the same elements under other sizes, and strided selections of them ---------------------===//
#include "Movement.h"

using namespace mopt::ref;

//===----------------------------------------------------------------------===//
// Views: no code runs for them but where a copy is asked for
//===----------------------------------------------------------------------===//
static inline __attribute__((always_inline)) int32_t view(const mopt_tensor *in, const mopt_tensor *out, int64_t begin,
                                                          int64_t end, mopt_fault *fault) {
  if (in[0].type != out[0].type) return MOPT_STEP_TYPE;
  if (int32_t status = expectSize(fault, 0, numElements(in[0]), numElements(out[0]))) return status;
  return copyFlat(in[0], out[0], begin, end);
}
MOPT_REFERENCE_FUNCTION(identity) {
  if (int32_t status = expectDims(fault, 0, in[0], out[0])) return status;
  return view(in, out, begin, end, fault);
}
MOPT_REFERENCE_FUNCTION(reshape) {
  bool zeroIsSize = attrInt(attr, MOPT_RESHAPE_ALLOWZERO) != 0, inferred = false;
  if (int32_t status = expectSize(fault, 1, listSize(in[1]), out[0].rank)) return status;
  for (int32_t i = 0; i < out[0].rank; ++i) {
    int64_t size = listAt(in[1], i);
    if (size < -1 || (size == -1 && inferred)) return fail(fault, MOPT_STEP_VALUE, 1, size, i);
    inferred |= size == -1;
    if (size == -1) continue;
    if (size == 0 && !zeroIsSize) {
      if (i >= in[0].rank) return fail(fault, MOPT_STEP_VALUE, 1, size, i);
      size = in[0].dims[i];
    }
    if (int32_t status = expectSize(fault, 1, size, out[0].dims[i])) return status;
  }
  return view(in, out, begin, end, fault);
}
MOPT_REFERENCE_FUNCTION(flatten) {
  int64_t axis = attrInt(attr, MOPT_FLATTEN_AXIS, 1);
  int32_t rank = in[0].rank;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank || out[0].rank != 2) return fail(fault, MOPT_STEP_VALUE, -1, axis, rank);
  if (int32_t status = expectSize(fault, 0, sizeOf(in[0], 0, (int32_t)axis), out[0].dims[0])) return status;
  return view(in, out, begin, end, fault);
}
/// Holds `axes` of `full` against `small`, which lacks them. Without axes: all of size 1.
static inline __attribute__((always_inline)) int32_t checkSqueeze(const mopt_tensor &full, const mopt_tensor &small,
                                                                  const mopt_tensor *axes, mopt_fault *fault) {
  uint32_t removed = 0;
  if (axes) {
    for (int64_t i = 0; i < listSize(*axes); ++i) {
      int64_t axis = listAt(*axes, i), given = axis;
      if (!normalizeAxis(axis, full.rank) || removed >> axis & 1) return fail(fault, MOPT_STEP_VALUE, 1, given, full.rank);
      if (int32_t status = expectSize(fault, 1, full.dims[axis], 1)) return status;
      removed |= 1u << axis;
    }
  } else {
    for (int32_t i = 0; i < full.rank; ++i) removed |= (uint32_t)(full.dims[i] == 1) << i;
  }
  int32_t k = 0;
  for (int32_t i = 0; i < full.rank; ++i) {
    if (removed >> i & 1) continue;
    if (k >= small.rank || small.dims[k] != full.dims[i]) return fail(fault, MOPT_STEP_SHAPE, 0, full.dims[i], k);
    ++k;
  }
  return expectSize(fault, 0, k, small.rank);
}
MOPT_REFERENCE_FUNCTION(squeeze) {
  if (int32_t status = checkSqueeze(in[0], out[0], operand(in, nin, 1), fault)) return status;
  return view(in, out, begin, end, fault);
}
MOPT_REFERENCE_FUNCTION(unsqueeze) {
  if (int32_t status = checkSqueeze(out[0], in[0], &in[1], fault)) return status;
  return view(in, out, begin, end, fault);
}

//===----------------------------------------------------------------------===//
// Strided selections
//===----------------------------------------------------------------------===//
MOPT_REFERENCE_FUNCTION(transpose) {
  if (in[0].type != out[0].type) return MOPT_STEP_TYPE;
  int32_t rank = in[0].rank;
  IntList perm = attrInts(attr, MOPT_TRANSPOSE_PERM);
  if (int32_t status = expectSize(fault, 0, out[0].rank, rank)) return status;
  if (perm.n != 0 && perm.n != rank) return fail(fault, MOPT_STEP_VALUE, -1, perm.n, rank);
  int64_t strides[MOPT_MAX_RANK];
  for (int32_t i = 0; i < rank; ++i) {
    int64_t from = perm.n ? perm[i] : rank - 1 - i;
    if (from < 0 || from >= rank) return fail(fault, MOPT_STEP_VALUE, -1, from, rank);
    if (int32_t status = expectSize(fault, 0, in[0].dims[from], out[0].dims[i])) return status;
    strides[i] = in[0].strides[from];
  }
  return copyStrided(in[0], 0, strides, out[0], begin, end);
}
MOPT_REFERENCE_FUNCTION(expand) {
  if (in[0].type != out[0].type) return MOPT_STEP_TYPE;
  int64_t strides[MOPT_MAX_RANK], listed = listSize(in[1]);
  int32_t rank = out[0].rank;
  if (int32_t status = expectSize(fault, 1, listed > in[0].rank ? listed : in[0].rank, rank)) return status;
  for (int32_t i = 0; i < rank; ++i) {
    int32_t skip = rank - in[0].rank;
    int64_t at = i - (rank - listed), size = at < 0 ? 1 : listAt(in[1], at), dim = i < skip ? 1 : in[0].dims[i - skip];
    if (size < 0) return fail(fault, MOPT_STEP_VALUE, 1, size, 0);
    if (dim != 1 && size != 1 && size != dim) return fail(fault, MOPT_STEP_SHAPE, 1, size, dim);
    if (int32_t status = expectSize(fault, 1, dim == 1 ? size : dim, out[0].dims[i])) return status;
    strides[i] = dim == 1 ? 0 : in[0].strides[i - skip];
  }
  return copyStrided(in[0], 0, strides, out[0], begin, end);
}
MOPT_REFERENCE_FUNCTION(slice) {
  if (in[0].type != out[0].type) return MOPT_STEP_TYPE;
  const mopt_tensor *axes = operand(in, nin, 3), *steps = operand(in, nin, 4);
  int32_t rank = in[0].rank;
  int64_t strides[MOPT_MAX_RANK], n = listSize(in[1]), offset = 0;
  uint32_t seen = 0;
  if (int32_t status = expectSize(fault, 0, out[0].rank, rank)) return status;
  if (int32_t status = expectSize(fault, 2, listSize(in[2]), n)) return status;
  if (axes)
    if (int32_t status = expectSize(fault, 3, listSize(*axes), n)) return status;
  if (steps)
    if (int32_t status = expectSize(fault, 4, listSize(*steps), n)) return status;
  for (int32_t i = 0; i < rank; ++i) strides[i] = in[0].strides[i];
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = axes ? listAt(*axes, i) : i, given = axis;
    if (!normalizeAxis(axis, rank) || seen >> axis & 1) return fail(fault, MOPT_STEP_VALUE, 3, given, rank);
    seen |= 1u << axis;
    int64_t size = in[0].dims[axis], step = steps ? listAt(*steps, i) : 1;
    int64_t first = listAt(in[1], i), last = listAt(in[2], i);
    if (step == 0) return fail(fault, MOPT_STEP_VALUE, 4, step, 0);
    first = first < 0 ? first + size : first;
    last = last < 0 ? last + size : last;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    first = first < 0 ? 0 : first; // ONNX: also for negative steps, unlike numpy
    first = first > high ? high : first;
    last = last < low ? low : last > high ? high : last;
    int64_t span = step > 0 ? last - first : first - last;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    int64_t count = span <= 0 ? 0 : (int64_t)((uint64_t)(span - 1) / stride) + 1;
    if (int32_t status = expectSize(fault, 0, count, out[0].dims[axis])) return status;
    offset += count > 0 ? first * in[0].strides[axis] : 0;
    strides[axis] = count > 1 ? in[0].strides[axis] * step : 0; // a step is less than the size then: no overflow
  }
  for (int32_t i = 0; i < rank; ++i)
    if (!(seen >> i & 1))
      if (int32_t status = expectSize(fault, 0, in[0].dims[i], out[0].dims[i])) return status;
  return copyStrided(in[0], offset, strides, out[0], begin, end);
}

//===----------------------------------------------------------------------===//
// Several tensors
//===----------------------------------------------------------------------===//
MOPT_REFERENCE_FUNCTION(concat) {
  const mopt_tensor &r = out[0];
  int64_t axis = attrInt(attr, MOPT_CONCAT_AXIS), total = 0;
  if (!normalizeAxis(axis, r.rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, r.rank);
  for (int32_t k = 0; k < nin; ++k) {
    if (in[k].type != r.type) return MOPT_STEP_TYPE;
    if (int32_t status = expectSize(fault, k, in[k].rank, r.rank)) return status;
    for (int32_t i = 0; i < r.rank; ++i)
      if (i != axis)
        if (int32_t status = expectSize(fault, k, in[k].dims[i], r.dims[i])) return status;
    if (in[k].dims[axis] > r.dims[axis] - total) return fail(fault, MOPT_STEP_SHAPE, k, total, r.dims[axis]);
    total += in[k].dims[axis];
  }
  if (int32_t status = expectSize(fault, nin - 1, total, r.dims[axis])) return status;
  return withElement(r.type, [&](auto kind) -> int32_t {
    auto to = kind.of(r);
    int32_t last = r.rank - 1, k = 0;
    int64_t low = 0; // operand k covers [low, low + its size) of the axis
    return forEachRow(r.dims, r.rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
      int64_t target = offsetOf(r, index), at = index[axis];
      if (at < low) k = 0, low = 0;
      while (at >= low + in[k].dims[axis]) low += in[k++].dims[axis];
      for (int64_t done = 0; done < count;) {
        int64_t source = -low * in[k].strides[axis];
        for (int32_t i = 0; i <= last; ++i) source += index[i] * in[k].strides[i];
        int64_t n = count - done, fromStep = in[k].strides[last];
        if (axis == last) {
          source += done * fromStep;
          int64_t rest = low + in[k].dims[axis] - (at + done);
          n = n < rest ? n : rest;
        }
        auto from = kind.of(in[k]);
        for (int64_t j = 0; j < n; ++j) to.set(target + (done + j) * r.strides[last], from.get(source + j * fromStep));
        done += n;
        if (done < count) low += in[k++].dims[axis];
      }
      return MOPT_STEP_OK;
    });
  });
}
MOPT_REFERENCE_FUNCTION(split) {
  int64_t axis = attrInt(attr, MOPT_SPLIT_AXIS);
  if (!normalizeAxis(axis, in[0].rank)) return fail(fault, MOPT_STEP_VALUE, -1, axis, in[0].rank);
  const mopt_tensor *sizes = operand(in, nin, 1);
  int64_t size = in[0].dims[axis], equal = nout ? size / nout + (size % nout != 0) : 0, low = 0;
  if (sizes)
    if (int32_t status = expectSize(fault, 1, listSize(*sizes), nout)) return status;
  for (int32_t k = 0; k < nout; ++k) {
    int64_t rest = size - low, n = sizes ? listAt(*sizes, k) : equal < rest ? equal : rest;
    if (n < 0 || n > rest) return fail(fault, MOPT_STEP_VALUE, 1, n, rest);
    if (out[k].type != in[0].type) return MOPT_STEP_TYPE;
    if (int32_t status = expectSize(fault, 0, out[k].rank, in[0].rank)) return status;
    for (int32_t i = 0; i < in[0].rank; ++i)
      if (int32_t status = expectSize(fault, 1, i == axis ? n : in[0].dims[i], out[k].dims[i])) return status;
    low += n;
  }
  if (int32_t status = expectSize(fault, 1, low, size)) return status;
  low = 0;
  for (int32_t k = 0; k < nout; ++k) {
    if (int32_t status = copyStrided(in[0], low * in[0].strides[axis], in[0].strides, out[k], 0, numElements(out[k])))
      return status;
    low += out[k].dims[axis];
  }
  return MOPT_STEP_OK;
}
