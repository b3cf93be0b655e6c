//===- ElementwiseArithmetic.cpp - arithmetic, comparison, bits ---------------------------------------------------===//
#include "Elementwise.h"

using namespace mopt::ref;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//
SCALAR1(abs) {
  if constexpr (isFloat<C>) return mopt::ref::abs(x);
  else if constexpr (isSame<C, int64_t>) return (C)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  else return x;
}
SCALAR1(neg) {
  if constexpr (isFloat<C>) return -x;
  else return (C)(0 - (uint64_t)x);
}
SCALAR1(sign) {
  if constexpr (isFloat<C>) return x != x ? x : (C)((x > 0) - (x < 0));
  else if constexpr (isSame<C, int64_t>) return (C)((x > 0) - (x < 0));
  else return (C)(x != 0);
}
SCALAR1(relu) { return x < 0 ? (C)0 : x; } // keeps NaN
SCALAR1(floor) { return mopt::ref::floor(x); }
SCALAR1(ceil) { return mopt::ref::ceil(x); }
SCALAR1(round) { return roundEven(x); }
SCALAR1(sqrt) { return mopt::ref::sqrt(x); }
SCALAR1(reciprocal) { return (C)1 / x; }
SCALAR1(bitwise_not) { return (C)~x; }
SCALAR1(not) { return (C)(x == 0); }
SCALAR1(is_nan) { return (uint64_t)(x != x); }
SCALAR1(is_inf) {
  bool below = x == -(C)infinity && attrInt(attr, MOPT_IS_INF_DETECT_NEGATIVE) != 0;
  bool above = x == (C)infinity && attrInt(attr, MOPT_IS_INF_DETECT_POSITIVE) != 0;
  return (uint64_t)(below || above);
}
/// Integers compare and shift in double, as the bias and the threshold are floats.
SCALAR1(shrink) {
  using W = decltype(isFloat<C> ? C() : double());
  W wide = (W)x, bias = (W)attrFloat(attr, MOPT_SHRINK_BIAS), lambda = (W)attrFloat(attr, MOPT_SHRINK_LAMBD);
  W y = wide < -lambda ? wide + bias : wide > lambda ? wide - bias : x != x ? wide : (W)0;
  if constexpr (isSame<C, int64_t>) return truncateToI64(y);
  else if constexpr (isSame<C, uint64_t>) return truncateToU64(y);
  else return (C)y;
}
DEFINE1_T(abs)
DEFINE1_T(neg)
DEFINE1_T(sign)
DEFINE1_T(relu)
DEFINE1_T(shrink)
DEFINE1_F(floor)
DEFINE1_F(ceil)
DEFINE1_F(round)
DEFINE1_F(sqrt)
DEFINE1_F(reciprocal)
DEFINE1_I(bitwise_not)
DEFINE1_B(not)
DEFINE1_F_B(is_nan)
DEFINE1_F_B(is_inf)

