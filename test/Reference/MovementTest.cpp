// Movement: small cases worked by hand, and operands that lie.
#include "Tensors.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mopt_test;
using Longs = std::vector<int64_t>;

namespace {
std::vector<float> count(int64_t n, float from = 0) {
  std::vector<float> v(n);
  for (int64_t i = 0; i < n; ++i) v[i] = from + (float)i;
  return v;
}
std::vector<float> firstOf(Buffer<float> &b) {
  EXPECT_TRUE(b.guardsHold());
  return b.elements();
}

TEST(Movement, ViewsHoldTheirOperands) {
  Buffer<float> x({2, 1, 3}, count(6)), y({3, 2});
  auto reshape = [&](Longs to, int64_t allowzero = 0) {
    Buffer<int64_t> shape({(int64_t)to.size()}, to);
    return call(mopt_ref_reshape, {x.tensor, shape.tensor}, {y.tensor},
                Attributes().set(MOPT_RESHAPE_ALLOWZERO, {allowzero}));
  };
  EXPECT_EQ(reshape({3, 2}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), count(6));
  EXPECT_EQ(reshape({3, -1}), MOPT_STEP_OK);
  EXPECT_EQ(reshape({2, 3}), MOPT_STEP_SHAPE);
  EXPECT_EQ(reshape({-1, -1}), MOPT_STEP_VALUE);
  EXPECT_EQ(reshape({-2, 2}), MOPT_STEP_VALUE);
  EXPECT_EQ(reshape({0, -1}), MOPT_STEP_SHAPE) << "0 copies the size 2";
  EXPECT_EQ(reshape({6}), MOPT_STEP_SHAPE);

  Buffer<float> flat({2, 3});
  Buffer<int64_t> axes({1}, {-2}), wrong({1}, {0}), twice({2}, {1, -2}), far({1}, {INT64_MIN});
  EXPECT_EQ(call(mopt_ref_squeeze, {x.tensor, axes.tensor}, {flat.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(call(mopt_ref_squeeze, {x.tensor, absent()}, {flat.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(call(mopt_ref_squeeze, {x.tensor, wrong.tensor}, {flat.tensor}), MOPT_STEP_SHAPE);
  EXPECT_EQ(call(mopt_ref_squeeze, {x.tensor, twice.tensor}, {flat.tensor}), MOPT_STEP_VALUE);
  EXPECT_EQ(call(mopt_ref_squeeze, {x.tensor, far.tensor}, {flat.tensor}), MOPT_STEP_VALUE);
  EXPECT_EQ(call(mopt_ref_unsqueeze, {flat.tensor, axes.tensor}, {x.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(call(mopt_ref_flatten, {x.tensor}, {flat.tensor}, Attributes().set(MOPT_FLATTEN_AXIS, {1})), MOPT_STEP_OK);
  EXPECT_EQ(call(mopt_ref_flatten, {x.tensor}, {flat.tensor}, Attributes().set(MOPT_FLATTEN_AXIS, {4})), MOPT_STEP_VALUE);
}
TEST(Movement, TransposeAndExpand) {
  Buffer<float> x({2, 3}, count(6)), y({3, 2}), z({4, 2, 3});
  EXPECT_EQ(call(mopt_ref_transpose, {x.tensor}, {y.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(call(mopt_ref_transpose, {x.tensor}, {y.tensor}, Attributes().set(0, {1, 7})), MOPT_STEP_VALUE);
  Buffer<int64_t> shape({3}, {4, 1, 3}), clash({3}, {4, 5, 3}), negative({3}, {4, -1, 3});
  EXPECT_EQ(call(mopt_ref_expand, {x.tensor, shape.tensor}, {z.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(z)[3 * 6 + 5], 5);
  EXPECT_EQ(call(mopt_ref_expand, {x.tensor, clash.tensor}, {z.tensor}), MOPT_STEP_SHAPE);
  EXPECT_EQ(call(mopt_ref_expand, {x.tensor, negative.tensor}, {z.tensor}), MOPT_STEP_VALUE);
  // Sub-byte elements move too.
  Buffer<uint8_t> packed({3}, {0x21, 0x43, 0x65}), turned({3});
  mopt_tensor a = packed.tensor, b = turned.tensor;
  a.type = b.type = MOPT_U4;
  a.rank = b.rank = 2;
  a.dims[0] = 2, a.dims[1] = 3, a.strides[0] = 3, a.strides[1] = 1;
  b.dims[0] = 3, b.dims[1] = 2, b.strides[0] = 2, b.strides[1] = 1;
  EXPECT_EQ(call(mopt_ref_transpose, {a}, {b}, Attributes(), nullptr, true), MOPT_STEP_OK);
  EXPECT_EQ(turned.elements(), (std::vector<uint8_t>{0x41, 0x52, 0x63}));
}

int32_t slice(Buffer<float> &x, Buffer<float> &y, Longs starts, Longs ends, Longs axes, Longs steps) {
  Buffer<int64_t> s({(int64_t)starts.size()}, starts), e({(int64_t)ends.size()}, ends), a({(int64_t)axes.size()}, axes),
      t({(int64_t)steps.size()}, steps);
  return call(mopt_ref_slice, {x.tensor, s.tensor, e.tensor, a.tensor, t.tensor}, {y.tensor});
}
TEST(Movement, Slice) {
  Buffer<float> x({4, 5}, count(20)), y({2, 5}), back({4, 3}), none({0, 5}), all({4, 5}), one({1, 5});
  EXPECT_EQ(slice(x, y, {1}, {3}, {0}, {1}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), count(10, 5));
  EXPECT_EQ(slice(x, back, {INT64_MAX}, {INT64_MIN}, {-1}, {-2}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(back)[0], 4);
  EXPECT_EQ(firstOf(back)[2], 0);
  EXPECT_EQ(slice(x, all, {INT64_MIN}, {INT64_MAX}, {0}, {1}), MOPT_STEP_OK);
  EXPECT_EQ(slice(x, none, {3}, {1}, {0}, {1}), MOPT_STEP_OK);
  EXPECT_EQ(slice(x, one, {0}, {INT64_MAX}, {0}, {INT64_MAX}), MOPT_STEP_OK);
  EXPECT_EQ(slice(x, one, {-1}, {INT64_MIN}, {0}, {INT64_MIN}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(one), count(5, 15));
  for (int64_t start : {(int64_t)-5, (int64_t)-100, INT64_MIN}) { // ONNX: clamped to 0, also backwards
    EXPECT_EQ(slice(x, one, {start}, {INT64_MIN}, {0}, {-1}), MOPT_STEP_OK) << start;
    EXPECT_EQ(firstOf(one), count(5)) << start;
  }
  EXPECT_EQ(slice(x, y, {0}, {2}, {0}, {0}), MOPT_STEP_VALUE);
  EXPECT_EQ(slice(x, y, {0}, {2}, {2}, {1}), MOPT_STEP_VALUE);
  EXPECT_EQ(slice(x, y, {0, 0}, {2, 5}, {0, -2}, {1, 1}), MOPT_STEP_VALUE) << "the same axis twice";
  EXPECT_EQ(slice(x, y, {0}, {3}, {0}, {1}), MOPT_STEP_SHAPE);
  Buffer<float> empty({0, 5}), stillEmpty({0, 5});
  EXPECT_EQ(slice(empty, stillEmpty, {0}, {INT64_MIN}, {0}, {-1}), MOPT_STEP_OK);
}
TEST(Movement, ConcatAndSplit) {
  for (int64_t axis : {0, 1, 2}) {
    // Split what was joined, with an empty part.
    Buffer<float> a({2, 3, 4}, count(24)),
        b(axis == 0   ? Longs{0, 3, 4}
          : axis == 1 ? Longs{2, 0, 4}
                      : Longs{2, 3, 0}),
        c(axis == 0   ? Longs{1, 3, 4}
          : axis == 1 ? Longs{2, 1, 4}
                      : Longs{2, 3, 1},
          count(24, 100)),
        r(axis == 0   ? Longs{3, 3, 4}
          : axis == 1 ? Longs{2, 4, 4}
                      : Longs{2, 3, 5});
    Buffer<float> a2({2, 3, 4}), b2(Longs(b.tensor.dims, b.tensor.dims + 3)), c2(Longs(c.tensor.dims, c.tensor.dims + 3));
    ASSERT_EQ(call(mopt_ref_concat, {a.tensor, b.tensor, c.tensor}, {r.tensor}, Attributes().set(MOPT_CONCAT_AXIS, {axis})),
              MOPT_STEP_OK);
    Buffer<int64_t> sizes({3}, {axis == 0   ? 2
                                : axis == 1 ? 3
                                            : 4,
                                0, 1}),
        wrong({3}, {INT64_MAX, 0, 1}), less({3}, {1, 0, 1});
    Attributes split;
    split.set(MOPT_SPLIT_AXIS, {axis - 3});
    EXPECT_EQ(call(mopt_ref_split, {r.tensor, sizes.tensor}, {a2.tensor, b2.tensor, c2.tensor}, split, nullptr, true),
              MOPT_STEP_OK);
    EXPECT_EQ(firstOf(a2), a.elements());
    EXPECT_EQ(firstOf(c2), c.elements());
    EXPECT_EQ(call(mopt_ref_split, {r.tensor, wrong.tensor}, {a2.tensor, b2.tensor, c2.tensor}, split, nullptr, true),
              MOPT_STEP_VALUE);
    EXPECT_EQ(call(mopt_ref_split, {r.tensor, less.tensor}, {a2.tensor, b2.tensor, c2.tensor}, split, nullptr, true),
              MOPT_STEP_SHAPE);
    EXPECT_EQ(call(mopt_ref_concat, {a.tensor, c.tensor, c.tensor}, {r.tensor}, Attributes().set(MOPT_CONCAT_AXIS, {axis})),
              MOPT_STEP_SHAPE);
    EXPECT_TRUE(r.guardsHold());
  }
  Buffer<float> five({5}, count(5)), two({2}), two2({2}), one({1});
  EXPECT_EQ(
      call(mopt_ref_split, {five.tensor, absent()}, {two.tensor, two2.tensor, one.tensor}, Attributes(), nullptr, true),
      MOPT_STEP_OK);
  EXPECT_EQ(firstOf(one)[0], 4);
}

int32_t pad(Buffer<float> &x, Buffer<float> &y, Longs pads, int64_t mode, Longs axes = {}) {
  Buffer<int64_t> p({(int64_t)pads.size()}, pads), a({(int64_t)axes.size()}, axes);
  Buffer<float> nine({}, {9});
  return call(mopt_ref_pad, {x.tensor, p.tensor, nine.tensor, axes.empty() ? absent() : a.tensor}, {y.tensor},
              Attributes().set(MOPT_PAD_MODE, {mode}));
}
TEST(Movement, Pad) {
  Buffer<float> x({4}, count(4)), y({9}), cut({4}), empty({0}), out({2}), all({0});
  using V = std::vector<float>;
  EXPECT_EQ(pad(x, y, {2, 3}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (V{9, 9, 0, 1, 2, 3, 9, 9, 9}));
  EXPECT_EQ(pad(x, y, {2, 3}, MOPT_PAD_MODE_REFLECT), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (V{2, 1, 0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(pad(x, y, {2, 3}, MOPT_PAD_MODE_EDGE), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (V{0, 0, 0, 1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(pad(x, y, {0, 5}, MOPT_PAD_MODE_WRAP), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (V{0, 1, 2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(pad(x, y, {5, 0}, MOPT_PAD_MODE_REFLECT, {-1}), MOPT_STEP_OK) << "further than the axis is long";
  EXPECT_EQ(firstOf(y), (V{1, 2, 3, 2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(pad(x, cut, {-1, 1}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(cut), (V{1, 2, 3, 9}));
  EXPECT_EQ(pad(x, all, {-2, -2}, MOPT_PAD_MODE_EDGE), MOPT_STEP_OK);
  EXPECT_EQ(pad(x, y, {INT64_MAX, 1}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_VALUE);
  EXPECT_EQ(pad(x, y, {INT64_MIN, 1}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_SHAPE);
  // What is cut away may be all, and more than all; what is added then stands alone. The values are onnxruntime's.
  for (Longs pads : {Longs{-4, 2}, {-5, 3}, {-1000, 998}, {2, -4}, {3, -5}, {INT64_MIN, INT64_MAX - 1}}) {
    out.begin()[0] = out.begin()[1] = 1;
    EXPECT_EQ(pad(x, out, pads, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK) << pads[0];
    EXPECT_EQ(firstOf(out), (V{9, 9})) << pads[0];
    for (int64_t mode : {MOPT_PAD_MODE_EDGE, MOPT_PAD_MODE_REFLECT, MOPT_PAD_MODE_WRAP})
      EXPECT_EQ(pad(x, out, pads, mode), MOPT_STEP_VALUE) << "nothing to repeat";
  }
  EXPECT_EQ(pad(x, cut, {-3, 3}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(cut), (V{3, 9, 9, 9}));
  EXPECT_EQ(pad(x, all, {1, -5}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK);
  EXPECT_EQ(pad(x, y, {2, 2}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_SHAPE);
  EXPECT_EQ(pad(x, y, {2}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_SHAPE);
  EXPECT_EQ(pad(x, y, {2, 3}, MOPT_PAD_MODE_CONSTANT, {1}), MOPT_STEP_VALUE);
  EXPECT_EQ(pad(empty, out, {1, 1}, MOPT_PAD_MODE_REFLECT), MOPT_STEP_VALUE) << "nothing to reflect";
  EXPECT_EQ(pad(empty, out, {1, 1}, MOPT_PAD_MODE_CONSTANT), MOPT_STEP_OK);
}
TEST(Movement, TileAndBlocks) {
  Buffer<float> x({1, 4, 1, 2}, count(8)), y({2, 4, 1, 4}), wide({1, 1, 2, 4}), again({1, 4, 1, 2});
  Buffer<int64_t> repeats({4}, {2, 1, 1, 2}), negative({4}, {2, 1, 1, -2}), huge({4}, {INT64_MAX, 1, 1, 2});
  EXPECT_EQ(call(mopt_ref_tile, {x.tensor, repeats.tensor}, {y.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y)[31], 7);
  EXPECT_EQ(call(mopt_ref_tile, {x.tensor, negative.tensor}, {y.tensor}), MOPT_STEP_VALUE);
  EXPECT_NE(call(mopt_ref_tile, {y.tensor, huge.tensor}, {y.tensor}), MOPT_STEP_OK);
  Attributes block;
  block.set(MOPT_DEPTH_TO_SPACE_BLOCKSIZE, {2}).set(MOPT_DEPTH_TO_SPACE_MODE, {MOPT_DEPTH_TO_SPACE_MODE_DCR});
  EXPECT_EQ(call(mopt_ref_depth_to_space, {x.tensor}, {wide.tensor}, block), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(wide), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(call(mopt_ref_space_to_depth, {wide.tensor}, {again.tensor}, Attributes().set(0, {2})), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(again), x.elements());
  for (int64_t b : {(int64_t)0, (int64_t)-2, (int64_t)3, INT64_MAX, INT64_MIN})
    EXPECT_NE(call(mopt_ref_space_to_depth, {wide.tensor}, {again.tensor}, Attributes().set(0, {b})), MOPT_STEP_OK) << b;
}
TEST(Movement, OrdersOfSpaceToDepth) { // values of ONNX's reference implementation
  Buffer<float> x({1, 2, 2, 4}, count(16)), y({1, 8, 1, 2}), back({1, 2, 2, 4});
  using V = std::vector<float>;
  const std::pair<int64_t, V> orders[] = {
      {MOPT_SPACE_TO_DEPTH_MODE_DCR, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}},
      {MOPT_SPACE_TO_DEPTH_MODE_CRD, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}}};
  for (const auto &[mode, expected] : orders) {
    Attributes to, from;
    to.set(MOPT_SPACE_TO_DEPTH_BLOCKSIZE, {2}).set(MOPT_SPACE_TO_DEPTH_MODE, {mode});
    from.set(MOPT_DEPTH_TO_SPACE_BLOCKSIZE, {2}).set(MOPT_DEPTH_TO_SPACE_MODE, {mode}); // the choices have one order
    ASSERT_EQ(call(mopt_ref_space_to_depth, {x.tensor}, {y.tensor}, to), MOPT_STEP_OK);
    EXPECT_EQ(firstOf(y), expected);
    ASSERT_EQ(call(mopt_ref_depth_to_space, {y.tensor}, {back.tensor}, from), MOPT_STEP_OK);
    EXPECT_EQ(back.elements(), x.elements());
  }
}
TEST(Movement, Sequences) {
  Buffer<float> x({4, 2}, count(8)), y({4, 2});
  Buffer<int64_t> lengths({2}, {3, 0}), beyond({2}, {5, 1}), negative({2}, {-1, 1});
  Attributes axes;
  axes.set(MOPT_REVERSE_SEQUENCE_BATCH_AXIS, {1}).set(MOPT_REVERSE_SEQUENCE_TIME_AXIS, {0});
  EXPECT_EQ(call(mopt_ref_reverse_sequence, {x.tensor, lengths.tensor}, {y.tensor}, axes), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(y), (std::vector<float>{4, 1, 2, 3, 0, 5, 6, 7}));
  EXPECT_EQ(call(mopt_ref_reverse_sequence, {x.tensor, beyond.tensor}, {y.tensor}, axes), MOPT_STEP_VALUE);
  EXPECT_EQ(call(mopt_ref_reverse_sequence, {x.tensor, negative.tensor}, {y.tensor}, axes), MOPT_STEP_VALUE);
}
TEST(Movement, FromSizesAndScalars) {
  Buffer<float> x({2, 3, 4}), eye({3, 3});
  Buffer<int64_t> shape({2}), start({}, {10}), limit({}, {-5}), delta({}, {-4}), zero({}, {0}), r({4}),
      least({}, {INT64_MIN});
  Attributes ends(2);
  ends.set(MOPT_SHAPE_START, {-2}).set(MOPT_SHAPE_END, {INT64_MAX});
  EXPECT_EQ(call(mopt_ref_shape, {x.tensor}, {shape.tensor}, ends, nullptr, true), MOPT_STEP_OK);
  EXPECT_EQ(shape.elements(), (Longs{3, 4}));
  EXPECT_EQ(call(mopt_ref_range, {start.tensor, limit.tensor, delta.tensor}, {r.tensor}), MOPT_STEP_OK);
  EXPECT_EQ(r.elements(), (Longs{10, 6, 2, -2}));
  EXPECT_EQ(call(mopt_ref_range, {start.tensor, limit.tensor, zero.tensor}, {r.tensor}), MOPT_STEP_VALUE);
  EXPECT_EQ(call(mopt_ref_range, {start.tensor, least.tensor, delta.tensor}, {r.tensor}), MOPT_STEP_SHAPE);
  EXPECT_EQ(call(mopt_ref_eye_like, {eye.tensor}, {eye.tensor}, Attributes().set(0, {-1})), MOPT_STEP_OK);
  EXPECT_EQ(firstOf(eye), (std::vector<float>{0, 0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(call(mopt_ref_eye_like, {eye.tensor}, {eye.tensor}, Attributes().set(0, {INT64_MIN})), MOPT_STEP_OK);
  Buffer<float> square({3, 3}, count(9)), low({3, 3});
  Buffer<int64_t> k({}, {-1});
  EXPECT_EQ(call(mopt_ref_trilu, {square.tensor, k.tensor}, {low.tensor}, Attributes().set(MOPT_TRILU_UPPER, {0})),
            MOPT_STEP_OK);
  EXPECT_EQ(firstOf(low), (std::vector<float>{0, 0, 0, 3, 0, 0, 6, 7, 0}));
  Buffer<int64_t> hot({3}, {0, -1, INT64_MIN}), depth({}, {3}), other({}, {INT64_MAX});
  Buffer<float> values({2}, {0, 1}), one({3, 3});
  EXPECT_EQ(call(mopt_ref_one_hot, {hot.tensor, depth.tensor, values.tensor}, {one.tensor}, Attributes().set(0, {-1})),
            MOPT_STEP_OK);
  EXPECT_EQ(firstOf(one), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(call(mopt_ref_one_hot, {hot.tensor, other.tensor, values.tensor}, {one.tensor}, Attributes().set(0, {-1})),
            MOPT_STEP_SHAPE);
}
} // namespace
