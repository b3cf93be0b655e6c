//===- Norm.cpp - normalizations ----------------------------------------------------------------------------------===//
//
// ONNX: BatchNormalization, InstanceNormalization, LayerNormalization, RMSNormalization, GroupNormalization,
// LpNormalization, LRN. Sums by lanes (LaneReduce.h). Variances in two passes: the mean of (x - mean)^2. Half floats are
// computed in f32 to the end, also where stash_type names a type.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
#include "Slice.h"
using namespace mopt::ref;

namespace {
constexpr int64_t block = 64;

template <class T> struct Moments {
  T mean, variance;
};
/// Of elements [first, first + n) of the slice at `base`.
template <class T> MOPT_INLINE Moments<T> moments(const Slice &s, int64_t base, int64_t first, int64_t n) {
  T sum =
      reduceLanes<T, Sum<T>>(n, [&](int64_t i, int64_t m, T *dst) MOPT_LAMBDA { loadSlice(s, base, first + i, m, dst); });
  T mean = sum / (T)n;
  T squares = reduceLanes<T, Sum<T>>(n, [&](int64_t i, int64_t m, T *dst) MOPT_LAMBDA {
    loadSlice(s, base, first + i, m, dst);
    for (int64_t j = 0; j < m; ++j) dst[j] = (dst[j] - mean) * (dst[j] - mean);
  });
  return {mean, squares / (T)n};
}
/// y = (x - mean) * factor + add for elements [first, first + n).
template <class T>
MOPT_INLINE void affine(const Slice &x, int64_t xBase, const Slice &y, int64_t yBase, int64_t first, int64_t n, T mean,
                        T factor, T add) {
  alignas(64) T line[block];
  for (int64_t i = 0; i < n; i += block) {
    int64_t m = minOf(block, n - i);
    loadSlice(x, xBase, first + i, m, (T *)line);
    for (int64_t j = 0; j < m; ++j) line[j] = fmadd(line[j] - mean, factor, add);
    storeSlice(y, yBase, first + i, m, (const T *)line);
  }
}
MOPT_INLINE int32_t checkVector(const mopt_tensor &t, int64_t n, int32_t slot, mopt_fault *fault) {
  return t.rank == 1 && t.dims[0] == n ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_SHAPE, slot, numElements(t), n);
}
template <class T> MOPT_INLINE T at(const mopt_tensor &t, int64_t i) { return loadOne<T>(t, i * t.strides[0]); }
} // namespace

// ONNX BatchNormalization: factor = scale / sqrt(var + epsilon); y = (x - mean) * factor + b, the last two as one fmadd.
MOPT_REFERENCE_FUNCTION(batch_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (x.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int64_t channels = x.dims[1];
  for (int32_t slot = 1; slot < 5; ++slot)
    if (int32_t status = checkVector(in[slot], channels, slot, fault)) return status;
  for (int32_t i = 1; i < nout; ++i)
    if (present(out[i]))
      if (int32_t status = checkVector(out[i], channels, -1, fault)) return status;
  bool training = attrInt(attr, MOPT_BATCH_NORM_TRAINING_MODE) != 0;
  if (begin >= end) return MOPT_STEP_OK;
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T epsilon = (T)attrFloat(attr, MOPT_BATCH_NORM_EPSILON), momentum = (T)attrFloat(attr, MOPT_BATCH_NORM_MOMENTUM);
    Slice sx = sliceFrom(x, 2), sy = sliceFrom(y, 2);
    int64_t plane = sx.size, count = x.dims[0] * plane;
    for (int64_t c = 0; c < channels; ++c) {
      T mean = at<T>(in[3], c), variance = at<T>(in[4], c);
      if (training) {
        // Elements of a channel over all images, cut at the ends of planes.
        auto load = [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
          while (n > 0) {
            int64_t inside = i % plane, m = minOf(n, plane - inside);
            loadSlice(sx, i / plane * x.strides[0] + c * x.strides[1], inside, m, dst);
            dst += m, i += m, n -= m;
          }
        };
        T batchMean = reduceLanes<T, Sum<T>>(count, load) / (T)count;
        T batchVariance = reduceLanes<T, Sum<T>>(count,
                                                 [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
                                                   load(i, n, dst);
                                                   for (int64_t j = 0; j < n; ++j)
                                                     dst[j] = (dst[j] - batchMean) * (dst[j] - batchMean);
                                                 }) /
                          (T)count;
        T running[2] = {mean * momentum + batchMean * ((T)1 - momentum),
                        variance * momentum + batchVariance * ((T)1 - momentum)};
        for (int32_t i = 1; i < 3; ++i)
          if (i < nout && present(out[i]))
            storeRun((const T *)running + i - 1, out[i].data, out[i].type, c * out[i].strides[0], 1, 1);
        mean = batchMean;
        variance = batchVariance;
      } else {
        for (int32_t i = 1; i < 3; ++i)
          if (i < nout && present(out[i]))
            storeRun(i == 1 ? &mean : &variance, out[i].data, out[i].type, c * out[i].strides[0], 1, 1);
      }
      T factor = at<T>(in[1], c) / sqrt(variance + epsilon), add = at<T>(in[2], c);
      for (int64_t image = 0; image < x.dims[0]; ++image)
        affine(sx, image * x.strides[0] + c * x.strides[1], sy, image * y.strides[0] + c * y.strides[1], 0, plane, mean,
               factor, add);
    }
    return MOPT_STEP_OK;
  });
}

