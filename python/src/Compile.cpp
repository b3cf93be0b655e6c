// The compiler half of mopt._core: import, compile to a file without a name, load.
#include "mopt/Pipelines/Compile.h"
#include "Errors.h"
#include "Model.h"
#include "mlir/IR/Diagnostics.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Import/Import.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Support/OutputFile.h"
#include "mopt/Transforms/Passes.h"
#include <cerrno>
#include <cstring>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace mopt::python {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// The first error is the cause; what follows it are consequences.
struct FirstError {
  std::string message, node;
  void note(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !message.empty())
      return;
    message = diagnostic.str();
    std::replace(message.begin(), message.end(), '\n', ' ');
    for (const std::string &name : onnxNames(diagnostic.getLocation()))
      node += (node.empty() ? "" : ", ") + name;
    if (!node.empty())
      message += " (node '" + node + "')";
  }
};

using Tiles = std::vector<std::pair<unsigned, unsigned>>;

struct Request {
  const Shapes &shapes;
  const std::string &triple, &cpu;
  int threads;
  const Tiles &tiles;
  const std::string &requantize;
};

template <class Import> std::unique_ptr<Model> compileWith(const Request &request, Import import) {
  ImportOptions options;
  CompileOptions compile;
  for (const auto &[name, sizes] : request.shapes) {
    std::string text;
    for (int64_t size : sizes) {
      options.shapes[name].push_back(size < 0 ? ShapedType::kDynamic : size);
      text += (text.empty() ? "" : "x") + (size < 0 ? "?" : std::to_string(size));
    }
    compile.recorded.push_back({"shape " + name, text});
  }
  // Without a name, nothing stays behind however this process ends.
  File file(openUnnamedFile());
  if (file.get() < 0)
    throwError(std::string("MOPT-I027: cannot make a temporary file: ") + std::strerror(errno) + "; check TMPDIR", "");
  compile.triple = request.triple;
  compile.cpu = request.cpu;
  compile.requantize = request.requantize;
  if (!request.requantize.empty())
    compile.recorded.push_back({"requantize", request.requantize});
  for (auto [rows, panels] : request.tiles) {
    std::string text = std::to_string(rows) + "x" + std::to_string(panels);
    compile.tiles.push_back({rows, panels});
    compile.recorded.push_back({"tile", text});
  }
  compile.output = "the artifact"; // in messages
  compile.descriptor = file.get();
  FirstError error;
  bool good = false;
  {
    py::gil_scoped_release release;
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      error.note(diagnostic);
      return success();
    });
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    CompileReport report;
    OwningOpRef<ModuleOp> module = import(&context, options);
    const WeightStore &store = context.getOrLoadDialect<MoptDialect>()->getWeightStore();
    compile.copied = [&](ArrayRef<uint8_t> bytes) { store.release(bytes); };
    good = module && mopt::compile(*module, compile, report) == CompileStatus::ok;
  }
  if (!good)
    throwError(error.message.empty() ? "MOPT-C100: the compiler gave up without a reason; please report this"
                                     : error.message,
               error.node);
  return Model::loadOrDescribe(std::move(file), request.threads);
}

} // namespace
} // namespace mopt::python

void addCompiler(py::module_ &m) {
  using namespace mopt::python;
  m.def(
      "compile_file",
      [](const std::string &path, const Shapes &shapes, const std::string &triple, const std::string &cpu, int threads,
         const Tiles &tiles, const std::string &requantize) {
        return compileWith({shapes, triple, cpu, threads, tiles, requantize},
                           [&](mlir::MLIRContext *context, const mopt::ImportOptions &options) {
                             mlir::OwningOpRef<mlir::ModuleOp> module = mopt::loadModule(path, context, options);
                             bool bound = !module || mopt::fileKind(path) == mopt::FileKind::onnx ||
                                          mlir::succeeded(mopt::bindShapes(*module, options.shapes));
                             return bound ? std::move(module) : mlir::OwningOpRef<mlir::ModuleOp>();
                           });
      },
      py::arg("path"), py::arg("shapes"), py::arg("triple"), py::arg("cpu"), py::arg("threads"), py::arg("tiles"),
      py::arg("requantize"));
  m.def(
      "compile_bytes",
      [](const py::bytes &model, const Shapes &shapes, const std::string &triple, const std::string &cpu, int threads,
         const Tiles &tiles, const std::string &requantize) {
        std::string_view view = model; // the caller's object, which lives through the call
        llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(view.data()), view.size());
        return compileWith({shapes, triple, cpu, threads, tiles, requantize},
                           [&](mlir::MLIRContext *context, mopt::ImportOptions &options) {
                             options.sourceName = "model";
                             return mopt::importOnnx(bytes, nullptr, context, options);
                           });
      },
      py::arg("model"), py::arg("shapes"), py::arg("triple"), py::arg("cpu"), py::arg("threads"), py::arg("tiles"),
      py::arg("requantize"));
}