//===----------------------------------------------------------------------===//
// Two operands. Integers wrap: signed overflow is computed as unsigned.
//===----------------------------------------------------------------------===//
SCALAR2(add) {
  if constexpr (isFloat<C>) return a + b;
  else return (C)((uint64_t)a + (uint64_t)b);
}
SCALAR2(sub) {
  if constexpr (isFloat<C>) return a - b;
  else return (C)((uint64_t)a - (uint64_t)b);
}
SCALAR2(mul) {
  if constexpr (isFloat<C>) return a * b;
  else return (C)((uint64_t)a * (uint64_t)b);
}
SCALAR2(div) {
  if constexpr (isFloat<C>) return a / b;
  else if constexpr (isSame<C, int64_t>) return b == 0 ? 0 : b == -1 ? (C)(0 - (uint64_t)a) : a / b;
  else return b == 0 ? (C)0 : a / b;
}
/// fmod = 0: the sign of the divisor, as numpy's mod; 1: of the dividend, as C's fmod.
SCALAR2(mod) {
  bool cLike = attrInt(attr, MOPT_MOD_FMOD) != 0;
  if constexpr (isFloat<C>) {
    C r = mopt::ref::fmod(a, b);
    if (cLike || r != r) return r;
    if (r == 0) return copySign(r, b);
    if (mopt::ref::abs(b) == (C)infinity) return (r < 0) != (b < 0) ? b : r;
    return (r < 0) != (b < 0) ? r + b : r;
  } else if constexpr (isSame<C, int64_t>) {
    C r = b == 0 || b == -1 ? 0 : a % b;
    return !cLike && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    return b == 0 ? (C)0 : a % b;
  }
}
SCALAR2(pow) { return mopt::ref::pow(a, b); }
/// A NaN on either side is the result.
SCALAR2(max) { return a > b || a != a ? a : b; }
SCALAR2(min) { return a < b || a != a ? a : b; }
SCALAR2(prelu) {
  if constexpr (isFloat<C>) return a < 0 ? a * b : a;
  else return a < 0 ? (C)((uint64_t)a * (uint64_t)b) : a;
}
SCALAR2(equal) { return (uint64_t)(a == b); }
SCALAR2(less) { return (uint64_t)(a < b); }
SCALAR2(greater) { return (uint64_t)(a > b); }
SCALAR2(less_or_equal) { return (uint64_t)(a <= b); }
SCALAR2(greater_or_equal) { return (uint64_t)(a >= b); }
SCALAR2(and) { return (C)(a != 0 && b != 0); }
SCALAR2(or) { return (C)(a != 0 || b != 0); }
SCALAR2(xor) { return (C)((a != 0) != (b != 0)); }
SCALAR2(bitwise_and) { return (C)(a & b); }
SCALAR2(bitwise_or) { return (C)(a | b); }
SCALAR2(bitwise_xor) { return (C)(a ^ b); }
/// Elements are extended to 64 bits, so that only shifts by 64 and more, and negative ones, need care: what is left then is
/// the sign.
SCALAR2(bit_shift) {
  uint64_t amount = (uint64_t)b & 63;
  bool left = attrInt(attr, MOPT_BIT_SHIFT_DIRECTION) == MOPT_BIT_SHIFT_DIRECTION_LEFT;
  C shifted = left ? (C)((uint64_t)a << amount) : (C)(a >> amount);
  C sign = !left && a < 0 ? (C) ~(C)0 : (C)0;
  return (uint64_t)b > 63 ? sign : shifted;
}
DEFINE2_T(add)
DEFINE2_T(sub)
DEFINE2_T(mul)
DEFINE2_T(div)
DEFINE2_T(mod)
DEFINE2_T(pow)
DEFINE2_T(max)
DEFINE2_T(min)
DEFINE2_T(prelu)
DEFINE2_T_B(equal)
DEFINE2_T_B(less)
DEFINE2_T_B(greater)
DEFINE2_T_B(less_or_equal)
DEFINE2_T_B(greater_or_equal)
DEFINE2_B(and)
DEFINE2_B(or)
DEFINE2_B(xor)
DEFINE2_I(bitwise_and)
DEFINE2_I(bitwise_or)
DEFINE2_I(bitwise_xor)
DEFINE2_I(bit_shift)

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//
template <class C> MOPT_INLINE C scalar_clip(C x, C low, C high, const mopt_attr *attr) {
  return scalar_min(scalar_max(x, low, attr), high, attr);
}
template <class C> MOPT_INLINE C scalar_where(uint64_t condition, C x, C y, const mopt_attr *) { return condition ? x : y; }
#define TERNARY(suffix, C)                                                                                                  \
  extern "C" C mopt_s_clip_##suffix(C x, C low, C high, const mopt_attr *attr);                                             \
  extern "C" C mopt_s_clip_##suffix(C x, C low, C high, const mopt_attr *attr) { return scalar_clip(x, low, high, attr); }  \
  extern "C" C mopt_s_where_##suffix(uint64_t condition, C x, C y, const mopt_attr *attr);                                  \
  extern "C" C mopt_s_where_##suffix(uint64_t condition, C x, C y, const mopt_attr *attr) {                                 \
    return scalar_where(condition, x, y, attr);                                                                             \
  }
TERNARY(f32, float)
TERNARY(f64, double)
TERNARY(i64, int64_t)
TERNARY(u64, uint64_t)

MOPT_REFERENCE_FUNCTION(clip) {
  return withCompute(in[0].type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    const void *x = in[0].data, *low = in[1].data, *high = in[2].data;
    void *r = out[0].data;
    int32_t tx = in[0].type, tl = in[1].type, th = in[2].type, tr = out[0].type;
    return forEachBroadcast<3>(in, out[0], begin, end, fault, [=](const int64_t *at, int64_t to) {
      storeAt(r, tr, to, scalar_clip(loadAt<C>(x, tx, at[0]), loadAt<C>(low, tl, at[1]), loadAt<C>(high, th, at[2]), attr));
    });
  });
}
/// Moves elements: every type, and NaNs keep their bits.
MOPT_REFERENCE_FUNCTION(where) {
  const uint8_t *condition = (const uint8_t *)in[0].data;
  if (in[0].type != MOPT_BOOL || in[1].type != in[2].type || in[1].type != out[0].type) return MOPT_STEP_TYPE;
  return withElement(out[0].type, [&](auto element) -> int32_t {
    auto x = element.of(in[1]), y = element.of(in[2]), r = element.of(out[0]);
    return forEachBroadcast<3>(in, out[0], begin, end, fault, [=](const int64_t *at, int64_t to) {
      if (condition[at[0]]) r.set(to, x.get(at[1]));
      else r.set(to, y.get(at[2]));
    });
  });
}
