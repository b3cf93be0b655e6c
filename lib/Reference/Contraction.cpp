//===- Contraction.cpp - MatMul, Gemm and their integer forms -----------------------------------------------------===//
//
// ONNX: MatMul, Gemm, MatMulInteger, QLinearMatMul. Order of operations of an element: see Panel.h; Gemm then takes
// alpha * sum, rounded, and adds beta * c with one fmadd.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Panel.h"
#include "Requantize.h"

namespace mopt {
namespace ref {
namespace {

/// y[batch, m, n] of two matrices with batch axes in front. Vectors have become matrices; broadcast strides are 0.
struct Problem {
  int32_t batchRank;
  int64_t batch[MOPT_MAX_RANK], aBatch[MOPT_MAX_RANK], bBatch[MOPT_MAX_RANK], yBatch[MOPT_MAX_RANK];
  int64_t m, n, k;
  int64_t aRow, aCol, bRow, bCol, yRow, yCol;
  int64_t rowsPerUnit; // a unit is all but the last axis of y: m rows where b is a vector
};

MOPT_INLINE int32_t matmulProblem(const mopt_tensor &a, const mopt_tensor &b, const mopt_tensor &y, Problem &p,
                                  mopt_fault *fault) {
  if (a.rank < 1 || b.rank < 1) return fail(fault, MOPT_STEP_SHAPE, a.rank < 1 ? 0 : 1, 0, 1);
  bool aVector = a.rank == 1, bVector = b.rank == 1;
  int32_t aBatchRank = aVector ? 0 : a.rank - 2, bBatchRank = bVector ? 0 : b.rank - 2;
  int32_t matrixRank = !aVector + !bVector;
  p.batchRank = aBatchRank > bBatchRank ? aBatchRank : bBatchRank;
  if (y.rank != p.batchRank + matrixRank) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, p.batchRank + matrixRank);
  p.k = a.dims[a.rank - 1];
  p.aCol = a.strides[a.rank - 1];
  p.m = aVector ? 1 : a.dims[a.rank - 2];
  p.aRow = aVector ? 0 : a.strides[a.rank - 2];
  p.n = bVector ? 1 : b.dims[b.rank - 1];
  p.bCol = bVector ? 0 : b.strides[b.rank - 1];
  int64_t kOfB = b.dims[bVector ? 0 : b.rank - 2];
  p.bRow = b.strides[bVector ? 0 : b.rank - 2];
  if (kOfB != p.k) return fail(fault, MOPT_STEP_SHAPE, 1, kOfB, p.k);
  p.yCol = bVector ? 0 : y.strides[y.rank - 1];
  p.yRow = aVector ? 0 : y.strides[y.rank - (bVector ? 1 : 2)];
  if (!bVector && y.dims[y.rank - 1] != p.n) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[y.rank - 1], p.n);
  if (!aVector && y.dims[y.rank - (bVector ? 1 : 2)] != p.m)
    return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[y.rank - (bVector ? 1 : 2)], p.m);
  for (int32_t i = 0; i < p.batchRank; ++i) {
    int32_t ia = i - (p.batchRank - aBatchRank), ib = i - (p.batchRank - bBatchRank);
    p.batch[i] = y.dims[i];
    p.yBatch[i] = y.strides[i];
    p.aBatch[i] = ia >= 0 && a.dims[ia] != 1 ? a.strides[ia] : 0;
    p.bBatch[i] = ib >= 0 && b.dims[ib] != 1 ? b.strides[ib] : 0;
    if (ia >= 0 && a.dims[ia] != 1 && a.dims[ia] != y.dims[i]) return fail(fault, MOPT_STEP_SHAPE, 0, a.dims[ia], y.dims[i]);
    if (ib >= 0 && b.dims[ib] != 1 && b.dims[ib] != y.dims[i]) return fail(fault, MOPT_STEP_SHAPE, 1, b.dims[ib], y.dims[i]);
  }
  p.rowsPerUnit = bVector && !aVector ? p.m : 1;
  return MOPT_STEP_OK;
}

