//===- Softmax.cpp - Softmax, LogSoftmax, Hardmax -----------------------------------------------------------------===//
//
// ONNX: Softmax, LogSoftmax, Hardmax. exp(x - max) / sum; x - max - log(sum); 1 at the first maximum. Sums by lanes
// (LaneReduce.h). With `flatten` (before opset 13) the axes from `axis` on are one.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "LaneReduce.h"
#include "Slice.h"
using namespace mopt::ref;

namespace {
enum class Form { softmax, logSoftmax, hardmax };
template <Form form>
MOPT_INLINE int32_t softmax(const mopt_tensor &x, const mopt_tensor &y, const mopt_attr *attr, int64_t begin, int64_t end,
                            mopt_fault *fault) {
  if (!sameDims(x, y)) return fail(fault, MOPT_STEP_SHAPE, 0, x.rank, y.rank);
  int64_t axis = attrInt(attr, MOPT_SOFTMAX_AXIS, -1), given = axis;
  bool flatten = attrInt(attr, MOPT_SOFTMAX_FLATTEN) != 0;
  int32_t rank = x.rank ? x.rank : 1; // a scalar is one row
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank + (flatten && x.rank)) return fail(fault, MOPT_STEP_VALUE, -1, given, x.rank);
  Slice sx = flatten ? sliceFrom(x, (int32_t)axis) : sliceAlong(x, (int32_t)axis);
  Slice sy = flatten ? sliceFrom(y, (int32_t)axis) : sliceAlong(y, (int32_t)axis);
  return withFloat(y.type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    constexpr int64_t block = 64;
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t from = sliceOffset(sx, unit), to = sliceOffset(sy, unit);
      T largest = reduceLanes<T, Largest<T>>(sx.size, [&](int64_t i, int64_t n, T *dst)
                                                          MOPT_LAMBDA { loadSlice(sx, from, i, n, dst); });
      alignas(64) T line[block];
      if (form == Form::hardmax) {
        bool found = false;
        for (int64_t i = 0; i < sx.size; i += block) {
          int64_t n = minOf(block, sx.size - i);
          loadSlice(sx, from, i, n, (T *)line);
          for (int64_t j = 0; j < n; ++j) {
            bool hit = !found && (line[j] == largest || line[j] != line[j]);
            line[j] = hit ? (T)1 : (T)0;
            found = found || hit;
          }
          storeSlice(sy, to, i, n, (const T *)line);
        }
        continue;
      }
      // Results that are stored as T hold exp(x - max) until the sum is known; others compute it twice.
      bool keep = form == Form::softmax && isNative<T>(y.type);
      T sum = reduceLanes<T, Sum<T>>(sx.size, [&](int64_t i, int64_t n, T *dst) MOPT_LAMBDA {
        loadSlice(sx, from, i, n, dst);
        for (int64_t j = 0; j < n; ++j) dst[j] = exp(dst[j] - largest);
        if (keep) storeSlice(sy, to, i, n, (const T *)dst);
      });
      T logSum = form == Form::logSoftmax ? log(sum) : (T)0;
      for (int64_t i = 0; i < sx.size; i += block) {
        int64_t n = minOf(block, sx.size - i);
        if (keep) {
          loadSlice(sy, to, i, n, (T *)line);
          for (int64_t j = 0; j < n; ++j) line[j] = line[j] / sum;
        } else {
          loadSlice(sx, from, i, n, (T *)line);
          if (form == Form::logSoftmax)
            for (int64_t j = 0; j < n; ++j) line[j] = line[j] - largest - logSum;
          else
            for (int64_t j = 0; j < n; ++j) line[j] = exp(line[j] - largest) / sum;
        }
        storeSlice(sy, to, i, n, (const T *)line);
      }
    }
    return MOPT_STEP_OK;
  });
}
} // namespace

// The three records have the same slots.
MOPT_REFERENCE_FUNCTION(softmax) { return softmax<Form::softmax>(in[0], out[0], attr, begin, end, fault); }
MOPT_REFERENCE_FUNCTION(log_softmax) { return softmax<Form::logSoftmax>(in[0], out[0], attr, begin, end, fault); }
MOPT_REFERENCE_FUNCTION(hardmax) { return softmax<Form::hardmax>(in[0], out[0], attr, begin, end, fault); }