// ONNX InstanceNormalization: every plane has its moments.
MOPT_REFERENCE_FUNCTION(instance_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (x.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  for (int32_t slot = 1; slot < 3; ++slot)
    if (int32_t status = checkVector(in[slot], x.dims[1], slot, fault)) return status;
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T epsilon = (T)attrFloat(attr, MOPT_INSTANCE_NORM_EPSILON);
    Slice sx = sliceFrom(x, 2), sy = sliceFrom(y, 2);
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit), c = unit % x.dims[1];
      Moments<T> m = moments<T>(sx, from, 0, sx.size);
      affine(sx, from, sy, sliceOffset(sy, unit), 0, sx.size, m.mean, at<T>(in[1], c) / sqrt(m.variance + epsilon),
             at<T>(in[2], c));
    }
    return MOPT_STEP_OK;
  });
}

// ONNX GroupNormalization: moments over the channels of a group; scale and bias per channel, before opset 21 per group, or one
// for all.
MOPT_REFERENCE_FUNCTION(group_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (x.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int64_t groups = attrInt(attr, MOPT_GROUP_NORM_NUM_GROUPS), channels = x.dims[1];
  bool perGroup = attrInt(attr, MOPT_GROUP_NORM_SCALE_PER_GROUP) != 0;
  if (groups < 1 || channels % groups != 0) return fail(fault, MOPT_STEP_VALUE, 0, groups, channels);
  bool one[3] = {};
  for (int32_t slot = 1; slot < 3; ++slot) {
    one[slot] = in[slot].rank == 1 && in[slot].dims[0] == 1;
    if (one[slot]) continue;
    if (int32_t status = checkVector(in[slot], perGroup ? groups : channels, slot, fault)) return status;
  }
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T epsilon = (T)attrFloat(attr, MOPT_GROUP_NORM_EPSILON);
    Slice sx = sliceFrom(x, 1), sy = sliceFrom(y, 1);
    int64_t plane = sizeOf(x, 2, x.rank), each = channels / groups;
    for (int64_t image = begin; image < end; ++image)
      for (int64_t group = 0; group < groups; ++group) {
        int64_t from = image * x.strides[0], to = image * y.strides[0];
        Moments<T> m = moments<T>(sx, from, group * each * plane, each * plane);
        T inverse = (T)1 / sqrt(m.variance + epsilon);
        for (int64_t c = group * each; c < (group + 1) * each; ++c) {
          int64_t i = perGroup ? group : c;
          affine(sx, from, sy, to, c * plane, plane, m.mean, inverse * at<T>(in[1], one[1] ? 0 : i),
                 at<T>(in[2], one[2] ? 0 : i));
        }
      }
    return MOPT_STEP_OK;
  });
}

