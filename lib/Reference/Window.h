//===- Window.h - sliding windows of convolutions and pools -------------------------------------------------------===//
//
// ONNX Conv, ConvTranspose, AveragePool, MaxPool, LpPool. One to three spatial axes; absent ones stand in front with size 1.
// Sizes of the result are those of its tensor: with ceil_mode and auto_pad the importer has applied ONNX's formulas.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_WINDOW_H
#define MOPT_LIB_REFERENCE_WINDOW_H
#include "Panel.h"

namespace mopt {
namespace ref {

struct Window {
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3];
  int64_t pad[3], padEnd[3];
  int64_t xs[3], ys[3]; // element strides of the spatial axes of x and y
  int64_t kernelSize, inSize, outSize;
};
/// Slots of the attributes that all of these ops have.
struct WindowSlots {
  int32_t autoPad, dilations, kernelShape, pads, strides;
};
enum { autoPadNotSet = 0, autoPadSameUpper = 1, autoPadSameLower = 2, autoPadValid = 3 }; // order of the records' choices
enum { maxWindow = 1 << 30 };
constexpr int64_t maxKernel = (int64_t)1 << 48;

/// `kernelOf` gives the kernel size where the attribute does not: spatial axes of the weight.
/// With `transposed`, x is the result of the window and y what it slides over (ONNX ConvTranspose).
MOPT_INLINE int32_t makeWindow(const mopt_tensor &x, const mopt_tensor &y, const mopt_tensor *weight, const mopt_attr *attr,
                               WindowSlots slot, Window &w, mopt_fault *fault) {
  int32_t rank = x.rank - 2;
  if (rank < 1 || rank > 3) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, 5);
  if (y.rank != x.rank) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, x.rank);
  if (weight && weight->rank != x.rank) return fail(fault, MOPT_STEP_SHAPE, 1, weight->rank, x.rank);
  IntList kernel = attrInts(attr, slot.kernelShape), strides = attrInts(attr, slot.strides);
  IntList dilations = attrInts(attr, slot.dilations), pads = attrInts(attr, slot.pads);
  int64_t autoPad = attrInt(attr, slot.autoPad);
  if (!weight && kernel.n != rank) return fail(fault, MOPT_STEP_SHAPE, -1, kernel.n, rank);
  if ((strides.n && strides.n != rank) || (dilations.n && dilations.n != rank) || (pads.n && pads.n != 2 * rank))
    return fail(fault, MOPT_STEP_SHAPE, -1, strides.n && strides.n != rank ? strides.n : dilations.n, rank);
  w.kernelSize = w.inSize = w.outSize = 1;
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 3; ++i) {
    int32_t s = i - (3 - rank);
    w.in[i] = s < 0 ? 1 : x.dims[s + 2];
    w.out[i] = s < 0 ? 1 : y.dims[s + 2];
    w.xs[i] = s < 0 ? 0 : x.strides[s + 2];
    w.ys[i] = s < 0 ? 0 : y.strides[s + 2];
    w.kernel[i] = s < 0 ? 1 : weight ? weight->dims[s + 2] : kernel[s];
    w.stride[i] = s < 0 || !strides.n ? 1 : strides[s];
    w.dilation[i] = s < 0 || !dilations.n ? 1 : dilations[s];
    bool explicitPads = s >= 0 && pads.n && autoPad == autoPadNotSet;
    w.pad[i] = explicitPads ? pads[s] : 0;
    w.padEnd[i] = explicitPads ? pads[s + rank] : 0;
    // Nothing below may overflow: sizes of tensors fit 2^48, these are held under 2^30.
    if (w.kernel[i] < 1 || w.kernel[i] > maxWindow) return fail(fault, MOPT_STEP_VALUE, -1, w.kernel[i], 1);
    if (w.stride[i] < 1 || w.stride[i] > maxWindow) return fail(fault, MOPT_STEP_VALUE, -1, w.stride[i], 1);
    if (w.dilation[i] < 1 || w.dilation[i] > maxWindow) return fail(fault, MOPT_STEP_VALUE, -1, w.dilation[i], 1);
    if (w.pad[i] < -maxWindow || w.pad[i] > maxWindow) return fail(fault, MOPT_STEP_VALUE, -1, w.pad[i], 0);
    if (w.padEnd[i] < -maxWindow || w.padEnd[i] > maxWindow) return fail(fault, MOPT_STEP_VALUE, -1, w.padEnd[i], 0);
    if (__builtin_mul_overflow(w.kernelSize, w.kernel[i], &w.kernelSize) || w.kernelSize > maxKernel)
      return fail(fault, MOPT_STEP_VALUE, -1, w.kernel[i], maxWindow);
    w.inSize *= w.in[i];
    w.outSize *= w.out[i];
  }
  return MOPT_STEP_OK;
}
/// SAME_UPPER, SAME_LOWER: what the result needs beyond the input, the odd one at the end or at the beginning.
MOPT_INLINE void samePads(Window &w, int64_t autoPad) {
  if (autoPad != autoPadSameUpper && autoPad != autoPadSameLower) return;
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 3; ++i) {
    int64_t total = maxOf(0, (w.out[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1 - w.in[i]);
    w.pad[i] = autoPad == autoPadSameUpper ? total / 2 : total - total / 2;
    w.padEnd[i] = total - w.pad[i];
  }
}
/// Output positions [low, high) along axis `i` whose input at kernel position `k` is inside x.
MOPT_INLINE void validRange(const Window &w, int32_t i, int64_t k, int64_t &low, int64_t &high) {
  int64_t shift = w.pad[i] - k * w.dilation[i];
  low = minOf(maxOf(ceilDiv(shift, w.stride[i]), 0), w.out[i]);
  high = maxOf(low, minOf(floorDiv(w.in[i] - 1 + shift, w.stride[i]) + 1, w.out[i]));
}
/// Is x as large as y, with step 1 and adjacent elements: then a tap is the image, moved by a constant.
MOPT_INLINE bool isMoved(const Window &w) {
  bool moved = w.xs[2] == 1 && (w.in[1] == 1 || w.xs[1] == w.in[2]) && (w.in[0] == 1 || w.xs[0] == w.in[1] * w.in[2]);
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 3; ++i) moved = moved && w.in[i] == w.out[i] && w.stride[i] == 1;
  return moved;
}

/// A run of output positions in one row of the image.
struct Segment {
  int32_t z, y, x, n, at; // position of the first, how many, place in the panel
};
/// Cuts the flat output positions [first, first + n) at the ends of rows; returns the number of segments.
MOPT_INLINE int32_t cutSegments(const Window &w, int64_t first, int64_t n, Segment *segments) {
  int64_t x = first % w.out[2], y = first / w.out[2] % w.out[1], z = first / w.out[2] / w.out[1];
  int32_t count = 0;
  for (int64_t at = 0; at < n;) {
    int64_t length = minOf(n - at, w.out[2] - x);
    segments[count++] = {(int32_t)z, (int32_t)y, (int32_t)x, (int32_t)length, (int32_t)at};
    at += length;
    x = 0;
    if (++y == w.out[1]) y = 0, ++z;
  }
  return count;
}

} // namespace ref
} // namespace mopt
#endif
