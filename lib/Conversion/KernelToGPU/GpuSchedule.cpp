//===- GpuSchedule.cpp - schedule rows of GPUs --------------------------------------------------------------------===//
#include "mopt/Conversion/GpuSchedule.h"

namespace mopt {
namespace {

// What every Vulkan 1.1 device has: 128 threads in a workgroup, 16 KiB of its memory, 65535 workgroups along an axis. The
// largest tile takes 16 * (33 + 64) floats, 6 KiB, and 16 accumulators of each thread.
const GpuSchedule vulkan = {
    "vulkan1.1",      128, 16,  {{{8, 16, 4, 4}, {8, 16, 2, 4}, {8, 16, 2, 2}, {8, 16, 1, 1}, {1, 128, 1, 1}}}, 65535,
    int64_t(1) << 31, 500, 100,
};

} // namespace

const GpuTile &GpuSchedule::tileFor(int64_t m, int64_t n) const {
  const GpuTile *best = nullptr;
  double least = 0;
  for (const GpuTile &tile : tiles) {
    double rows = double((m + tile.tileRows() - 1) / tile.tileRows()) * tile.tileRows();
    double columns = double((n + tile.tileColumns() - 1) / tile.tileColumns()) * tile.tileColumns();
    // For each multiply-add: itself, and its part of the loads of a row's and a column's element.
    double cost = rows * columns * (1 + 1.0 / tile.rows + 1.0 / tile.columns);
    if (!best || cost < least)
      best = &tile, least = cost;
  }
  return *best;
}

const GpuSchedule &vulkanSchedule() { return vulkan; }

} // namespace mopt
