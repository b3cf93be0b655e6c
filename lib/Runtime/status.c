/* Errors and the small facts about types. */
#include "runtime.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint32_t mopt_api_version(void) { return MOPT_API_VERSION; }
const char *mopt_version(void) { return "mopt runtime 0.1 (API 1, ABI 1)"; }

/* Length of the valid UTF-8 sequence at p, 0 if there is none. Names come from models: they may hold anything. */
static size_t utf8_length(const unsigned char *p) {
  size_t n = p[0] < 0x80                   ? 1
             : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
             : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
             : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                           : 0;
  for (size_t i = 1; i < n; ++i)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  return n;
}

/* One printable line: a name with newlines or terminal escapes must not forge a second message. */
static void make_printable(char *text) {
  unsigned char *p = (unsigned char *)text;
  while (*p) {
    size_t n = utf8_length(p);
    if (n <= 1) {
      if (n == 0 || *p < 0x20 || *p == 0x7f)
        *p = *p == '\n' ? ',' : '?';
      n = 1;
    }
    p += n;
  }
}

void mopt_error_clear(mopt_error *error) {
  if (!error)
    return;
  error->code = MOPT_OK;
  error->step = -1;
  error->got = error->limit = 0;
  error->message[0] = 0;
}

mopt_code mopt_fail(mopt_error *error, mopt_code code, const char *format, ...) {
  if (!error)
    return code;
  mopt_error_clear(error);
  error->code = (int32_t)code;
  int n = snprintf(error->message, sizeof error->message, "MOPT-R%03d: ", (int)code);
  va_list args;
  va_start(args, format);
  vsnprintf(error->message + n, sizeof error->message - (size_t)n, format, args);
  va_end(args);
  make_printable(error->message);
  return code;
}

void mopt_cancel(int32_t *flag) {
  if (flag)
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

int64_t mopt_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const struct {
  const char *name;
  uint8_t bits;
} types[] = {[MOPT_UNDEFINED] = {"undefined", 0},
             [MOPT_F32] = {"float32", 32},
             [MOPT_U8] = {"uint8", 8},
             [MOPT_I8] = {"int8", 8},
             [MOPT_U16] = {"uint16", 16},
             [MOPT_I16] = {"int16", 16},
             [MOPT_I32] = {"int32", 32},
             [MOPT_I64] = {"int64", 64},
             [MOPT_STRING] = {"string", 0},
             [MOPT_BOOL] = {"bool", 8},
             [MOPT_F16] = {"float16", 16},
             [MOPT_F64] = {"float64", 64},
             [MOPT_U32] = {"uint32", 32},
             [MOPT_U64] = {"uint64", 64},
             [MOPT_C64] = {"complex64", 64},
             [MOPT_C128] = {"complex128", 128},
             [MOPT_BF16] = {"bfloat16", 16},
             [MOPT_F8E4M3FN] = {"float8e4m3fn", 8},
             [MOPT_F8E4M3FNUZ] = {"float8e4m3fnuz", 8},
             [MOPT_F8E5M2] = {"float8e5m2", 8},
             [MOPT_F8E5M2FNUZ] = {"float8e5m2fnuz", 8},
             [MOPT_U4] = {"uint4", 4},
             [MOPT_I4] = {"int4", 4},
             [MOPT_F4E2M1] = {"float4e2m1", 4},
             [MOPT_F8E8M0] = {"float8e8m0", 8},
             [MOPT_U2] = {"uint2", 2},
             [MOPT_I2] = {"int2", 2}};
#define NTYPES (sizeof types / sizeof types[0])

const char *mopt_dtype_name(uint32_t dtype) { return dtype < NTYPES ? types[dtype].name : "?"; }
uint32_t mopt_dtype_bits(uint32_t dtype) { return dtype < NTYPES ? types[dtype].bits : 0; }
