//===- GpuModule.h - the shaders of a plan ------------------------------------------------------------------------===//
//
// What conversion hands to packaging, beside the plan, where steps are compute shaders: PlanStep::function names an entry
// point. Its bindings, all in descriptor set 0, are the step's operands in their order.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_PACKAGE_GPUMODULE_H
#define MOPT_PACKAGE_GPUMODULE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mopt {

struct GpuEntry {
  std::string name;
  unsigned threads = 1;                       // of a workgroup, along x
  std::array<uint32_t, 3> groups = {1, 1, 1}; // workgroups to dispatch; all 0: there is nothing to do
  uint64_t sharedBytes = 0;                   // of workgroup memory
};
struct GpuModule {
  std::vector<uint32_t> spirv;
  std::vector<GpuEntry> entries;
};
/// What the weights, and each buffer of the arena, are aligned to: the most that a Vulkan device may ask for.
constexpr uint64_t gpuAlignment = 256;

} // namespace mopt
#endif
