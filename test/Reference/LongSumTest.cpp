// Sums of millions of floats: the result is as exact as the format allows, whatever operator adds them up. Equal addends are
// the hard case: in one chain each is rounded the same way, and the errors add up as well.
#include "Tensors.h"
#include <cmath>
#include <gtest/gtest.h>
using namespace mopt_test;

namespace {
const int64_t many = 3000000;
const float addend = 0.1f;
const double exact = 1e-6; // relative; one chain of so many is off by 0.2

int32_t run(mopt_reference f, std::vector<mopt_tensor> in, std::vector<mopt_tensor> out, const Attributes &attr,
            int64_t begin, int64_t end) {
  mopt_fault fault;
  return f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), begin, end, &fault);
}
void near(double got, double expected, double of = 1) { EXPECT_NEAR(got, expected, of * exact * std::fabs(expected)); }
std::vector<float> equal(int64_t n = many) { return std::vector<float>(n, addend); }
/// Every second one is twice as large: mean 1.5 a, variance 0.25 a^2.
std::vector<float> twoValues() {
  std::vector<float> values = equal();
  for (int64_t i = 1; i < many; i += 2) values[i] = 2 * addend;
  return values;
}

TEST(LongSum, Reductions) {
  const double a = addend, n = many;
  const std::pair<int64_t, double> kinds[] = {{MOPT_REDUCE_KIND_SUM, n * a},
                                              {MOPT_REDUCE_KIND_MEAN, a},
                                              {MOPT_REDUCE_KIND_L1, n * a},
                                              {MOPT_REDUCE_KIND_L2, std::sqrt(n) * a},
                                              {MOPT_REDUCE_KIND_SUM_SQUARE, n * a * a},
                                              {MOPT_REDUCE_KIND_LOG_SUM, std::log(n * a)},
                                              {MOPT_REDUCE_KIND_LOG_SUM_EXP, std::log(n) + a}};
  // The last axis is reduced, or it stays and all others are.
  Buffer<float> row({1, many}, equal()), columns({many / 3, 3}, equal()), one({1}), three({3});
  Buffer<int64_t> last({1}, {1}), first({1}, {0});
  for (auto [kind, expected] : kinds) {
    Attributes attr;
    attr.set(MOPT_REDUCE_KIND, {kind});
    ASSERT_EQ(run(mopt_ref_reduce, {row.tensor, last.tensor}, {one.tensor}, attr, 0, 1), MOPT_STEP_OK);
    near(one.begin()[0], expected);
    ASSERT_EQ(run(mopt_ref_reduce, {columns.tensor, first.tensor}, {three.tensor}, attr, 0, 3), MOPT_STEP_OK);
    double third = n / 3;
    double part = kind == MOPT_REDUCE_KIND_MEAN          ? a
                  : kind == MOPT_REDUCE_KIND_L2          ? std::sqrt(third) * a
                  : kind == MOPT_REDUCE_KIND_SUM_SQUARE  ? third * a * a
                  : kind == MOPT_REDUCE_KIND_LOG_SUM     ? std::log(third * a)
                  : kind == MOPT_REDUCE_KIND_LOG_SUM_EXP ? std::log(third) + a
                                                         : third * a;
    for (int i = 0; i < 3; ++i) near(three.begin()[i], part);
  }
  Buffer<double> wide({1, many}, std::vector<double>(many, 0.1)), sum({1});
  ASSERT_EQ(run(mopt_ref_reduce, {wide.tensor, last.tensor}, {sum.tensor}, Attributes().set(MOPT_REDUCE_KIND, {0}), 0, 1),
            MOPT_STEP_OK);
  EXPECT_NEAR(sum.begin()[0], 0.1 * n, 1e-9);
}
TEST(LongSum, EinsumOfOneOperand) {
  Buffer<float> x({many}, equal()), y({}), columns({many / 3, 3}, equal()), three({3});
  Attributes all, kept;
  all.slots[MOPT_EINSUM_EQUATION] = {"i->", 3};
  kept.slots[MOPT_EINSUM_EQUATION] = {"ij->j", 5};
  ASSERT_EQ(run(mopt_ref_einsum, {x.tensor}, {y.tensor}, all, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], many * (double)addend);
  ASSERT_EQ(run(mopt_ref_einsum, {columns.tensor}, {three.tensor}, kept, 0, 3), MOPT_STEP_OK);
  for (int i = 0; i < 3; ++i) near(three.begin()[i], many / 3 * (double)addend);
}
TEST(LongSum, Pools) {
  Buffer<float> x({1, 1, 2000, 1500}, equal()), y({1, 1, 1, 1});
  ASSERT_EQ(run(mopt_ref_global_average_pool, {x.tensor}, {y.tensor}, Attributes(), 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], addend);
  ASSERT_EQ(run(mopt_ref_global_lp_pool, {x.tensor}, {y.tensor}, Attributes().set(MOPT_GLOBAL_LP_POOL_P, {2}), 0, 1),
            MOPT_STEP_OK);
  near(y.begin()[0], std::sqrt((double)many) * addend);
  // A window as large as the image, also where part of it is padding.
  Attributes average, lp;
  average.set(MOPT_AVERAGE_POOL_KERNEL_SHAPE, {2000, 1500});
  ASSERT_EQ(run(mopt_ref_average_pool, {x.tensor}, {y.tensor}, average, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], addend);
  average.set(MOPT_AVERAGE_POOL_KERNEL_SHAPE, {2006, 1502}).set(MOPT_AVERAGE_POOL_PADS, {3, 2, 3, 0});
  ASSERT_EQ(run(mopt_ref_average_pool, {x.tensor}, {y.tensor}, average, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], addend);
  lp.set(MOPT_LP_POOL_KERNEL_SHAPE, {2000, 1500}).set(MOPT_LP_POOL_P, {2});
  ASSERT_EQ(run(mopt_ref_lp_pool, {x.tensor}, {y.tensor}, lp, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], std::sqrt((double)many) * addend);
}
TEST(LongSum, Norms) {
  const double deviation = 0.5 * addend;
  Buffer<float> x({1, many}, twoValues()), y({1, many}), scale({many}, std::vector<float>(many, 1)), mean({1, 1}),
      inverse({1, 1});
  Attributes layer;
  layer.set(MOPT_LAYER_NORM_AXIS, {-1}).setFloat(MOPT_LAYER_NORM_EPSILON, 0);
  ASSERT_EQ(
      run(mopt_ref_layer_norm, {x.tensor, scale.tensor, absent()}, {y.tensor, mean.tensor, inverse.tensor}, layer, 0, 1),
      MOPT_STEP_OK);
  near(mean.begin()[0], 1.5 * addend);
  near(inverse.begin()[0], 1 / deviation);
  Attributes rms;
  rms.set(MOPT_RMS_NORM_AXIS, {-1}).setFloat(MOPT_RMS_NORM_EPSILON, 0);
  ASSERT_EQ(run(mopt_ref_rms_norm, {x.tensor, scale.tensor}, {y.tensor}, rms, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], std::sqrt(1 / 2.5));
  Attributes lp;
  lp.set(MOPT_LP_NORM_AXIS, {-1}).set(MOPT_LP_NORM_P, {1});
  ASSERT_EQ(run(mopt_ref_lp_norm, {x.tensor}, {y.tensor}, lp, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], 1 / (1.5 * many));
  ASSERT_EQ(run(mopt_ref_softmax, {x.tensor}, {y.tensor}, Attributes().set(MOPT_SOFTMAX_AXIS, {-1}), 0, 1), MOPT_STEP_OK);
  near(y.begin()[1], 1 / (many / 2 * (1 + std::exp(-(double)addend))));
  // Planes: instance and group normalization, and the moments of batch normalization in training.
  x.tensor.rank = y.tensor.rank = 3;
  for (mopt_tensor *t : {&x.tensor, &y.tensor}) t->dims[1] = 1, t->dims[2] = many, t->strides[1] = many, t->strides[2] = 1;
  Buffer<float> one({1}, {1}), none({1}, {0}), runningMean({1}), runningVariance({1});
  ASSERT_EQ(run(mopt_ref_instance_norm, {x.tensor, one.tensor, none.tensor}, {y.tensor},
                Attributes().setFloat(MOPT_INSTANCE_NORM_EPSILON, 0), 0, 1),
            MOPT_STEP_OK);
  near(y.begin()[0], -1, 3); // (x - mean) / deviation: what mean lacks counts three times as much
  Attributes group;
  group.set(MOPT_GROUP_NORM_NUM_GROUPS, {1}).setFloat(MOPT_GROUP_NORM_EPSILON, 0);
  ASSERT_EQ(run(mopt_ref_group_norm, {x.tensor, one.tensor, none.tensor}, {y.tensor}, group, 0, 1), MOPT_STEP_OK);
  near(y.begin()[1], 1, 3);
  Attributes batch;
  batch.setFloat(MOPT_BATCH_NORM_EPSILON, 0).setFloat(MOPT_BATCH_NORM_MOMENTUM, 0).set(MOPT_BATCH_NORM_TRAINING_MODE, {1});
  ASSERT_EQ(run(mopt_ref_batch_norm, {x.tensor, one.tensor, none.tensor, none.tensor, one.tensor},
                {y.tensor, runningMean.tensor, runningVariance.tensor}, batch, 0, 1),
            MOPT_STEP_OK);
  near(runningMean.begin()[0], 1.5 * addend);
  near(runningVariance.begin()[0], deviation * deviation);
}
TEST(LongSum, LRN) { // a window over all channels
  Buffer<float> x({1, many, 1}, equal()), y({1, many, 1});
  Attributes attr;
  attr.setFloat(MOPT_LRN_ALPHA, 2.0 * many)
      .setFloat(MOPT_LRN_BETA, 1)
      .setFloat(MOPT_LRN_BIAS, 0)
      .set(MOPT_LRN_SIZE, {2 * many});
  ASSERT_EQ(run(mopt_ref_lrn, {x.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_OK);
  near(y.begin()[0], 1 / (many * (double)addend));
}
TEST(LongSum, PoolsOfPartsHaveTheSameBits) { // more than one leaf of kernel positions, most windows over an edge
  std::vector<float> values(3 * 40 * 37);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin((float)i);
  Buffer<float> x({1, 3, 40, 37}, values), whole({1, 3, 40, 37}), parts({1, 3, 40, 37});
  Attributes attr;
  attr.set(MOPT_AVERAGE_POOL_KERNEL_SHAPE, {19, 11}).set(MOPT_AVERAGE_POOL_PADS, {9, 5, 9, 5});
  int64_t n = (int64_t)values.size();
  ASSERT_EQ(run(mopt_ref_average_pool, {x.tensor}, {whole.tensor}, attr, 0, n), MOPT_STEP_OK);
  for (int64_t i = 0; i < n; i += 7) run(mopt_ref_average_pool, {x.tensor}, {parts.tensor}, attr, i, std::min(i + 7, n));
  EXPECT_EQ(whole.elements(), parts.elements());
  double sum = 0;
  for (int64_t y = 5; y < 24; ++y)
    for (int64_t k = 10; k < 21; ++k) sum += values[y * 37 + k];
  EXPECT_NEAR(whole.begin()[14 * 37 + 15], sum / (19 * 11), 1e-6);
}
TEST(Pool, RefusesKernelsBeyondCounting) {
  Buffer<float> x({1, 1, 1, 1, 1}), y({1, 1, 1, 1, 1});
  const int64_t huge = 1 << 30, half = huge / 2;
  Attributes attr;
  attr.set(MOPT_AVERAGE_POOL_KERNEL_SHAPE, {huge, huge, huge})
      .set(MOPT_AVERAGE_POOL_PADS, {half, half, half, half, half, half})
      .set(MOPT_AVERAGE_POOL_COUNT_INCLUDE_PAD, {1});
  EXPECT_EQ(run(mopt_ref_average_pool, {x.tensor}, {y.tensor}, attr, 0, 1), MOPT_STEP_VALUE);
}
} // namespace
