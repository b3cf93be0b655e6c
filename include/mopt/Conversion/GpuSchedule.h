//===- GpuSchedule.h - what emitters must know of a GPU -----------------------------------------------------------===//
#ifndef MOPT_CONVERSION_GPUSCHEDULE_H
#define MOPT_CONVERSION_GPUSCHEDULE_H

#include <array>
#include <cstdint>

namespace mopt {

/// How a workgroup covers a piece of a matrix: threads along rows and columns, and how many of each a thread has in registers.
struct GpuTile {
  unsigned rowThreads, columnThreads, rows, columns;
  int64_t tileRows() const { return int64_t(rowThreads) * rows; }
  int64_t tileColumns() const { return int64_t(columnThreads) * columns; }
};

/// One row per class of GPU.
struct GpuSchedule {
  const char *name;
  unsigned threads;             // of a workgroup
  unsigned depth;               // k of the tiles in workgroup memory
  std::array<GpuTile, 5> tiles; // each of `threads` threads
  int64_t maxGroups;            // workgroups along one axis of a dispatch
  int64_t maxBufferBytes;       // of one buffer, so that 32-bit indices reach all of it
  double macsPerNs, bytesPerNs; // of the whole device, for shares in reports
  /// The tile for a product of m x n: least work on rows and columns that do not exist, and on copies out of workgroup
  /// memory. Estimated, not measured: there is no figure of a device behind it.
  const GpuTile &tileFor(int64_t m, int64_t n) const;
};

/// The row for Vulkan 1.1 devices of which nothing else is known.
const GpuSchedule &vulkanSchedule();

} // namespace mopt
#endif
