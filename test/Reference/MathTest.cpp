// Largest error of the elementary functions, in units of the last place of the result, against the C library in the next
// wider type. The bounds are those that lib/Reference/Math.h states.
#include "mopt/Reference/Reference.h"
#include "gtest/gtest.h"
#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

extern "C" {
#define BOTH(op)                                                                                                            \
  float mopt_s_##op##_f32(float, const mopt_attr *);                                                                        \
  double mopt_s_##op##_f64(double, const mopt_attr *);
BOTH(exp)
BOTH(log)
BOTH(sin)
BOTH(cos)
BOTH(tan)
BOTH(asin)
BOTH(acos)
BOTH(atan)
BOTH(sinh)
BOTH(cosh)
BOTH(asinh)
BOTH(acosh)
BOTH(atanh)
BOTH(tanh)
BOTH(erf)
BOTH(sigmoid)
BOTH(softplus)
BOTH(mish)
BOTH(elu)
BOTH(gelu)
float mopt_s_pow_f32(float, float, const mopt_attr *);
double mopt_s_pow_f64(double, double, const mopt_attr *);
int64_t mopt_s_pow_i64(int64_t, int64_t, const mopt_attr *);
float mopt_s_mod_f32(float, float, const mopt_attr *);
double mopt_s_mod_f64(double, double, const mopt_attr *);
}

