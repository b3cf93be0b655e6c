// Gather and scatter: every index is checked before it is used.
#include "Tensors.h"
#include "gtest/gtest.h"

using namespace mopt_test;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;

namespace {
const Longs hostile = {2, -3, INT64_MAX, INT64_MIN, INT64_MIN + 1, (int64_t)1 << 40};

Floats count(int64_t n, float from = 0) {
  Floats v(n);
  for (int64_t i = 0; i < n; ++i) v[i] = from + (float)i;
  return v;
}
TEST(Index, GatherEveryAxisAndRank) {
  // Against the definition: r[i..., k..., j...] = x[i..., indices[k...], j...]
  for (int64_t axis = -3; axis < 3; ++axis)
    for (int32_t rank = 0; rank < 3; ++rank) {
      const int64_t dims[] = {2, 3, 4};
      int64_t at = axis < 0 ? axis + 3 : axis, outer = 1, inner = 1, n = 1;
      Longs indexDims, outDims;
      for (int i = 0; i < at; ++i) outer *= dims[i], outDims.push_back(dims[i]);
      for (int i = 0; i < rank; ++i) indexDims.push_back(2 + i), outDims.push_back(2 + i), n *= 2 + i;
      for (int i = (int)at + 1; i < 3; ++i) inner *= dims[i], outDims.push_back(dims[i]);
      Longs indices;
      for (int64_t i = 0; i < n; ++i) indices.push_back(i % (2 * dims[at]) - dims[at]);
      Buffer<float> x({2, 3, 4}, count(24)), r(outDims);
      Buffer<int64_t> k(indexDims, indices);
      Attributes attr;
      attr.set(MOPT_GATHER_AXIS, {axis});
      ASSERT_EQ(call(mopt_ref_gather, {x.tensor, k.tensor}, {r.tensor}, attr), MOPT_STEP_OK) << axis << " " << rank;
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < inner; ++j) {
            int64_t index = indices[i] < 0 ? indices[i] + dims[at] : indices[i];
            ASSERT_EQ(r.begin()[(o * n + i) * inner + j], (float)((o * dims[at] + index) * inner + j))
                << axis << " " << rank;
          }
      EXPECT_TRUE(r.guardsHold());
    }
}
TEST(Index, HostileIndices) {
  for (int64_t bad : hostile) {
    Buffer<float> x({2, 3}, count(6)), row({1, 3}), r({2, 3});
    Buffer<int64_t> one({1}, {bad}), grid({1, 3}, {0, bad, 1}), tuple({1, 1}, {bad});
    mopt_fault fault = {};
    EXPECT_EQ(call(mopt_ref_gather, {x.tensor, one.tensor}, {row.tensor}, Attributes().set(0, {0}), &fault),
              MOPT_STEP_INDEX);
    EXPECT_EQ(fault.got, bad);
    EXPECT_EQ(fault.limit, 2);
    EXPECT_EQ(fault.operand, 1);
    EXPECT_EQ(call(mopt_ref_gather_elements, {x.tensor, grid.tensor}, {row.tensor}, Attributes().set(0, {0})),
              MOPT_STEP_INDEX);
    EXPECT_EQ(call(mopt_ref_gather_nd, {x.tensor, tuple.tensor}, {row.tensor}, Attributes().set(0, {0})), MOPT_STEP_INDEX);
    for (int64_t reduction = 0; reduction < 5; ++reduction) {
      EXPECT_EQ(call(mopt_ref_scatter_elements, {x.tensor, grid.tensor, row.tensor}, {r.tensor},
                     Attributes().set(MOPT_SCATTER_ELEMENTS_AXIS, {0}).set(MOPT_SCATTER_ELEMENTS_REDUCTION, {reduction}),
                     nullptr, true),
                MOPT_STEP_INDEX);
      EXPECT_EQ(call(mopt_ref_scatter_nd, {x.tensor, tuple.tensor, row.tensor}, {r.tensor},
                     Attributes().set(MOPT_SCATTER_ND_REDUCTION, {reduction}), nullptr, true),
                MOPT_STEP_INDEX);
    }
    EXPECT_TRUE(r.guardsHold() && row.guardsHold());
  }
  // An axis without elements has no index at all.
  Buffer<float> empty({0, 3}), row({1, 3});
  Buffer<int32_t> zero({1}, {0});
  EXPECT_EQ(call(mopt_ref_gather, {empty.tensor, zero.tensor}, {row.tensor}, Attributes().set(0, {0})), MOPT_STEP_INDEX);
}
TEST(Index, GatherElementsAndND) {
  Buffer<float> x({2, 2}, {1, 2, 3, 4}), r({2, 2}), pair({2}), batch({2, 1});
  Buffer<int32_t> grid({2, 2}, {0, 0, -1, 0});
  EXPECT_EQ(call(mopt_ref_gather_elements, {x.tensor, grid.tensor}, {r.tensor}, Attributes().set(0, {1})), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (Floats{1, 1, 4, 3}));
  Buffer<int64_t> tuples({2, 2}, {0, 0, 1, -1}), single({2, 1}, {1, 0}), wide({2, 3});
  EXPECT_EQ(call(mopt_ref_gather_nd, {x.tensor, tuples.tensor}, {pair.tensor}, Attributes().set(0, {0})), MOPT_STEP_OK);
  EXPECT_EQ(pair.elements(), (Floats{1, 4}));
  EXPECT_EQ(call(mopt_ref_gather_nd, {x.tensor, single.tensor}, {pair.tensor}, Attributes().set(0, {1})), MOPT_STEP_OK);
  EXPECT_EQ(pair.elements(), (Floats{2, 3})) << "one batch axis";
  EXPECT_EQ(call(mopt_ref_gather_nd, {x.tensor, wide.tensor}, {pair.tensor}, Attributes().set(0, {0})), MOPT_STEP_SHAPE);
  for (int64_t b : {(int64_t)-1, (int64_t)3, INT64_MAX})
    EXPECT_NE(call(mopt_ref_gather_nd, {x.tensor, single.tensor}, {pair.tensor}, Attributes().set(0, {b})), MOPT_STEP_OK)
        << b;
}
TEST(Index, ScatterReductions) {
  Floats expected[] = {{0, 7, 2, 9}, {0, 13, 2, 12}, {0, 35, 2, 27}, {0, 7, 2, 9}, {0, 1, 2, 3}};
  for (int64_t reduction = 0; reduction < 5; ++reduction) {
    Buffer<float> x({4}, count(4)), updates({3}, {5, 9, 7}), r({4});
    Buffer<int64_t> at({3}, {1, 3, -3}), tuples({3, 1}, {1, 3, -3});
    ASSERT_EQ(call(mopt_ref_scatter_elements, {x.tensor, at.tensor, updates.tensor}, {r.tensor},
                   Attributes().set(MOPT_SCATTER_ELEMENTS_AXIS, {0}).set(MOPT_SCATTER_ELEMENTS_REDUCTION, {reduction}),
                   nullptr, true),
              MOPT_STEP_OK);
    EXPECT_EQ(r.elements(), expected[reduction]) << reduction;
    ASSERT_EQ(call(mopt_ref_scatter_nd, {x.tensor, tuples.tensor, updates.tensor}, {x.tensor},
                   Attributes().set(MOPT_SCATTER_ND_REDUCTION, {reduction}), nullptr, true),
              MOPT_STEP_OK)
        << "in place";
    EXPECT_EQ(x.elements(), expected[reduction]) << reduction;
  }
}
} // namespace
