//===- Convolution.h - the loops of Conv for any element source ---------------------------------------------------===//
//
// A convolution is a contraction of the weight [o, (c, kz, ky, kx)] with a matrix [(c, kz, ky, kx), pixels] that is gathered
// panel by panel and never stored: channel first, then kernel positions in row-major order. Padding contributes w * 0, which
// changes no bits of a sum that starts at +0 (with infinite weights it is NaN, as in implementations that pad).
//
// A source gives the elements of a tensor as T: run(dst, offset, stride, n), plain() (a pointer when they lie in memory like
// that, else null).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_CONVOLUTION_H
#define MOPT_LIB_REFERENCE_CONVOLUTION_H
#include "Window.h"

namespace mopt {
namespace ref {

/// Elements as they are.
template <class T> struct PlainSource {
  const mopt_tensor &t;
  __attribute__((always_inline)) void run(T *dst, int64_t offset, int64_t stride, int64_t n) const {
    loadRun(dst, t.data, t.type, offset, stride, n);
  }
  __attribute__((always_inline)) const T *plain() const { return isNative<T>(t.type) ? (const T *)t.data : nullptr; }
};
/// Elements from an offset on.
template <class T> struct OffsetSource {
  const mopt_tensor &t;
  int64_t first;
  __attribute__((always_inline)) void run(T *dst, int64_t offset, int64_t stride, int64_t n) const {
    loadRun(dst, t.data, t.type, first + offset, stride, n);
  }
};
/// Elements less a zero point.
template <class T> struct ShiftedSource {
  const mopt_tensor &t;
  T zero;
  __attribute__((always_inline)) void run(T *dst, int64_t offset, int64_t stride, int64_t n) const {
    loadRun(dst, t.data, t.type, offset, stride, n);
    for (int64_t i = 0; i < n; ++i) dst[i] -= zero;
  }
  __attribute__((always_inline)) const T *plain() const { return nullptr; }
};

/// Sizes of a convolution beside its window.
struct ConvShape {
  Window w;
  int64_t channels, outChannels;     // of a group
  int64_t xc, wGroup, wo, wc, ws[3]; // element strides: channel of x; group, output channel, channel, kernel of the weight
  bool plainKernel;                  // (c, kz, ky, kx) of the weight are adjacent
};
enum { convX = 0, convW = 1 }; // operands of Conv and ConvInteger; QLinearConv names its own

MOPT_INLINE int32_t convShape(const mopt_tensor &x, const mopt_tensor &weight, const mopt_tensor &y, int32_t weightOperand,
                              const mopt_attr *attr, ConvShape &s, mopt_fault *fault) {
  // The attributes of all forms of Conv have the same slots.
  if (int32_t status = makeWindow(
          x, y, &weight, attr,
          {MOPT_CONV_AUTO_PAD, MOPT_CONV_DILATIONS, MOPT_CONV_KERNEL_SHAPE, MOPT_CONV_PADS, MOPT_CONV_STRIDES}, s.w, fault))
    return status;
  samePads(s.w, attrInt(attr, MOPT_CONV_AUTO_PAD));
  int64_t group = attrInt(attr, MOPT_CONV_GROUP, 1);
  if (group < 1 || weight.dims[0] % group != 0) return fail(fault, MOPT_STEP_VALUE, weightOperand, group, weight.dims[0]);
  if (weight.dims[1] * group != x.dims[1])
    return fail(fault, MOPT_STEP_SHAPE, weightOperand, weight.dims[1] * group, x.dims[1]);
  if (y.dims[0] != x.dims[0]) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[0], x.dims[0]);
  if (y.dims[1] != weight.dims[0]) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[1], weight.dims[0]);
  s.channels = weight.dims[1];
  s.outChannels = weight.dims[0] / group;
  s.xc = x.strides[1];
  s.wo = weight.strides[0];
  s.wGroup = s.outChannels * s.wo;
  s.wc = weight.strides[1];
  int64_t expected = 1;
  s.plainKernel = true;
#pragma clang loop unroll(full)
  for (int32_t i = 2; i >= 0; --i) {
    int32_t axis = i - 3 + weight.rank;
    s.ws[i] = axis < 2 ? 0 : weight.strides[axis];
    s.plainKernel = s.plainKernel && (s.w.kernel[i] == 1 || s.ws[i] == expected);
    expected *= s.w.kernel[i];
  }
  s.plainKernel = s.plainKernel && (s.channels == 1 || s.wc == expected);
  return MOPT_STEP_OK;
}

