#include "Errors.h"
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace mopt::python {

void throwError(const std::string &message, const std::string &node) {
  std::string code;
  if (message.rfind("MOPT-", 0) == 0)
    code = message.substr(0, message.find(':'));
  py::object type = py::module_::import("mopt.errors").attr("MoptError");
  PyErr_SetObject(type.ptr(), type(py::str(message.data(), message.size()), code, node).ptr());
  throw py::error_already_set();
}

void check(mopt_code code, const mopt_error &error, const mopt_model *model) {
  if (code == MOPT_OK)
    return;
  std::string node;
  mopt_step_info step{};
  if (model && error.step >= 0 && mopt_model_step(model, static_cast<uint32_t>(error.step), &step) == MOPT_OK && step.nodes)
    node = step.nodes;
  throwError(error.message, node.substr(0, node.find('\n')));
}

} // namespace mopt::python
