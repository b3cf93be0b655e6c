//===- Pooling.cpp - AveragePool, MaxPool, LpPool and the global pools --------------------------------------------===//
//
// ONNX: AveragePool, MaxPool, LpPool, GlobalAveragePool, GlobalMaxPool, GlobalLpPool. Windows: kernel positions in row-major
// order; sums of large kernels by halves (Cascade), which position in which leaf follows from the kernel alone. Global pools:
// lanes over the flat plane (LaneReduce.h).
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
#include "Window.h"
using namespace mopt::ref;

namespace {
constexpr int64_t width = 128; // output positions at a time

/// A part of an output row.
struct Part {
  int64_t image, channel, z, y, x, n;
};
/// Calls f(part) for the flat elements [begin, end) of the result.
template <class F> MOPT_INLINE void forEachPart(const mopt_tensor &y, const Window &w, int64_t begin, int64_t end, F f) {
  for (int64_t i = begin; i < end;) {
    int64_t x = i % w.out[2], rest = i / w.out[2], plane = rest / (w.out[0] * w.out[1]);
    Part p = {plane / y.dims[1], plane % y.dims[1], rest / w.out[1] % w.out[0], rest % w.out[1], x, 0};
    p.n = minOf(minOf(width, end - i), w.out[2] - x);
    f((const Part &)p);
    i += p.n;
  }
}
MOPT_INLINE int64_t partOffset(const mopt_tensor &y, const Window &w, const Part &p) {
  return p.image * y.strides[0] + p.channel * y.strides[1] + p.z * w.ys[0] + p.y * w.ys[1] + p.x * w.ys[2];
}
/// A kernel position (its number, row-major), the first input position (z, y, x) under it and the offset of that.
struct Tap {
  int64_t number, z, y, x, offset;
};
/// Calls f(from, n, tap) for each kernel position and the outputs [from, from + n) of the part for which it is inside the
/// image.
template <class F> MOPT_INLINE void forEachTap(const mopt_tensor &x, const Window &w, const Part &p, F f) {
  for (int64_t kz = 0; kz < w.kernel[0]; ++kz) {
    int64_t z = p.z * w.stride[0] + kz * w.dilation[0] - w.pad[0];
    if ((uint64_t)z >= (uint64_t)w.in[0]) continue;
    for (int64_t ky = 0; ky < w.kernel[1]; ++ky) {
      int64_t y = p.y * w.stride[1] + ky * w.dilation[1] - w.pad[1];
      if ((uint64_t)y >= (uint64_t)w.in[1]) continue;
      int64_t base = p.image * x.strides[0] + p.channel * x.strides[1] + z * w.xs[0] + y * w.xs[1];
      for (int64_t kx = 0; kx < w.kernel[2]; ++kx) {
        int64_t low, high, number = (kz * w.kernel[1] + ky) * w.kernel[2] + kx;
        validRange(w, 2, kx, low, high);
        low = maxOf(low, p.x), high = minOf(high, p.x + p.n);
        if (low >= high) continue;
        int64_t column = low * w.stride[2] + kx * w.dilation[2] - w.pad[2];
        f(low - p.x, high - low, Tap{number, z, y, column, base + column * w.xs[2]});
      }
    }
  }
}
/// Kernel positions along axis `i` at output position `o` that count: those inside the image, or also those on the padding
/// that was asked for (never those that only ceil_mode adds).
MOPT_INLINE int64_t tapCount(const Window &w, int32_t i, int64_t o, bool padding) {
  int64_t low = padding ? -w.pad[i] : 0, high = padding ? w.in[i] + w.padEnd[i] : w.in[i];
  int64_t start = o * w.stride[i] - w.pad[i];
  int64_t first = maxOf(0, ceilDiv(low - start, w.dilation[i])),
          last = minOf(w.kernel[i], ceilDiv(high - start, w.dilation[i]));
  return maxOf(0, last - first);
}
MOPT_INLINE int32_t poolWindow(const mopt_tensor &x, const mopt_tensor &y, const mopt_attr *attr, WindowSlots slots,
                               Window &w, mopt_fault *fault) {
  if (int32_t status = makeWindow(x, y, nullptr, attr, slots, w, fault)) return status;
  samePads(w, attrInt(attr, slots.autoPad));
  for (int32_t i = 0; i < 2; ++i)
    if (x.dims[i] != y.dims[i]) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[i], x.dims[i]);
  return MOPT_STEP_OK;
}
/// A pool that sums: finish(window, part, sums) makes results of what prepare(line, n) left of the elements.
template <class Prepare, class Finish>
MOPT_INLINE int32_t sumPool(const mopt_tensor &x, const mopt_tensor &y, const mopt_attr *attr, WindowSlots slots,
                            int64_t begin, int64_t end, mopt_fault *fault, Prepare prepare, Finish finish) {
  Window w;
  if (int32_t status = poolWindow(x, y, attr, slots, w, fault)) return status;
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    using Sums = Cascade<T, width>;
    alignas(64) T acc[width], line[width];
    forEachPart(y, w, begin, end, [&](const Part &p) MOPT_LAMBDA {
      Sums sums;
      fillRun(acc, (T)0, width);
      forEachTap(x, w, p, [&](int64_t from, int64_t n, Tap tap) MOPT_LAMBDA {
        if (w.kernelSize > Sums::leafSize) sums.turnTo(tap.number / Sums::leafSize, (T *)acc);
        loadRun(line, x.data, x.type, tap.offset, w.stride[2] * w.xs[2], n);
        prepare((T *)line, n);
        for (int64_t i = 0; i < n; ++i) acc[from + i] += line[i];
      });
      sums.finish((T *)acc);
      finish(w, p, (T *)acc);
      storeRun((const T *)acc, y.data, y.type, partOffset(y, w, p), w.ys[2], p.n);
    });
    return MOPT_STEP_OK;
  });
}
} // namespace

