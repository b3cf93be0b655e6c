/* Blocks for tensors. Large ones are mapped, so that pages which are never touched cost nothing and all of it goes back to
 * the system at once; small ones come from malloc. Every byte the runtime needs for tensors passes through here. */
#include "runtime.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAP_FROM (256u << 10)

void mopt_block_free(mopt_block *block) {
  if (block->mapped)
    munmap(block->data, block->mapped);
  else
    free(block->data);
  block->data = NULL;
  block->capacity = block->mapped = 0;
}

bool mopt_block_reserve(mopt_block *block, uint64_t bytes) {
  if (block->data && block->capacity >= bytes)
    return true;
  if (bytes > MOPT_PLAN_MAX_BYTES)
    return false;
  mopt_block_free(block); /* first: the old contents are dead, and both at once would double the peak */
  if (bytes >= MAP_FROM) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t mapped = (bytes + page - 1) / page * page;
    void *data = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
      return false;
    *block = (mopt_block){data, mapped, mapped};
    return true;
  }
  uint64_t rounded = bytes ? (bytes + MOPT_ALIGNMENT - 1) / MOPT_ALIGNMENT * MOPT_ALIGNMENT : MOPT_ALIGNMENT;
  void *data = aligned_alloc(MOPT_ALIGNMENT, rounded);
  if (!data)
    return false;
  *block = (mopt_block){data, rounded, 0};
  return true;
}
