// Resize: values worked by hand for each mode, and scales that lie. ONNX's own cases cover the combinations.
#include "Tensors.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mopt_test;
using Floats = std::vector<float>;

namespace {
Attributes mode(int64_t mode, int64_t transform, int64_t nearest = MOPT_RESIZE_NEAREST_MODE_ROUND_PREFER_FLOOR) {
  Attributes a(16);
  a.set(MOPT_RESIZE_MODE, {mode})
      .set(MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE, {transform})
      .set(MOPT_RESIZE_NEAREST_MODE, {nearest});
  a.setFloat(MOPT_RESIZE_CUBIC_COEFF_A, -0.75);
  return a;
}
constexpr int64_t halfPixel = MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_HALF_PIXEL;
constexpr int64_t asymmetric = MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_ASYMMETRIC;

int32_t byScale(Buffer<float> &x, Buffer<float> &y, float scale, const Attributes &attr) {
  Buffer<float> s({1}, {scale});
  return call(mopt_ref_resize, {x.tensor, absent(), s.tensor, absent()}, {y.tensor}, attr);
}
TEST(Resize, Nearest) {
  Buffer<float> x({3}, {1, 2, 3}), y({6}), down({2});
  ASSERT_EQ(byScale(x, y, 2, mode(MOPT_RESIZE_MODE_NEAREST, asymmetric, MOPT_RESIZE_NEAREST_MODE_FLOOR)), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (Floats{1, 1, 2, 2, 3, 3}));
  ASSERT_EQ(byScale(x, y, 2, mode(MOPT_RESIZE_MODE_NEAREST, asymmetric, MOPT_RESIZE_NEAREST_MODE_CEIL)), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (Floats{1, 2, 2, 3, 3, 3}));
  // 1 / 0.6666667f is a little less than 1.5: the halves still go where 1.5 goes.
  ASSERT_EQ(
      byScale(x, down, 0.6666667f, mode(MOPT_RESIZE_MODE_NEAREST, asymmetric, MOPT_RESIZE_NEAREST_MODE_ROUND_PREFER_CEIL)),
      MOPT_STEP_OK);
  EXPECT_EQ(down.elements(), (Floats{1, 3}));
}
TEST(Resize, LinearAndCubic) {
  Buffer<float> x({2}, {0, 4}), y({4}), z({4});
  ASSERT_EQ(byScale(x, y, 2, mode(MOPT_RESIZE_MODE_LINEAR, halfPixel)), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (Floats{0, 1, 3, 4}));
  ASSERT_EQ(byScale(x, y, 2, mode(MOPT_RESIZE_MODE_LINEAR, MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_ALIGN_CORNERS)),
            MOPT_STEP_OK);
  EXPECT_FLOAT_EQ(y.elements()[1], 4.0f / 3);
  ASSERT_EQ(byScale(x, z, 2, mode(MOPT_RESIZE_MODE_CUBIC, halfPixel)), MOPT_STEP_OK);
  EXPECT_FLOAT_EQ(z.elements()[0] + z.elements()[3], 4) << "weights add up to 1";
  // An infinity outside the taps that count does not spoil the result.
  Buffer<float> infinite({2}, {1, INFINITY}), same({2});
  ASSERT_EQ(byScale(infinite, same, 1, mode(MOPT_RESIZE_MODE_LINEAR, halfPixel)), MOPT_STEP_OK);
  EXPECT_EQ(same.elements()[0], 1);
}
TEST(Resize, Antialias) {
  Buffer<float> x({4}, {0, 1, 2, 3}), y({2});
  Attributes attr = mode(MOPT_RESIZE_MODE_LINEAR, halfPixel);
  attr.set(MOPT_RESIZE_ANTIALIAS, {1});
  ASSERT_EQ(byScale(x, y, 0.5f, attr), MOPT_STEP_OK);
  EXPECT_FLOAT_EQ(y.elements()[0] + y.elements()[1], 3) << "symmetric";
  EXPECT_FLOAT_EQ(y.elements()[0], 0.625f) << "(0 + 0 + 3 * 1 + 2) / 8: the edge repeats";
}
TEST(Resize, KeepsAspectRatio) {
  Buffer<float> x({2, 4}), y({3, 6});
  Buffer<int64_t> sizes({2}, {3, 9});
  Attributes attr = mode(MOPT_RESIZE_MODE_NEAREST, halfPixel);
  attr.set(MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY, {MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY_NOT_LARGER});
  EXPECT_EQ(call(mopt_ref_resize, {x.tensor, absent(), absent(), sizes.tensor}, {y.tensor}, attr), MOPT_STEP_OK);
  attr.set(MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY, {MOPT_RESIZE_KEEP_ASPECT_RATIO_POLICY_NOT_SMALLER});
  EXPECT_EQ(call(mopt_ref_resize, {x.tensor, absent(), absent(), sizes.tensor}, {y.tensor}, attr), MOPT_STEP_SHAPE);
}
TEST(Resize, OperandsThatLie) {
  Buffer<float> x({3}, {1, 2, 3}), y({6}), empty({0});
  for (float scale : {0.0f, -1.0f, NAN, INFINITY, 1e30f, 1e-30f, 3.0f})
    for (int64_t m : {0, 1, 2}) EXPECT_NE(byScale(x, y, scale, mode(m, halfPixel)), MOPT_STEP_OK) << scale;
  EXPECT_NE(byScale(empty, y, 2, mode(0, halfPixel)), MOPT_STEP_OK);
  // A region of interest far away reads nothing outside.
  for (float far : {1e30f, -1e30f, NAN, INFINITY}) {
    Buffer<float> roi({2}, {far, far}), scale({1}, {2});
    for (int64_t m : {0, 1, 2}) {
      Attributes attr = mode(m, MOPT_RESIZE_COORDINATE_TRANSFORMATION_MODE_TF_CROP_AND_RESIZE);
      attr.setFloat(MOPT_RESIZE_EXTRAPOLATION_VALUE, 7);
      ASSERT_EQ(call(mopt_ref_resize, {x.tensor, roi.tensor, scale.tensor, absent()}, {y.tensor}, attr), MOPT_STEP_OK);
      EXPECT_EQ(y.elements()[3], 7);
    }
  }
  EXPECT_TRUE(y.guardsHold());
}
} // namespace
