//===- Panel.h - the blocked core of every contraction ------------------------------------------------------------===//
//
// Numeric contract: one accumulator per result element, the contraction index ascending, starting from +0, each step one
// fmadd. Blocks below only choose in which order *different* elements advance, so block sizes, the number of rows and the
// columns next to an element never show in its bits. Vectors run over the columns, never over the contraction.
//
// Blocks: a panel of `depth` x `cols` of the right operand and a tile of 6 x `depth` of the left one are copied (and thereby
// converted, padded, gathered or transposed) to the stack, then multiplied by a micro-tile whose accumulators stay in
// registers: 6 x 16 floats are 12 of the 16 registers of AVX2. All buffers together take 42 KB of stack.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_PANEL_H
#define MOPT_LIB_REFERENCE_PANEL_H
#include "Common.h"

namespace mopt {
namespace ref {

/// On lambdas of reference functions, for the same reason as MOPT_INLINE.
#define MOPT_LAMBDA __attribute__((always_inline))

MOPT_INLINE int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
MOPT_INLINE int64_t maxOf(int64_t a, int64_t b) { return a > b ? a : b; }
/// Rounds towards minus infinity; b > 0.
MOPT_INLINE int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
MOPT_INLINE int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

/// 64 bytes of T: one vector of AVX-512, two of AVX2, four of SSE or NEON. Compilers split it as the target needs.
template <class T> struct Lanes {
  static constexpr int count = 64 / (int)sizeof(T);
  typedef T vector __attribute__((ext_vector_type(64 / sizeof(T))));
  typedef vector unaligned __attribute__((aligned(4)));
};
template <class T> MOPT_INLINE typename Lanes<T>::vector loadLanes(const T *p) {
  return *(const typename Lanes<T>::unaligned *)p;
}
template <class T> MOPT_INLINE void storeLanes(T *p, typename Lanes<T>::vector v) { *(typename Lanes<T>::unaligned *)p = v; }
/// fmadd for all types sums are made in: integers wrap.
template <class T> MOPT_INLINE T multiplyAdd(T a, T b, T c) {
#pragma clang fp contract(on)
  return a * b + c;
}
template <class V> MOPT_INLINE V fmaddLanes(V a, V b, V c) {
#pragma clang fp contract(on)
  return a * b + c;
}

/// The element type that is T in memory; integers are computed modulo 2^32 or 2^64.
template <class T> MOPT_INLINE bool isNative(int32_t type) {
  if constexpr (isSame<T, float>) return type == MOPT_F32;
  else if constexpr (isSame<T, double>) return type == MOPT_F64;
  else if constexpr (sizeof(T) == 4) return type == MOPT_I32 || type == MOPT_U32;
  else return type == MOPT_I64 || type == MOPT_U64;
}
/// The type loadAt and storeAt take for T: they know 64-bit integers only.
template <class T> struct Wide {
  using type = T;
};
template <> struct Wide<uint32_t> {
  using type = int64_t;
};
template <> struct Wide<uint64_t> {
  using type = int64_t;
};
template <class T> MOPT_INLINE T loadElement(const void *data, int32_t type, int64_t offset) {
  return (T)loadAt<typename Wide<T>::type>(data, type, offset);
}

// Not forced inline: with a constant type the switch folds and the optimizer inlines what is left; without one a copy of all
// types at each use would make this library ten times as large.
template <class T> static void loadOther(T *dst, const void *data, int32_t type, int64_t offset, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = loadElement<T>(data, type, offset + i * stride);
}
template <class T>
static void storeOther(const T *src, void *data, int32_t type, int64_t offset, int64_t stride, int64_t n) {
  using W = typename Wide<T>::type;
  for (int64_t i = 0; i < n; ++i) storeAt<W>(data, type, offset + i * stride, (W)src[i]);
}
/// dst[i] = element at offset + i * stride, for i < n.
template <class T>
MOPT_INLINE void loadRun(T *dst, const void *data, int32_t type, int64_t offset, int64_t stride, int64_t n) {
  if (!isNative<T>(type)) return loadOther(dst, data, type, offset, stride, n);
  const T *src = (const T *)data + offset;
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
  else
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * stride];
}
template <class T>
MOPT_INLINE void storeRun(const T *src, void *data, int32_t type, int64_t offset, int64_t stride, int64_t n) {
  if (!isNative<T>(type)) return storeOther(src, data, type, offset, stride, n);
  T *dst = (T *)data + offset;
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
  else
    for (int64_t i = 0; i < n; ++i) dst[i * stride] = src[i];
}
/// One element; for values that are read seldom.
template <class T> MOPT_INLINE T loadOne(const mopt_tensor &t, int64_t offset) {
  T value;
  loadRun(&value, t.data, t.type, offset, 1, 1);
  return value;
}
template <class T> MOPT_INLINE void fillRun(T *dst, T value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = value;
}

/// Sizes of the blocks.
template <class T> struct Block {
  static constexpr int lanes = Lanes<T>::count;
  static constexpr int64_t cols = 4 * lanes; // of a panel
  static constexpr int64_t depth = 64;       // of a panel and a tile
  static constexpr int64_t tileRows = 6;
  static constexpr int64_t rows = sizeof(T) == 4 ? 96 : 48; // that share one copy of a panel
};

/// acc[r][c] += sum over k of a[r][k] * b[k][c] for R rows and W vectors of columns.
template <int R, int W, class T>
MOPT_INLINE void microTile(const T *a, int64_t lda, const T *b, int64_t ldb, int64_t depth, T *acc, int64_t ldacc) {
  using V = typename Lanes<T>::vector;
  constexpr int lanes = Lanes<T>::count;
  V c[R][W];
#pragma clang loop unroll(full)
  for (int r = 0; r < R; ++r)
#pragma clang loop unroll(full)
    for (int w = 0; w < W; ++w) c[r][w] = loadLanes(acc + r * ldacc + w * lanes);
  for (int64_t k = 0; k < depth; ++k) {
    V right[W];
#pragma clang loop unroll(full)
    for (int w = 0; w < W; ++w) right[w] = loadLanes(b + k * ldb + w * lanes);
#pragma clang loop unroll(full)
    for (int r = 0; r < R; ++r) {
      V left = (V)a[r * lda + k];
#pragma clang loop unroll(full)
      for (int w = 0; w < W; ++w) c[r][w] = fmaddLanes(left, right[w], c[r][w]);
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < R; ++r)
#pragma clang loop unroll(full)
    for (int w = 0; w < W; ++w) storeLanes(acc + r * ldacc + w * lanes, c[r][w]);
}

/// result[r][c] = sum over k < depth of left[r][k] * right[k][c] for `rows` rows and at most Block<T>::cols columns.
/// packLeft(row, k, n, dst): dst[i] = left[row][k + i], i < n.
/// packRight(k, n, dst): dst[i * cols + c] = right[k + i][c] for all columns up to the next multiple of the lanes (what
/// stands beyond `cols` does not matter).
/// write(row, acc): the finished sums of a row.
template <class T, class PackLeft, class PackRight, class Write>
MOPT_INLINE void contract(int64_t rows, int64_t cols, int64_t depth, PackLeft packLeft, PackRight packRight, Write write) {
  using B = Block<T>;
  alignas(64) T acc[B::rows * B::cols];
  alignas(64) T panel[B::depth * B::cols];
  alignas(64) T tile[B::tileRows * B::depth];
  fillRun(panel, (T)0, B::depth * B::cols);
  fillRun(tile, (T)0, B::tileRows * B::depth);
  for (int64_t row = 0; row < rows; row += B::rows) {
    int64_t nrows = minOf(B::rows, rows - row);
    fillRun(acc, (T)0, ceilDiv(nrows, B::tileRows) * B::tileRows * B::cols);
    for (int64_t k = 0; k < depth; k += B::depth) {
      int64_t n = minOf(B::depth, depth - k);
      packRight(k, n, panel);
      for (int64_t t = 0; t < nrows; t += B::tileRows) {
        int64_t valid = minOf(B::tileRows, nrows - t);
        for (int64_t r = 0; r < valid; ++r) packLeft(row + t + r, k, n, tile + r * B::depth);
        if (valid == 1) { // rows that are not there are not computed where there is but one
          for (int64_t c = 0; c < cols; c += 2 * B::lanes)
            microTile<1, 2>(tile, B::depth, panel + c, B::cols, n, acc + t * B::cols + c, B::cols);
          continue;
        }
        for (int64_t c = 0; c < cols; c += B::lanes)
          microTile<B::tileRows, 1>(tile, B::depth, panel + c, B::cols, n, acc + t * B::cols + c, B::cols);
      }
    }
    for (int64_t r = 0; r < nrows; ++r) write(row + r, (T *)acc + r * B::cols);
  }
}

/// dst[r * ld + c] = block[c * 8 + r]: eight rows are interleaved in three steps.
template <class T> MOPT_INLINE void transpose8(const T *block, T *dst, int64_t ld) {
  typedef T V __attribute__((ext_vector_type(8)));
  typedef V U __attribute__((aligned(4)));
  V v[8], w[8];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) v[i] = *(const U *)(block + i * 8);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i += 2) {
    w[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    w[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) {
    int a = i / 4 * 4 + i % 2;
    v[i] = i % 4 < 2 ? __builtin_shufflevector(w[a], w[a + 2], 0, 1, 8, 9, 4, 5, 12, 13)
                     : __builtin_shufflevector(w[a], w[a + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    *(U *)(dst + i * ld) = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *(U *)(dst + (i + 4) * ld) = __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// dst[i * ld + j] = element at offset + i * rowStride + j * colStride, for i < rows, j < cols; columns up to `padded` are 0.
/// With adjacent elements along the rows (a transposed operand) blocks of 8 x 8 are turned around in registers.
template <class T>
MOPT_INLINE void loadPanel(T *dst, int64_t ld, const void *data, int32_t type, int64_t offset, int64_t rowStride,
                           int64_t colStride, int64_t rows, int64_t cols, int64_t padded) {
  if (colStride == 1 || rowStride != 1) {
    for (int64_t i = 0; i < rows; ++i) {
      loadRun(dst + i * ld, data, type, offset + i * rowStride, colStride, cols);
      for (int64_t j = cols; j < padded; ++j) dst[i * ld + j] = 0;
    }
    return;
  }
  T block[8 * 8];
  for (int64_t j = 0; j < padded; j += 8)
    for (int64_t i = 0; i < rows; i += 8) {
      int64_t nj = minOf(8, cols - j), ni = minOf(8, rows - i);
      if (nj == 8 && ni == 8) {
        for (int64_t c = 0; c < 8; ++c) loadRun(block + c * 8, data, type, offset + (j + c) * colStride + i, 1, 8);
        transpose8(block, dst + i * ld + j, ld);
        continue;
      }
      for (int64_t c = 0; c < 8; ++c) {
        if (c < nj) loadRun(block + c * 8, data, type, offset + (j + c) * colStride + i, 1, ni);
        for (int64_t r = 0; r < ni; ++r) dst[(i + r) * ld + j + c] = c < nj ? block[c * 8 + r] : (T)0;
      }
    }
}

} // namespace ref
} // namespace mopt
#endif