/// Rows [begin, end) of y, counted over the batch axes and m, in blocks with one right matrix, also across batches: a batch
/// of rows times one weight costs what one large matrix costs.
struct RowBlock {
  int64_t first, count, right; // rows and the offset of their right matrix
  int64_t a[Block<float>::rows], y[Block<float>::rows];
};
template <class T, class Body> MOPT_INLINE void rowBlocks(const Problem &p, int64_t begin, int64_t end, Body body) {
  RowBlock block;
  for (block.first = begin; block.first < end; block.first += block.count) {
    for (block.count = 0; block.count < Block<T>::rows && block.first + block.count < end; ++block.count) {
      int64_t row = block.first + block.count, m = row % p.m, a = m * p.aRow, b = 0, y = m * p.yRow;
      if (p.batchRank > 0) {
        int64_t index[MOPT_MAX_RANK];
        unravel(row / p.m, p.batch, p.batchRank, index);
        for (int32_t i = 0; i < p.batchRank; ++i) {
          a += index[i] * p.aBatch[i];
          b += index[i] * p.bBatch[i];
          y += index[i] * p.yBatch[i];
        }
      }
      if (block.count > 0 && b != block.right) break;
      block.right = b;
      block.a[block.count] = a;
      block.y[block.count] = y;
    }
    body((const RowBlock &)block);
  }
}

/// finish(row in block, column, ncols, sums) for every part of every row.
template <class T, class Finish>
MOPT_INLINE void product(const mopt_tensor &a, const mopt_tensor &b, const Problem &p, int64_t begin, int64_t end,
                         Finish finish) {
  using B = Block<T>;
  rowBlocks<T>(p, begin, end, [&](const RowBlock &block) MOPT_LAMBDA {
    int64_t column = 0;
    // One row times a matrix with adjacent columns: nothing to reuse, so the matrix is read where it lies.
    if (block.count == 1 && p.bCol == 1 && isNative<T>(b.type)) {
      alignas(64) T acc[B::cols], tile[B::depth];
      for (; column + B::cols <= p.n; column += B::cols) {
        const T *right = (const T *)b.data + block.right + column;
        fillRun(acc, (T)0, B::cols);
        for (int64_t k = 0; k < p.k; k += B::depth) {
          int64_t n = minOf(B::depth, p.k - k);
          loadRun(tile, a.data, a.type, block.a[0] + k * p.aCol, p.aCol, n);
          microTile<1, 4>(tile, B::depth, right + k * p.bRow, p.bRow, n, acc, B::cols);
        }
        finish(block, 0, column, B::cols, (T *)acc);
      }
    }
    for (; column < p.n; column += B::cols) {
      int64_t ncols = minOf(B::cols, p.n - column), padded = ceilDiv(ncols, B::lanes) * B::lanes;
      contract<T>(
          block.count, ncols, p.k,
          [&](int64_t r, int64_t k, int64_t n, T *dst)
              MOPT_LAMBDA { loadRun(dst, a.data, a.type, block.a[r] + k * p.aCol, p.aCol, n); },
          [&](int64_t k, int64_t n, T *panel) MOPT_LAMBDA {
            loadPanel(panel, B::cols, b.data, b.type, block.right + k * p.bRow + column * p.bCol, p.bRow, p.bCol, n, ncols,
                      padded);
          },
          [&](int64_t r, T *acc) MOPT_LAMBDA { finish(block, r, column, ncols, acc); });
    }
  });
}

} // namespace
} // namespace ref
} // namespace mopt
using namespace mopt::ref;

