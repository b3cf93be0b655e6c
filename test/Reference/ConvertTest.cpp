// Element types: every code of the narrow formats, and rounding to the nearest of them.
#include "../../lib/Reference/Common.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <vector>

using namespace mopt::ref;

namespace {
/// Numbers of a format in ascending order, with their codes; NaN and infinity left out.
struct Format {
  std::vector<std::pair<double, int>> numbers;
  double exactly(int code) const {
    for (auto &n : numbers)
      if (n.second == code) return n.first;
    return NAN;
  }
};
/// From the definition: sign, exponent, mantissa. `special`: codes that are no numbers.
Format makeFormat(int e, int m, int bias, bool (*special)(int)) {
  Format f;
  for (int code = 0; code < 1 << (e + m); ++code) {
    if (special(code)) continue;
    int exponent = code >> m, mantissa = code & ((1 << m) - 1);
    double value =
        exponent ? std::ldexp(1.0 + std::ldexp(mantissa, -m), exponent - bias) : std::ldexp(mantissa, 1 - bias - m);
    f.numbers.push_back({value, code});
  }
  return f;
}
/// Code of the nearest number, halves to the even code; `over` for what rounds beyond the largest.
int nearest(const Format &f, double value, int over) {
  double a = std::fabs(value);
  auto &n = f.numbers;
  double top = n.back().first, step = top - n[n.size() - 2].first;
  if (a > top && (a - top > step / 2 || (a - top == step / 2 && n.back().second % 2))) return over;
  size_t low = 0, high = n.size() - 1;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    (n[middle].first <= a ? low : high) = middle;
  }
  if (a >= n[high].first) return n[high].second;
  double down = a - n[low].first, up = n[high].first - a;
  return down < up || (down == up && n[low].second % 2 == 0) ? n[low].second : n[high].second;
}
template <class Encode> void checkRounding(const Format &f, int over, Encode encode) {
  std::mt19937_64 random(11);
  for (size_t i = 0; i + 1 < f.numbers.size(); ++i) {
    double a = f.numbers[i].first, b = f.numbers[i + 1].first, middle = (a + b) / 2;
    // Just beside the middle: a float in between would round it onto the middle, and then wrongly to even.
    for (double v : {a, b, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
                     (double)std::nextafterf((float)middle, 0.0f)})
      ASSERT_EQ(encode(v), nearest(f, v, over)) << v;
  }
  double top = f.numbers.back().first;
  for (double factor : {1.01, 1.02, 1.03, 1.0624, 1.0625, 1.0626, 1.124, 1.125, 1.126, 1.5, 3.0, 1e6, 1e200})
    ASSERT_EQ(encode(top * factor), nearest(f, top * factor, over)) << factor;
}