/// Position of the contraction: channel and kernel position.
struct Tap {
  int64_t c, z, y, x;
};
MOPT_INLINE Tap tapAt(const Window &w, int64_t k) {
  return {k / w.kernelSize, k / (w.kernel[1] * w.kernel[2]) % w.kernel[0], k / w.kernel[2] % w.kernel[1], k % w.kernel[2]};
}
MOPT_INLINE void nextTap(const Window &w, Tap &t) {
  if (++t.x < w.kernel[2]) return;
  t.x = 0;
  if (++t.y < w.kernel[1]) return;
  t.y = 0;
  if (++t.z < w.kernel[0]) return;
  t.z = 0;
  ++t.c;
}

/// dst = weight of one output channel (at `base`), contraction positions [k, k + n).
template <class T, class Source>
MOPT_INLINE void weightRun(const ConvShape &s, const Source &weight, int64_t base, int64_t k, int64_t n, T *dst) {
  if (s.plainKernel) return weight.run(dst, base + k, 1, n);
  if (s.w.kernelSize == 1) return weight.run(dst, base + k * s.wc, s.wc, n);
  Tap t = tapAt(s.w, k);
  for (int64_t i = 0; i < n;) {
    int64_t length = minOf(s.w.kernel[2] - t.x, n - i);
    weight.run(dst + i, base + t.c * s.wc + t.z * s.ws[0] + t.y * s.ws[1] + t.x * s.ws[2], s.ws[2], length);
    i += length;
    t.x += length - 1;
    nextTap(s.w, t);
  }
}

/// One row of a panel: input of the output positions in `segments` at one tap; `base` is the offset of its channel.
template <class T, class Source>
MOPT_INLINE void tapRun(const Window &w, const Source &x, int64_t base, const Tap &t, const Segment *segments, int32_t count,
                        T *dst) {
  int64_t low, high;
  validRange(w, 2, t.x, low, high);
  int64_t dx = t.x * w.dilation[2] - w.pad[2];
  for (int32_t i = 0; i < count; ++i) {
    Segment g = segments[i];
    int64_t z = g.z * w.stride[0] + t.z * w.dilation[0] - w.pad[0], y = g.y * w.stride[1] + t.y * w.dilation[1] - w.pad[1];
    T *to = dst + g.at;
    if ((uint64_t)z >= (uint64_t)w.in[0] || (uint64_t)y >= (uint64_t)w.in[1]) {
      fillRun(to, (T)0, g.n);
      continue;
    }
    int64_t from = minOf(maxOf(low - g.x, 0), g.n), until = maxOf(from, minOf(high - g.x, g.n));
    fillRun(to, (T)0, from);
    x.run(to + from, base + z * w.xs[0] + y * w.xs[1] + ((g.x + from) * w.stride[2] + dx) * w.xs[2], w.stride[2] * w.xs[2],
          until - from);
    fillRun(to + until, (T)0, g.n - until);
  }
}

/// Integers as wide as T.
template <int bytes> struct IntegerOf {
  using type = int32_t;
};
template <> struct IntegerOf<8> {
  using type = int64_t;
};

