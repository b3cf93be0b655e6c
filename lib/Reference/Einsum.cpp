//===- Einsum.cpp - Einsum ----------------------------------------------------------------------------------------===//
//
// ONNX Einsum. One chain per element over the summed letters, in the order in which the equation first names them, the last
// fastest. Two operands of which one lacks the last letter of the result are a contraction (Panel.h); all else multiplies
// operands from the left and adds. One operand alone is a reduction: its sums are those of Reduce.cpp where the last axis
// stays.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
using namespace mopt::ref;

namespace {
enum { maxOperands = 8, maxLabels = 52 + MOPT_MAX_RANK, ellipsis = 52 };

struct Equation {
  int64_t dims[maxLabels];                 // -1: not named
  int64_t strides[maxOperands][maxLabels]; // of repeated letters the sum: a diagonal
  int32_t seen[maxLabels];                 // how often a letter stands left of the arrow
  int32_t order[maxLabels], nlabels;       // labels by first appearance
  int32_t out[MOPT_MAX_RANK], nout;
  int32_t sum[maxLabels], nsum;
  int32_t ellipsisRank;
};
/// Labels: a-z 0..25, A-Z 26..51, axes of the ellipsis from 52 on, counted from its last; -1: no letter.
MOPT_INLINE int32_t labelOf(char c) { return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1; }

/// Letters of one term from text[at] on, up to ',' or '-' or the end; -1 in `labels` stands for an ellipsis.
static int32_t readTerm(const char *text, int64_t n, int64_t &at, int32_t *labels, int32_t &count) {
  count = 0;
  for (; at < n && text[at] != ',' && text[at] != '-'; ++at) {
    if (text[at] == ' ') continue;
    if (count > MOPT_MAX_RANK) return MOPT_STEP_VALUE;
    if (text[at] == '.') {
      if (at + 2 >= n || text[at + 1] != '.' || text[at + 2] != '.') return MOPT_STEP_VALUE;
      at += 2;
      labels[count++] = -1;
      continue;
    }
    int32_t label = labelOf(text[at]);
    if (label < 0) return MOPT_STEP_VALUE;
    labels[count++] = label;
  }
  return MOPT_STEP_OK;
}

static int32_t parse(const char *text, int64_t n, const mopt_tensor *in, int32_t nin, Equation &e, mopt_fault *fault) {
  if (nin < 1 || nin > maxOperands) return fail(fault, MOPT_STEP_VALUE, -1, nin, maxOperands);
  for (int32_t i = 0; i < maxLabels; ++i) {
    e.dims[i] = -1;
    e.seen[i] = 0;
    for (int32_t k = 0; k < nin; ++k) e.strides[k][i] = 0;
  }
  e.nlabels = e.nout = e.nsum = e.ellipsisRank = 0;
  int32_t term[MOPT_MAX_RANK + 2], count;
  int64_t at = 0;
  for (int32_t k = 0; k < nin; ++k) {
    if (int32_t status = readTerm(text, n, at, term, count)) return fail(fault, status, k, at, n);
    int32_t letters = 0, dots = 0;
    for (int32_t i = 0; i < count; ++i) ++(term[i] < 0 ? dots : letters);
    int32_t more = in[k].rank - letters; // axes under the ellipsis
    if (dots > 1 || more < 0 || (dots == 0 && more != 0)) return fail(fault, MOPT_STEP_SHAPE, k, in[k].rank, letters);
    int32_t axis = 0;
    for (int32_t i = 0; i < count; ++i) {
      int32_t axes = term[i] < 0 ? more : 1;
      for (int32_t j = 0; j < axes; ++j, ++axis) {
        int32_t label = term[i] < 0 ? ellipsis + more - 1 - j : term[i];
        int64_t dim = in[k].dims[axis];
        if (e.dims[label] < 0) e.order[e.nlabels++] = label, e.dims[label] = dim;
        else if (e.dims[label] == 1) e.dims[label] = dim;
        if (dim != 1 && dim != e.dims[label]) return fail(fault, MOPT_STEP_SHAPE, k, dim, e.dims[label]);
        if (dim != 1) e.strides[k][label] += in[k].strides[axis];
        ++e.seen[label];
      }
      if (term[i] < 0 && more > e.ellipsisRank) e.ellipsisRank = more;
    }
    if (k + 1 < nin) {
      if (at >= n || text[at] != ',') return fail(fault, MOPT_STEP_VALUE, k, at, n);
      ++at;
    }
  }
  bool isOut[maxLabels];
  for (int32_t i = 0; i < maxLabels; ++i) isOut[i] = false;
  if (at < n) {
    if (at + 1 >= n || text[at] != '-' || text[at + 1] != '>') return fail(fault, MOPT_STEP_VALUE, -1, at, n);
    at += 2;
    if (int32_t status = readTerm(text, n, at, term, count)) return fail(fault, status, -1, at, n);
    if (at < n) return fail(fault, MOPT_STEP_VALUE, -1, at, n);
  } else { // no arrow: the ellipsis, then the letters that stand once, in the order of their codes (capitals first)
    count = 0;
    if (e.ellipsisRank > 0) term[count++] = -1;
    for (int32_t c = 0; c < 52; ++c) {
      int32_t label = (c + 26) % 52;
      if (e.seen[label] != 1) continue;
      if (count > MOPT_MAX_RANK) return fail(fault, MOPT_STEP_VALUE, -1, count, MOPT_MAX_RANK);
      term[count++] = label;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    for (int32_t j = 0; j < (term[i] < 0 ? e.ellipsisRank : 1); ++j) {
      int32_t label = term[i] < 0 ? ellipsis + e.ellipsisRank - 1 - j : term[i];
      if (e.dims[label] < 0 || isOut[label] || e.nout == MOPT_MAX_RANK)
        return fail(fault, MOPT_STEP_VALUE, -1, label, e.nout);
      isOut[label] = true;
      e.out[e.nout++] = label;
    }
  for (int32_t i = 0; i < e.nlabels; ++i)
    if (!isOut[e.order[i]]) e.sum[e.nsum++] = e.order[i];
  return MOPT_STEP_OK;
}

/// Offset in operand k of position `flat` of the labels [0, n).
MOPT_INLINE int64_t labelOffset(const Equation &e, int32_t k, const int32_t *labels, int32_t n, int64_t flat) {
  int64_t offset = 0;
  for (int32_t i = n; i-- > 0;) {
    int64_t dim = e.dims[labels[i]] > 0 ? e.dims[labels[i]] : 1;
    offset += flat % dim * e.strides[k][labels[i]];
    flat /= dim;
  }
  return offset;
}
/// Cuts sum positions [k, k + n) where the innermost summed letter starts anew: f(position, first place, n).
template <class F> MOPT_INLINE void innerRuns(int64_t inner, int64_t k, int64_t n, F f) {
  for (int64_t i = 0; i < n;) {
    int64_t m = minOf(n - i, inner - (k + i) % inner);
    f(k + i, i, m);
    i += m;
  }
}
} // namespace

MOPT_REFERENCE_FUNCTION(einsum) {
  const mopt_tensor &y = out[0];
  Equation e;
  const mopt_attr &text = attr[MOPT_EINSUM_EQUATION];
  if (int32_t status = parse((const char *)text.values, text.n, in, nin, e, fault)) return status;
  if (y.rank != e.nout) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, e.nout);
  for (int32_t i = 0; i < y.rank; ++i)
    if (y.dims[i] != e.dims[e.out[i]]) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[i], e.dims[e.out[i]]);
  int64_t depth = 1, row = e.nout > 0 ? e.dims[e.out[e.nout - 1]] : 1, inner = e.nsum > 0 ? e.dims[e.sum[e.nsum - 1]] : 1;
  for (int32_t i = 0; i < e.nsum; ++i) depth *= e.dims[e.sum[i]];

