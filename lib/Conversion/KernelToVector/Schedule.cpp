//===- Schedule.cpp - schedule rows -------------------------------------------------------------------------------===//
#include "mopt/Conversion/Schedule.h"
#include "mopt/Runtime/mopt_abi.h"

namespace mopt {
namespace {

// Accumulators + one panel of B + a broadcast must fit the registers: rows * panels + panels + 1 panels of 16 floats.
// AVX-512 has 32 registers of one panel: 6x4 = 24 + 4 + 1, 8x3 = 24 + 3 + 1. More than 8 rows exhaust the integer
// registers with row pointers (65 % of peak instead of 100 %). AVX2 has 16 of half a panel: 6 * 2 + 2 + 1. NEON has 32 of a
// quarter: 6 * 4 + 4 + 1. SSE has 16 of a quarter: 2 * 4 + 4 + 1.
const Schedule rows[] = {
    {"avx512", MOPT_CPU_X86_64_V4, 4, {8, 8, 8, 6}},
    {"avx2", MOPT_CPU_AVX2 | MOPT_CPU_FMA, 1, {6, 0, 0, 0}},
    {"neon", MOPT_CPU_NEON, 1, {6, 0, 0, 0}},
    {"sse", 0, 1, {2, 0, 0, 0}},
};

} // namespace

const Schedule &scheduleFor(uint64_t cpuBits) {
  for (const Schedule &row : rows)
    if ((cpuBits & row.cpu) == row.cpu)
      return row;
  return rows[3];
}

} // namespace mopt