// ONNX AveragePool. A window without a counted position gives 0 / 0.
MOPT_REFERENCE_FUNCTION(average_pool) {
  WindowSlots slots = {MOPT_AVERAGE_POOL_AUTO_PAD, MOPT_AVERAGE_POOL_DILATIONS, MOPT_AVERAGE_POOL_KERNEL_SHAPE,
                       MOPT_AVERAGE_POOL_PADS, MOPT_AVERAGE_POOL_STRIDES};
  bool padding = attrInt(attr, MOPT_AVERAGE_POOL_COUNT_INCLUDE_PAD) != 0;
  return sumPool(
      in[0], out[0], attr, slots, begin, end, fault, [](auto *, int64_t) MOPT_LAMBDA {},
      [&](const Window &w, const Part &p, auto *sums) MOPT_LAMBDA {
        int64_t count = tapCount(w, 0, p.z, padding) * tapCount(w, 1, p.y, padding);
        for (int64_t i = 0; i < p.n; ++i) sums[i] = sums[i] / (count * tapCount(w, 2, p.x + i, padding));
      });
}

// ONNX LpPool: (sum |x|^p)^(1/p) over the positions inside the image.
MOPT_REFERENCE_FUNCTION(lp_pool) {
  WindowSlots slots = {MOPT_LP_POOL_AUTO_PAD, MOPT_LP_POOL_DILATIONS, MOPT_LP_POOL_KERNEL_SHAPE, MOPT_LP_POOL_PADS,
                       MOPT_LP_POOL_STRIDES};
  int64_t power = attrInt(attr, MOPT_LP_POOL_P, 2);
  return sumPool(
      in[0], out[0], attr, slots, begin, end, fault, [&](auto *line, int64_t n) MOPT_LAMBDA { powers(line, n, power); },
      [&](const Window &, const Part &p, auto *sums) MOPT_LAMBDA { rootOf(sums, p.n, power); });
}