  // Does one of two operands lack the last letter? Then it is the left one.
  int32_t left = 0;
  bool matrices = nin == 2 && e.nout > 0;
  if (matrices) {
    int32_t last = e.out[e.nout - 1];
    left = e.strides[0][last] == 0 ? 0 : 1;
    matrices = e.strides[left][last] == 0;
  }
  return withSum(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    using B = Block<T>;
    if (matrices) {
      int32_t right = 1 - left, last = e.out[e.nout - 1], batchRank = e.nout - 1;
      int64_t rows = 1; // results along the last letter but one that share the right operand
      if (e.nout > 1 && e.strides[right][e.out[e.nout - 2]] == 0) rows = e.dims[e.out[--batchRank]];
      int64_t leftRow = batchRank < e.nout - 1 ? e.strides[left][e.out[batchRank]] : 0, rightColumn = e.strides[right][last];
      int64_t leftInner = e.nsum > 0 ? e.strides[left][e.sum[e.nsum - 1]] : 0,
              rightInner = e.nsum > 0 ? e.strides[right][e.sum[e.nsum - 1]] : 0;
      for (int64_t from = begin; from < end;) {
        int64_t batch = from / (row * rows), base = batch * row * rows, until = minOf(end, base + row * rows);
        int64_t firstRow = (from - base) / row, nrows = ceilDiv(until - base, row) - firstRow;
        int64_t a = labelOffset(e, left, e.out, batchRank, batch) + firstRow * leftRow,
                b = labelOffset(e, right, e.out, batchRank, batch);
        for (int64_t column = 0; column < row; column += B::cols) {
          int64_t ncols = minOf(B::cols, row - column), padded = ceilDiv(ncols, B::lanes) * B::lanes;
          contract<T>(
              nrows, ncols, depth,
              [&](int64_t r, int64_t k, int64_t n, T *dst) MOPT_LAMBDA {
                innerRuns(inner, k, n, [&](int64_t position, int64_t place, int64_t m) MOPT_LAMBDA {
                  loadRun(dst + place, in[left].data, in[left].type,
                          a + r * leftRow + labelOffset(e, left, e.sum, e.nsum, position), leftInner, m);
                });
              },
              [&](int64_t k, int64_t n, T *panel) MOPT_LAMBDA {
                innerRuns(inner, k, n, [&](int64_t position, int64_t place, int64_t m) MOPT_LAMBDA {
                  loadPanel(panel + place * B::cols, B::cols, in[right].data, in[right].type,
                            b + column * rightColumn + labelOffset(e, right, e.sum, e.nsum, position), rightInner,
                            rightColumn, m, ncols, padded);
                });
              },
              [&](int64_t r, T *acc) MOPT_LAMBDA {
                int64_t first = base + (firstRow + r) * row + column; // of the result; only [from, until) is ours
                int64_t skip = maxOf(0, from - first), n = minOf(ncols, until - first) - skip;
                if (n > 0)
                  storeRun((const T *)acc + skip, y.data, y.type, offsetOfFlat(y, first + skip), y.strides[y.rank - 1], n);
              });
        }
        from = until;
      }
      return MOPT_STEP_OK;
    }
    constexpr int64_t width = 64;
    T acc[width], product[width], factor[width];
    for (int64_t i = begin; i < end;) {
      int64_t n = minOf(minOf(width, end - i), row - i % row);
      auto load = [&](int32_t o, int64_t k, T *dst) MOPT_LAMBDA {
        int64_t stride = e.nout > 0 ? e.strides[o][e.out[e.nout - 1]] : 0;
        loadRun(dst, in[o].data, in[o].type, labelOffset(e, o, e.out, e.nout, i) + labelOffset(e, o, e.sum, e.nsum, k),
                stride, n);
      };
      if (nin == 1) {
        combineAll<T, Sum<T>, width>(depth, 1, acc, [&](int64_t from, int64_t count) MOPT_LAMBDA {
          for (int64_t k = from; k < from + count; ++k) {
            load(0, k, (T *)product);
            for (int64_t j = 0; j < n; ++j) acc[j] = acc[j] + product[j];
          }
        });
      } else {
        fillRun(acc, (T)0, width);
        for (int64_t k = 0; k < depth; ++k) {
          load(0, k, (T *)product);
          for (int32_t o = 1; o < nin; ++o) {
            load(o, k, (T *)factor);
            if (o + 1 < nin)
              for (int64_t j = 0; j < n; ++j) product[j] = product[j] * factor[j];
          }
          for (int64_t j = 0; j < n; ++j) acc[j] = multiplyAdd(product[j], factor[j], acc[j]);
        }
      }
      storeRun((const T *)acc, y.data, y.type, offsetOfFlat(y, i), y.rank > 0 ? y.strides[y.rank - 1] : 1, n);
      i += n;
    }
    return MOPT_STEP_OK;
  });
}
