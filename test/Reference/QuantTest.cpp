// QuantizeLinear and its kin: rounding, saturation, NaN, blocks; norms and recurrent layers on small cases by hand.
#include "Tensors.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
using namespace mopt_test;

namespace {
int32_t run(mopt_reference f, std::vector<mopt_tensor> in, std::vector<mopt_tensor> out, const Attributes &attr,
            int64_t begin, int64_t end) {
  mopt_fault fault;
  return f(in.data(), (int32_t)in.size(), out.data(), (int32_t)out.size(), attr.slots.data(), begin, end, &fault);
}
TEST(QuantizeLinear, RoundsHalvesToEvenAndSaturates) {
  const float inf = std::numeric_limits<float>::infinity();
  Buffer<float> x({8}, {1, 3, 5, -1, 1000, -1000, inf, std::nanf("")}), scale({}, {2});
  Buffer<uint8_t> zero({}, {10}), y({8});
  ASSERT_EQ(run(mopt_ref_quantize_linear, {x.tensor, scale.tensor, zero.tensor}, {y.tensor}, Attributes(), 0, 8),
            MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<uint8_t>{10, 12, 12, 10, 255, 0, 255, 0}));
}
TEST(QuantizeLinear, TakesBlocksAlongAnAxis) {
  Buffer<float> x({2, 3}, {1, 2, 3, 4, 5, 6}), scale({2, 2}, {1, 2, 3, 4});
  Buffer<int8_t> y({2, 3});
  Attributes attr;
  attr.set(MOPT_QUANTIZE_LINEAR_AXIS, {1}).set(MOPT_QUANTIZE_LINEAR_BLOCK_SIZE, {2});
  ASSERT_EQ(run(mopt_ref_quantize_linear, {x.tensor, scale.tensor, absent()}, {y.tensor}, attr, 0, 6), MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<int8_t>{1, 2, 2, 1, 2, 2}));
  attr.set(MOPT_QUANTIZE_LINEAR_BLOCK_SIZE, {1});
  EXPECT_EQ(run(mopt_ref_quantize_linear, {x.tensor, scale.tensor, absent()}, {y.tensor}, attr, 0, 6), MOPT_STEP_SHAPE);
}
TEST(DequantizeLinear, ReadsPackedNibbles) {
  Buffer<uint8_t> x({2}, {0x8f, 0x07}); // -1, -8, 7, 0, low bits first
  x.tensor.type = MOPT_I4;
  x.tensor.dims[0] = 4;
  Buffer<float> scale({}, {0.5f}), y({4});
  ASSERT_EQ(run(mopt_ref_dequantize_linear, {x.tensor, scale.tensor, absent()}, {y.tensor}, Attributes(), 0, 4),
            MOPT_STEP_OK);
  EXPECT_EQ(y.elements(), (std::vector<float>{-0.5f, -4, 3.5f, 0}));
}
TEST(DynamicQuantizeLinear, NothingToSpreadHasScaleOne) {
  Buffer<float> x({3}, {0, 0, 0}), scale({});
  Buffer<uint8_t> y({3}), zero({});
  ASSERT_EQ(run(mopt_ref_dynamic_quantize_linear, {x.tensor}, {y.tensor, scale.tensor, zero.tensor}, Attributes(), 0, 1),
            MOPT_STEP_OK);
  EXPECT_EQ(scale.begin()[0], 1);
  EXPECT_EQ(y.elements(), (std::vector<uint8_t>{0, 0, 0}));
}
TEST(LayerNorm, MeanAndVarianceOfARow) {
  Buffer<float> x({1, 4}, {1001, 1002, 1003, 1004}), scale({4}, {1, 1, 1, 2}), bias({4}, {0, 0, 0, 1}), y({1, 4}),
      mean({1, 1}), inverse({1, 1});
  Attributes attr;
  attr.set(MOPT_LAYER_NORM_AXIS, {-1}).setFloat(MOPT_LAYER_NORM_EPSILON, 0);
  ASSERT_EQ(
      run(mopt_ref_layer_norm, {x.tensor, scale.tensor, bias.tensor}, {y.tensor, mean.tensor, inverse.tensor}, attr, 0, 1),
      MOPT_STEP_OK);
  const double s = 1 / std::sqrt(1.25);
  EXPECT_NEAR(y.begin()[0], -1.5 * s, 1e-6);
  EXPECT_NEAR(y.begin()[3], 3 * s + 1, 1e-6);
  EXPECT_EQ(mean.begin()[0], 1002.5f);
  EXPECT_NEAR(inverse.begin()[0], s, 1e-6);
}
TEST(GroupNorm, OneScaleServesAll) { // ONNX's text says a vector of channels, its function and onnxruntime broadcast
  Buffer<float> x({2, 4, 3}), scales({4}, {3, 3, 3, 3}), scale({1}, {3}), biases({4}, {0, 1, 2, 3}), bias({1}, {2}),
      expected({2, 4, 3}), y({2, 4, 3}), two({2});
  for (int i = 0; i < 24; ++i) x.begin()[i] = std::sin((float)i);
  for (int64_t perGroup : {0, 1}) {
    Attributes attr;
    attr.set(MOPT_GROUP_NORM_NUM_GROUPS, {perGroup ? 4 : 2}).set(MOPT_GROUP_NORM_SCALE_PER_GROUP, {perGroup});
    ASSERT_EQ(run(mopt_ref_group_norm, {x.tensor, scales.tensor, biases.tensor}, {expected.tensor}, attr, 0, 2),
              MOPT_STEP_OK);
    ASSERT_EQ(run(mopt_ref_group_norm, {x.tensor, scale.tensor, biases.tensor}, {y.tensor}, attr, 0, 2), MOPT_STEP_OK);
    EXPECT_EQ(y.elements(), expected.elements());
    Buffer<float> same({4}, {2, 2, 2, 2});
    ASSERT_EQ(run(mopt_ref_group_norm, {x.tensor, scales.tensor, same.tensor}, {expected.tensor}, attr, 0, 2), MOPT_STEP_OK);
    ASSERT_EQ(run(mopt_ref_group_norm, {x.tensor, scales.tensor, bias.tensor}, {y.tensor}, attr, 0, 2), MOPT_STEP_OK);
    EXPECT_EQ(y.elements(), expected.elements());
    EXPECT_EQ(run(mopt_ref_group_norm, {x.tensor, two.tensor, bias.tensor}, {y.tensor}, attr, 0, 2), MOPT_STEP_SHAPE);
  }
}
TEST(LSTM, OneUnitByHandAndShortSequences) {
  const double sigmoid1 = 1 / (1 + std::exp(-1.0));
  Buffer<float> x({2, 2, 1}, {1, 1, 1, 1}), w({1, 4, 1}, {1, 1, 1, 1}), r({1, 4, 1}), y({2, 1, 2, 1}), h({1, 2, 1}),
      c({1, 2, 1});
  Buffer<int32_t> lengths({2}, {2, 1});
  Attributes attr;
  attr.set(MOPT_LSTM_HIDDEN_SIZE, {1});
  ASSERT_EQ(run(mopt_ref_lstm, {x.tensor, w.tensor, r.tensor, absent(), lengths.tensor}, {y.tensor, h.tensor, c.tensor},
                attr, 0, 1),
            MOPT_STEP_OK);
  double c1 = sigmoid1 * std::tanh(1.0), c2 = sigmoid1 * c1 + c1;
  EXPECT_NEAR(y.begin()[0], sigmoid1 * std::tanh(c1), 1e-6);
  EXPECT_NEAR(y.begin()[2], sigmoid1 * std::tanh(c2), 1e-6);
  EXPECT_EQ(y.begin()[3], 0); // after the end of the second sequence
  EXPECT_EQ(h.begin()[1], y.begin()[1]);
  EXPECT_NEAR(c.begin()[0], c2, 1e-6);
  lengths.begin()[0] = 3;
  EXPECT_EQ(run(mopt_ref_lstm, {x.tensor, w.tensor, r.tensor, absent(), lengths.tensor}, {y.tensor, h.tensor, c.tensor},
                attr, 0, 1),
            MOPT_STEP_VALUE);
  const char *unknown = "Sigmoid\nTanh\nWobble";
  lengths.begin()[0] = 2;
  attr.slots[MOPT_LSTM_ACTIVATIONS] = {unknown, (int64_t)strlen(unknown)};
  EXPECT_EQ(run(mopt_ref_lstm, {x.tensor, w.tensor, r.tensor, absent(), lengths.tensor}, {y.tensor, h.tensor, c.tensor},
                attr, 0, 1),
            MOPT_STEP_VALUE);
}
} // namespace