namespace {
/// Scale or bias of a layer norm, broadcast to x (ONNX: unidirectional).
struct Weights {
  const mopt_tensor *t; // null: none
  bool flat;            // one adjacent value per normalized element
  int64_t strides[MOPT_MAX_RANK];
};
MOPT_INLINE int32_t makeWeights(const mopt_tensor *t, const mopt_tensor &x, int32_t axis, int32_t slot, Weights &w,
                                mopt_fault *fault) {
  w.t = t;
  w.flat = false;
  if (!t) return MOPT_STEP_OK;
  if (t->rank > x.rank) return fail(fault, MOPT_STEP_SHAPE, slot, t->rank, x.rank);
  w.flat = isContiguous(*t);
  for (int32_t i = 0; i < x.rank; ++i) {
    int32_t own = i - (x.rank - t->rank);
    int64_t dim = own < 0 ? 1 : t->dims[own];
    if (dim != 1 && dim != x.dims[i]) return fail(fault, MOPT_STEP_SHAPE, slot, dim, x.dims[i]);
    if (i < axis ? dim != 1 : dim != x.dims[i]) w.flat = false;
    w.strides[i] = dim != 1 ? t->strides[own] : 0;
  }
  return MOPT_STEP_OK;
}
/// Weights of normalized elements [i, i + n) of slice `unit`.
template <class T>
MOPT_INLINE void loadWeights(const Weights &w, const mopt_tensor &x, int64_t unit, int64_t size, int64_t i, int64_t n,
                             T *dst) {
  if (w.flat) return loadRun(dst, w.t->data, w.t->type, i, 1, n);
  for (int64_t j = 0; j < n; ++j) {
    int64_t flat = unit * size + i + j, offset = 0;
    for (int32_t a = x.rank; a-- > 0;) {
      offset += flat % x.dims[a] * w.strides[a];
      flat /= x.dims[a];
    }
    loadRun(dst + j, w.t->data, w.t->type, offset, 1, 1);
  }
}
} // namespace

// ONNX LayerNormalization: ((x - mean) * (1 / sqrt(var + epsilon))) * scale + b, the last two as one fmadd.
MOPT_REFERENCE_FUNCTION(layer_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  int64_t axis = attrInt(attr, MOPT_LAYER_NORM_AXIS, -1), given = axis;
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  Weights scale, bias;
  if (int32_t status = makeWeights(&in[1], x, (int32_t)axis, 1, scale, fault)) return status;
  if (int32_t status = makeWeights(operand(in, nin, 2), x, (int32_t)axis, 2, bias, fault)) return status;
  for (int32_t i = 1; i < nout; ++i)
    if (present(out[i]) && numElements(out[i]) != sizeOf(x, 0, (int32_t)axis))
      return fail(fault, MOPT_STEP_SHAPE, -1, numElements(out[i]), sizeOf(x, 0, (int32_t)axis));
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T epsilon = (T)attrFloat(attr, MOPT_LAYER_NORM_EPSILON);
    Slice sx = sliceFrom(x, (int32_t)axis), sy = sliceFrom(y, (int32_t)axis);
    alignas(64) T line[block], factor[block], add[block];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit), to = sliceOffset(sy, unit);
      Moments<T> m = moments<T>(sx, from, 0, sx.size);
      T inverse = (T)1 / sqrt(m.variance + epsilon);
      for (int64_t i = 0; i < sx.size; i += block) {
        int64_t n = minOf(block, sx.size - i);
        loadSlice(sx, from, i, n, (T *)line);
        loadWeights(scale, x, unit, sx.size, i, n, (T *)factor);
        if (bias.t) {
          loadWeights(bias, x, unit, sx.size, i, n, (T *)add);
          for (int64_t j = 0; j < n; ++j) line[j] = fmadd((line[j] - m.mean) * inverse, factor[j], add[j]);
        } else {
          for (int64_t j = 0; j < n; ++j) line[j] = (line[j] - m.mean) * inverse * factor[j];
        }
        storeSlice(sy, to, i, n, (const T *)line);
      }
      if (nout > 1 && present(out[1]))
        storeRun((const T *)&m.mean, out[1].data, out[1].type, offsetOfFlat(out[1], unit), 1, 1);
      if (nout > 2 && present(out[2]))
        storeRun((const T *)&inverse, out[2].data, out[2].type, offsetOfFlat(out[2], unit), 1, 1);
    }
    return MOPT_STEP_OK;
  });
}

