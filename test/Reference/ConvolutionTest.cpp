// Conv and ConvTranspose against plain loops in double, over random kernels, strides, dilations, pads and groups.
#include "Tensors.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
using namespace mopt_test;

namespace {
struct Case {
  int64_t n, c, o, group, in[2], kernel[2], stride[2], dilation[2], pads[4], out[2];
};
struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  std::vector<float> floats(int64_t n) {
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float &v : values) v = normal(engine);
    return values;
  }
};
Case makeCase(Random &random, bool transposed) {
  Case t;
  t.n = random(1, 2);
  t.group = random(1, 3);
  t.c = t.group * random(1, 4);
  t.o = t.group * random(1, 8);
  if (random(0, 3) == 0) t.group = t.o = t.c; // depthwise
  for (int i = 0; i < 2; ++i) {
    t.in[i] = random(5, 15);
    t.kernel[i] = random(1, 4);
    t.stride[i] = random(1, 3);
    t.dilation[i] = random(1, 2);
    t.pads[i] = random(0, 2);
    t.pads[i + 2] = random(0, 2);
    int64_t span = (t.kernel[i] - 1) * t.dilation[i] + 1, padding = t.pads[i] + t.pads[i + 2];
    t.out[i] = transposed ? (t.in[i] - 1) * t.stride[i] + span - padding : (t.in[i] + padding - span) / t.stride[i] + 1;
    if (t.in[i] + padding < span || t.out[i] < 1) return makeCase(random, transposed);
  }
  return t;
}
Attributes attributesOf(const Case &t) {
  Attributes attr;
  attr.set(MOPT_CONV_DILATIONS, {t.dilation[0], t.dilation[1]}).set(MOPT_CONV_GROUP, {t.group});
  attr.set(MOPT_CONV_PADS, {t.pads[0], t.pads[1], t.pads[2], t.pads[3]}).set(MOPT_CONV_STRIDES, {t.stride[0], t.stride[1]});
  return attr;
}
/// Calls f(image, output channel, input channel, weight channels, y and x position in both, kernel position).
template <class F> void forEachProduct(const Case &t, const int64_t *windows, const int64_t *image, F f) {
  int64_t cg = t.c / t.group, og = t.o / t.group;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t o = 0; o < t.o; ++o)
      for (int64_t c = 0; c < cg; ++c)
        for (int64_t wy = 0; wy < windows[0]; ++wy)
          for (int64_t wx = 0; wx < windows[1]; ++wx)
            for (int64_t ky = 0; ky < t.kernel[0]; ++ky)
              for (int64_t kx = 0; kx < t.kernel[1]; ++kx) {
                int64_t y = wy * t.stride[0] + ky * t.dilation[0] - t.pads[0],
                        x = wx * t.stride[1] + kx * t.dilation[1] - t.pads[1];
                if (y < 0 || x < 0 || y >= image[0] || x >= image[1]) continue;
                f(n, o, o / og * cg + c, wy * windows[1] + wx, y * image[1] + x, ky * t.kernel[1] + kx);
              }
}
void expectNear(Buffer<float> &y, const std::vector<double> &sums, const std::vector<double> &sizes, int round) {
  EXPECT_TRUE(y.guardsHold());
  for (size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(y.begin()[i], sums[i], 2e-6 * sizes[i] + 1e-6) << "round " << round << " at " << i;
}
int32_t run(mopt_reference f, std::vector<mopt_tensor> in, mopt_tensor out, const Attributes &attr, int64_t begin,
            int64_t end) {
  mopt_fault fault;
  return f(in.data(), (int32_t)in.size(), &out, 1, attr.slots.data(), begin, end, &fault);
}

TEST(Conv, MatchesPlainLoopsAndPlanesAreIndependent) {
  Random random{std::mt19937(11)};
  for (int round = 0; round < 150; ++round) {
    Case t = makeCase(random, false);
    int64_t cg = t.c / t.group, k = t.kernel[0] * t.kernel[1], inside = t.in[0] * t.in[1], outside = t.out[0] * t.out[1];
    Buffer<float> x({t.n, t.c, t.in[0], t.in[1]}, random.floats(t.n * t.c * inside)), b({t.o}, random.floats(t.o));
    Buffer<float> w({t.o, cg, t.kernel[0], t.kernel[1]}, random.floats(t.o * cg * k)), y({t.n, t.o, t.out[0], t.out[1]}),
        alone({t.n, t.o, t.out[0], t.out[1]});
    std::vector<double> sums(t.n * t.o * outside), sizes(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b.begin()[i / outside % t.o];
    forEachProduct(t, t.out, t.in, [&](int64_t n, int64_t o, int64_t c, int64_t window, int64_t pixel, int64_t tap) {
      double product = (double)x.begin()[(n * t.c + c) * inside + pixel] * w.begin()[(o * cg + c % cg) * k + tap];
      sums[(n * t.o + o) * outside + window] += product;
      sizes[(n * t.o + o) * outside + window] += std::fabs(product);
    });
    Attributes attr = attributesOf(t);
    ASSERT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor, b.tensor}, y.tensor, attr, 0, t.n * t.o), MOPT_STEP_OK);
    expectNear(y, sums, sizes, round);
    for (int64_t plane = 0; plane < t.n * t.o; ++plane)
      run(mopt_ref_conv, {x.tensor, w.tensor, b.tensor}, alone.tensor, attr, plane, plane + 1);
    ASSERT_EQ(y.elements(), alone.elements()) << "round " << round;
  }
}
TEST(ConvTranspose, MatchesPlainLoops) {
  Random random{std::mt19937(12)};
  for (int round = 0; round < 150; ++round) {
    Case t = makeCase(random, true);
    int64_t og = t.o / t.group, k = t.kernel[0] * t.kernel[1], inside = t.in[0] * t.in[1], outside = t.out[0] * t.out[1];
    Buffer<float> x({t.n, t.c, t.in[0], t.in[1]}, random.floats(t.n * t.c * inside)),
        w({t.c, og, t.kernel[0], t.kernel[1]}, random.floats(t.c * og * k));
    Buffer<float> y({t.n, t.o, t.out[0], t.out[1]});
    std::vector<double> sums(t.n * t.o * outside), sizes(sums.size());
    forEachProduct(t, t.in, t.out, [&](int64_t n, int64_t o, int64_t c, int64_t window, int64_t pixel, int64_t tap) {
      double product = (double)x.begin()[(n * t.c + c) * inside + window] * w.begin()[(c * og + o % og) * k + tap];
      sums[(n * t.o + o) * outside + pixel] += product;
      sizes[(n * t.o + o) * outside + pixel] += std::fabs(product);
    });
    ASSERT_EQ(run(mopt_ref_conv_transpose, {x.tensor, w.tensor}, y.tensor, attributesOf(t), 0, t.n * t.o), MOPT_STEP_OK);
    expectNear(y, sums, sizes, round);
  }
}
TEST(Conv, RefusesWrongAttributesAndShapes) {
  Buffer<float> x({1, 4, 5, 5}), w({2, 4, 3, 3}), y({1, 2, 3, 3});
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_STRIDES, {0, 1}), 0, 2),
            MOPT_STEP_VALUE);
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_DILATIONS, {1, -1}), 0, 2),
            MOPT_STEP_VALUE);
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_STRIDES, {1}), 0, 2),
            MOPT_STEP_SHAPE);
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_GROUP, {2}), 0, 2),
            MOPT_STEP_SHAPE);
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_GROUP, {0}), 0, 2),
            MOPT_STEP_VALUE);
  Buffer<float> bias({3});
  EXPECT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor, bias.tensor}, y.tensor, Attributes(), 0, 2), MOPT_STEP_SHAPE);
  EXPECT_TRUE(y.guardsHold());
}
TEST(Conv, AnyResultSizeStaysInside) { // sizes come from the caller: a wrong one must not read or write outside
  Buffer<float> x({1, 2, 3, 3}, std::vector<float>(18, 1)), w({2, 2, 2, 2}, std::vector<float>(16, 1)), y({1, 2, 9, 9});
  ASSERT_EQ(run(mopt_ref_conv, {x.tensor, w.tensor}, y.tensor, Attributes().set(MOPT_CONV_PADS, {-1, 5, 0, 0}), 0, 2),
            MOPT_STEP_OK);
  EXPECT_TRUE(y.guardsHold());
  EXPECT_EQ(y.begin()[80], 0);
}
} // namespace
