//===- ConvTranspose.cpp - ConvTranspose --------------------------------------------------------------------------===//
//
// ONNX ConvTranspose: y[o] gets x[i] * w[k] wherever o = i * stride - pad + k * dilation. Output positions with the same
// (o + pad) mod stride, a phase, use the same kernel positions, and for them the op is a plain convolution with stride 1
// whose taps run backwards. So there are stride^rank convolutions, and no multiplications by inserted zeros.
// Order of an element: channel first, then kernel positions in row-major order; the bias is added last.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Convolution.h"
using namespace mopt::ref;

namespace {
MOPT_INLINE int64_t greatestDivisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/// The convolution along axis `i` of the output positions `phase`, `phase + stride`, ... of the window `of`.
MOPT_INLINE void phaseAxis(const Window &of, int32_t i, int64_t phase, ConvShape &s, int64_t &wOffset, int64_t &yOffset) {
  Window &w = s.w;
  int64_t stride = of.stride[i], dilation = of.dilation[i], step = stride / greatestDivisor(stride, dilation), k = 0;
  while (k < step && k < of.kernel[i] && (phase + of.pad[i] - k * dilation) % stride != 0) ++k;
  bool none = k >= step || k >= of.kernel[i]; // no kernel position meets this phase: only the bias is left
  w.kernel[i] = none ? 0 : (of.kernel[i] - k + step - 1) / step;
  w.out[i] = (of.out[i] - phase + stride - 1) / stride;
  w.stride[i] = 1;
  w.pad[i] = none ? 0 : -((phase + of.pad[i] - k * dilation) / stride);
  w.dilation[i] = -(step * dilation / stride);
  w.ys[i] = of.ys[i] * stride;
  yOffset += of.ys[i] * phase;
  wOffset += s.ws[i] * k;
  s.ws[i] *= step;
}
} // namespace

MOPT_REFERENCE_FUNCTION(conv_transpose) {
  const mopt_tensor &x = in[0], &weight = in[1], &y = out[0];
  const mopt_tensor *bias = operand(in, nin, 2);
  ConvShape s;
  if (int32_t status = makeWindow(x, y, &weight, attr,
                                  {MOPT_CONV_TRANSPOSE_AUTO_PAD, MOPT_CONV_TRANSPOSE_DILATIONS,
                                   MOPT_CONV_TRANSPOSE_KERNEL_SHAPE, MOPT_CONV_TRANSPOSE_PADS, MOPT_CONV_TRANSPOSE_STRIDES},
                                  s.w, fault))
    return status;
  int64_t group = attrInt(attr, MOPT_CONV_TRANSPOSE_GROUP, 1), autoPad = attrInt(attr, MOPT_CONV_TRANSPOSE_AUTO_PAD);
  if (group < 1 || x.dims[1] % group != 0) return fail(fault, MOPT_STEP_VALUE, 0, group, x.dims[1]);
  if (weight.dims[0] != x.dims[1]) return fail(fault, MOPT_STEP_SHAPE, 1, weight.dims[0], x.dims[1]);
  if (y.dims[1] != weight.dims[1] * group) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[1], weight.dims[1] * group);
  if (y.dims[0] != x.dims[0]) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[0], x.dims[0]);
  if (bias && (bias->rank != 1 || bias->dims[0] != y.dims[1]))
    return fail(fault, MOPT_STEP_SHAPE, 2, bias->dims[0], y.dims[1]);

  int32_t rank = x.rank - 2;
  IntList outputPadding = attrInts(attr, MOPT_CONV_TRANSPOSE_OUTPUT_PADDING);
  if (outputPadding.n && outputPadding.n != rank) return fail(fault, MOPT_STEP_SHAPE, -1, outputPadding.n, rank);
  if (hasAttr(attr, MOPT_CONV_TRANSPOSE_OUTPUT_SHAPE) || autoPad == autoPadSameUpper || autoPad == autoPadSameLower)
    for (int32_t i = 3 - rank; i < 3; ++i) { // the size is given, the padding follows
      int64_t extra = outputPadding.n ? outputPadding[i - 3 + rank] : 0;
      int64_t total = (s.w.in[i] - 1) * s.w.stride[i] + extra + (s.w.kernel[i] - 1) * s.w.dilation[i] + 1 - s.w.out[i];
      total = maxOf(total, 0);
      s.w.pad[i] = autoPad == autoPadSameUpper ? total / 2 : total - total / 2;
    }

  s.channels = x.dims[1] / group;
  s.outChannels = weight.dims[1];
  s.xc = x.strides[1];
  s.wo = weight.strides[1];
  s.wc = weight.strides[0];
  s.wGroup = s.channels * s.wc;
  s.plainKernel = false;
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 3; ++i) s.ws[i] = i < 3 - rank ? 0 : weight.strides[i + rank - 1];

  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    const Window w = s.w;
    for (int64_t pz = 0; pz < minOf(w.stride[0], w.out[0]); ++pz)
      for (int64_t py = 0; py < minOf(w.stride[1], w.out[1]); ++py)
        for (int64_t px = 0; px < minOf(w.stride[2], w.out[2]); ++px) {
          ConvShape phase = s;
          int64_t wOffset = 0, yOffset = 0;
          phaseAxis(w, 0, pz, phase, wOffset, yOffset);
          phaseAxis(w, 1, py, phase, wOffset, yOffset);
          phaseAxis(w, 2, px, phase, wOffset, yOffset);
          phase.w.kernelSize = phase.w.kernel[0] * phase.w.kernel[1] * phase.w.kernel[2];
          phase.w.outSize = phase.w.out[0] * phase.w.out[1] * phase.w.out[2];
          convolve<T>(
              phase, PlainSource<T>{x}, x.strides[0], y.dims[1],
              [&](int64_t) MOPT_LAMBDA { return OffsetSource<T>{weight, wOffset}; }, begin, end,
              [&](int64_t image, int64_t channel, int64_t first, int64_t n, T *acc) MOPT_LAMBDA {
                if (bias) {
                  T add = loadOne<T>(*bias, channel * bias->strides[0]);
                  for (int64_t i = 0; i < n; ++i) acc[i] += add;
                }
                storePixels(phase.w, image * y.strides[0] + channel * y.strides[1] + yOffset, first, n, (const T *)acc,
                            [&](const T *sums, int64_t offset, int64_t stride, int64_t count)
                                MOPT_LAMBDA { storeRun(sums, y.data, y.type, offset, stride, count); });
              });
        }
    return MOPT_STEP_OK;
  });
}