// ONNX MatMul: numpy.matmul.
MOPT_REFERENCE_FUNCTION(matmul) {
  Problem p;
  if (int32_t status = matmulProblem(in[0], in[1], out[0], p, fault)) return status;
  const mopt_tensor &y = out[0];
  return withSum(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    product<T>(in[0], in[1], p, begin * p.rowsPerUnit, end * p.rowsPerUnit,
               [&](const RowBlock &block, int64_t r, int64_t column, int64_t ncols, T *acc)
                   MOPT_LAMBDA { storeRun(acc, y.data, y.type, block.y[r] + column * p.yCol, p.yCol, ncols); });
    return (int32_t)MOPT_STEP_OK;
  });
}

// ONNX Gemm: alpha * a' * b' + beta * c, c broadcast to [m, n].
MOPT_REFERENCE_FUNCTION(gemm) {
  const mopt_tensor &a = in[0], &b = in[1], &y = out[0];
  const mopt_tensor *c = operand(in, nin, 2);
  if (a.rank != 2) return fail(fault, MOPT_STEP_SHAPE, 0, a.rank, 2);
  if (b.rank != 2) return fail(fault, MOPT_STEP_SHAPE, 1, b.rank, 2);
  if (y.rank != 2) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, 2);
  int transA = attrInt(attr, MOPT_GEMM_TRANSA) != 0, transB = attrInt(attr, MOPT_GEMM_TRANSB) != 0;
  Problem p;
  p.batchRank = 0;
  p.m = a.dims[transA];
  p.k = a.dims[1 - transA];
  p.n = b.dims[1 - transB];
  if (b.dims[transB] != p.k) return fail(fault, MOPT_STEP_SHAPE, 1, b.dims[transB], p.k);
  if (y.dims[0] != p.m) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[0], p.m);
  if (y.dims[1] != p.n) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[1], p.n);
  p.aRow = a.strides[transA], p.aCol = a.strides[1 - transA];
  p.bRow = b.strides[transB], p.bCol = b.strides[1 - transB];
  p.yRow = y.strides[0], p.yCol = y.strides[1];
  int64_t cRow = 0, cCol = 0;
  if (c) {
    if (c->rank > 2) return fail(fault, MOPT_STEP_SHAPE, 2, c->rank, 2);
    int64_t last = c->rank > 0 ? c->dims[c->rank - 1] : 1, first = c->rank > 1 ? c->dims[0] : 1;
    if (last != 1 && last != p.n) return fail(fault, MOPT_STEP_SHAPE, 2, last, p.n);
    if (first != 1 && first != p.m) return fail(fault, MOPT_STEP_SHAPE, 2, first, p.m);
    cCol = last != 1 ? c->strides[c->rank - 1] : 0;
    cRow = first != 1 ? c->strides[0] : 0;
  }
  return withSum(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    double alphaValue = attrFloat(attr, MOPT_GEMM_ALPHA, 1), betaValue = attrFloat(attr, MOPT_GEMM_BETA, 1);
    T alpha = isFloat<T> ? (T)alphaValue : (T)(int64_t)alphaValue, beta = isFloat<T> ? (T)betaValue : (T)(int64_t)betaValue;
    product<T>(a, b, p, begin, end,
               [&](const RowBlock &block, int64_t r, int64_t column, int64_t ncols, T *acc) MOPT_LAMBDA {
                 if (alpha != (T)1)
                   for (int64_t i = 0; i < ncols; ++i) acc[i] = alpha * acc[i];
                 if (c) {
                   T add[Block<T>::cols];
                   loadRun(add, c->data, c->type, (block.first + r) * cRow + column * cCol, cCol, ncols);
                   for (int64_t i = 0; i < ncols; ++i) acc[i] = fmadd(beta, add[i], acc[i]);
                 }
                 storeRun(acc, y.data, y.type, block.y[r] + column * p.yCol, p.yCol, ncols);
               });
    return (int32_t)MOPT_STEP_OK;
  });
}

