//===- Elementwise.h - from one scalar body to a scalar function per compute type and a tensor function -----------===//
//
//   SCALAR1(neg) { return -x; }   the body, a template over the compute type C
//   DEFINE1_T(neg)                mopt_s_neg_f32, _f64, _i64, _u64 and mopt_ref_neg
//
// The suffix of DEFINE names the record's compute signature: T all types, F floats, I integers, B booleans; _B the result.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_ELEMENTWISE_H
#define MOPT_LIB_REFERENCE_ELEMENTWISE_H
#include "Elements.h"
#include "Math.h"

namespace mopt {
namespace ref {

/// Calls f(offsets of the operands, offset of the result) for flat elements [begin, end) of the result. Operands broadcast
/// as in numpy. Runs along rows: indices are computed once a row.
template <int N, class F>
MOPT_INLINE int32_t forEachBroadcast(const mopt_tensor *in, const mopt_tensor &out, int64_t begin, int64_t end,
                                     mopt_fault *fault, F f) {
  int64_t strides[N][MOPT_MAX_RANK];
  int32_t rank = out.rank;
  for (int32_t k = 0; k < N; ++k) {
    int32_t skip = rank - in[k].rank;
    if (skip < 0) return fail(fault, MOPT_STEP_SHAPE, k, in[k].rank, rank);
    for (int32_t i = 0; i < rank; ++i) {
      int64_t dim = i < skip ? 1 : in[k].dims[i - skip];
      if (dim != 1 && dim != out.dims[i]) return fail(fault, MOPT_STEP_SHAPE, k, dim, out.dims[i]);
      strides[k][i] = dim == 1 ? 0 : in[k].strides[i - skip];
    }
  }
  if (begin >= end) return MOPT_STEP_OK;
  int64_t index[MOPT_MAX_RANK] = {};
  unravel(begin, out.dims, rank, index);
  int64_t columns = rank ? out.dims[rank - 1] : 1, step = rank ? out.strides[rank - 1] : 0;
  int64_t steps[N], base[N], at[N];
  for (int32_t k = 0; k < N; ++k) steps[k] = rank ? strides[k][rank - 1] : 0;
  for (int64_t flat = begin; flat < end;) {
    int64_t to = offsetOf(out, index), count = columns - (rank ? index[rank - 1] : 0);
    if (count > end - flat) count = end - flat;
    for (int32_t k = 0; k < N; ++k) {
      base[k] = 0;
      for (int32_t i = 0; i < rank; ++i) base[k] += index[i] * strides[k][i];
    }
    for (int64_t j = 0; j < count; ++j) {
      for (int32_t k = 0; k < N; ++k) at[k] = base[k] + j * steps[k];
      f((const int64_t *)at, to + j * step);
    }
    flat += count;
    if (rank) index[rank - 1] = 0;
    advance(out.dims, rank - 1, index);
  }
  return MOPT_STEP_OK;
}

/// The type that operands of two types are computed in.
MOPT_INLINE int32_t joinTypes(int32_t a, int32_t b) {
  Compute ca = computeOf(a), cb = computeOf(b);
  if (ca == cb) return a;
  if (ca == Compute::none || cb == Compute::none) return MOPT_UNDEFINED;
  bool integers = (ca == Compute::i64 || ca == Compute::u64) && (cb == Compute::i64 || cb == Compute::u64);
  return integers ? MOPT_I64 : MOPT_F64;
}

enum Domain { anyType, floatType, integerType, boolType };
template <Domain domain, class C>
constexpr bool allowed = domain == anyType || (domain == floatType  ? isFloat<C>
                                               : domain == boolType ? isSame<C, uint64_t>
                                                                    : !isFloat<C>);

// Data and type of each tensor are copied to locals: a store could otherwise change the descriptors, as far as the
// compiler knows.
template <Domain domain, class Op>
MOPT_INLINE int32_t unary(const mopt_tensor *in, const mopt_tensor *out, const mopt_attr *attr, int64_t begin, int64_t end,
                          mopt_fault *fault, Op op) {
  return withCompute(in[0].type, [&](auto zero) -> int32_t {
    using C = decltype(zero);
    if constexpr (allowed<domain, C>) {
      const void *a = in[0].data;
      void *r = out[0].data;
      int32_t ta = in[0].type, tr = out[0].type;
      return forEachBroadcast<1>(in, out[0], begin, end, fault, [=](const int64_t *at, int64_t to) {
        storeAt(r, tr, to, op(loadAt<C>(a, ta, at[0]), attr));
      });
    } else {
      return MOPT_STEP_TYPE;
    }
  });
}
template <Domain domain, class Op>
MOPT_INLINE int32_t binary(const mopt_tensor *in, const mopt_tensor *out, const mopt_attr *attr, int64_t begin, int64_t end,
                           mopt_fault *fault, Op op) {
  return withCompute(joinTypes(in[0].type, in[1].type), [&](auto zero) -> int32_t {
    using C = decltype(zero);
    if constexpr (allowed<domain, C>) {
      const void *a = in[0].data, *b = in[1].data;
      void *r = out[0].data;
      int32_t ta = in[0].type, tb = in[1].type, tr = out[0].type;
      return forEachBroadcast<2>(in, out[0], begin, end, fault, [=](const int64_t *at, int64_t to) {
        storeAt(r, tr, to, op(loadAt<C>(a, ta, at[0]), loadAt<C>(b, tb, at[1]), attr));
      });
    } else {
      return MOPT_STEP_TYPE;
    }
  });
}

} // namespace ref
} // namespace mopt

