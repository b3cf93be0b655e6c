//===- MovementResize.cpp - Resize and Upsample -------------------------------------------------------------------===//
//
// Along each axis a result position has a coordinate in the operand and a few taps around it; the value is the sum over the
// product of the axes' taps, in double. Taps are computed once a row for all axes but the last.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Movement.h"

using namespace mopt::ref;

namespace {
struct Settings {
  int64_t transform, mode, nearest;
  bool antialias, excludeOutside;
  double cubic;
};
/// What is the same for all positions of one axis.
struct ResizeAxis {
  int64_t size, outSize;
  double scale, length; // length: scale * size, which need not be an integer
  double low, high;     // region of interest
  bool resized, roundQuotient;
};
/// Elements base + first ... base + first + count - 1, held to [0, size), and their weights.
struct Taps {
  int64_t base, first, count, size;
  double ratio, shrink, norm;
  bool outside; // of the region: the extrapolation value
};

/// A scale that a model gives in float is rounded: 2 / 0.6666667f must still be 3.
MOPT_INLINE double quotient(double a, const ResizeAxis &axis) {
  double q = a / axis.scale;
  return axis.roundQuotient ? (double)(float)q : q;
}
MOPT_INLINE double coordinate(const ResizeAxis &axis, const Settings &s, double y) {
  switch (s.transform) {
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_ALIGN_CORNERS:
    return axis.length == 1.0 ? 0.0 : y * (double)(axis.size - 1) / (axis.length - 1.0);
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_ASYMMETRIC:
    return quotient(y, axis);
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_HALF_PIXEL_FOR_NN:
    return quotient(y + 0.5, axis);
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_CROP_AND_RESIZE: {
    double width = (axis.high - axis.low) * (double)(axis.size - 1);
    return (axis.length == 1.0 ? width / 2.0 : y * width / (axis.length - 1.0)) + axis.low * (double)(axis.size - 1);
  }
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_PYTORCH_HALF_PIXEL:
    return axis.outSize == 1 ? -0.5 : quotient(y + 0.5, axis) - 0.5;
  case MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_HALF_PIXEL_SYMMETRIC: {
    double offset = (double)axis.size / 2.0 * (1.0 - (double)axis.outSize / axis.length);
    return offset + quotient(y + 0.5, axis) - 0.5;
  }
  default:
    return quotient(y + 0.5, axis) - 0.5;
  }
}
/// Weight of tap `i` before normalization: the filter at its distance, which antialiasing stretches.
MOPT_INLINE double filterAt(const Taps &t, const Settings &s, int64_t i) {
  double x = mopt::ref::abs(((double)(t.first + i) - t.ratio) * t.shrink), a = s.cubic;
  if (s.mode == MOPT_RESIZE_MODE_LINEAR) return x < 1.0 ? 1.0 - x : 0.0;
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}
MOPT_INLINE bool isInside(const Taps &t, int64_t i) {
  int64_t at = t.base + t.first + i;
  return at >= 0 && at < t.size;
}
MOPT_INLINE double weightAt(const Taps &t, const Settings &s, int64_t i) {
  if (t.count == 1) return 1.0;
  if (s.excludeOutside && !isInside(t, i)) return 0.0;
  return filterAt(t, s, i) * t.norm;
}
MOPT_INLINE int64_t tapAt(const Taps &t, int64_t i) {
  int64_t at = t.base + t.first + i;
  return at < 0 ? 0 : at >= t.size ? t.size - 1 : at;
}
MOPT_INLINE Taps tapsAt(const ResizeAxis &axis, const Settings &s, int64_t y) {
  Taps t = {y, 0, 1, axis.size, 1.0, 1.0, 1.0, false};
  if (!axis.resized) return t;
  double x = coordinate(axis, s, (double)y);
  t.outside = s.transform == MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_CROP_AND_RESIZE &&
              !(x >= 0.0 && x <= (double)(axis.size - 1));
  // Far outside everything is the edge; this also keeps NaN and infinity away from the conversion.
  double limit = (double)axis.size + 8.0;
  x = !(x > -8.0) ? -8.0 : x > limit ? limit : x;
  double below = mopt::ref::floor(x);
  if (below == x) below -= 1.0; // the ratio is in (0, 1]: a whole coordinate belongs to the interval on its left
  t.base = (int64_t)below;
  t.ratio = x - below;
  if (s.mode == MOPT_RESIZE_MODE_NEAREST) {
    bool up = t.ratio == 1.0 || s.nearest == MOPT_RESIZE_NEAREST_MODE_CEIL ||
              (s.nearest == MOPT_RESIZE_NEAREST_MODE_ROUND_PREFER_FLOOR && t.ratio > 0.5) ||
              (s.nearest == MOPT_RESIZE_NEAREST_MODE_ROUND_PREFER_CEIL && t.ratio >= 0.5);
    t.first = up;
    return t;
  }
  double reach = s.mode == MOPT_RESIZE_MODE_LINEAR ? 1.0 : 2.0;
  t.shrink = s.antialias && axis.scale < 1.0 ? axis.scale : 1.0;
  t.first = (int64_t)mopt::ref::floor(-reach / t.shrink) + 1; // at most twice the size: the result has an element
  t.count = 2 - 2 * t.first;
  if (s.antialias || s.excludeOutside) {
    double sum = 0.0;
    for (int64_t i = 0; i < t.count; ++i) sum += s.excludeOutside && !isInside(t, i) ? 0.0 : filterAt(t, s, i);
    if (sum != 0.0) t.norm = 1.0 / sum;
    else t.count = 1;
  }
  return t;
}

MOPT_INLINE int32_t prepare(const mopt_tensor *in, int32_t nin, const mopt_tensor &r, const mopt_attr *attr,
                            ResizeAxis *table, mopt_fault *fault) {
  const mopt_tensor &x = in[0], *roi = operand(in, nin, 1), *scales = operand(in, nin, 2), *sizes = operand(in, nin, 3);
  // Exporters give an empty tensor for an operand that is not used.
  if (roi && numElements(*roi) == 0) roi = nullptr;
  if (scales && numElements(*scales) == 0) scales = nullptr;
  if (sizes && numElements(*sizes) == 0) sizes = nullptr;
  int32_t rank = x.rank;
  IntList axes = attrInts(attr, MOPT_RESIZE_AXES);
  int64_t n = axes.n ? axes.n : rank, policy = attrInt(attr, MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY);
  bool crop = attrInt(attr, MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE) ==
              MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_CROP_AND_RESIZE;
  bool shifted = attrInt(attr, MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE) ==
                 MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_HALF_PIXEL_FOR_NN;
  uint32_t seen = 0;
  if (int32_t status = expectSize(fault, 0, r.rank, rank)) return status;
  if (!scales == !sizes) return fail(fault, MOPT_STEP_VALUE, 2, scales != nullptr, 1);
  if (n > rank) return fail(fault, MOPT_STEP_VALUE, -1, n, rank);
  if (int32_t status = expectSize(fault, scales ? 2 : 3, listSize(scales ? *scales : *sizes), n)) return status;
  if (crop && roi)
    if (int32_t status = expectSize(fault, 1, listSize(*roi), 2 * n)) return status;
  for (int32_t i = 0; i < rank; ++i) table[i] = {x.dims[i], r.dims[i], 1.0, (double)x.dims[i], 0.0, 1.0, false, false};
  double common = 0.0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t axis = axes.n ? axes[k] : k, given = axis;
    if (!normalizeAxis(axis, rank) || seen >> axis & 1) return fail(fault, MOPT_STEP_VALUE, -1, given, rank);
    seen |= 1u << axis;
    ResizeAxis &a = table[axis];
    a.resized = true;
    a.roundQuotient = scales != nullptr;
    int64_t size = sizes ? listAt(*sizes, k) : 0;
    if (size < 0) return fail(fault, MOPT_STEP_VALUE, 3, size, 0);
    if (a.size == 0 && a.outSize != 0) return fail(fault, MOPT_STEP_SHAPE, 0, 0, a.outSize);
    a.scale = scales   ? load<double>(*scales, scales->rank ? k * scales->strides[0] : 0)
              : a.size ? (double)size / (double)a.size
                       : 1.0;
    if (!(a.scale > 0.0) && a.outSize != 0) return fail(fault, MOPT_STEP_VALUE, scales ? 2 : 3, 0, 0);
    if (scales) {
      // The product is rounded in float by some exporters and runtimes, in double by others.
      int64_t wide = truncateToI64(mopt::ref::floor(a.scale * (double)a.size));
      int64_t narrow = truncateToI64((double)mopt::ref::floor((float)a.scale * (float)a.size));
      if (a.outSize != narrow)
        if (int32_t status = expectSize(fault, 2, wide, a.outSize)) return status;
    } else if (policy == MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY_STRETCH) {
      if (int32_t status = expectSize(fault, 3, size, a.outSize)) return status;
    }
    bool less = a.scale < common;
    if (k == 0 || (policy == MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY_NOT_LARGER ? less : !less)) common = a.scale;
    if (crop && roi) {
      a.low = load<double>(*roi, k * roi->strides[0]);
      a.high = load<double>(*roi, (k + n) * roi->strides[0]);
    }
  }
  for (int32_t i = 0; i < rank; ++i) {
    ResizeAxis &a = table[i];
    if (!a.resized) {
      if (int32_t status = expectSize(fault, 0, a.size, a.outSize)) return status;
    } else if (sizes && policy != MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY_STRETCH) {
      a.scale = common;
      int64_t size = truncateToI64(mopt::ref::floor(common * (double)a.size + 0.5));
      if (int32_t status = expectSize(fault, 3, size, a.outSize)) return status;
    }
    a.length = a.scale * (double)a.size;
    // An axis that keeps its size has one tap, of weight 1. tf_half_pixel_for_nn looks half an element further even there.
    if (a.scale == 1.0 && a.size == a.outSize && !crop && !shifted) a.resized = false;
  }
  return MOPT_STEP_OK;
}
} // namespace