namespace {
using Real = long double;
const double oneDouble = 1.0;
const int64_t zeroInt = 0, oneInt = 1;
const mopt_attr one[] = {{&oneDouble, 1}};
const mopt_attr none[] = {{&zeroInt, 1}}; // gelu: approximate = none; mod: fmod = 0
const mopt_attr cLike[] = {{&oneInt, 1}};

template <class F> struct Limits;
template <> struct Limits<float> {
  static constexpr int digits = 24, lowest = -149;
};
template <> struct Limits<double> {
  static constexpr int digits = 53, lowest = -1074;
};

/// Error of `got` in last places of F at `exact`.
template <class F> double ulps(F got, Real exact) {
  F rounded = (F)exact;
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // Next to the largest number one side may overflow first.
    return std::fabs((double)(exact / std::numeric_limits<F>::max())) > 1 - 1e-6 && got > 0 == exact > 0 ? 1 : INFINITY;
  }
  int exponent = exact == 0 ? Limits<F>::lowest : std::ilogb(exact) - (Limits<F>::digits - 1);
  if (exponent < Limits<F>::lowest) exponent = Limits<F>::lowest;
  return (double)std::fabs(std::ldexp((Real)got - exact, -exponent));
}
template <class F> std::vector<F> arguments(F low, F high) {
  std::mt19937_64 random(7);
  std::vector<F> all;
  for (F x : {(F)0, -(F)0, (F)1, (F)-1, (F)0.5, (F)-0.5, (F)2, std::numeric_limits<F>::infinity(),
              -std::numeric_limits<F>::infinity(), std::numeric_limits<F>::quiet_NaN(), std::numeric_limits<F>::min(),
              std::numeric_limits<F>::denorm_min(), std::numeric_limits<F>::max(), std::numeric_limits<F>::lowest(),
              std::numeric_limits<F>::epsilon(), low, high})
    all.push_back(x);
  std::uniform_real_distribution<double> inside(low, high);
  for (int i = 0; i < 100000; ++i) all.push_back((F)inside(random));
  for (int i = 0; i < 100000; ++i) { // every exponent
    F x;
    uint64_t bits = random();
    std::memcpy(&x, &bits, sizeof(x));
    all.push_back(x);
  }
  for (int i = 0; i < 100000; ++i) // near zero and one
    all.push_back(
        (F)((i & 1) + std::ldexp(inside(random) / std::max(std::fabs((double)low), std::fabs((double)high)), -(i % 30))));
  return all;
}
template <class F>
void check(const char *name, F (*f)(F, const mopt_attr *), std::function<Real(Real)> exact, double bound, double low,
           double high, const mopt_attr *attr = nullptr) {
  double worst = 0;
  F where = 0;
  for (F x : arguments<F>((F)low, (F)high)) {
    double error = ulps(f(x, attr), exact((Real)x));
    if (error > worst || std::isnan(error)) worst = error, where = x;
  }
  std::printf("%-9s %s %.3f at %.17g\n", name, sizeof(F) == 4 ? "float " : "double", worst, (double)where);
  EXPECT_LE(worst, bound) << name << " at " << where;
}
#define CHECK(op, exact, boundFloat, boundDouble, low, high, ...)                                                           \
  check<float>(#op, mopt_s_##op##_f32, exact, boundFloat, low, high, ##__VA_ARGS__);                                        \
  check<double>(#op, mopt_s_##op##_f64, exact, boundDouble, low, high, ##__VA_ARGS__)
#define STD(op) [](Real x) -> Real { return std::op(x); }

TEST(Math, ExponentialsAndLogarithms) {
  CHECK(exp, STD(exp), 0.9, 0.9, -110, 90);
  CHECK(log, STD(log), 0.9, 0.9, 0, 10);
  CHECK(elu, [](Real x) -> Real { return x < 0 ? std::expm1(x) : x; }, 0.9, 0.9, -20, 1, one);
  CHECK(
      softplus, [](Real x) -> Real { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }, 1.6, 1.5, -30,
      30);
}
TEST(Math, Trigonometric) {
  CHECK(sin, STD(sin), 0.51, 0.9, -100, 100);
  CHECK(cos, STD(cos), 0.51, 0.9, -100, 100);
  CHECK(tan, STD(tan), 0.51, 2.3, -100, 100);
  CHECK(asin, STD(asin), 0.51, 2.1, -1, 1);
  CHECK(acos, STD(acos), 0.51, 1.3, -1, 1);
  CHECK(atan, STD(atan), 0.51, 1.7, -10, 10);
}
TEST(Math, Hyperbolic) {
  CHECK(sinh, STD(sinh), 0.51, 2, -20, 20);
  CHECK(cosh, STD(cosh), 0.51, 1.3, -20, 20);
  CHECK(asinh, STD(asinh), 0.51, 2, -20, 20);
  CHECK(acosh, STD(acosh), 0.51, 2.2, 1, 20);
  CHECK(atanh, STD(atanh), 0.51, 2, -1, 1);
  CHECK(tanh, STD(tanh), 2.1, 2.1, -10, 10);
}
TEST(Math, Activations) {
  CHECK(erf, STD(erf), 1.5, 1.5, -6, 6);
  CHECK(sigmoid, [](Real x) -> Real { return 1 / (1 + std::exp(-x)); }, 2.2, 2.2, -110, 30);
}
/// The error of these is relative to the larger of the terms: they cancel for negative arguments as ONNX writes them.
TEST(Math, ActivationsThatCancel) {
  double worst = 0, worstMish = 0;
  for (float x = -12; x < 12; x += 0.0001f) {
    Real exact = 0.5L * x * std::erfc(-(Real)x * std::sqrt(0.5L));
    worst = std::max(worst, (double)std::fabs(mopt_s_gelu_f32(x, none) - exact) / std::max(1.0, std::fabs((double)x)));
    Real e = std::log1p(std::exp((Real)x));
    worstMish = std::max(worstMish, ulps(mopt_s_mish_f32(x, nullptr), x * std::tanh(e)));
  }
  std::printf("gelu %.3g, mish %.3f ulp\n", worst, worstMish);
  EXPECT_LE(worst, 1.2e-7);
  EXPECT_LE(worstMish, 3.7);
}

template <class F> void checkPow(F (*f)(F, F, const mopt_attr *), double bound) {
  std::mt19937_64 random(3);
  double worst = 0;
  F atX = 0, atY = 0;
  auto tryOne = [&](F x, F y) {
    double error = ulps(f(x, y, nullptr), std::pow((Real)x, (Real)y));
    if (error > worst) worst = error, atX = x, atY = y;
  };
  F inf = std::numeric_limits<F>::infinity(), nan = std::numeric_limits<F>::quiet_NaN();
  F special[] = {0,
                 -(F)0,
                 1,
                 -1,
                 2,
                 -2,
                 0.5,
                 -0.5,
                 3,
                 -3,
                 inf,
                 -inf,
                 nan,
                 std::numeric_limits<F>::max(),
                 std::numeric_limits<F>::denorm_min(),
                 1e6,
                 1e6 + 1,
                 (F)9007199254740993.0,
                 -1.5,
                 2.5,
                 (F)0.999999,
                 (F)1.000001};
  for (F x : special)
    for (F y : special) tryOne(x, y);
  std::uniform_real_distribution<double> base(0, 4), exponent(-60, 60);
  for (int i = 0; i < 150000; ++i) tryOne((F)base(random), (F)exponent(random));
  for (int i = 0; i < 150000; ++i) tryOne((F)(1 + base(random) * 1e-4), (F)(exponent(random) * 1e5));
  for (int i = 0; i < 150000; ++i) {
    F x;
    uint64_t bits = random();
    std::memcpy(&x, &bits, sizeof(x));
    tryOne(x, (F)(exponent(random) / 8));
  }
  std::printf("pow       %s %.3f at %.17g, %.17g\n", sizeof(F) == 4 ? "float " : "double", worst, (double)atX, (double)atY);
  EXPECT_LE(worst, bound) << atX << ", " << atY;
}
TEST(Math, Power) {
  checkPow<float>(mopt_s_pow_f32, 0.51);
  checkPow<double>(mopt_s_pow_f64, 0.9);
  // Powers that are integers come out as integers: a float exponent on an integer tensor truncates the result.
  for (int x = -40; x <= 40; ++x) {
    double exact = 1;
    for (int y = 0; y < 12; ++y, exact *= x) {
      if (std::fabs(exact) > 9007199254740992.0) break;
      EXPECT_EQ(mopt_s_pow_f64(x, y, nullptr), exact) << x << " " << y;
      EXPECT_EQ(mopt_s_pow_i64(x, y, nullptr), (int64_t)exact) << x << " " << y;
    }
  }
  EXPECT_EQ(mopt_s_pow_i64(2, -1, nullptr), 0);
  EXPECT_EQ(mopt_s_pow_i64(-1, -3, nullptr), -1);
}
TEST(Math, Remainder) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300000; ++i) {
    uint64_t bits[2] = {random(), random()};
    double a, b;
    std::memcpy(&a, &bits[0], 8);
    std::memcpy(&b, &bits[1], 8);
    if (i % 3 == 0) b = std::ldexp(b, (int)(random() % 64) - 32);
    if (i % 5 == 0) b = std::ldexp(b, -1000);
    double exact = std::fmod(a, b), got = mopt_s_mod_f64(a, b, cLike);
    ASSERT_TRUE(std::memcmp(&exact, &got, 8) == 0 || (std::isnan(exact) && std::isnan(got))) << a << " " << b;
  }
  EXPECT_EQ(mopt_s_mod_f32(-4.3f, 2.1f, cLike), std::fmod(-4.3f, 2.1f));
  EXPECT_EQ(mopt_s_mod_f32(-1.0f, 3.0f, none), 2.0f); // numpy: sign of the divisor
  EXPECT_EQ(mopt_s_mod_f32(1.0f, -3.0f, none), -2.0f);
}
} // namespace
