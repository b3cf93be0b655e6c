//===- Plan.h - the compiled plan before it is bytes --------------------------------------------------------------===//
//
// What code generation hands to packaging, in the terms of mopt_abi.h but with names and vectors. Sizes are mopt_size:
// a number, or MOPT_SIZE_OF_SYMBOL(i).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_PACKAGE_PLAN_H
#define MOPT_PACKAGE_PLAN_H

#include "mopt/Runtime/mopt_abi.h"
#include "llvm/ADT/ArrayRef.h"
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace mopt {

struct PlanSymbol {
  std::string name;
  uint32_t kind = MOPT_SYM_INPUT;
  std::vector<int64_t> code; // of MOPT_SYM_EXPR
  int32_t readyAfter = -1;
};
struct PlanCheck {
  mopt_size left = 0, right = 0;
  std::string what;
};
struct PlanBuffer {
  uint32_t kind = MOPT_BUF_ARENA, dtype = 0, index = 0;
  std::vector<mopt_size> dims;
  int32_t firstStep = 0, lastStep = 0;
  uint64_t offset = 0;
};
struct PlanVariant {
  std::string function; // symbol of the LLVM module, a mopt_step_fn; several steps may share one
  mopt_size chunks = 1;
  std::string name = "default";
};
struct PlanStep {
  std::vector<PlanVariant> variants; // at least one
  std::string name;
  std::vector<std::string> nodes;
  std::vector<int32_t> operands; // read ones first, written ones last
  uint32_t written = 1, flags = 0;
  mopt_size macs = 0, bytes = 0;
  // For reports, not for the table. Sizes that are symbols count as 16.
  std::string root = {}, why = {}; // the group's, and why it is as it is
  bool generated = false;          // a kernel of its own or a loop, not a reference function
  int64_t assumedMacs = 0, assumedBytes = 0;
};
struct PlanPort {
  std::string name;
  uint32_t dtype = 0;
  std::vector<mopt_size> dims;
  uint32_t buffer = 0;
};
/// Bytes at an offset of the weights. The memory is the weight store's or `owned`. Bytes that must be made from a source
/// (panels) are made when they are written, one weight at a time, so that memory does not grow with the model.
struct PlanWeight {
  uint64_t offset = 0;
  llvm::ArrayRef<uint8_t> bytes;
  std::function<void(uint8_t *)> make = {}; // if set: writes `made` bytes; `bytes` is unused
  uint64_t made = 0;
  uint64_t size() const { return make ? made : bytes.size(); }
};
struct Plan {
  std::vector<PlanSymbol> symbols;
  std::vector<PlanCheck> checks;
  std::vector<PlanPort> inputs, outputs;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<PlanWeight> weights; // ascending, not overlapping
  uint64_t weightBytes = 0;
  uint32_t serialMacs = 0, serialBytes = 0; // of mopt_module
  std::deque<std::vector<uint8_t>> owned; // bytes of small constants that `weights` points to
  std::string modelName, modelHash;       // for the manifest
};

} // namespace mopt
#endif
