// Requantization in integers: the multiplier is the scale itself, halves go up, nothing overflows at the ends of the ranges.
#include "mopt/Reference/FixedPoint.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace mopt {
namespace {
TEST(FixedPoint, MultiplierAndShiftAreTheScaleItself) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponents(-32, 29);
  for (int i = 0; i < 10000; ++i) {
    float scale = std::exp2(exponents(random));
    FixedScale fixed;
    if (!fixedScale(scale, fixed)) { // rounded up to the bound
      EXPECT_EQ(scale, firstTooLargeFixedScale);
      continue;
    }
    EXPECT_GE(fixed.multiplier, int32_t(1) << 30);
    EXPECT_GE(fixed.shift, 2);
    EXPECT_LE(fixed.shift, 62);
    EXPECT_EQ(std::ldexp(double(fixed.multiplier), -fixed.shift), double(scale));
  }
}
TEST(FixedPoint, RangeOfScales) {
  FixedScale fixed;
  ASSERT_TRUE(fixedScale(leastFixedScale, fixed));
  EXPECT_EQ(fixed.multiplier, int32_t(1) << 30);
  EXPECT_EQ(fixed.shift, 62);
  ASSERT_TRUE(fixedScale(std::nextafter(firstTooLargeFixedScale, 0.0f), fixed));
  EXPECT_EQ(fixed.shift, 2);
  EXPECT_EQ(fixed.multiplier, 0x7fffff80);
  const float inf = std::numeric_limits<float>::infinity();
  for (float scale : {std::nextafter(leastFixedScale, 0.0f), firstTooLargeFixedScale, 0.0f, -0.5f, inf, std::nanf(""),
                      std::numeric_limits<float>::denorm_min()})
    EXPECT_FALSE(fixedScale(scale, fixed)) << scale;
}
TEST(FixedPoint, HalvesGoUpThenZeroPointThenClamp) {
  FixedScale half;
  ASSERT_TRUE(fixedScale(0.5f, half));
  const int32_t values[] = {5, 3, 1, 0, -1, -3, -5}, rounded[] = {3, 2, 1, 0, 0, -1, -2};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(requantizeFixed(values[i], half, 0, -128, 127), rounded[i]) << values[i];
  EXPECT_EQ(requantizeFixed(250, half, 3, -128, 127), 127);
  EXPECT_EQ(requantizeFixed(-300, half, 3, 3, 127), 3); // a ReLU
}
TEST(FixedPoint, TheLargestSumsDoNotOverflow) {
  for (float scale : {leastFixedScale, 1.0f, std::nextafter(firstTooLargeFixedScale, 0.0f)}) {
    FixedScale fixed;
    ASSERT_TRUE(fixedScale(scale, fixed));
    for (int64_t value : {int64_t(INT32_MIN), int64_t(INT32_MIN) + 1, int64_t(-1), int64_t(1), int64_t(INT32_MAX)}) {
      __int128 wide = (__int128)value * fixed.multiplier + ((__int128)1 << (fixed.shift - 1));
      __int128 expected = (wide >> fixed.shift) + 7;
      expected = expected < 0 ? 0 : expected > 255 ? 255 : expected;
      EXPECT_EQ(requantizeFixed((int32_t)value, fixed, 7, 0, 255), (int32_t)expected) << value << " * " << scale;
    }
  }
}
} // namespace
} // namespace mopt
