//===- CompareTest.cpp - when two tensors are the same ------------------------------------------------------------===//
#include "mopt/Analysis/Compare.h"
#include "mopt/Runtime/mopt_abi.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace mopt;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

template <class T> TensorData tensor(int32_t dtype, ArrayRef<int64_t> dims, ArrayRef<T> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return TensorData::own(dtype, dims, std::move(bytes));
}
TensorData floats(ArrayRef<float> values) { return tensor<float>(MOPT_F32, {int64_t(values.size())}, values); }

std::optional<Difference> compareFloats(ArrayRef<float> got, ArrayRef<float> expected, double rtol, double atol) {
  return compare(floats(got), floats(expected), Tolerance{rtol, atol});
}

TEST(Compare, EqualTensors) {
  EXPECT_FALSE(compareFloats({1, 2, 3}, {1, 2, 3}, 0, 0));
  EXPECT_FALSE(compareFloats({}, {}, 0, 0));
  EXPECT_FALSE(compare(TensorData(), TensorData(), {}));
}

TEST(Compare, NaNEqualsNaNOnly) {
  EXPECT_FALSE(compareFloats({nan, 1}, {nan, 1}, 0, 0));
  EXPECT_FALSE(compareFloats({std::copysign(nan, -1.0f), 1}, {nan, 1}, 0, 0)); // whatever its bits
  for (auto [got, expected] : {std::pair(nan, 1.0f), std::pair(1.0f, nan), std::pair(inf, nan)}) {
    auto difference = compareFloats({got, 1}, {expected, 1}, 1e9, 1e9);
    ASSERT_TRUE(difference);
    EXPECT_EQ(0, difference->index);
    EXPECT_EQ(1, difference->count);
    EXPECT_TRUE(std::isinf(difference->excess));
  }
}

TEST(Compare, AnInfinityEqualsTheSameInfinityOnly) {
  EXPECT_FALSE(compareFloats({inf, -inf}, {inf, -inf}, 0, 0));
  EXPECT_TRUE(compareFloats({inf}, {-inf}, 1e9, 1e9));
  EXPECT_TRUE(compareFloats({3e38f}, {inf}, 1e9, 1e9));
  EXPECT_TRUE(compareFloats({inf}, {3e38f}, 1e9, 1e9));
}

TEST(Compare, ZerosOfBothSignsAreEqual) { EXPECT_FALSE(compareFloats({-0.0f}, {0.0f}, 0, 0)); }

TEST(Compare, RelativeToleranceIsOfTheExpectedElement) {
  EXPECT_FALSE(compareFloats({101, 1000}, {100, 1000}, 0.0101, 0));
  EXPECT_TRUE(compareFloats({101, 1000}, {100, 1000}, 0.0099, 0));
  // Not of the larger of the two: 100 is not within 10 % of 90, though 90 is within 10 % of 100.
  EXPECT_FALSE(compareFloats({90}, {100}, 0.1001, 0));
  EXPECT_TRUE(compareFloats({100}, {90}, 0.1001, 0));
}

TEST(Compare, AbsoluteToleranceIsOfTheLargestFiniteElement) {
  // A small element beside a large one may be off by what the large one allows.
  EXPECT_FALSE(compareFloats({1.5f, 1000}, {1, 1000}, 0, 0.001));
  EXPECT_TRUE(compareFloats({1.5f, 100}, {1, 100}, 0, 0.001));
  EXPECT_FALSE(compareFloats({1.5f, -1000}, {1, -1000}, 0, 0.001));
  // An infinity is no measure of anything.
  EXPECT_TRUE(compareFloats({1.5f, inf, 100}, {1, inf, 100}, 0, 0.001));
}

TEST(Compare, WorstElementIsTheOneFurthestBeyondItsOwnTolerance) {
  // Errors 5, 0.5 and 40 where 1 %, of each element, is allowed: 5, 50 and 4 times too much.
  auto difference = compareFloats({105, 1.5f, 1040, 7}, {100, 1, 1000, 7}, 0.01, 0);
  ASSERT_TRUE(difference);
  EXPECT_EQ(1, difference->index);
  EXPECT_EQ(1.5, difference->got);
  EXPECT_EQ(1, difference->expected);
  EXPECT_NEAR(50, difference->excess, 1e-6);
  EXPECT_EQ(3, difference->count);
}

