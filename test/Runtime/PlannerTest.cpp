#include "mopt/Runtime/planner.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

static uint64_t plan(std::vector<mopt_plan_item> &items) {
  std::vector<uint64_t> scratch(mopt_plan_scratch_bytes(items.size()) / 8 + 1);
  uint64_t arena = 0;
  EXPECT_EQ(0, mopt_plan_arena(items.data(), items.size(), scratch.data(), &arena));
  return arena;
}
static mopt_plan_item item(uint64_t bytes, int first, int last, uint32_t align = 64) {
  return {bytes, first, last, align, 0, 0};
}

TEST(Planner, ChainNeedsTwoNeighbours) {
  std::vector<mopt_plan_item> items;
  for (int i = 0; i < 50; ++i)
    items.push_back(item(640, i, i + 1));
  EXPECT_EQ(1280u, plan(items));
}

TEST(Planner, NothingOverlapsAndAlignmentHolds) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<mopt_plan_item> items;
    int n = static_cast<int>(random() % 60), steps = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < n; ++i) {
      int first = static_cast<int>(random() % static_cast<unsigned>(steps));
      items.push_back(
          item(random() % 5 ? random() % 5000 : 0, first, first + static_cast<int>(random() % 6), 64u << random() % 3));
    }
    uint64_t arena = plan(items), live = 0;
    for (size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(0u, items[a].offset % items[a].align);
      EXPECT_LE(items[a].offset + items[a].bytes, arena);
      uint64_t now = 0;
      for (size_t b = 0; b < items.size(); ++b) {
        if (items[b].first <= items[a].first && items[a].first <= items[b].last)
          now += items[b].bytes;
        if (a != b && items[a].bytes && items[b].bytes && items[a].first <= items[b].last && items[b].first <= items[a].last)
          EXPECT_TRUE(items[a].offset + items[a].bytes <= items[b].offset ||
                      items[b].offset + items[b].bytes <= items[a].offset);
      }
      live = std::max(live, now);
    }
    EXPECT_GE(arena, live);
    std::vector<mopt_plan_item> again = items;
    EXPECT_EQ(arena, plan(again));
    for (size_t a = 0; a < items.size(); ++a)
      EXPECT_EQ(items[a].offset, again[a].offset);
  }
}

TEST(Planner, RefusesWhatCannotBePlaced) {
  uint64_t arena, scratch[32];
  ASSERT_LE(mopt_plan_scratch_bytes(2), sizeof scratch);
  mopt_plan_item bad[] = {item(64, 3, 2), item(64, 0, 1, 3), item(64, 0, 1, 0), item(MOPT_PLAN_MAX_BYTES + 1, 0, 1)};
  for (mopt_plan_item &i : bad)
    EXPECT_EQ(-1, mopt_plan_arena(&i, 1, scratch, &arena));
  mopt_plan_item large[] = {item(MOPT_PLAN_MAX_BYTES, 0, 1), item(MOPT_PLAN_MAX_BYTES, 0, 1)};
  EXPECT_EQ(-1, mopt_plan_arena(large, 2, scratch, &arena));
  EXPECT_EQ(0, mopt_plan_arena(nullptr, 0, scratch, &arena));
}
