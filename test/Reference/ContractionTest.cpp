// MatMul, Gemm, Einsum and their integer forms against sums in double; the numeric contract: bits do not depend on how many
// rows are computed together, on chunks or on layout.
#include "Tensors.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
using namespace mopt_test;

namespace {
std::vector<float> randomFloats(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float &v : values) v = normal(engine);
  return values;
}
int32_t run(mopt_reference f, std::vector<mopt_tensor> in, std::vector<mopt_tensor> out, const Attributes &attr,
            int64_t begin, int64_t end, mopt_fault *fault = nullptr) {
  mopt_fault local;
  return f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), begin, end,
           fault ? fault : &local);
}
/// A view with the last two axes exchanged.
mopt_tensor transposed(mopt_tensor t) {
  std::swap(t.dims[t.rank - 1], t.dims[t.rank - 2]);
  std::swap(t.strides[t.rank - 1], t.strides[t.rank - 2]);
  return t;
}

TEST(MatMul, MatchesDoubleSumsAtAllSizes) {
  for (int64_t m : {1, 2, 5, 6, 7, 97})
    for (int64_t n : {1, 15, 16, 17, 64, 65, 130})
      for (int64_t k : {0, 1, 63, 64, 65, 200}) {
        Buffer<float> a({m, k}, randomFloats(m * k, 1)), b({k, n}, randomFloats(k * n, 2)), y({m, n});
        ASSERT_EQ(run(mopt_ref_matmul, {a.tensor, b.tensor}, {y.tensor}, Attributes(), 0, m), MOPT_STEP_OK);
        EXPECT_TRUE(y.guardsHold());
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p < k; ++p) {
              double product = (double)a.begin()[i * k + p] * b.begin()[p * n + j];
              sum += product;
              size += std::fabs(product);
            }
            ASSERT_NEAR(y.begin()[i * n + j], sum, 1e-6 * size + 1e-30) << m << " " << n << " " << k;
          }
      }
}
TEST(MatMul, BitsDoNotDependOnRowsAndLayout) {
  const int64_t m = 101, n = 77, k = 150;
  Buffer<float> a({m, k}, randomFloats(m * k, 3)), b({k, n}, randomFloats(k * n, 4)), all({m, n}), single({m, n}),
      turned({m, n});
  std::vector<float> bt(n * k);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) bt[j * k + p] = b.begin()[p * n + j];
  Buffer<float> other({n, k}, bt);
  run(mopt_ref_matmul, {a.tensor, b.tensor}, {all.tensor}, Attributes(), 0, m);
  for (int64_t i = 0; i < m; ++i) run(mopt_ref_matmul, {a.tensor, b.tensor}, {single.tensor}, Attributes(), i, i + 1);
  run(mopt_ref_matmul, {a.tensor, transposed(other.tensor)}, {turned.tensor}, Attributes(), 0, m);
  EXPECT_EQ(all.elements(), single.elements());
  EXPECT_EQ(all.elements(), turned.elements());
  for (int64_t i = 0; i < m; ++i) { // one row alone: another M
    Buffer<float> row({1, k}, {a.begin() + i * k, a.begin() + (i + 1) * k}), y({1, n});
    run(mopt_ref_matmul, {row.tensor, b.tensor}, {y.tensor}, Attributes(), 0, 1);
    ASSERT_EQ(y.elements(), std::vector<float>(all.begin() + i * n, all.begin() + (i + 1) * n));
  }
}
TEST(MatMul, BroadcastsBatchesAndTakesVectors) {
  Buffer<float> a({2, 1, 3, 4}, randomFloats(24, 5)), b({5, 4, 2}, randomFloats(40, 6)), y({2, 5, 3, 2});
  ASSERT_EQ(run(mopt_ref_matmul, {a.tensor, b.tensor}, {y.tensor}, Attributes(), 0, 30), MOPT_STEP_OK);
  for (int64_t i = 0; i < 60; ++i) {
    int64_t n = i % 2, m = i / 2 % 3, inner = i / 6 % 5, outer = i / 30;
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += (double)a.begin()[(outer * 3 + m) * 4 + k] * b.begin()[(inner * 4 + k) * 2 + n];
    EXPECT_NEAR(y.begin()[i], sum, 1e-5);
  }
  Buffer<float> vector({4}, {1, 2, 3, 4}), scalar({});
  ASSERT_EQ(run(mopt_ref_matmul, {vector.tensor, vector.tensor}, {scalar.tensor}, Attributes(), 0, 1), MOPT_STEP_OK);
  EXPECT_EQ(scalar.begin()[0], 30);
}
TEST(MatMul, IntegersWrap) {
  Buffer<int32_t> a({1, 2}, {1 << 30, 1 << 30}), b({2, 1}, {3, 5}), y({1, 1});
  ASSERT_EQ(run(mopt_ref_matmul, {a.tensor, b.tensor}, {y.tensor}, Attributes(), 0, 1), MOPT_STEP_OK);
  EXPECT_EQ(y.begin()[0], 0);
}
TEST(MatMul, RefusesWhatDoesNotFit) {
  Buffer<float> a({2, 3}), b({4, 2}), y({2, 2});
  mopt_fault fault = {};
  EXPECT_EQ(run(mopt_ref_matmul, {a.tensor, b.tensor}, {y.tensor}, Attributes(), 0, 2, &fault), MOPT_STEP_SHAPE);
  EXPECT_EQ(fault.operand, 1);
  EXPECT_EQ(fault.got, 4);
  EXPECT_EQ(fault.limit, 3);
  Buffer<float> right({3, 2}), narrow({2, 1});
  EXPECT_EQ(run(mopt_ref_matmul, {a.tensor, right.tensor}, {narrow.tensor}, Attributes(), 0, 2), MOPT_STEP_SHAPE);
}
TEST(Gemm, ScalesAndAddsTheBroadcastOperand) {
  Buffer<float> a({3, 2}, {1, 2, 3, 4, 5, 6}), b({4, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}), c({2, 1}, {10, 20}),
      y({2, 4});
  Attributes attr;
  attr.setFloat(MOPT_GEMM_ALPHA, 2).setFloat(MOPT_GEMM_BETA, 0.5).set(MOPT_GEMM_TRANSA, {1}).set(MOPT_GEMM_TRANSB, {1});
  ASSERT_EQ(run(mopt_ref_gemm, {a.tensor, b.tensor, c.tensor}, {y.tensor}, attr, 0, 2), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<float>{7, 11, 15, 23, 14, 18, 22, 34}));
}
TEST(MatMulInteger, TakesZeroPointsPerRowAndColumn) {
  Buffer<uint8_t> a({2, 2}, {1, 2, 3, 4}), za({2}, {1, 2});
  Buffer<int8_t> b({2, 2}, {-1, 2, 3, -4}), zb({2}, {1, -1});
  Buffer<int32_t> y({2, 2});
  ASSERT_EQ(run(mopt_ref_matmul_integer, {a.tensor, b.tensor, za.tensor, zb.tensor}, {y.tensor}, Attributes(), 0, 2),
            MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<int32_t>{2, -3, 2, -3}));
}
TEST(Einsum, RefusesWrongEquations) {
  Buffer<float> a({2, 3}), b({3, 4}), y({2, 4});
  for (const char *text :
       {"ij,jk->", "ij,jk->il", "ij,jk->ii", "ij->ij", "ij,jk,kl->il", "i.j,jk->ik", "ij;jk", "ijk,jk->ik", "ij,jk->ik,"}) {
    Attributes attr;
    attr.slots[MOPT_EINSUM_EQUATION] = {text, (int64_t)strlen(text)};
    EXPECT_NE(run(mopt_ref_einsum, {a.tensor, b.tensor}, {y.tensor}, attr, 0, 8), MOPT_STEP_OK) << text;
  }
  EXPECT_TRUE(y.guardsHold());
}
TEST(Einsum, PartsOfRowsHaveTheSameBits) {
  const int64_t m = 9, n = 70, k = 33;
  Buffer<float> a({m, k}, randomFloats(m * k, 7)), b({n, k}, randomFloats(n * k, 8)), whole({m, n}), parts({m, n});
  Attributes attr;
  const char *text = "ik, jk -> ij";
  attr.slots[MOPT_EINSUM_EQUATION] = {text, (int64_t)strlen(text)};
  ASSERT_EQ(run(mopt_ref_einsum, {a.tensor, b.tensor}, {whole.tensor}, attr, 0, m * n), MOPT_STEP_OK);
  for (int64_t i = 0; i < m * n; i += 11)
    run(mopt_ref_einsum, {a.tensor, b.tensor}, {parts.tensor}, attr, i, std::min(i + 11, m * n));
  EXPECT_EQ(whole.elements(), parts.elements());
  EXPECT_TRUE(parts.guardsHold());
}
} // namespace