// ONNX MaxPool. NaN is passed over, as in ONNX's reference implementation and onnxruntime. An index counts over all of x,
// row-major or with the first spatial axis fastest.
MOPT_REFERENCE_FUNCTION(max_pool) {
  const mopt_tensor &x = in[0], &y = out[0];
  const mopt_tensor *indices = nout > 1 && present(out[1]) ? &out[1] : nullptr;
  Window w;
  if (int32_t status = poolWindow(x, y, attr,
                                  {MOPT_MAX_POOL_AUTO_PAD, MOPT_MAX_POOL_DILATIONS, MOPT_MAX_POOL_KERNEL_SHAPE,
                                   MOPT_MAX_POOL_PADS, MOPT_MAX_POOL_STRIDES},
                                  w, fault))
    return status;
  if (indices && !sameDims(*indices, y)) return fail(fault, MOPT_STEP_SHAPE, -1, indices->rank, y.rank);
  bool columnMajor = attrInt(attr, MOPT_MAX_POOL_STORAGE_ORDER) != 0;
  return withCompute(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    alignas(64) T acc[width], line[width];
    uint64_t where[width];
    forEachPart(y, w, begin, end, [&](const Part &p) MOPT_LAMBDA {
      fillRun(acc, lowestOf<T>, width);
      if (indices) fillRun(where, ~(uint64_t)0, width);
      int64_t plane = (p.image * x.dims[1] + p.channel) * w.inSize;
      forEachTap(x, w, p, [&](int64_t from, int64_t n, Tap tap) MOPT_LAMBDA {
        loadRun(line, x.data, x.type, tap.offset, w.stride[2] * w.xs[2], n);
        if (indices) {
          int64_t first = plane + (columnMajor ? tap.z + w.in[0] * (tap.y + w.in[1] * tap.x)
                                               : (tap.z * w.in[1] + tap.y) * w.in[2] + tap.x);
          int64_t step = w.stride[2] * (columnMajor ? w.in[0] * w.in[1] : 1);
          for (int64_t i = 0; i < n; ++i)
            if (where[from + i] == ~(uint64_t)0 || line[i] > acc[from + i]) where[from + i] = (uint64_t)(first + i * step);
        }
        for (int64_t i = 0; i < n; ++i) acc[from + i] = line[i] > acc[from + i] ? line[i] : acc[from + i];
      });
      storeRun((const T *)acc, y.data, y.type, partOffset(y, w, p), w.ys[2], p.n);
      if (!indices) return;
      const mopt_tensor &t = *indices;
      int32_t first = t.rank - 3;
      int64_t offset = p.image * t.strides[0] + p.channel * t.strides[1] + p.x * t.strides[t.rank - 1] +
                       (first + 1 >= 2 ? p.y * t.strides[first + 1] : 0) + (first >= 2 ? p.z * t.strides[first] : 0);
      storeRun((const uint64_t *)where, t.data, t.type, offset, t.strides[t.rank - 1], p.n);
    });
    return MOPT_STEP_OK;
  });
}

namespace {
/// Planes [begin, end) of a global pool: finish(reduced value, elements of a plane).
template <class T, class Kind, class Prepare, class Finish>
MOPT_INLINE int32_t globalPool(const mopt_tensor &x, const mopt_tensor &y, int64_t begin, int64_t end, Prepare prepare,
                               Finish finish, mopt_fault *fault) {
  if (x.rank < 2) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 2);
  if (numElements(y) != x.dims[0] * x.dims[1])
    return fail(fault, MOPT_STEP_SHAPE, -1, numElements(y), x.dims[0] * x.dims[1]);
  int64_t size = sizeOf(x, 2, x.rank), expected = 1;
  bool adjacent = true;
  for (int32_t i = x.rank; i-- > 2;) {
    if (x.dims[i] != 1 && x.strides[i] != expected) adjacent = false;
    expected *= x.dims[i];
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t base = i / x.dims[1] * x.strides[0] + i % x.dims[1] * x.strides[1];
    T value = reduceLanes<T, Kind>(size, [&](int64_t k, int64_t n, T *dst) MOPT_LAMBDA {
      if (adjacent) loadRun(dst, x.data, x.type, base + k, 1, n);
      else
        for (int64_t j = 0; j < n; ++j) {
          int64_t offset = base, flat = k + j;
          for (int32_t axis = x.rank; axis-- > 2;) {
            offset += flat % x.dims[axis] * x.strides[axis];
            flat /= x.dims[axis];
          }
          loadRun(dst + j, x.data, x.type, offset, 1, 1);
        }
      prepare(dst, n);
    });
    value = finish(value, size);
    storeRun(&value, y.data, y.type, offsetOfFlat(y, i), 1, 1);
  }
  return MOPT_STEP_OK;
}
} // namespace

MOPT_REFERENCE_FUNCTION(global_average_pool) {
  return withFloat(out[0].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    return globalPool<T, Sum<T>>(
        in[0], out[0], begin, end, [](T *, int64_t) MOPT_LAMBDA {}, [](T sum, int64_t n) MOPT_LAMBDA { return sum / (T)n; },
        fault);
  });
}
MOPT_REFERENCE_FUNCTION(global_max_pool) {
  return withFloat(out[0].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    return globalPool<T, Largest<T>>(
        in[0], out[0], begin, end, [](T *, int64_t) MOPT_LAMBDA {}, [](T value, int64_t) MOPT_LAMBDA { return value; },
        fault);
  });
}
MOPT_REFERENCE_FUNCTION(global_lp_pool) {
  int64_t power = attrInt(attr, MOPT_GLOBAL_LP_POOL_P, 2);
  return withFloat(out[0].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    return globalPool<T, Sum<T>>(
        in[0], out[0], begin, end, [&](T *values, int64_t n) MOPT_LAMBDA { powers(values, n, power); },
        [&](T sum, int64_t) MOPT_LAMBDA {
          rootOf(&sum, 1, power);
          return sum;
        },
        fault);
  });
}
