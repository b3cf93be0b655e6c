//===- Interpret.cpp - `mopt-compiler interpret`: for tests of importer, passes and reference functions -----------===//
#include "Arrays.h"
#include "Commands.h"
#include "mopt/Analysis/Interpreter.h"
#include "mopt/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string model, inputs, outputs, phase = "imported", requantize;
  double seconds = 0;
  ImportOptions import;
};

int run(const Options &options) {
  Context context;
  OwningOpRef<ModuleOp> module = context.load(options.model, options.import);
  func::FuncOp func = module ? modelFunction(*module) : func::FuncOp();
  std::optional<unsigned> last = findPhase(options.phase);
  if (!func || !last || *last > *findPhase("grouped"))
    return BadInput;
  std::map<std::string, TensorData> inputs;
  std::string error;
  if (!readInputArrays(options.inputs, func, inputs, error)) {
    llvm::errs() << "error " << error << "\n";
    return BadInput;
  }
  if (!options.requantize.empty() && failed(setRequantize(*module, options.requantize)))
    return BadInput;
  for (unsigned i = 0; i <= *last; ++i) {
    PassManager passes(context.get());
    phases()[i].build(passes, PhaseOptions());
    if (failed(passes.run(*module)))
      return InternalFault;
  }
  InterpreterOptions interpreting;
  interpreting.seconds = options.seconds;
  Interpreter interpreter(context.get(), interpreting);
  auto results = interpreter.evaluate(func, inputs);
  if (failed(results))
    return BadInput;
  std::vector<std::pair<std::string, TensorData>> named;
  for (auto [i, tensor] : llvm::enumerate(*results))
    named.push_back({outputName(func, i), tensor});
  if (!writeArrays(options.outputs, named, error)) {
    llvm::errs() << "error " << error << "\n";
    return BadInput;
  }
  return Right;
}
} // namespace

void addInterpret(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("interpret", "run a model with the reference functions");
  command->group(""); // for developers: not in the help
  command->add_option("model", options->model, "ONNX model or mopt module")->required();
  command->add_option("--inputs", options->inputs, "arrays by input name (.npz)")->required();
  command->add_option("--outputs", options->outputs, "where the outputs go (.npz)")->required();
  command->add_option("--to", options->phase, "run the passes up to this phase before, at most `grouped`")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "give up after this time; 0: never")->capture_default_str();
  bindRequantizeOption(*command, options->requantize);
  bindImportOptions(*command, options->import);
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
