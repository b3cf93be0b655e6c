//===- Panels.h - the packed layout of matrix operands ------------------------------------------------------------===//
//
// One layout for all CPUs: [group][ceil(n/16)][k][16] floats, columns past n are zeros. A tile of a wider vector unit reads
// several panels (measured on AVX-512: a 6x64 tile over panels of 16 is as fast as over panels of 64).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_KERNEL_PANELS_H
#define MOPT_DIALECT_KERNEL_PANELS_H

#include "mopt/Support/Checked.h"
#include "mopt/Support/LLVM.h"
#include <array>

namespace mopt {

/// How a constant matrix is packed: element (g, k, n) with k = k0 * inner + k1 is at g * groupStride + n * nStride +
/// k0 * k0Stride + k1 * k1Stride of the source, in elements.
struct Panels {
  static constexpr int64_t width = 16;
  int64_t groups = 1, n = 0, outer = 1, inner = 0;
  int64_t groupStride = 0, nStride = 0, outerStride = 0, innerStride = 0;

  int64_t k() const { return outer * inner; }
  int64_t panels() const { return (n + width - 1) / width; }
  int64_t elements() const { return groups * panels() * k() * width; }
  std::array<int64_t, 8> toArray() const {
    return {groups, n, outer, inner, groupStride, nStride, outerStride, innerStride};
  }
  /// Nothing when the numbers are no packing or overflow.
  static std::optional<Panels> fromArray(ArrayRef<int64_t> a);
  /// Elements of the source that are read, counted from its first.
  int64_t extent() const;
  /// Writes elements() floats. The source need not be aligned.
  void pack(const uint8_t *source, float *target) const;
};

} // namespace mopt
#endif
