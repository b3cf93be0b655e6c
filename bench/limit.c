/* As many multiply-adds as a model has, in registers: what this processor can do at most. Twelve chains hide the latency of
 * two units with six steps each, and fit the registers of every vector width. */
#include <stdint.h>

#if defined(__AVX512F__)
enum { BYTES = 64 };
#define REGISTER "+v"
#elif defined(__AVX__)
enum { BYTES = 32 };
#define REGISTER "+x"
#elif defined(__SSE__)
enum { BYTES = 16 };
#define REGISTER "+x"
#else
enum { BYTES = 16 };
#define REGISTER "+w"
#endif
enum { CHAINS = 12 };

typedef float Lane __attribute__((vector_size(BYTES)));

void mopt_bench_limit(int64_t macs) {
  Lane sums[CHAINS];
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = (Lane){0} + (float)i;
  Lane scale = (Lane){0} + 0.999f, step = (Lane){0} + 0.001f;
  for (int64_t done = 0; done < macs; done += CHAINS * (BYTES / 4))
#pragma clang loop unroll(full) /* an array that a loop counts through lies in memory */
    for (int i = 0; i < CHAINS; ++i) {
      sums[i] = sums[i] * scale + step;
      __asm__ volatile("" : REGISTER(sums[i])); /* wanted, whatever the optimizer thinks */
    }
}