// ONNX RMSNormalization: (x * (1 / sqrt(mean(x^2) + epsilon))) * scale.
MOPT_REFERENCE_FUNCTION(rms_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  int64_t axis = attrInt(attr, MOPT_RMS_NORM_AXIS, -1), given = axis;
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  Weights scale;
  if (int32_t status = makeWeights(&in[1], x, (int32_t)axis, 1, scale, fault)) return status;
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T epsilon = (T)attrFloat(attr, MOPT_RMS_NORM_EPSILON);
    Slice sx = sliceFrom(x, (int32_t)axis), sy = sliceFrom(y, (int32_t)axis);
    alignas(64) T line[block], factor[block];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit), to = sliceOffset(sy, unit);
      T squares = reduceLanes<T, Sum<T>>(sx.size, [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
        loadSlice(sx, from, i, n, dst);
        for (int64_t j = 0; j < n; ++j) dst[j] = dst[j] * dst[j];
      });
      T inverse = (T)1 / sqrt(squares / (T)sx.size + epsilon);
      for (int64_t i = 0; i < sx.size; i += block) {
        int64_t n = minOf(block, sx.size - i);
        loadSlice(sx, from, i, n, (T *)line);
        loadWeights(scale, x, unit, sx.size, i, n, (T *)factor);
        for (int64_t j = 0; j < n; ++j) line[j] = line[j] * inverse * factor[j];
        storeSlice(sy, to, i, n, (const T *)line);
      }
    }
    return MOPT_STEP_OK;
  });
}

// ONNX LpNormalization: x / (sum |x|^p)^(1/p); 0 where the norm is 0.
MOPT_REFERENCE_FUNCTION(lp_norm) {
  const mopt_tensor &x = in[0], &y = out[0];
  int64_t axis = attrInt(attr, MOPT_LP_NORM_AXIS, -1), given = axis, power = attrInt(attr, MOPT_LP_NORM_P, 2);
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    Slice sx = sliceAlong(x, (int32_t)axis), sy = sliceAlong(y, (int32_t)axis);
    alignas(64) T line[block];
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit), to = sliceOffset(sy, unit);
      T norm = reduceLanes<T, Sum<T>>(sx.size, [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
        loadSlice(sx, from, i, n, dst);
        powers(dst, n, power);
      });
      rootOf(&norm, 1, power);
      for (int64_t i = 0; i < sx.size; i += block) {
        int64_t n = minOf(block, sx.size - i);
        loadSlice(sx, from, i, n, (T *)line);
        for (int64_t j = 0; j < n; ++j) line[j] = norm == 0 ? (T)0 : line[j] / norm;
        storeSlice(sy, to, i, n, (const T *)line);
      }
    }
    return MOPT_STEP_OK;
  });
}

// ONNX LRN: x / (bias + alpha / size * sum of squares of `size` channels around)^beta, channels ascending.
MOPT_REFERENCE_FUNCTION(lrn) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (x.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int64_t size = attrInt(attr, MOPT_LRN_SIZE);
  if (size < 1) return fail(fault, MOPT_STEP_VALUE, -1, size, 1);
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    T alpha = (T)(attrFloat(attr, MOPT_LRN_ALPHA) / (double)size), beta = (T)attrFloat(attr, MOPT_LRN_BETA);
    T bias = (T)attrFloat(attr, MOPT_LRN_BIAS);
    Slice sx = sliceFrom(x, 2), sy = sliceFrom(y, 2);
    alignas(64) T line[block], sum[block];
    for (int64_t i = begin; i < end;) {
      int64_t plane = i / sx.size, c = plane % x.dims[1], inside = i % sx.size,
              n = minOf(minOf(block, end - i), sx.size - inside);
      int64_t low = maxOf(0, c - (size - 1) / 2), high = minOf(x.dims[1] - 1, c + size / 2);
      combineAll<T, Sum<T>, block>(high - low + 1, 1, sum, [&](int64_t from, int64_t count) MOPT_LAMBDA {
        for (int64_t k = low + from; k < low + from + count; ++k) {
          loadSlice(sx, sliceOffset(sx, plane - c + k), inside, n, (T *)line);
          for (int64_t j = 0; j < n; ++j) sum[j] = fmadd(line[j], line[j], sum[j]);
        }
      });
      loadSlice(sx, sliceOffset(sx, plane), inside, n, (T *)line);
      for (int64_t j = 0; j < n; ++j) line[j] = line[j] / pow(fmadd(alpha, sum[j], bias), beta);
      storeSlice(sy, sliceOffset(sy, plane), inside, n, (const T *)line);
      i += n;
    }
    return MOPT_STEP_OK;
  });
}
