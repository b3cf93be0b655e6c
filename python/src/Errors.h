// C and C++ errors as mopt.MoptError.
#pragma once
#include "mopt/Runtime/mopt.h"
#include <string>

namespace mopt::python {

// Raises MoptError. `message` is one line that begins with the code, "MOPT-R034: ..."; `node` is an ONNX node or "".
[[noreturn]] void throwError(const std::string &message, const std::string &node);
// Nothing when `code` is MOPT_OK. `model` may be null; it tells the ONNX node of the step that failed.
void check(mopt_code code, const mopt_error &error, const mopt_model *model);

} // namespace mopt::python
