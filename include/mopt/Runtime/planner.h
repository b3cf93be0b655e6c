/* Places buffers with known lifetimes in one arena. The compiler and the runtime use this same code, so that what the
 * compiler reports is what a run needs. No global state, no allocation, the same input gives the same offsets. */
#ifndef MOPT_RUNTIME_PLANNER_H
#define MOPT_RUNTIME_PLANNER_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mopt_plan_item {
  uint64_t bytes;      /* 0: takes no room, offset 0 */
  int32_t first, last; /* steps, both included, first <= last */
  uint32_t align;      /* a power of two */
  uint32_t reserved;
  uint64_t offset; /* result */
} mopt_plan_item;

#define MOPT_PLAN_MAX_BYTES (1ull << 47) /* of one arena: what a 64-bit process can map */

/* Scratch memory for n items, 8-byte aligned. 0 if n is too large. */
size_t mopt_plan_scratch_bytes(size_t n);

/* Fills in the offsets and the size of the arena. Returns 0, or -1 if an item is not valid or the arena is larger than
 * MOPT_PLAN_MAX_BYTES. Time: tens of us for 100 items, a few ms for 1,000 that are hard to place. */
int mopt_plan_arena(mopt_plan_item *items, size_t n, void *scratch, uint64_t *arena_bytes);

#ifdef __cplusplus
}
#endif
#endif
