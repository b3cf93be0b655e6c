/* Reference functions: one plain function per op, on strided tensors of any element type.
 *
 * They are the oracle of every pass, fold constants, and are linked into artifacts as bitcode where no kernel is generated.
 * Freestanding: no libc, no allocation, no global state; see docs/rationale/reference-functions.md.
 */
#ifndef MOPT_REFERENCE_REFERENCE_H
#define MOPT_REFERENCE_REFERENCE_H
#include "mopt/Runtime/mopt_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as a reference function sees it. Strides count elements. An operand or result that is left out has type
 * MOPT_UNDEFINED and no data. 4- and 2-bit elements are packed, the low bits first; their tensors are contiguous. */
typedef struct mopt_tensor {
  void *data;
  int32_t type; /* enum mopt_dtype */
  int32_t rank; /* 0..MOPT_MAX_RANK */
  int64_t dims[MOPT_MAX_RANK];
  int64_t strides[MOPT_MAX_RANK];
} mopt_tensor;

/* Bits of one element as stored; 0 for types that reference functions do not know (strings). */
static inline __attribute__((always_inline)) int32_t mopt_type_bits(int32_t type) {
  switch (type) {
  case MOPT_U2:
  case MOPT_I2:
    return 2;
  case MOPT_U4:
  case MOPT_I4:
  case MOPT_F4E2M1:
    return 4;
  case MOPT_U8:
  case MOPT_I8:
  case MOPT_BOOL:
  case MOPT_F8E4M3FN:
  case MOPT_F8E4M3FNUZ:
  case MOPT_F8E5M2:
  case MOPT_F8E5M2FNUZ:
  case MOPT_F8E8M0:
    return 8;
  case MOPT_U16:
  case MOPT_I16:
  case MOPT_F16:
  case MOPT_BF16:
    return 16;
  case MOPT_F32:
  case MOPT_I32:
  case MOPT_U32:
    return 32;
  case MOPT_F64:
  case MOPT_I64:
  case MOPT_U64:
  case MOPT_C64:
    return 64;
  case MOPT_C128:
    return 128;
  default:
    return 0;
  }
}

/* One attribute: integers and choices are int64_t[n], floats double[n], strings n bytes (several joined by '\n').
 * n is 0 for an attribute that is left out and has no default. */
typedef struct mopt_attr {
  const void *values;
  int64_t n;
} mopt_attr;

/* Signature of every reference function. `in` has one entry per operand of the record (all operands of a variadic op),
 * `out` one per result, `attr` one per attribute in the order of the record (slots: Slots.h.inc). Computes units
 * [begin, end) of the work as the record's `units` says. Returns a mopt_step_status; details go to `fault`. */
typedef int32_t (*mopt_reference)(const mopt_tensor *in, int32_t nin, const mopt_tensor *out, int32_t nout,
                                  const mopt_attr *attr, int64_t begin, int64_t end, mopt_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
