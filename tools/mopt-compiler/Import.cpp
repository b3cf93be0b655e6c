//===- Import.cpp - `mopt-compiler import` ------------------------------------------------------------------------===//
#include "Commands.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input, output;
  ImportOptions import;
};
int run(const Options &options) {
  Context context;
  OwningOpRef<ModuleOp> module = importOnnxFile(options.input, context.get(), options.import);
  return module && succeeded(saveModule(*module, options.output)) ? Right : BadInput;
}
} // namespace

void addImport(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("import", "ONNX model to mopt text and a file of weights beside it");
  command->add_option("model", options->input, "ONNX model")->required();
  command->add_option("-o,--output", options->output, "mopt module, M.mlir; weights go to M.weights")->required();
  bindImportOptions(*command, options->import);
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