namespace {
/// Zero points or scales of a matrix operand: one, or one per row of the left (column of the right) matrix, with batch axes
/// of size 1 or as in the operand (ONNX MatMulInteger, QLinearMatMul).
struct Parameters {
  const mopt_tensor *t; // null: none
  int64_t stride, batch[MOPT_MAX_RANK];
};
MOPT_INLINE int32_t parameters(const mopt_tensor *t, const mopt_tensor &of, int32_t axisFromEnd, const Problem &p,
                               int32_t slot, Parameters &z, mopt_fault *fault) {
  z.t = t;
  z.stride = 0;
  for (int32_t i = 0; i < MOPT_MAX_RANK; ++i) z.batch[i] = 0;
  if (!t || numElements(*t) == 1) return MOPT_STEP_OK;
  if (t->rank == 1) {
    int64_t expected = axisFromEnd == 2 ? p.m : p.n;
    if (t->dims[0] != expected) return fail(fault, MOPT_STEP_SHAPE, slot, t->dims[0], expected);
    z.stride = t->strides[0];
    return MOPT_STEP_OK;
  }
  if (t->rank != of.rank) return fail(fault, MOPT_STEP_SHAPE, slot, t->rank, of.rank);
  for (int32_t i = 0; i < t->rank; ++i) {
    bool own = i == t->rank - axisFromEnd, batch = i < t->rank - 2;
    int64_t expected = own || batch ? of.dims[i] : 1;
    if (t->dims[i] != 1 && t->dims[i] != expected) return fail(fault, MOPT_STEP_SHAPE, slot, t->dims[i], expected);
    int64_t stride = t->dims[i] != 1 ? t->strides[i] : 0;
    if (own) z.stride = stride;
    if (batch) z.batch[i + p.batchRank - (t->rank - 2)] = stride;
  }
  return MOPT_STEP_OK;
}
/// Offset of the parameters of the batch that holds `row`.
MOPT_INLINE int64_t batchOffset(const Problem &p, const Parameters &z, int64_t row) {
  int64_t index[MOPT_MAX_RANK], offset = 0;
  if (p.batchRank == 0) return 0;
  unravel(row / p.m, p.batch, p.batchRank, index);
  for (int32_t i = 0; i < p.batchRank; ++i) offset += index[i] * z.batch[i];
  return offset;
}

/// finish() with sums of (a - a_zero_point) * (b - b_zero_point): integers modulo 2^32, or 8-bit floats in f32.
template <class T, class Finish>
MOPT_INLINE void shiftedProduct(const mopt_tensor &a, const mopt_tensor &b, const Parameters &za, const Parameters &zb,
                                const Problem &p, int64_t begin, int64_t end, Finish finish) {
  using B = Block<T>;
  rowBlocks<T>(p, begin, end, [&](const RowBlock &block) MOPT_LAMBDA {
    for (int64_t column = 0; column < p.n; column += B::cols) {
      int64_t ncols = minOf(B::cols, p.n - column), padded = ceilDiv(ncols, B::lanes) * B::lanes;
      T zero[B::cols];
      fillRun(zero, (T)0, B::cols);
      if (zb.t)
        loadRun(zero, zb.t->data, zb.t->type, batchOffset(p, zb, block.first) + column * zb.stride, zb.stride, ncols);
      contract<T>(
          block.count, ncols, p.k,
          [&](int64_t r, int64_t k, int64_t n, T *dst) MOPT_LAMBDA {
            loadRun(dst, a.data, a.type, block.a[r] + k * p.aCol, p.aCol, n);
            if (!za.t) return;
            int64_t row = block.first + r;
            T own = loadOne<T>(*za.t, batchOffset(p, za, row) + row % p.m * za.stride);
            for (int64_t i = 0; i < n; ++i) dst[i] -= own;
          },
          [&](int64_t k, int64_t n, T *panel) MOPT_LAMBDA {
            loadPanel(panel, B::cols, b.data, b.type, block.right + k * p.bRow + column * p.bCol, p.bRow, p.bCol, n, ncols,
                      padded);
            if (zb.t)
              for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < B::cols; ++j) panel[i * B::cols + j] -= zero[j];
          },
          [&](int64_t r, T *acc) MOPT_LAMBDA { finish(block, r, column, ncols, acc); });
    }
  });
}
} // namespace

