/* A fixed amount of arithmetic: eight independent chains of multiply-adds, which fill the processor's vector units as
 * matrix kernels do. If two of these at the same time take longer than one, the two cores are not both ours: another
 * process runs on one, or they are two threads of one core. */
#include <stdint.h>
#include <time.h>

typedef float Lane __attribute__((vector_size(32)));

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds for `rounds` of 64 multiply-adds. */
int64_t mopt_bench_fma(int64_t rounds) {
  Lane sums[8];
  for (int i = 0; i < 8; ++i)
    sums[i] = (Lane){0} + (float)i;
  const Lane scale = (Lane){0} + 0.999f, step = (Lane){0} + 0.001f;
  int64_t begin = now();
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < 8; ++i)
      sums[i] = sums[i] * scale + step;
    __asm__ volatile("" : "+m"(sums)); /* the result is wanted, whatever the optimizer thinks */
  }
  return now() - begin;
}
