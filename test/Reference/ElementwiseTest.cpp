// Elementwise ops on tensors: broadcasting, types, and the corners that ONNX fixes or leaves open.
#include "Tensors.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mopt_test;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;

extern "C" {
int64_t mopt_s_cast_f32_i8(float);
int64_t mopt_s_cast_f32_i64(float);
float mopt_s_cast_f64_f16(double);
float mopt_s_cast_f32_f8e4m3fn(float, const mopt_attr *);
uint64_t mopt_s_cast_f32_bool(float);
}

namespace {
template <class E>
std::vector<E> binary(mopt_reference f, std::vector<E> a, std::vector<E> b, const Attributes &attr = Attributes()) {
  Buffer<E> x({(int64_t)a.size()}, a), y({(int64_t)b.size()}, b), r({(int64_t)a.size()});
  EXPECT_EQ(call(f, {x.tensor, y.tensor}, {r.tensor}, attr), MOPT_STEP_OK);
  EXPECT_TRUE(r.guardsHold());
  return r.elements();
}
TEST(Elementwise, Broadcasting) {
  Buffer<float> a({2, 1, 3}, {1, 2, 3, 4, 5, 6}), b({2, 1}, {10, 20}), r({2, 2, 3}), scalar({}, {100});
  EXPECT_EQ(call(mopt_ref_add, {a.tensor, b.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (Floats{11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
  EXPECT_EQ(call(mopt_ref_add, {a.tensor, scalar.tensor}, {a.tensor}), MOPT_STEP_OK) << "in place";
  EXPECT_EQ(a.elements()[5], 106);
  EXPECT_EQ(call(mopt_ref_add, {r.tensor, b.tensor}, {a.tensor}), MOPT_STEP_SHAPE);
  EXPECT_EQ(call(mopt_ref_add, {scalar.tensor, scalar.tensor}, {scalar.tensor}), MOPT_STEP_OK);
  // Strided operands: a transposed view.
  mopt_tensor t = r.tensor;
  t.rank = 2, t.dims[0] = 3, t.dims[1] = 4, t.strides[0] = 1, t.strides[1] = 3;
  Buffer<float> q({3, 4});
  EXPECT_EQ(call(mopt_ref_neg, {t}, {q.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(q.elements()[1], -21);
}
TEST(Elementwise, IntegersWrapAndDivide) {
  EXPECT_EQ(binary<int8_t>(mopt_ref_add, {127, -128}, {1, -1}), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(binary<int32_t>(mopt_ref_div, {-7, 7, 5, INT32_MIN}, {2, -2, 0, -1}),
            (std::vector<int32_t>{-3, -3, 0, INT32_MIN}));
  EXPECT_EQ(binary<int64_t>(mopt_ref_div, {INT64_MIN}, {-1}), (Longs{INT64_MIN}));
  Attributes python, c;
  python.set(MOPT_MOD_FMOD, {0});
  c.set(MOPT_MOD_FMOD, {1});
  EXPECT_EQ(binary<int64_t>(mopt_ref_mod, {-7, 7, -7, 5, INT64_MIN}, {3, -3, -3, 0, -1}, python), (Longs{2, -2, -1, 0, 0}));
  EXPECT_EQ(binary<int64_t>(mopt_ref_mod, {-7, 7}, {3, -3}, c), (Longs{-1, 1}));
}
TEST(Elementwise, Shifts) {
  Attributes left, right;
  left.set(MOPT_BIT_SHIFT_DIRECTION, {MOPT_BIT_SHIFT_DIRECTION_LEFT});
  right.set(MOPT_BIT_SHIFT_DIRECTION, {MOPT_BIT_SHIFT_DIRECTION_RIGHT});
  EXPECT_EQ(binary<uint8_t>(mopt_ref_bit_shift, {255, 255, 255}, {1, 8, 200}, left), (std::vector<uint8_t>{254, 0, 0}));
  EXPECT_EQ(binary<uint64_t>(mopt_ref_bit_shift, {8, 8, 8}, {1, 63, 64}, right), (std::vector<uint64_t>{4, 0, 0}));
  EXPECT_EQ(binary<int32_t>(mopt_ref_bit_shift, {-8, -8, 4, -1}, {1, 40, -1, -64}, right),
            (std::vector<int32_t>{-4, -1, 0, -1}));
}
TEST(Elementwise, NaN) {
  Floats a = {NAN, 1, 2}, b = {1, NAN, 3};
  for (mopt_reference f : {mopt_ref_max, mopt_ref_min}) {
    Floats r = binary<float>(f, a, b);
    EXPECT_TRUE(std::isnan(r[0]) && std::isnan(r[1]) && !std::isnan(r[2]));
  }
  Buffer<float> x({3}, {NAN, -1, 5}), low({}, {0}), high({}, {3}), r({3});
  EXPECT_EQ(call(mopt_ref_clip, {x.tensor, low.tensor, high.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_TRUE(std::isnan(r.elements()[0]));
  EXPECT_EQ(r.elements()[1], 0);
  EXPECT_EQ(r.elements()[2], 3);
  EXPECT_EQ(call(mopt_ref_relu, {x.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_TRUE(std::isnan(r.elements()[0]));
  EXPECT_EQ(call(mopt_ref_sign, {x.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_TRUE(std::isnan(r.elements()[0]));
  Buffer<uint8_t> flags({3}, {}, MOPT_BOOL);
  EXPECT_EQ(call(mopt_ref_is_nan, {x.tensor}, {flags.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(flags.elements(), (std::vector<uint8_t>{1, 0, 0}));
}
TEST(Elementwise, RoundToEven) {
  Buffer<float> x({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388609.0f}), r({6});
  EXPECT_EQ(call(mopt_ref_round, {x.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (Floats{0, 2, 2, 0, -2, 8388609.0f}));
}
TEST(Elementwise, MixedPower) {
  Buffer<int32_t> x({3}, {2, 3, -2}), r({3});
  Buffer<float> y({3}, {10, 4, 3});
  EXPECT_EQ(call(mopt_ref_pow, {x.tensor, y.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (std::vector<int32_t>{1024, 81, -8}));
}
TEST(Elementwise, CastAndTypes) {
  Attributes cast;
  cast.set(MOPT_CAST_SATURATE, {1}).set(MOPT_CAST_ROUND_MODE, {0});
  Buffer<float> x({4}, {0.5f, -300.7f, NAN, 1e20f});
  Buffer<uint8_t> flags({4}, {}, MOPT_BOOL), f8({4}, {}, MOPT_F8E4M3FN);
  Buffer<int8_t> small({4});
  EXPECT_EQ(call(mopt_ref_cast, {x.tensor}, {flags.tensor}, cast), MOPT_STEP_OK);
  EXPECT_EQ(flags.elements(), (std::vector<uint8_t>{1, 1, 1, 1}));
  EXPECT_EQ(call(mopt_ref_cast, {x.tensor}, {small.tensor}, cast), MOPT_STEP_OK);
  EXPECT_EQ(small.elements(), (std::vector<int8_t>{0, -128, 0, 127})) << "open in ONNX: clamped";
  EXPECT_EQ(call(mopt_ref_cast, {x.tensor}, {f8.tensor}, cast), MOPT_STEP_OK);
  EXPECT_EQ(f8.elements()[3], 0x7e);
  cast.set(MOPT_CAST_SATURATE, {0});
  EXPECT_EQ(call(mopt_ref_cast, {x.tensor}, {f8.tensor}, cast), MOPT_STEP_OK);
  EXPECT_EQ(f8.elements()[3], 0x7f);
  EXPECT_EQ(call(mopt_ref_exp, {small.tensor}, {small.tensor}), MOPT_STEP_TYPE);
  x.tensor.type = MOPT_STRING;
  EXPECT_EQ(call(mopt_ref_cast, {x.tensor}, {small.tensor}, cast), MOPT_STEP_TYPE);
  EXPECT_EQ(call(mopt_ref_add, {x.tensor, x.tensor}, {small.tensor}), MOPT_STEP_TYPE);
}
TEST(Elementwise, ScalarCasts) {
  EXPECT_EQ(mopt_s_cast_f32_i8(300.0f), 127);
  EXPECT_EQ(mopt_s_cast_f32_i64(-1.9f), -1);
  EXPECT_EQ(mopt_s_cast_f32_bool(0.5f), 1u);
  // One rounding: through f32, this would become a tie and go to the even number below.
  EXPECT_EQ(mopt_s_cast_f64_f16(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), 1.0f + std::ldexp(1.0f, -10));
  Attributes cast;
  cast.set(MOPT_CAST_SATURATE, {1}).set(MOPT_CAST_ROUND_MODE, {0});
  EXPECT_EQ(mopt_s_cast_f32_f8e4m3fn(1e9f, cast.slots.data()), 448.0f);
}
TEST(Elementwise, WhereKeepsBits) {
  Buffer<uint8_t> c({2}, {1, 0}, MOPT_BOOL);
  Buffer<uint16_t> x({2}, {0x7c01, 1}, MOPT_F16), y({1}, {0xfe55}, MOPT_F16), r({2}, {}, MOPT_F16);
  EXPECT_EQ(call(mopt_ref_where, {c.tensor, x.tensor, y.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (std::vector<uint16_t>{0x7c01, 0xfe55}));
}
} // namespace
