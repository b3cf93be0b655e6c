//===- Schedule.h - what emitters must know of a CPU --------------------------------------------------------------===//
#ifndef MOPT_CONVERSION_SCHEDULE_H
#define MOPT_CONVERSION_SCHEDULE_H

#include <array>
#include <cstdint>

namespace mopt {

/// One row per class of CPU: the register tiles of matrix kernels. Vectors in code are 16 floats on every CPU, a panel; the
/// back end splits them into registers, so a row says how many of them fit.
struct Schedule {
  const char *name;
  uint64_t cpu;                  // mopt_cpu bits a CPU must have
  unsigned panels;               // panels of a tile at most
  std::array<unsigned, 4> rows;  // rows of a tile, by its panels less one
};

/// The row for a CPU with these mopt_cpu bits.
const Schedule &scheduleFor(uint64_t cpuBits);

} // namespace mopt
#endif