TEST(Compare, TextHasPositionValuesAndCount) {
  auto got = tensor<float>(MOPT_F32, {2, 3}, {0, 0, 0, 0, 0, 9});
  auto expected = tensor<float>(MOPT_F32, {2, 3}, {0, 0, 0, 0, 0, 4});
  auto difference = compare(got, expected, {});
  ASSERT_TRUE(difference);
  EXPECT_EQ("element [1, 2]: got 9, expected 4; 1 element is out of tolerance", difference->text(got.dims));
  auto scalar = compare(tensor<float>(MOPT_F32, {}, {1}), tensor<float>(MOPT_F32, {}, {2}), {});
  ASSERT_TRUE(scalar);
  EXPECT_EQ("element []: got 1, expected 2; 1 element is out of tolerance", scalar->text({}));
}

TEST(Compare, SizesAndTypesHaveToAgree) {
  auto sizes = compare(tensor<float>(MOPT_F32, {2, 1}, {1, 2}), tensor<float>(MOPT_F32, {2}, {1, 2}), Tolerance{9, 9});
  ASSERT_TRUE(sizes);
  EXPECT_EQ("sizes [2, 1], expected [2]", sizes->text({2, 1}));
  EXPECT_TRUE(compare(floats({}), tensor<float>(MOPT_F32, {0, 3}, {}), {}));
  auto types = compare(tensor<int32_t>(MOPT_I32, {1}, {1}), tensor<float>(MOPT_F32, {1}, {1}), Tolerance{9, 9});
  ASSERT_TRUE(types);
  EXPECT_EQ("element type 6, expected 1", types->text({1}));
}

TEST(Compare, IntegersHaveNoTolerance) {
  EXPECT_FALSE(compare(tensor<int64_t>(MOPT_I64, {1}, {7}), tensor<int64_t>(MOPT_I64, {1}, {7}), {}));
  auto off = compare(tensor<int8_t>(MOPT_I8, {3}, {1, -128, 3}), tensor<int8_t>(MOPT_I8, {3}, {1, 127, 3}), Tolerance{9, 9});
  ASSERT_TRUE(off);
  EXPECT_EQ(1, off->index);
  EXPECT_EQ(-128, off->got);
  EXPECT_EQ(127, off->expected);
  // Two that are one double.
  int64_t large = int64_t(1) << 62;
  EXPECT_TRUE(compare(tensor<int64_t>(MOPT_I64, {1}, {large + 1}), tensor<int64_t>(MOPT_I64, {1}, {large}), {}));
  // Elements below a byte: 0x21 is 1, 2 and 0xa1 is 1, -6.
  auto nibbles = compare(TensorData::own(MOPT_I4, {2}, {0xa1}), TensorData::own(MOPT_I4, {2}, {0x21}), Tolerance{9, 9});
  ASSERT_TRUE(nibbles);
  EXPECT_EQ(1, nibbles->index);
  EXPECT_EQ(-6, nibbles->got);
  EXPECT_EQ(2, nibbles->expected);
}

TEST(Compare, DefaultsFollowFromTheType) {
  EXPECT_EQ(1e-3, Tolerance().forType(MOPT_F32).rtol);
  EXPECT_EQ(1e-4, Tolerance().forType(MOPT_F32).atol);
  EXPECT_LT(Tolerance().forType(MOPT_F16).rtol, Tolerance().forType(MOPT_BF16).rtol);
  EXPECT_EQ(0, Tolerance().forType(MOPT_I32).rtol);
  Tolerance mine = Tolerance{-1, 0.5}.forType(MOPT_F32); // one given, the other not
  EXPECT_EQ(1e-3, mine.rtol);
  EXPECT_EQ(0.5, mine.atol);
}

TEST(Compare, ElementsOfEveryFloatAreRead) {
  auto element = [](int32_t dtype, std::vector<uint8_t> bytes) {
    return elementAsDouble(TensorData::own(dtype, {1}, std::move(bytes)), 0);
  };
  EXPECT_EQ(1.5, element(MOPT_F16, {0x00, 0x3e}));
  EXPECT_EQ(1.5, element(MOPT_BF16, {0xc0, 0x3f}));
  EXPECT_EQ(1.5, element(MOPT_F8E4M3FN, {0x3c}));
  EXPECT_EQ(1.5, element(MOPT_F8E5M2, {0x3e}));
  EXPECT_EQ(1.5, element(MOPT_F4E2M1, {0x03}));
  EXPECT_EQ(2, element(MOPT_F8E8M0, {0x80}));
}

} // namespace
