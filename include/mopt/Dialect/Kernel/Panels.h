//===- Panels.h - the packed layout of matrix operands ------------------------------------------------------------===//
//
// Floats: [group][ceil(n/16)][k][16] for all CPUs. A tile of a wider vector unit reads several panels (measured on AVX-512: a
// 6x64 tile over panels of 16 is as fast as over panels of 64).
//
// 8-bit integers: [group][ceil(n/W)][outer][ceil(inner/4)][W][4]: four neighbours of k lie together, as dot instructions of
// all vector units take them; `inner` is padded, so that each tap of a convolution begins with a group of its own. W is 16
// for CPUs and 32 for Hexagon, whose vectors hold 32 sums. What is past n or past `inner` is zero, and so is then its product.
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
  static constexpr int64_t floatWidth = 16; // columns of a panel of floats
  static constexpr int64_t together = 4;    // elements of k that lie side by side in a panel of 8-bit integers
  enum class Kind : int64_t {
    floats = 0,
    int8 = 1,
    shifted = 2 // of uint8 with zero point 128: 128 is subtracted, what is packed is int8
  };

  int64_t groups = 1, n = 0, outer = 1, inner = 0;
  int64_t groupStride = 0, nStride = 0, outerStride = 0, innerStride = 0;
  Kind kind = Kind::floats;
  int64_t width = floatWidth; // columns of a panel

  bool isInt8() const { return kind != Kind::floats; }
  int64_t elementBytes() const { return isInt8() ? 1 : sizeof(float); }
  /// Elements of k that one row of a panel holds: 1, or 4.
  int64_t step() const { return isInt8() ? together : 1; }
  int64_t panels() const { return (n + width - 1) / width; }
  /// Rows of a panel: of width * step() elements each.
  int64_t rows() const { return outer * ((inner + step() - 1) / step()); }
  int64_t elements() const { return groups * panels() * rows() * width * step(); }
  std::array<int64_t, 10> toArray() const {
    return {groups,      n,       outer,       inner,       groupStride,
            nStride,     outerStride, innerStride, static_cast<int64_t>(kind), width};
  }
  /// Nothing when the numbers are no packing or overflow.
  static std::optional<Panels> fromArray(ArrayRef<int64_t> a);
  /// Elements of the source that are read, counted from its first.
  int64_t extent() const;
  /// Writes elements() of them. The source need not be aligned.
  void pack(const uint8_t *source, uint8_t *target) const;
};

} // namespace mopt
#endif