TEST(Convert, HalfEveryCode) {
  for (int code = 0; code < 65536; ++code) {
    float value = fromHalf((uint16_t)code);
    int exponent = code >> 10 & 31, mantissa = code & 1023;
    double expected = exponent == 31  ? (mantissa ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
    if (code & 0x8000) expected = -expected;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_EQ(toHalf(value), code | 0x200) << "NaN keeps its payload, made quiet";
    } else {
      ASSERT_EQ(value, expected);
      ASSERT_EQ(toHalf(value), code);
    }
  }
}
TEST(Convert, HalfRounding) {
  Format half = makeFormat(5, 10, 15, [](int code) { return code >> 10 == 31; });
  checkRounding(half, 0x7c00, [](double v) {
    uint16_t r;
    storeAt<double>(&r, MOPT_F16, 0, v);
    return (int)r;
  });
  checkRounding(half, 0x7c00, [&](double v) { return v == (float)v ? (int)toHalf((float)v) : nearest(half, v, 0x7c00); });
}
TEST(Convert, BFloatRounding) {
  std::mt19937_64 random(2);
  Format bf = makeFormat(8, 7, 127, [](int code) { return code >> 7 == 255; });
  for (int i = 0; i < 20000; ++i) {
    double v = std::ldexp(1.0 + std::ldexp((double)(random() >> 11), -53), (int)(random() % 270) - 140);
    if (i % 2) v = bf.numbers[random() % (bf.numbers.size() - 1)].first * (1 + std::ldexp(1.0, -8)) + (i % 4 ? 1e-300 : 0);
    uint16_t r;
    storeAt<double>(&r, MOPT_BF16, 0, v);
    ASSERT_EQ((int)r, nearest(bf, v, 0x7f80)) << v;
    storeAt<float>(&r, MOPT_BF16, 0, (float)v);
    ASSERT_EQ((int)r, nearest(bf, (float)v, 0x7f80)) << v;
  }
  EXPECT_TRUE(std::isnan(fromBFloat(toBFloat(NAN))));
  EXPECT_TRUE(std::isnan(fromBFloat(toBFloat(bitCast<float>(0x7f800001u))))) << "a NaN whose payload is cut off";
}
/// Rows of ONNX's Cast table.
struct F8 {
  const char *name;
  Format format;
  float (*from)(uint8_t);
  uint8_t (*to)(float, bool);
  int largest, infinity, nan; // infinity: what too large becomes without saturation
  bool negativeZero;
};
TEST(Convert, EightBitFloats) {
  F8 rows[] = {
      {"e4m3fn", makeFormat(4, 3, 7, [](int c) { return c == 0x7f; }), fromE4M3FN, toE4M3FN, 0x7e, 0x7f, 0x7f, true},
      {"e4m3fnuz", makeFormat(4, 3, 8, [](int) { return false; }), fromFNUZ<3, 8>, toFNUZ<3, 8>, 0x7f, 0x80, 0x80, false},
      {"e5m2", makeFormat(5, 2, 15, [](int c) { return c >= 0x7c; }), fromE5M2, toE5M2, 0x7b, 0x7c, 0x7f, true},
      {"e5m2fnuz", makeFormat(5, 2, 16, [](int) { return false; }), fromFNUZ<2, 16>, toFNUZ<2, 16>, 0x7f, 0x80, 0x80,
       false}};
  for (const F8 &f : rows) {
    SCOPED_TRACE(f.name);
    for (auto &[value, code] : f.format.numbers) {
      ASSERT_EQ(f.from((uint8_t)code), value);
      if (code == 0 && !f.negativeZero) continue;
      ASSERT_EQ(f.from((uint8_t)(code | 0x80)), -value);
      ASSERT_EQ(f.to((float)-value, false), code | 0x80);
    }
    checkRounding(f.format, f.largest, [&](double v) { return (int)f.to(toFloatOdd(v), true); });
    checkRounding(f.format, f.infinity, [&](double v) { return (int)f.to(toFloatOdd(v), false); });
    EXPECT_EQ(f.to(INFINITY, true), f.largest);
    EXPECT_EQ(f.to(-INFINITY, true), f.largest | 0x80);
    EXPECT_EQ(f.to(INFINITY, false), f.infinity);
    EXPECT_EQ(f.to(-0.0f, true), f.negativeZero ? 0x80 : 0);
    EXPECT_TRUE(std::isnan(f.from((uint8_t)f.nan)));
    EXPECT_TRUE(std::isnan(f.from(f.to(NAN, true))));
  }
}
TEST(Convert, PowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    float value = std::ldexp(1.0f, code - 127);
    ASSERT_EQ(fromE8M0((uint8_t)code), value);
    for (int mode : {0, 1, 2}) ASSERT_EQ(toE8M0(value, true, mode), code) << mode;
  }
  EXPECT_EQ(toE8M0(1.1f, true, 0), 128);
  EXPECT_EQ(toE8M0(1.9f, true, 1), 127);
  EXPECT_EQ(toE8M0(1.4f, true, 2), 127);
  EXPECT_EQ(toE8M0(1.5f, true, 2), 128);
  EXPECT_EQ(toE8M0(0.0f, true, 0), 0);
  EXPECT_EQ(toE8M0(INFINITY, true, 0), 254);
  EXPECT_EQ(toE8M0(3e38f, true, 0), 254);
  for (float v : {0.0f, INFINITY, -1.0f, NAN, 3e38f}) EXPECT_EQ(toE8M0(v, false, 2), 0xff) << v;
}
TEST(Convert, FourBitFloat) {
  Format f = makeFormat(2, 1, 1, [](int) { return false; });
  checkRounding(f, 7, [](double v) { return (int)toE2M1(toFloatOdd(v)); });
  EXPECT_EQ(fromE2M1(0xf), -6.0f);
}
TEST(Convert, PackedLowFirst) {
  uint8_t bytes[2] = {0x21, 0x43};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(loadAt<uint64_t>(bytes, MOPT_U4, i), (uint64_t)i + 1);
  storeAt<int64_t>(bytes, MOPT_I4, 1, -3);
  EXPECT_EQ(bytes[0], 0xd1);
  EXPECT_EQ(loadAt<int64_t>(bytes, MOPT_I4, 1), -3);
  storeAt<int64_t>(bytes, MOPT_I2, 7, -2);
  EXPECT_EQ(loadAt<int64_t>(bytes, MOPT_I2, 7), -2);
  EXPECT_EQ(bytes[1], 0x83);
}
TEST(Convert, FloatToInteger) {
  EXPECT_EQ((truncateTo<8, true>(-1.9f)), -1);
  EXPECT_EQ((truncateTo<8, true>(300.0f)), 127);
  EXPECT_EQ((truncateTo<8, true>(-300.0)), -128);
  EXPECT_EQ((truncateTo<8, false>(-0.5f)), 0);
  EXPECT_EQ((truncateTo<32, true>(3e9f)), INT32_MAX);
  EXPECT_EQ((truncateTo<32, false>(3e9f)), 3000000000);
  EXPECT_EQ((truncateTo<32, false>(5e9)), 4294967295);
  EXPECT_EQ((truncateTo<16, true>(NAN)), 0);
  EXPECT_EQ(truncateToI64(1e30f), INT64_MAX);
  EXPECT_EQ(truncateToI64(-1e30), INT64_MIN);
  EXPECT_EQ(truncateToU64(-1.0f), 0u);
  EXPECT_EQ(truncateToU64(1e30), UINT64_MAX);
  EXPECT_EQ(truncateToU64(1.5e19), 15000000000000000000u);
}
} // namespace
