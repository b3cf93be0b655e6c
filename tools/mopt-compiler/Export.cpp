//===- Export.cpp - `mopt-compiler export` ------------------------------------------------------------------------===//
#include "mopt/Import/Export.h"
#include "Commands.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input, output;
  ImportOptions import;
  ExportOptions exporting;
};
int run(const Options &options) {
  Context context;
  OwningOpRef<ModuleOp> module = context.load(options.input, options.import);
  return module && succeeded(exportOnnx(*module, options.output, options.exporting)) ? Right : BadInput;
}
} // namespace

void addExport(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("export", "mopt module to a standard ONNX model");
  command->add_option("module", options->input, "mopt module, or an ONNX model")->required();
  command->add_option("-o,--output", options->output, "ONNX model")->required();
  command
      ->add_option("--single-file-bytes", options->exporting.singleFileBytes,
                   "larger models get their weights in a file beside")
      ->capture_default_str();
  bindImportOptions(*command, options->import);
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
