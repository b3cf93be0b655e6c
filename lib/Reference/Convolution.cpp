//===- Convolution.cpp - Conv, ConvInteger, QLinearConv -----------------------------------------------------------===//
//
// ONNX: Conv, ConvInteger, QLinearConv. Order of operations of an element: see Convolution.h; the bias is added last.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Convolution.h"
#include "Requantize.h"
using namespace mopt::ref;

// ONNX Conv.
MOPT_REFERENCE_FUNCTION(conv) {
  const mopt_tensor &x = in[0], &weight = in[1], &y = out[0];
  const mopt_tensor *bias = operand(in, nin, 2);
  ConvShape s;
  if (int32_t status = convShape(x, weight, y, 1, attr, s, fault)) return status;
  if (bias && (bias->rank != 1 || bias->dims[0] != y.dims[1]))
    return fail(fault, MOPT_STEP_SHAPE, 2, bias->dims[0], y.dims[1]);
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    convolve<T>(
        s, PlainSource<T>{x}, x.strides[0], y.dims[1], [&](int64_t) MOPT_LAMBDA { return PlainSource<T>{weight}; }, begin,
        end,
        [&](int64_t image, int64_t channel, int64_t first, int64_t n, T *acc) MOPT_LAMBDA {
          if (bias) {
            T add = loadOne<T>(*bias, channel * bias->strides[0]);
            for (int64_t i = 0; i < n; ++i) acc[i] += add;
          }
          storePixels(s.w, image * y.strides[0] + channel * y.strides[1], first, n, (const T *)acc,
                      [&](const T *sums, int64_t offset, int64_t stride, int64_t count)
                          MOPT_LAMBDA { storeRun(sums, y.data, y.type, offset, stride, count); });
        });
    return MOPT_STEP_OK;
  });
}

namespace {
/// A parameter of the weight: one value or one per output channel.
MOPT_INLINE int32_t checkPerChannel(const mopt_tensor &t, int64_t channels, int32_t slot, mopt_fault *fault) {
  int64_t n = numElements(t);
  return n == 1 || (t.rank == 1 && n == channels) ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_SHAPE, slot, n, channels);
}
MOPT_INLINE int64_t perChannel(const mopt_tensor &t, int64_t channel) {
  return t.rank == 1 && t.dims[0] > 1 ? channel * t.strides[0] : 0;
}
/// Sums of (x - x_zero_point) * (w - w_zero_point) modulo 2^32.
template <class Write>
MOPT_INLINE void integerConv(const ConvShape &s, const mopt_tensor &x, const mopt_tensor &weight, const mopt_tensor *xZero,
                             const mopt_tensor *wZero, int64_t channels, int64_t begin, int64_t end, Write write) {
  using T = uint32_t;
  convolve<T>(
      s, ShiftedSource<T>{x, xZero ? loadOne<T>(*xZero, 0) : 0}, x.strides[0], channels,
      [&](int64_t channel)
          MOPT_LAMBDA { return ShiftedSource<T>{weight, wZero ? loadOne<T>(*wZero, perChannel(*wZero, channel)) : 0}; },
      begin, end, write);
}
} // namespace

// ONNX ConvInteger.
MOPT_REFERENCE_FUNCTION(conv_integer) {
  const mopt_tensor &x = in[0], &weight = in[1], &y = out[0];
  const mopt_tensor *xZero = operand(in, nin, 2), *wZero = operand(in, nin, 3);
  ConvShape s;
  if (int32_t status = convShape(x, weight, y, 1, attr, s, fault)) return status;
  if (xZero && numElements(*xZero) != 1) return fail(fault, MOPT_STEP_SHAPE, 2, numElements(*xZero), 1);
  if (wZero)
    if (int32_t status = checkPerChannel(*wZero, y.dims[1], 3, fault)) return status;
  integerConv(s, x, weight, xZero, wZero, y.dims[1], begin, end,
              [&](int64_t image, int64_t channel, int64_t first, int64_t n, uint32_t *acc) MOPT_LAMBDA {
                storePixels(s.w, image * y.strides[0] + channel * y.strides[1], first, n, (const uint32_t *)acc,
                            [&](const uint32_t *sums, int64_t offset, int64_t stride, int64_t count)
                                MOPT_LAMBDA { storeRun(sums, y.data, y.type, offset, stride, count); });
              });
  return MOPT_STEP_OK;
}

// ONNX QLinearConv: the sum and the bias, exact, times (x_scale * w_scale / y_scale) in f32, then as QuantizeLinear.
// With requantize = fixed: the same scale as integers.
MOPT_REFERENCE_FUNCTION(qlinear_conv) {
  const mopt_tensor &x = in[0], &weight = in[3], &y = out[0];
  const mopt_tensor *bias = operand(in, nin, 8);
  ConvShape s;
  if (int32_t status = convShape(x, weight, y, 3, attr, s, fault)) return status;
  for (int32_t slot = 1; slot <= 7; slot = slot == 2 ? 6 : slot + 1) // scales and zero points of x and y
    if (numElements(in[slot]) != 1) return fail(fault, MOPT_STEP_SHAPE, slot, numElements(in[slot]), 1);
  for (int32_t slot = 4; slot <= 5; ++slot)
    if (int32_t status = checkPerChannel(in[slot], y.dims[1], slot, fault)) return status;
  if (bias && (bias->rank != 1 || bias->dims[0] != y.dims[1]))
    return fail(fault, MOPT_STEP_SHAPE, 8, bias->dims[0], y.dims[1]);
  float xScale = loadOne<float>(in[1], 0), yScale = loadOne<float>(in[6], 0);
  int64_t yZero = (int32_t)loadOne<uint32_t>(in[7], 0);
  bool fixed = attrInt(attr, MOPT_QLINEAR_CONV_REQUANTIZE) != 0, good = true;
  integerConv(s, x, weight, &in[2], &in[5], y.dims[1], begin, end,
              [&](int64_t image, int64_t channel, int64_t first, int64_t n, uint32_t *acc) MOPT_LAMBDA {
                uint32_t add = bias ? loadOne<uint32_t>(*bias, channel * bias->strides[0]) : 0;
                float wScale = loadOne<float>(in[4], perChannel(in[4], channel));
                float right[2 * Block<uint32_t>::cols];
                for (int64_t i = 0; i < n; ++i) acc[i] += add, right[i] = wScale;
                storePixels(s.w, image * y.strides[0] + channel * y.strides[1], first, n, (const uint32_t *)acc,
                            [&](const uint32_t *sums, int64_t offset, int64_t stride, int64_t count) MOPT_LAMBDA {
                              good = requantizeRun(sums, (const float *)right, xScale, yScale, yZero, fixed, y, offset,
                                                   stride, count) && good;
                            });
              });
  return good ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_VALUE, 6, 0, 0);
}
