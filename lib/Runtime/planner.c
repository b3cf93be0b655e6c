/* Offsets in the arena. Two greedy orders are tried and the smaller arena is kept: by first step (good for chains, and fast:
 * dead buffers leave the list) and by size (good when few large buffers dominate; quadratic, so only up to MAX_BY_SIZE
 * items). Each buffer goes to the smallest gap that holds it between the buffers which live at the same time (best fit); ties
 * go to the lower offset, so the result is fully determined. If the first order reaches the lower bound - the largest sum of
 * bytes alive in one step - the second is not tried. */
#include "mopt/Runtime/planner.h"
#include <stdbool.h>

#define MAX_BY_SIZE 2048

/* What the inner loop reads of a placed item, side by side in memory: the loop is bound by cache misses otherwise. */
typedef struct placed_item {
  uint64_t begin, end;
  int32_t first, last;
} placed_item;

typedef bool (*before_fn)(const mopt_plan_item *items, uint32_t a, uint32_t b);

static bool larger_first(const mopt_plan_item *items, uint32_t a, uint32_t b) {
  if (items[a].bytes != items[b].bytes)
    return items[a].bytes > items[b].bytes;
  if (items[a].first != items[b].first)
    return items[a].first < items[b].first;
  return a < b;
}

static bool earlier_first(const mopt_plan_item *items, uint32_t a, uint32_t b) {
  if (items[a].first != items[b].first)
    return items[a].first < items[b].first;
  return larger_first(items, a, b);
}

static bool dies_first(const mopt_plan_item *items, uint32_t a, uint32_t b) {
  return items[a].last != items[b].last ? items[a].last < items[b].last : a < b;
}

/* Heap sort: qsort may allocate. */
static void sift(const mopt_plan_item *items, uint32_t *order, size_t root, size_t n, before_fn before) {
  for (size_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && before(items, order[child], order[child + 1]))
      ++child;
    if (!before(items, order[root], order[child]))
      return;
    uint32_t t = order[root];
    order[root] = order[child];
    order[child] = t;
  }
}

static void sort(const mopt_plan_item *items, uint32_t *order, size_t n, before_fn before) {
  for (size_t i = n / 2; i-- > 0;)
    sift(items, order, i, n, before);
  for (size_t i = n; i-- > 1;) {
    uint32_t t = order[0];
    order[0] = order[i];
    order[i] = t;
    sift(items, order, 0, i, before);
  }
}

static uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

/* Places items in `order`; `placed` is kept sorted by offset. Writes offsets[], returns the arena size. With `by_step` the items
 * come by first step, so that what has died cannot matter again and is dropped. No sum can wrap: mopt_plan_arena has bounded
 * the total of bytes and padding. */
static uint64_t place(const mopt_plan_item *items, const uint32_t *order, size_t n, bool by_step, placed_item *placed,
                      uint64_t *offsets) {
  uint64_t arena = 0;
  size_t nplaced = 0;
  for (size_t k = 0; k < n; ++k) {
    const mopt_plan_item *item = &items[order[k]];
    uint64_t end = 0; /* of everything seen so far that lives at the same time */
    uint64_t best = UINT64_MAX, best_gap = UINT64_MAX;
    size_t kept = 0;
    for (size_t j = 0; j < nplaced; ++j) {
      placed_item other = placed[j];
      if (by_step) {
        if (other.last < item->first)
          continue;
        placed[kept++] = other;
      } else if (other.last < item->first || item->last < other.first) {
        continue;
      }
      uint64_t begin = align_up(end, item->align);
      if (begin <= other.begin && other.begin - begin >= item->bytes && other.begin - begin < best_gap) {
        best = begin;
        best_gap = other.begin - begin;
      }
      if (other.end > end)
        end = other.end;
    }
    if (by_step)
      nplaced = kept;
    if (best == UINT64_MAX)
      best = align_up(end, item->align);
    offsets[order[k]] = best;
    if (best + item->bytes > arena)
      arena = best + item->bytes;
    size_t j = nplaced++;
    for (; j > 0 && placed[j - 1].begin > best; --j)
      placed[j] = placed[j - 1];
    placed[j] = (placed_item){best, best + item->bytes, item->first, item->last};
  }
  return arena;
}

/* The largest sum of bytes alive in one step: no arena can be smaller. Items by first and by last step. */
static uint64_t lower_bound(const mopt_plan_item *items, const uint32_t *by_first, const uint32_t *by_last, size_t n) {
  uint64_t most = 0, alive = 0;
  for (size_t i = 0, dead = 0; i < n; ++i) {
    for (; items[by_last[dead]].last < items[by_first[i]].first; ++dead)
      alive -= items[by_last[dead]].bytes;
    alive += items[by_first[i]].bytes;
    most = alive > most ? alive : most;
  }
  return most;
}

size_t mopt_plan_scratch_bytes(size_t n) {
  return n > (SIZE_MAX >> 6) || n > UINT32_MAX ? 0
                                               : n * (2 * sizeof(uint64_t) + sizeof(placed_item) + 2 * sizeof(uint32_t)) + 8;
}

int mopt_plan_arena(mopt_plan_item *items, size_t n, void *scratch, uint64_t *arena_bytes) {
  uint64_t *by_size = scratch, *by_step = by_size + n;
  placed_item *placed = (placed_item *)(by_step + n);
  uint32_t *order = (uint32_t *)(placed + n), *by_last = order + n;
  size_t used = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < n; ++i) {
    mopt_plan_item *item = &items[i];
    item->offset = 0;
    if (!item->align || (item->align & (item->align - 1)) || item->first > item->last || item->bytes > MOPT_PLAN_MAX_BYTES)
      return -1;
    if (item->bytes)
      order[used++] = (uint32_t)i;
    total += item->bytes + item->align;
    if (total > (1ull << 62))
      return -1;
  }
  for (size_t i = 0; i < used; ++i)
    by_last[i] = order[i];
  sort(items, order, used, earlier_first);
  sort(items, by_last, used, dies_first);
  uint64_t arena = place(items, order, used, true, placed, by_step);
  const uint64_t *offsets = by_step;
  if (used <= MAX_BY_SIZE && arena > lower_bound(items, order, by_last, used)) {
    sort(items, order, used, larger_first);
    uint64_t other = place(items, order, used, false, placed, by_size);
    if (other < arena) {
      arena = other;
      offsets = by_size;
    }
  }
  if (arena > MOPT_PLAN_MAX_BYTES)
    return -1;
  for (size_t i = 0; i < n; ++i)
    if (items[i].bytes)
      items[i].offset = offsets[i];
  *arena_bytes = arena;
  return 0;
}