#define SCALAR1(op) template <class C> MOPT_INLINE auto scalar_##op(C x, const mopt_attr *attr)
#define SCALAR2(op) template <class C> MOPT_INLINE auto scalar_##op(C a, C b, const mopt_attr *attr)

#define MOPT_S1(op, suffix, C, R)                                                                                           \
  extern "C" R mopt_s_##op##_##suffix(C x, const mopt_attr *attr);                                                          \
  extern "C" R mopt_s_##op##_##suffix(C x, const mopt_attr *attr) { return scalar_##op<C>(x, attr); }
#define MOPT_S2(op, suffix, C, R)                                                                                           \
  extern "C" R mopt_s_##op##_##suffix(C a, C b, const mopt_attr *attr);                                                     \
  extern "C" R mopt_s_##op##_##suffix(C a, C b, const mopt_attr *attr) { return scalar_##op<C>(a, b, attr); }
#define MOPT_R1(op, domain)                                                                                                 \
  MOPT_REFERENCE_FUNCTION(op) {                                                                                             \
    return unary<domain>(in, out, attr, begin, end, fault,                                                                  \
                         [](auto x, const mopt_attr *attr)                                                                  \
                             __attribute__((always_inline)) { return scalar_##op(x, attr); });                              \
  }
#define MOPT_R2(op, domain)                                                                                                 \
  MOPT_REFERENCE_FUNCTION(op) {                                                                                             \
    return binary<domain>(in, out, attr, begin, end, fault,                                                                 \
                          [](auto a, auto b, const mopt_attr *attr)                                                         \
                              __attribute__((always_inline)) { return scalar_##op(a, b, attr); });                          \
  }
#define DEFINE1_F(op) MOPT_S1(op, f32, float, float) MOPT_S1(op, f64, double, double) MOPT_R1(op, floatType)
#define DEFINE1_I(op) MOPT_S1(op, i64, int64_t, int64_t) MOPT_S1(op, u64, uint64_t, uint64_t) MOPT_R1(op, integerType)
#define DEFINE1_B(op) MOPT_S1(op, u64, uint64_t, uint64_t) MOPT_R1(op, boolType)
#define DEFINE1_F_B(op) MOPT_S1(op, f32, float, uint64_t) MOPT_S1(op, f64, double, uint64_t) MOPT_R1(op, floatType)
#define DEFINE1_T(op)                                                                                                       \
  MOPT_S1(op, f32, float, float)                                                                                            \
  MOPT_S1(op, f64, double, double)                                                                                          \
  MOPT_S1(op, i64, int64_t, int64_t) MOPT_S1(op, u64, uint64_t, uint64_t) MOPT_R1(op, anyType)
#define DEFINE2_I(op) MOPT_S2(op, i64, int64_t, int64_t) MOPT_S2(op, u64, uint64_t, uint64_t) MOPT_R2(op, integerType)
#define DEFINE2_B(op) MOPT_S2(op, u64, uint64_t, uint64_t) MOPT_R2(op, boolType)
#define DEFINE2_T(op)                                                                                                       \
  MOPT_S2(op, f32, float, float)                                                                                            \
  MOPT_S2(op, f64, double, double)                                                                                          \
  MOPT_S2(op, i64, int64_t, int64_t) MOPT_S2(op, u64, uint64_t, uint64_t) MOPT_R2(op, anyType)
#define DEFINE2_T_B(op)                                                                                                     \
  MOPT_S2(op, f32, float, uint64_t)                                                                                         \
  MOPT_S2(op, f64, double, uint64_t)                                                                                        \
  MOPT_S2(op, i64, int64_t, uint64_t) MOPT_S2(op, u64, uint64_t, uint64_t) MOPT_R2(op, anyType)
#endif
