// mopt._core: what Python sees. Every function here only translates arguments.
#include <pybind11/stl.h>
#include "Errors.h"
#include "Model.h"

namespace py = pybind11;
using namespace mopt::python;

#ifdef MOPT_PYTHON_COMPILER
void addCompiler(py::module_ &m);
#endif

PYBIND11_MODULE(_core, m) {
  m.doc() = "Bindings of mopt's compiler and runtime; use the package `mopt`.";
  m.attr("runtime_version") = mopt_version();

  py::class_<TensorInfo>(m, "TensorInfo", "Name, element type and shape of an input or output.")
      .def_readonly("name", &TensorInfo::name)
      .def_readonly("dtype", &TensorInfo::dtype, "as numpy spells it; 'bfloat16' arrays are uint16, 'float8_*' uint8")
      .def_readonly("shape", &TensorInfo::shape, "an int is a fixed size, a str names a size that runs decide")
      .def("__repr__", [](const TensorInfo &info) {
        return "TensorInfo(name=" + std::string(py::repr(py::str(info.name))) + ", dtype='" + info.dtype +
               "', shape=" + std::string(py::repr(info.shape)) + ")";
      });

  py::class_<Model>(m, "Model", "A compiled model. run() may be called from any number of threads.")
      .def_property_readonly("inputs", &Model::inputs)
      .def_property_readonly("outputs", &Model::outputs)
      .def_property_readonly("manifest", &Model::manifest, "JSON, as bytes")
      .def_property_readonly("runs_here", &Model::runsHere,
                             "False for a model that was compiled for another machine: it can be saved, but not run")
      .def_property_readonly("variants", &Model::variants, "Names of the variants that steps have; the first is the default")
      .def("run", &Model::run, py::arg("inputs"), py::arg("variant") = "",
           "Runs the model on {name: array} and returns {name: array}. Arrays that are contiguous and aligned to 64 "
           "bytes are read in place. Steps that have a variant of the given name run it. Releases the GIL.")
      .def(
          "save",
          [](const Model &model, const py::object &path) {
            model.save(py::module_::import("os").attr("fspath")(path).cast<std::string>());
          },
          py::arg("path"), "Writes the artifact.");

  m.def(
      "load",
      [](const py::object &path, int threads, bool verify) {
        return Model::load(py::module_::import("os").attr("fspath")(path).cast<std::string>(), threads, verify);
      },
      py::arg("path"), py::arg("threads") = 1, py::arg("verify") = false,
      "Loads an artifact. threads=0 means all processors. Everything but the weights is checked for damage; verify=True "
      "reads and checks them too.");
#ifdef MOPT_PYTHON_COMPILER
  addCompiler(m);
#endif
}