/// The same where a tap is the image moved by a constant (isMoved, one plane): vectors are read across the ends of rows, and
/// elements whose column falls off the image become 0. What falls off above or below is then outside of [0, inSize), which is
/// false to begin with: `from` and the `n` elements after it must lie inside. `px`: columns of the output positions.
template <class T>
MOPT_INLINE void movedRun(const Window &w, const T *from, int64_t dx, const typename IntegerOf<sizeof(T)>::type *px,
                          int64_t n, T *dst) {
  using I = typename IntegerOf<sizeof(T)>::type;
  typedef I VI __attribute__((ext_vector_type(64 / sizeof(I))));
  typedef typename Lanes<T>::vector V;
  constexpr int lanes = Lanes<T>::count;
  if (dx == 0) {
    for (int64_t i = 0; i < n; i += lanes) storeLanes(dst + i, loadLanes(from + i));
    return;
  }
  for (int64_t i = 0; i < n; i += lanes) {
    VI column = *(const VI *)(px + i) + (I)dx;
    V value = loadLanes(from + i);
    storeLanes(dst + i, column >= (I)0 && column < (I)w.in[2] ? value : (V)(T)0);
  }
}

/// `count` output channels of one image and group: x at its offset, weightOf(r) and wOffset + r * wo the weight of channel r.
/// write(r, first pixel, pixels, sums).
template <class T, class X, class W, class Write>
MOPT_INLINE void convGroup(const ConvShape &s, const X &x, int64_t xOffset, W weightOf, int64_t wOffset, int64_t count,
                           Write write) {
  using B = Block<T>;
  const Window &w = s.w;
  bool moved = x.plain() && w.in[0] == 1 && isMoved(w);
  for (int64_t first = 0; first < w.outSize; first += B::cols) {
    int64_t ncols = minOf(B::cols, w.outSize - first), padded = ceilDiv(ncols, B::lanes) * B::lanes;
    Segment segments[B::cols];
    int32_t nsegments = cutSegments(w, first, ncols, segments);
    alignas(64) typename IntegerOf<sizeof(T)>::type px[B::cols];
    if (moved && (w.kernel[2] > 1 || w.pad[2] != 0)) {
      int64_t column = first % w.out[2];
      for (int64_t i = 0; i < B::cols; ++i) {
        px[i] = (typename IntegerOf<sizeof(T)>::type)column;
        column = column + 1 == w.out[2] ? 0 : column + 1;
      }
    }
    contract<T>(
        count, ncols, s.channels * w.kernelSize,
        [&](int64_t r, int64_t k, int64_t n, T *dst)
            MOPT_LAMBDA { weightRun(s, weightOf(r), wOffset + r * s.wo, k, n, dst); },
        [&](int64_t k, int64_t n, T *panel) MOPT_LAMBDA {
          Tap t = tapAt(w, k);
          for (int64_t i = 0; i < n; ++i, nextTap(w, t)) {
            int64_t base = xOffset + t.c * s.xc;
            if (moved) {
              int64_t dx = t.x * w.dilation[2] - w.pad[2];
              int64_t from = first + (t.y * w.dilation[1] - w.pad[1]) * w.in[2] + dx;
              if (from >= 0 && from + padded <= w.inSize && dx > -w.in[2] && dx < w.in[2]) {
                movedRun(w, x.plain() + base + from, dx, (const typename IntegerOf<sizeof(T)>::type *)px, padded,
                         panel + i * B::cols);
                continue;
              }
            }
            tapRun(w, x, base, t, (const Segment *)segments, nsegments, panel + i * B::cols);
          }
        },
        [&](int64_t r, T *acc) MOPT_LAMBDA { write(r, first, ncols, acc); });
  }
}