// ONNX MatMulInteger.
MOPT_REFERENCE_FUNCTION(matmul_integer) {
  const mopt_tensor &y = out[0];
  Problem p;
  Parameters za, zb;
  if (int32_t status = matmulProblem(in[0], in[1], y, p, fault)) return status;
  if (int32_t status = parameters(operand(in, nin, 2), in[0], 2, p, 2, za, fault)) return status;
  if (int32_t status = parameters(operand(in, nin, 3), in[1], 1, p, 3, zb, fault)) return status;
  shiftedProduct<uint32_t>(in[0], in[1], za, zb, p, begin * p.rowsPerUnit, end * p.rowsPerUnit,
                           [&](const RowBlock &block, int64_t r, int64_t column, int64_t ncols, uint32_t *acc)
                               MOPT_LAMBDA { storeRun(acc, y.data, y.type, block.y[r] + column * p.yCol, p.yCol, ncols); });
  return MOPT_STEP_OK;
}

// ONNX QLinearMatMul: the sum, exact, times (a_scale * b_scale / y_scale) in f32, then as QuantizeLinear. With requantize =
// fixed: the same scale as integers.
MOPT_REFERENCE_FUNCTION(qlinear_matmul) {
  const mopt_tensor &a = in[0], &b = in[3], &y = out[0];
  Problem p;
  Parameters sa, za, sb, zb, sy, zy;
  if (int32_t status = matmulProblem(a, b, y, p, fault)) return status;
  if (int32_t status = parameters(&in[1], a, 2, p, 1, sa, fault)) return status;
  if (int32_t status = parameters(&in[2], a, 2, p, 2, za, fault)) return status;
  if (int32_t status = parameters(&in[4], b, 1, p, 4, sb, fault)) return status;
  if (int32_t status = parameters(&in[5], b, 1, p, 5, zb, fault)) return status;
  if (int32_t status = parameters(&in[6], y, 2, p, 6, sy, fault)) return status;
  if (int32_t status = parameters(&in[7], y, 2, p, 7, zy, fault)) return status;
  bool fixed = attrInt(attr, MOPT_QLINEAR_MATMUL_REQUANTIZE) != 0, good = true;
  auto finish = [&](const RowBlock &block, int64_t r, int64_t column, int64_t ncols, auto *acc) MOPT_LAMBDA {
    int64_t row = block.first + r, m = row % p.m;
    float left = loadOne<float>(*sa.t, batchOffset(p, sa, row) + m * sa.stride);
    float result = loadOne<float>(*sy.t, batchOffset(p, sy, row) + m * sy.stride);
    int64_t zero = batchOffset(p, zy, row) + m * zy.stride, offset = block.y[r] + column * p.yCol;
    float right[Block<float>::cols];
    loadRun(right, sb.t->data, sb.t->type, batchOffset(p, sb, row) + column * sb.stride, sb.stride, ncols);
    good = requantizeRun(acc, right, left, result, (int32_t)loadOne<uint32_t>(*zy.t, zero), fixed, y, offset, p.yCol,
                         ncols) && good;
  };
  begin *= p.rowsPerUnit, end *= p.rowsPerUnit;
  if (computeOf(a.type) == Compute::f32) shiftedProduct<float>(a, b, za, zb, p, begin, end, finish);
  else shiftedProduct<uint32_t>(a, b, za, zb, p, begin, end, finish);
  return good ? (int32_t)MOPT_STEP_OK : fail(fault, MOPT_STEP_VALUE, 6, 0, 0);
}