MOPT_REFERENCE_FUNCTION(resize) {
  const mopt_tensor &x = in[0], &r = out[0];
  if (x.type != r.type) return MOPT_STEP_TYPE;
  ResizeAxis table[MOPT_MAX_RANK];
  if (int32_t status = prepare(in, nin, r, attr, table, fault)) return status;
  Settings s;
  s.transform = attrInt(attr, MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE);
  s.mode = attrInt(attr, MOPT_RESIZE_MODE);
  s.nearest = attrInt(attr, MOPT_RESIZE_NEAREST_MODE);
  s.antialias = attrInt(attr, MOPT_RESIZE_ANTIALIAS) != 0;
  s.excludeOutside = attrInt(attr, MOPT_RESIZE_EXCLUDE_OUTSIDE) != 0;
  s.cubic = attrFloat(attr, MOPT_RESIZE_CUBIC_COEFF_A, -0.75);
  double extrapolation = attrFloat(attr, MOPT_RESIZE_EXTRAPOLATION_VALUE);
  int32_t rank = r.rank;

  if (s.mode == MOPT_RESIZE_MODE_NEAREST) // moves elements, whatever their type; but the extrapolation value is a float
    return withElement(r.type, [&](auto kind) -> int32_t {
      auto from = kind.of(x), to = kind.of(r);
      return forEachRow(r.dims, rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
        int64_t source = 0, target = offsetOf(r, index), step = lastStride(r);
        bool outside = false;
        for (int32_t i = 0; i + 1 < rank; ++i) {
          Taps t = tapsAt(table[i], s, index[i]);
          outside |= t.outside;
          source += tapAt(t, 0) * x.strides[i];
        }
        for (int64_t j = 0; j < count; ++j) {
          int64_t at = source;
          bool beyond = outside;
          if (rank) {
            Taps t = tapsAt(table[rank - 1], s, index[rank - 1] + j);
            beyond |= t.outside;
            at += tapAt(t, 0) * x.strides[rank - 1];
          }
          if (beyond) store(r, target + j * step, extrapolation);
          else to.set(target + j * step, from.get(at));
        }
        return MOPT_STEP_OK;
      });
    });

  if (computeOf(r.type) == Compute::none) return MOPT_STEP_TYPE;
  return forEachRow(r.dims, rank, begin, end, [&](const int64_t *index, int64_t, int64_t count) -> int32_t {
    Taps taps[MOPT_MAX_RANK];
    int64_t tap[MOPT_MAX_RANK] = {}, limits[MOPT_MAX_RANK], target = offsetOf(r, index), step = lastStride(r);
    for (int32_t i = 0; i + 1 < rank; ++i) taps[i] = tapsAt(table[i], s, index[i]);
    for (int64_t j = 0; j < count; ++j) {
      if (rank) taps[rank - 1] = tapsAt(table[rank - 1], s, index[rank - 1] + j);
      bool outside = false;
      for (int32_t i = 0; i < rank; ++i) {
        outside |= taps[i].outside;
        limits[i] = taps[i].count;
      }
      double sum = 0.0;
      do {
        double weight = 1.0;
        int64_t source = 0;
        for (int32_t i = 0; i < rank; ++i) {
          weight *= weightAt(taps[i], s, tap[i]);
          source += tapAt(taps[i], tap[i]) * x.strides[i];
        }
        if (weight != 0.0) sum += weight * load<double>(x, source); // an infinity with weight 0 does not count
      } while (advance(limits, rank, tap) >= 0);
      store(r, target + j * step, outside ? extrapolation : sum);
    }
    return MOPT_STEP_OK;
  });
}
