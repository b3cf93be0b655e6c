//===- Schedule.cpp - schedule rows -------------------------------------------------------------------------------===//
#include "mopt/Conversion/Schedule.h"
#include "mopt/Runtime/mopt_abi.h"
#include <algorithm>
#include <iterator>

namespace mopt {
namespace {

// Accumulators + one panel of B + a broadcast must fit the registers: rows * panels + panels + 1 panels of 16 floats.
// AVX-512 has 32 registers of one panel: 6x4 = 24 + 4 + 1, 8x3 = 24 + 3 + 1. More than 8 rows exhaust the integer
// registers with row pointers (65 % of peak instead of 100 %). AVX2 has 16 of half a panel: 6 * 2 + 2 + 1. NEON has 32 of a
// quarter: 6 * 4 + 4 + 1. SSE has 16 of a quarter: 2 * 4 + 4 + 1.
//
// Bytes: pmaddwd takes two vectors for each of weights and of a row, instructions that need signs changed a sum more for each
// vector of weights, at the end 5x4 + 4 + 4 + 1 of 32 registers. The first row whose bits a CPU has is its own.
const Schedule rows[] = {
    {"avx512_vnni", MOPT_CPU_X86_64_V4 | MOPT_CPU_AVX512_VNNI, 4, {8, 8, 8, 6}, 58, Dot::vnni512, 4, {8, 8, 6, 5}},
    {"avx512", MOPT_CPU_X86_64_V4, 4, {8, 8, 8, 6}, 58, Dot::pmadd512, 4, {8, 8, 6, 4}},
    {"avx2_vnni", MOPT_CPU_AVX2 | MOPT_CPU_FMA | MOPT_CPU_AVX_VNNI, 1, {6, 0, 0, 0}, 50, Dot::vnni256, 1, {4, 0, 0, 0}},
    {"avx2", MOPT_CPU_AVX2 | MOPT_CPU_FMA, 1, {6, 0, 0, 0}, 50, Dot::pmadd256, 1, {4, 0, 0, 0}},
    {"neon_dot", MOPT_CPU_NEON | MOPT_CPU_DOTPROD, 1, {6, 0, 0, 0}, 16, Dot::sdot, 1, {5, 0, 0, 0}},
    {"neon", MOPT_CPU_NEON, 1, {6, 0, 0, 0}, 16, Dot::none, 1, {3, 0, 0, 0}},
    {"sse", 0, 1, {2, 0, 0, 0}, 12, Dot::pmadd128, 1, {2, 0, 0, 0}},
};

// Measured on reference functions of whole models: what they cost compared with generated code, and bytes of the second
// and third level of cache in a ns.
constexpr double referenceFactor = 15, bytesPerNs = 25, stepNs = 300;

// What handing work to a thread that spins costs, and getting its result: measured as the work from which two threads are
// faster than one (docs/rationale/threads.md).
constexpr double handOverNs = 2000;

} // namespace

uint32_t Schedule::serialMacs() const { return static_cast<uint32_t>(macsPerNs * handOverNs); }
uint32_t Schedule::serialBytes() { return static_cast<uint32_t>(bytesPerNs * handOverNs); }

Schedule withTile(const Schedule &schedule, unsigned rows, unsigned panels) {
  Schedule result = schedule;
  result.panels = result.int8Panels = panels;
  result.rows.fill(rows);
  result.int8Rows.fill(rows);
  return result;
}

double estimateNs(const Schedule &schedule, int64_t macs, int64_t bytes, bool generated) {
  double work = std::max(macs / schedule.macsPerNs, bytes / bytesPerNs);
  return stepNs + work * (generated ? 1 : referenceFactor);
}

const Schedule &scheduleFor(uint64_t cpuBits) {
  for (const Schedule &row : rows)
    if ((cpuBits & row.cpu) == row.cpu)
      return row;
  return rows[std::size(rows) - 1];
}

} // namespace mopt
