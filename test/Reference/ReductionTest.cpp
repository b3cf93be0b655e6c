// Reductions, pools, softmax, top-k: rules that ONNX's node tests leave out.
#include "Tensors.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
using namespace mopt_test;

namespace {
const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
int32_t run(mopt_reference f, std::vector<mopt_tensor> in, std::vector<mopt_tensor> out, const Attributes &attr,
            int64_t begin, int64_t end) {
  mopt_fault fault;
  return f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), begin, end, &fault);
}
float reduceOne(int64_t kind, std::vector<float> values) {
  Buffer<float> x({(int64_t)values.size()}, values), y({1});
  EXPECT_EQ(run(mopt_ref_reduce, {x.tensor}, {y.tensor}, Attributes().set(MOPT_REDUCE_KIND, {kind}), 0, 1), MOPT_STEP_OK);
  return y.begin()[0];
}
TEST(Reduce, NothingHasTheNeutralElement) {
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_SUM, {}), 0);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_PROD, {}), 1);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_MAX, {}), -inf);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_MIN, {}), inf);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_LOG_SUM, {}), -inf);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_LOG_SUM_EXP, {}), -inf);
  EXPECT_TRUE(std::isnan(reduceOne(MOPT_REDUCE_KIND_MEAN, {})));
}
TEST(Reduce, NaNWinsAndInfinityStaysInfinite) {
  EXPECT_TRUE(std::isnan(reduceOne(MOPT_REDUCE_KIND_MAX, {1, nan, 3})));
  EXPECT_TRUE(std::isnan(reduceOne(MOPT_REDUCE_KIND_MIN, {nan, 1, 3})));
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_LOG_SUM_EXP, {1, inf}), inf);
  EXPECT_EQ(reduceOne(MOPT_REDUCE_KIND_LOG_SUM_EXP, {-inf, -inf}), -inf);
  EXPECT_NEAR(reduceOne(MOPT_REDUCE_KIND_LOG_SUM_EXP, {1000, 1000}), 1000.6931f, 1e-3f);
}
TEST(Reduce, BitsFollowFromSizesAlone) { // not from strides or chunks
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(6 * 70 * 50), moved(values.size()); // so many that sums have several leaves
  for (float &v : values) v = normal(engine);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3500; ++j) moved[j * 6 + i] = values[i * 3500 + j];
  for (std::vector<int64_t> axes : {std::vector<int64_t>{1, 2}, {0, 1}, {0, 2}, {-1}}) {
    Buffer<float> x({6, 70, 50}, values), other({70, 50, 6}, moved);
    Buffer<int64_t> a({(int64_t)axes.size()}, axes);
    mopt_tensor view = x.tensor;
    view.data = other.tensor.data;
    view.strides[0] = 1, view.strides[1] = 300, view.strides[2] = 6;
    int64_t n = 1;
    for (int i = 0; i < 3; ++i)
      if (std::find(axes.begin(), axes.end(), i) == axes.end() && std::find(axes.begin(), axes.end(), i - 3) == axes.end())
        n *= x.tensor.dims[i];
    Buffer<float> y({n}), strided({n}), parts({n});
    run(mopt_ref_reduce, {x.tensor, a.tensor}, {y.tensor}, Attributes(), 0, n);
    run(mopt_ref_reduce, {view, a.tensor}, {strided.tensor}, Attributes(), 0, n);
    for (int64_t i = 0; i < n; ++i) run(mopt_ref_reduce, {x.tensor, a.tensor}, {parts.tensor}, Attributes(), i, i + 1);
    EXPECT_EQ(y.elements(), strided.elements());
    EXPECT_EQ(y.elements(), parts.elements());
  }
}
TEST(Reduce, RefusesAxesOutside) {
  Buffer<float> x({2, 3}), y({2});
  Buffer<int64_t> axes({1}, {2});
  EXPECT_EQ(run(mopt_ref_reduce, {x.tensor, axes.tensor}, {y.tensor}, Attributes(), 0, 2), MOPT_STEP_VALUE);
  axes.begin()[0] = 0;
  EXPECT_EQ(run(mopt_ref_reduce, {x.tensor, axes.tensor}, {y.tensor}, Attributes(), 0, 2), MOPT_STEP_SHAPE);
}
TEST(Softmax, MatchesDoubleComputation) { // the difference to the largest is rounded: 20 * 2^-24
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 4);
  for (int64_t n : {1, 15, 16, 17, 1000}) {
    std::vector<float> values(n);
    for (float &v : values) v = normal(engine);
    Buffer<float> x({1, n}, values), y({1, n});
    ASSERT_EQ(run(mopt_ref_softmax, {x.tensor}, {y.tensor}, Attributes().set(MOPT_SOFTMAX_AXIS, {-1}), 0, 1), MOPT_STEP_OK);
    double largest = -1e30, sum = 0;
    for (float v : values) largest = std::max(largest, (double)v);
    for (float v : values) sum += std::exp(v - largest);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(y.begin()[i], std::exp(values[i] - largest) / sum, 3e-6 * std::exp(values[i] - largest) / sum + 1e-30);
    run(mopt_ref_softmax, {x.tensor}, {x.tensor}, Attributes().set(MOPT_SOFTMAX_AXIS, {-1}), 0, 1); // in place
    EXPECT_EQ(x.elements(), y.elements());
  }
}
TEST(Softmax, AScalarIsOneRow) {
  Buffer<float> x({}, {-3}), y({});
  for (int64_t flatten : {0, 1})
    for (int64_t axis : {0, -1}) {
      Attributes attr;
      attr.set(MOPT_SOFTMAX_AXIS, {axis}).set(MOPT_SOFTMAX_FLATTEN, {flatten});
      ASSERT_EQ(run(mopt_ref_softmax, {x.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_OK);
      EXPECT_EQ(y.begin()[0], 1);
      ASSERT_EQ(run(mopt_ref_log_softmax, {x.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_OK);
      EXPECT_EQ(y.begin()[0], 0);
    }
  EXPECT_EQ(run(mopt_ref_softmax, {x.tensor}, {y.tensor}, Attributes().set(MOPT_SOFTMAX_AXIS, {1}), 0, 1), MOPT_STEP_VALUE);
}
TEST(MaxPool, PassesOverNaN) {
  Buffer<float> x({1, 1, 4}, {nan, 1, 5, nan}), y({1, 1, 3});
  Buffer<int64_t> where({1, 1, 3});
  Attributes attr;
  attr.set(MOPT_MAX_POOL_KERNEL_SHAPE, {2});
  ASSERT_EQ(run(mopt_ref_max_pool, {x.tensor}, {y.tensor, where.tensor}, attr, 0, 3), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<float>{1, 5, 5}));
  EXPECT_EQ(where.elements(), (std::vector<int64_t>{1, 2, 2}));
}
TEST(AveragePool, CountsWhatWasAskedFor) { // ceil_mode: the last window hangs over the padding
  Buffer<float> x({1, 1, 4}, {1, 2, 3, 4}), y({1, 1, 3});
  Attributes attr;
  attr.set(MOPT_AVERAGE_POOL_KERNEL_SHAPE, {3})
      .set(MOPT_AVERAGE_POOL_STRIDES, {2})
      .set(MOPT_AVERAGE_POOL_PADS, {1, 1})
      .set(MOPT_AVERAGE_POOL_CEIL_MODE, {1});
  ASSERT_EQ(run(mopt_ref_average_pool, {x.tensor}, {y.tensor}, attr, 0, 3), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<float>{1.5f, 3, 4}));
  attr.set(MOPT_AVERAGE_POOL_COUNT_INCLUDE_PAD, {1});
  ASSERT_EQ(run(mopt_ref_average_pool, {x.tensor}, {y.tensor}, attr, 0, 3), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<float>{1, 3, 2}));
}
TEST(ArgMax, FirstOrLastAndNaN) {
  Buffer<float> x({5}, {1, 3, nan, nan, 2}), plain({4}, {3, 1, 3, 2});
  Buffer<int64_t> y({1});
  Attributes last;
  last.set(MOPT_ARG_REDUCE_SELECT_LAST_INDEX, {1});
  run(mopt_ref_arg_reduce, {x.tensor}, {y.tensor}, Attributes(), 0, 1);
  EXPECT_EQ(y.begin()[0], 2);
  run(mopt_ref_arg_reduce, {x.tensor}, {y.tensor}, last, 0, 1);
  EXPECT_EQ(y.begin()[0], 3);
  run(mopt_ref_arg_reduce, {plain.tensor}, {y.tensor}, last, 0, 1);
  EXPECT_EQ(y.begin()[0], 2);
}
TEST(ArgMax, AScalarIsOneElement) { // as numpy and onnxruntime count it
  Buffer<float> x({}, {3});
  Buffer<int64_t> y({}, {7});
  for (int64_t axis : {0, -1}) {
    y.begin()[0] = 7;
    ASSERT_EQ(run(mopt_ref_arg_reduce, {x.tensor}, {y.tensor}, Attributes().set(MOPT_ARG_REDUCE_AXIS, {axis}), 0, 1),
              MOPT_STEP_OK);
    EXPECT_EQ(y.begin()[0], 0);
  }
  EXPECT_EQ(run(mopt_ref_arg_reduce, {x.tensor}, {y.tensor}, Attributes().set(MOPT_ARG_REDUCE_AXIS, {1}), 0, 1),
            MOPT_STEP_VALUE);
}
TEST(Reduce, AScalarHasOneAxis) {
  Buffer<float> x({}, {-3}), y({});
  Buffer<int64_t> axes({1}, {-1}), wrong({1}, {1});
  Attributes attr;
  attr.set(MOPT_REDUCE_KIND, {MOPT_REDUCE_KIND_L1});
  ASSERT_EQ(run(mopt_ref_reduce, {x.tensor, axes.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_OK);
  EXPECT_EQ(y.begin()[0], 3);
  EXPECT_EQ(run(mopt_ref_reduce, {x.tensor, wrong.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_VALUE);
}
TEST(TopK, LowerIndexFirstAndNaNIsLargest) {
  Buffer<float> x({7}, {2, 5, nan, 5, 1, 5, -1}), values({4});
  Buffer<int64_t> k({1}, {4}), indices({4});
  Attributes attr;
  attr.set(MOPT_TOPK_LARGEST, {1});
  ASSERT_EQ(run(mopt_ref_topk, {x.tensor, k.tensor}, {values.tensor, indices.tensor}, attr, 0, 1), MOPT_STEP_OK);
  EXPECT_EQ(indices.elements(), (std::vector<int64_t>{2, 1, 3, 5}));
  attr.set(MOPT_TOPK_LARGEST, {0});
  ASSERT_EQ(run(mopt_ref_topk, {x.tensor, k.tensor}, {values.tensor, indices.tensor}, attr, 0, 1), MOPT_STEP_OK);
  EXPECT_EQ(indices.elements(), (std::vector<int64_t>{6, 4, 0, 1}));
  k.begin()[0] = 8;
  EXPECT_EQ(run(mopt_ref_topk, {x.tensor, k.tensor}, {values.tensor, indices.tensor}, attr, 0, 1), MOPT_STEP_VALUE);
}
} // namespace
