//===- Quant.cpp - QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear ----------------------------------------===//
//
// ONNX: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. One scale for all, one per position of `axis`, or one per
// block of `block_size` along it. Elements are handled in runs of the last axis, so that their parameters are read at once.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
#include "Requantize.h"
using namespace mopt::ref;

namespace {
/// Where the scale (or zero point) of an element is: per axis a divisor of the index and a stride.
struct Granularity {
  int64_t divisor[MOPT_MAX_RANK], stride[MOPT_MAX_RANK];
};
MOPT_INLINE int32_t makeGranularity(const mopt_tensor &x, const mopt_tensor &scale, int64_t axis, int64_t blockSize,
                                    int32_t slot, Granularity &g, mopt_fault *fault) {
  for (int32_t i = 0; i < x.rank; ++i) g.divisor[i] = 1, g.stride[i] = 0;
  if (numElements(scale) == 1 && !(blockSize > 0 && scale.rank == x.rank && x.rank > 0)) return MOPT_STEP_OK;
  int64_t given = axis;
  if (!normalizeAxis(axis, x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  if (blockSize == 0) {
    if (scale.rank != 1 || scale.dims[0] != x.dims[axis])
      return fail(fault, MOPT_STEP_SHAPE, slot, scale.dims[0], x.dims[axis]);
    g.stride[axis] = scale.strides[0];
    return MOPT_STEP_OK;
  }
  if (blockSize < 0) return fail(fault, MOPT_STEP_VALUE, -1, blockSize, 0);
  if (scale.rank != x.rank) return fail(fault, MOPT_STEP_SHAPE, slot, scale.rank, x.rank);
  for (int32_t i = 0; i < x.rank; ++i) {
    int64_t blocks = i == axis ? ceilDiv(x.dims[i], blockSize) : x.dims[i];
    if (scale.dims[i] != blocks) return fail(fault, MOPT_STEP_SHAPE, slot, scale.dims[i], blocks);
    g.stride[i] = scale.strides[i];
  }
  g.divisor[axis] = blockSize;
  return MOPT_STEP_OK;
}

constexpr int64_t width = 64;
/// n elements of the last axis: offsets and strides in x and y, the offsets of scale and zero point that come from the other
/// axes, index of the first element along the last one.
struct Run {
  int64_t n, x, xStride, y, yStride, scale, zero, first;
};
/// Calls f(run) for the flat elements [begin, end).
template <class F>
MOPT_INLINE void forEachRun(const mopt_tensor &x, const mopt_tensor &y, const Granularity &scale, const Granularity &zero,
                            int64_t begin, int64_t end, F f) {
  int32_t last = x.rank - 1;
  int64_t row = x.rank > 0 ? x.dims[last] : 1;
  for (int64_t i = begin; i < end;) {
    Run r = {minOf(minOf(width, end - i), row - i % row),
             0,
             x.rank > 0 ? x.strides[last] : 1,
             0,
             x.rank > 0 ? y.strides[last] : 1,
             0,
             0,
             i % row};
    int64_t rest = i;
    for (int32_t a = x.rank; a-- > 0;) {
      int64_t index = rest % x.dims[a];
      rest /= x.dims[a];
      r.x += index * x.strides[a];
      r.y += index * y.strides[a];
      if (a == last) continue;
      r.scale += index / scale.divisor[a] * scale.stride[a];
      r.zero += index / zero.divisor[a] * zero.stride[a];
    }
    f((const Run &)r);
    i += r.n;
  }
}
/// Parameters of n elements of the last axis from `first` on; `base`: offset from the other axes.
template <class T>
MOPT_INLINE void loadParameters(const mopt_tensor &t, const Granularity &g, int32_t rank, int64_t base, int64_t first,
                                int64_t n, T *dst) {
  int64_t stride = rank > 0 ? g.stride[rank - 1] : 0, divisor = rank > 0 ? g.divisor[rank - 1] : 1;
  if (divisor == 1) return loadRun(dst, t.data, t.type, base + first * stride, stride, n);
  for (int64_t i = 0; i < n; ++i) loadRun(dst + i, t.data, t.type, base + (first + i) / divisor * stride, 1, 1);
}
/// x rounded to a floating-point type of at most 32 bits.
MOPT_INLINE float roundTo(int32_t type, float x) {
  return type == MOPT_F16 ? fromHalf(toHalf(x)) : type == MOPT_BF16 ? fromBFloat(toBFloat(x)) : x;
}
} // namespace

// The quotient has the precision of the scale or what `precision` names. 8- and 4-bit floats: the quotient is rounded to them
// (a zero point of them is 0).
MOPT_REFERENCE_FUNCTION(quantize_linear) {
  const mopt_tensor &x = in[0], &scale = in[1], &y = out[0];
  const mopt_tensor *zeroPoint = operand(in, nin, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int64_t axis = attrInt(attr, MOPT_QUANTIZE_LINEAR_AXIS, 1), blockSize = attrInt(attr, MOPT_QUANTIZE_LINEAR_BLOCK_SIZE);
  Granularity g, gz;
  if (int32_t status = makeGranularity(x, scale, axis, blockSize, 1, g, fault)) return status;
  if (int32_t status = makeGranularity(x, zeroPoint ? *zeroPoint : scale, axis, blockSize, 2, gz, fault)) return status;
  int32_t precision = (int32_t)attrInt(attr, MOPT_QUANTIZE_LINEAR_PRECISION), low = 0, high = 0;
  if (precision == 0) precision = scale.type;
  bool integer = quantizedRange(y.type, low, high), saturate = attrInt(attr, MOPT_QUANTIZE_LINEAR_SATURATE, 1) != 0;
  auto body = [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    forEachRun(x, y, g, gz, begin, end, [&](const Run &r) MOPT_LAMBDA {
      T line[width], factor[width];
      loadRun((T *)line, x.data, x.type, r.x, r.xStride, r.n);
      loadParameters(scale, g, x.rank, r.scale, r.first, r.n, (T *)factor);
      for (int64_t i = 0; i < r.n; ++i) line[i] = line[i] / factor[i];
      if constexpr (isSame<T, float>)
        if (precision == MOPT_F16 || precision == MOPT_BF16)
          for (int64_t i = 0; i < r.n; ++i) line[i] = roundTo(precision, line[i]);
      if (integer) {
        uint32_t zeros[width], result[width];
        if (zeroPoint) loadParameters(*zeroPoint, gz, x.rank, r.zero, r.first, r.n, (uint32_t *)zeros);
        else fillRun(zeros, 0u, width);
        for (int64_t i = 0; i < r.n; ++i) result[i] = (uint32_t)quantizeValue(line[i], (int32_t)zeros[i], low, high);
        storeRun((const uint32_t *)result, y.data, y.type, r.y, r.yStride, r.n);
      } else if (saturate ||
                 y.type == MOPT_F4E2M1) { // 4-bit floats always saturate; adding their zero point makes -0 into 0
        T zeros[width];
        if (zeroPoint && y.type == MOPT_F4E2M1) {
          loadParameters(*zeroPoint, gz, x.rank, r.zero, r.first, r.n, (T *)zeros);
          for (int64_t i = 0; i < r.n; ++i) line[i] = line[i] + zeros[i];
        }
        for (int64_t i = 0; i < r.n; ++i) storeSaturated(y, r.y + i * r.yStride, (float)line[i]);
      } else {
        storeRun((const T *)line, y.data, y.type, r.y, r.yStride, r.n);
      }
    });
    return MOPT_STEP_OK;
  };
  return precision == MOPT_F64 ? body(0.0) : body(0.0f);
}

// (x - zero point) is exact, then one product in f32 (f64 for an f64 result).
MOPT_REFERENCE_FUNCTION(dequantize_linear) {
  const mopt_tensor &x = in[0], &scale = in[1], &y = out[0];
  const mopt_tensor *zeroPoint = operand(in, nin, 2);
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int64_t axis = attrInt(attr, MOPT_DEQUANTIZE_LINEAR_AXIS, 1), blockSize = attrInt(attr, MOPT_DEQUANTIZE_LINEAR_BLOCK_SIZE);
  Granularity g, gz;
  if (int32_t status = makeGranularity(x, scale, axis, blockSize, 1, g, fault)) return status;
  if (int32_t status = makeGranularity(x, zeroPoint ? *zeroPoint : scale, axis, blockSize, 2, gz, fault)) return status;
  bool integer = computeOf(x.type) == Compute::i64 || computeOf(x.type) == Compute::u64;
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    forEachRun(x, y, g, gz, begin, end, [&](const Run &r) MOPT_LAMBDA {
      T line[width], factor[width];
      loadParameters(scale, g, x.rank, r.scale, r.first, r.n, (T *)factor);
      if (integer &&
          x.type != MOPT_U32) { // differences of at most 32-bit values, 17 bits but for int32, which has no zero point
        uint32_t value[width], zeros[width];
        loadRun((uint32_t *)value, x.data, x.type, r.x, r.xStride, r.n);
        if (zeroPoint) loadParameters(*zeroPoint, gz, x.rank, r.zero, r.first, r.n, (uint32_t *)zeros);
        else fillRun(zeros, 0u, width);
        for (int64_t i = 0; i < r.n; ++i) line[i] = (T)(int32_t)(value[i] - zeros[i]) * factor[i];
      } else {
        loadRun((T *)line, x.data, x.type, r.x, r.xStride, r.n);
        for (int64_t i = 0; i < r.n; ++i) line[i] = line[i] * factor[i];
      }
      storeRun((const T *)line, y.data, y.type, r.y, r.yStride, r.n);
    });
    return MOPT_STEP_OK;
  });
}

// To uint8, with the range of the data widened to hold 0. A range of nothing has scale 1.
MOPT_REFERENCE_FUNCTION(dynamic_quantize_linear) {
  const mopt_tensor &x = in[0], &y = out[0];
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  int32_t low, high;
  if (!quantizedRange(y.type, low, high)) return MOPT_STEP_TYPE;
  if (begin >= end) return MOPT_STEP_OK;
  using T = float;
  Granularity none;
  for (int32_t i = 0; i < MOPT_MAX_RANK; ++i) none.divisor[i] = 1, none.stride[i] = 0;
  auto load = [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
    forEachRun(x, y, none, none, i, i + n, [&](const Run &r) MOPT_LAMBDA {
      loadRun(dst, x.data, x.type, r.x, r.xStride, r.n);
      dst += r.n;
    });
  };
  int64_t count = numElements(x);
  T least = reduceLanes<T, Smallest<T>>(count, load), greatest = reduceLanes<T, Largest<T>>(count, load);
  least = least < 0 ? least : 0;
  greatest = greatest > 0 ? greatest : 0;
  T scale = least == greatest ? 1 : (greatest - least) / (T)(high - low);
  int32_t zeroPoint = quantizeValue((T)low - least / scale, 0, low, high);
  forEachRun(x, y, none, none, 0, count, [&](const Run &r) MOPT_LAMBDA {
    T line[width];
    uint32_t result[width];
    loadRun((T *)line, x.data, x.type, r.x, r.xStride, r.n);
    for (int64_t i = 0; i < r.n; ++i) result[i] = (uint32_t)quantizeValue(line[i] / scale, zeroPoint, low, high);
    storeRun((const uint32_t *)result, y.data, y.type, r.y, r.yStride, r.n);
  });
  uint32_t zero = (uint32_t)zeroPoint;
  storeRun((const T *)&scale, out[1].data, out[1].type, 0, 1, 1);
  storeRun((const uint32_t *)&zero, out[2].data, out[2].type, 0, 1, 1);
  return MOPT_STEP_OK;
}
