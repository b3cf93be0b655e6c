//===- Schedule.h - what emitters must know of a CPU --------------------------------------------------------------===//
#ifndef MOPT_CONVERSION_SCHEDULE_H
#define MOPT_CONVERSION_SCHEDULE_H

#include <array>
#include <cstdint>

namespace mopt {

/// What multiplies bytes and adds up four products, or pairs of them, in a vector of 32-bit sums (Int8Tile.cpp).
enum class Dot { none, sdot, pmadd128, pmadd256, pmadd512, vnni256, vnni512 };

/// One row per class of CPU: the register tiles of matrix kernels. Vectors in code are 16 floats on every CPU, a panel; the
/// back end splits them into registers, so a row says how many of them fit.
struct Schedule {
  const char *name;
  uint64_t cpu;                 // mopt_cpu bits a CPU must have
  unsigned panels;              // panels of a tile at most
  std::array<unsigned, 4> rows; // rows of a tile, by its panels less one
  double macsPerNs;             // of one core at its limit, for estimates in reports
  // The same for bytes.
  Dot dot;
  unsigned int8Panels;
  std::array<unsigned, 4> int8Rows;
  /// A step with less work than these takes less time on one thread than another thread takes to wake up.
  uint32_t serialMacs() const;
  static uint32_t serialBytes();
};

/// The row with tiles of at most `rows` x `panels`, for variants of steps. Such tiles may need more registers than there are.
Schedule withTile(const Schedule &schedule, unsigned rows, unsigned panels);

/// Estimate of the time of a step on one core, ns: for shares in reports, never for decisions that have been measured.
double estimateNs(const Schedule &schedule, int64_t macs, int64_t bytes, bool generated);

/// The row for a CPU with these mopt_cpu bits.
const Schedule &scheduleFor(uint64_t cpuBits);

} // namespace mopt
#endif
