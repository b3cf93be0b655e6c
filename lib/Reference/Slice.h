//===- Slice.h - elements of a tensor that are handled together ---------------------------------------------------===//
//
// All elements along one axis, or all of the axes from one on, counted in row-major order; one slice per position of the
// other axes.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_SLICE_H
#define MOPT_LIB_REFERENCE_SLICE_H
#include "Panel.h"

namespace mopt {
namespace ref {

struct Slice {
  const mopt_tensor &t;
  int32_t first; // axis
  bool flatten;  // also those after it
  bool adjacent; // one stride reaches all elements
  int64_t stride, size;
};
/// A scalar is one slice of one element.
MOPT_INLINE Slice sliceAlong(const mopt_tensor &t, int32_t axis) {
  bool scalar = t.rank == 0;
  return {t, axis, false, true, scalar ? 0 : t.strides[axis], scalar ? 1 : t.dims[axis]};
}
MOPT_INLINE Slice sliceFrom(const mopt_tensor &t, int32_t first) {
  Slice s = {t, first, true, true, 1, 1};
  for (int32_t i = t.rank; i-- > first;) {
    if (t.dims[i] != 1 && t.strides[i] != s.size) s.adjacent = false;
    s.size *= t.dims[i];
  }
  return s;
}
/// Offset of slice `unit`.
MOPT_INLINE int64_t sliceOffset(const Slice &s, int64_t unit) {
  int64_t offset = 0;
  for (int32_t i = s.flatten ? s.first : s.t.rank; i-- > 0;) {
    if (!s.flatten && i == s.first) continue;
    int64_t dim = s.t.dims[i] > 0 ? s.t.dims[i] : 1;
    offset += unit % dim * s.t.strides[i];
    unit /= dim;
  }
  return offset;
}
/// Offset, in a slice without a common stride, of element i.
MOPT_INLINE int64_t scatteredOffset(const Slice &s, int64_t i) {
  int64_t offset = 0;
  for (int32_t a = s.t.rank; a-- > s.first;) {
    offset += i % s.t.dims[a] * s.t.strides[a];
    i /= s.t.dims[a];
  }
  return offset;
}
/// Elements [i, i + n) of the slice at offset `base`.
template <class T> MOPT_INLINE void loadSlice(const Slice &s, int64_t base, int64_t i, int64_t n, T *dst) {
  if (s.adjacent) return loadRun(dst, s.t.data, s.t.type, base + i * s.stride, s.stride, n);
  for (int64_t j = 0; j < n; ++j) loadRun(dst + j, s.t.data, s.t.type, base + scatteredOffset(s, i + j), 1, 1);
}
template <class T> MOPT_INLINE void storeSlice(const Slice &s, int64_t base, int64_t i, int64_t n, const T *src) {
  if (s.adjacent) return storeRun(src, s.t.data, s.t.type, base + i * s.stride, s.stride, n);
  for (int64_t j = 0; j < n; ++j) storeRun(src + j, s.t.data, s.t.type, base + scatteredOffset(s, i + j), 1, 1);
}

} // namespace ref
} // namespace mopt
#endif
