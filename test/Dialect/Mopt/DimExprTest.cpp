//===- DimExprTest.cpp - the normal form decides what it can, and agrees with arithmetic --------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include <gtest/gtest.h>
#include <random>

using namespace mopt;

namespace {

struct DimExprTest : testing::Test {
  DimExprTest() { context.loadDialect<MoptDialect>(); }
  DimExpr number(int64_t value) { return DimExpr::constant(&context, value); }
  DimExpr symbol(StringRef name) { return DimExpr::symbol(&context, name); }
  MLIRContext context;
};

TEST_F(DimExprTest, EqualSizesAreOneObject) {
  DimExpr a = symbol("a"), b = symbol("b");
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ((a + 1) * (a - 1), a * a - 1);
  EXPECT_EQ(a + b - a, b);
  EXPECT_EQ(a - a, number(0));
  EXPECT_EQ((a * 12).floorDiv(4), a * 3);
  EXPECT_EQ((a * b * 384).floorDiv(a * b), number(384));
  EXPECT_EQ((a + b).floorDiv(a + b), number(1));
  EXPECT_EQ(DimExpr::min(a, b), DimExpr::min(b, a));
  EXPECT_EQ(DimExpr::max(a, a + 2), a + 2);
  EXPECT_EQ(a.mod(number(1)), number(0));
  EXPECT_EQ(DimExpr::broadcast(a, number(1)), a);
  // A table cut to a length, broadcast with that length: the length, or the run is an error.
  EXPECT_EQ(DimExpr::broadcast(DimExpr::min(number(512), a), a), a);
  EXPECT_EQ(DimExpr::broadcast(a, DimExpr::min(a, number(512))), a);
  EXPECT_NE(DimExpr::broadcast(DimExpr::min(number(0), a), a), a);
}

TEST_F(DimExprTest, NullAbsorbs) {
  DimExpr a = symbol("a"), none;
  EXPECT_FALSE(a + none);
  EXPECT_FALSE(none * 2);
  EXPECT_FALSE(none.floorDiv(2));
  EXPECT_FALSE(DimExpr::min(a, none));
  EXPECT_FALSE(DimExpr::broadcast(none, a));
  EXPECT_FALSE(DimExpr::broadcast(number(2), number(3)));
  EXPECT_FALSE(a.floorDiv(0));
  EXPECT_FALSE(number(INT64_MAX) + 1);
  EXPECT_FALSE(number(INT64_MAX) * 2);
  EXPECT_FALSE(a * INT64_MAX * 2);
  EXPECT_FALSE(none.evaluate([](StringRef) { return 1; }).has_value());
  EXPECT_EQ(none.str(), "?");
}

TEST_F(DimExprTest, EvaluationFailsWhereThereIsNoValue) {
  DimExpr a = symbol("a"), b = symbol("b");
  auto values = [](int64_t x, int64_t y) {
    return [=](StringRef name) -> std::optional<int64_t> {
      return name == "a" ? std::optional(x) : name == "b" ? std::optional(y) : std::nullopt;
    };
  };
  EXPECT_EQ(a.floorDiv(b).evaluate(values(7, 2)), 3);
  EXPECT_EQ(a.floorDiv(b).evaluate(values(7, 0)), std::nullopt);
  EXPECT_EQ(DimExpr::broadcast(a, b).evaluate(values(1, 5)), 5);
  EXPECT_EQ(DimExpr::broadcast(a, b).evaluate(values(5, 5)), 5);
  EXPECT_EQ(DimExpr::broadcast(a, b).evaluate(values(2, 5)), std::nullopt);
  EXPECT_EQ((a * b).evaluate(values(INT64_MAX, 2)), std::nullopt);
  EXPECT_EQ(symbol("c").evaluate(values(1, 1)), std::nullopt);
}

/// Random expressions: the normal form and substitution never change the value.
TEST_F(DimExprTest, AgreesWithArithmetic) {
  std::mt19937_64 random(7);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  struct Pair {
    DimExpr expr;
    std::optional<int64_t> value;
  };
  auto floorDivide = [](int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); };
  for (int round = 0; round < 2000; ++round) {
    int64_t a = pick(9), b = pick(9);
    auto valueOf = [&](StringRef name) { return std::optional<int64_t>(name == "a" ? a : b); };
    std::vector<Pair> pool = {{symbol("a"), a}, {symbol("b"), b}, {number(pick(5) - 2), 0}};
    pool.back().value = *pool.back().expr.asConstant();
    for (int step = 0; step < 8; ++step) {
      Pair x = pool[pick(pool.size())], y = pool[pick(pool.size())], z;
      switch (pick(7)) {
      case 0:
        z = {x.expr + y.expr, *x.value + *y.value};
        break;
      case 1:
        z = {x.expr - y.expr, *x.value - *y.value};
        break;
      case 2:
        z = {x.expr * y.expr, *x.value * *y.value};
        break;
      case 3: {
        int64_t d = pick(5) + 1;
        z = {x.expr.floorDiv(d), floorDivide(*x.value, d)};
        break;
      }
      case 4: {
        int64_t d = pick(5) + 1;
        z = {x.expr.ceilDiv(d), -floorDivide(-*x.value, d)};
        break;
      }
      case 5:
        z = {DimExpr::min(x.expr, y.expr), std::min(*x.value, *y.value)};
        break;
      default:
        z = {DimExpr::max(x.expr, y.expr), std::max(*x.value, *y.value)};
      }
      if (!z.expr || std::abs(*z.value) > 1000000)
        continue;
      ASSERT_EQ(z.expr.evaluate(valueOf), z.value) << z.expr.str() << " for a = " << a << ", b = " << b;
      DimExpr constant = z.expr.substitute([&](StringRef name) { return number(*valueOf(name)); });
      ASSERT_EQ(constant.asConstant(), z.value) << z.expr.str();
      if (z.expr.str().size() < 120)
        pool.push_back(z);
    }
  }
}

} // namespace