/// One plane of a convolution with one input channel per output channel: too few rows for a contraction. Each kernel position
/// in turn is added to a part of an output row, so that the order stays that of the contraction.
template <class T, class X, class W, class Write>
MOPT_INLINE void convPlane(const ConvShape &s, const X &x, int64_t xOffset, const W &weight, int64_t wOffset, Write write) {
  using B = Block<T>;
  const Window &w = s.w;
  constexpr int64_t width = B::cols * 2;
  alignas(64) T acc[width], line[width];
  for (int64_t z = 0; z < w.out[0]; ++z)
    for (int64_t y = 0; y < w.out[1]; ++y)
      for (int64_t first = 0; first < w.out[2]; first += width) {
        int64_t n = minOf(width, w.out[2] - first);
        fillRun(acc, (T)0, width);
        for (int64_t kz = 0; kz < w.kernel[0]; ++kz) {
          int64_t iz = z * w.stride[0] + kz * w.dilation[0] - w.pad[0];
          if ((uint64_t)iz >= (uint64_t)w.in[0]) continue;
          for (int64_t ky = 0; ky < w.kernel[1]; ++ky) {
            int64_t iy = y * w.stride[1] + ky * w.dilation[1] - w.pad[1];
            if ((uint64_t)iy >= (uint64_t)w.in[1]) continue;
            for (int64_t kx = 0; kx < w.kernel[2]; ++kx) {
              int64_t low, high;
              validRange(w, 2, kx, low, high);
              low = maxOf(low, first), high = minOf(high, first + n);
              if (low >= high) continue;
              T factor;
              weight.run(&factor, wOffset + kz * s.ws[0] + ky * s.ws[1] + kx * s.ws[2], 1, 1);
              int64_t from =
                  xOffset + iz * w.xs[0] + iy * w.xs[1] + (low * w.stride[2] + kx * w.dilation[2] - w.pad[2]) * w.xs[2];
              T *to = acc + (low - first);
              const T *plain = x.plain();
              if (plain && w.stride[2] * w.xs[2] == 1) {
                for (int64_t i = 0; i < high - low; ++i) to[i] = multiplyAdd(factor, plain[from + i], to[i]);
                continue;
              }
              x.run(line, from, w.stride[2] * w.xs[2], high - low);
              for (int64_t i = 0; i < high - low; ++i) to[i] = multiplyAdd(factor, line[i], to[i]);
            }
          }
        }
        write((z * w.out[1] + y) * w.out[2] + first, n, (T *)acc);
      }
}

/// Planes [begin, end) of y = conv(x, weight). weightOf(output channel): its source, the offset is that of the group and channel.
/// write(image, output channel, first pixel, pixels, sums).
template <class T, class X, class WeightOf, class Write>
MOPT_INLINE void convolve(const ConvShape &s, const X &x, int64_t xImage, int64_t outChannels, WeightOf weightOf,
                          int64_t begin, int64_t end, Write write) {
  for (int64_t plane = begin; plane < end;) {
    int64_t image = plane / outChannels, o = plane % outChannels, group = o / s.outChannels;
    int64_t count = minOf(end - plane, (group + 1) * s.outChannels - o),
            xOffset = image * xImage + group * s.channels * s.xc;
    int64_t wOffset = group * s.wGroup + (o - group * s.outChannels) * s.wo;
    if (s.channels == 1 && s.outChannels == 1)
      convPlane<T>(s, x, xOffset, weightOf(o), wOffset,
                   [&](int64_t first, int64_t n, T *acc) MOPT_LAMBDA { write(image, o, first, n, acc); });
    else
      convGroup<T>(
          s, x, xOffset, [&](int64_t r) MOPT_LAMBDA { return weightOf(o + r); }, wOffset, count,
          [&](int64_t r, int64_t first, int64_t n, T *acc) MOPT_LAMBDA { write(image, o + r, first, n, acc); });
    plane += count;
  }
}

/// Stores n sums at flat output positions from `first` on, of the plane at `offset` of y. store(sums, offset, stride, n).
template <class T, class Store>
MOPT_INLINE void storePixels(const Window &w, int64_t offset, int64_t first, int64_t n, const T *sums, Store store) {
  bool adjacent =
      w.ys[2] == 1 && (w.out[1] == 1 || w.ys[1] == w.out[2]) && (w.out[0] == 1 || w.ys[0] == w.out[1] * w.out[2]);
  if (adjacent) return store(sums, offset + first, 1, n);
  for (int64_t i = 0; i < n;) {
    int64_t p = first + i, x = p % w.out[2], length = minOf(n - i, w.out[2] - x);
    store(sums + i, offset + p / (w.out[1] * w.out[2]) * w.ys[0] + p / w.out[2] % w.out[1] * w.ys[1] + x * w.ys[2], w.ys[2],
          length);
    i += length;
  }
}

} // namespace ref
} // namespace mopt
#endif
