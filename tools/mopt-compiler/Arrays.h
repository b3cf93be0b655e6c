//===- Arrays.h - .npz files as tensors of the interpreter --------------------------------------------------------===//
#ifndef MOPT_TOOLS_COMPILER_ARRAYS_H
#define MOPT_TOOLS_COMPILER_ARRAYS_H

#include "mopt/Analysis/Interpreter.h"
#include <map>

namespace mopt::tool {

/// Arrays of a file for the inputs of `func`, each read as the input's element type. False, with a message, when one is
/// missing or does not fit.
bool readInputArrays(const std::string &path, func::FuncOp func, std::map<std::string, TensorData> &inputs,
                     std::string &error);
bool writeArrays(const std::string &path, ArrayRef<std::pair<std::string, TensorData>> arrays, std::string &error);

/// Runs an artifact in this process, from an open descriptor. `values` gets what each step wrote, by ONNX node names (one a
/// line), in the order of the steps; null: not wanted.
struct StepValue {
  std::string nodes;
  TensorData value;
};
bool runArtifact(int descriptor, const std::map<std::string, TensorData> &inputs,
                 std::vector<std::pair<std::string, TensorData>> &outputs, std::vector<StepValue> *values,
                 std::string &error);

} // namespace mopt::tool
#endif
