//===- Explain.cpp - `mopt-compiler explain` ----------------------------------------------------------------------===//
#include "Commands.h"
#include "mopt/Package/Package.h"
#include "mopt/Pipelines/Compile.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input, json, node;
  ImportOptions import;
  CompileOptions compile;
};

std::string nodesOf(const CompileReport::Step &step) {
  std::string names = llvm::join(step.nodes, ", ");
  return names.empty() ? "(made by the compiler)" : names;
}

void printTable(const CompileReport &report, StringRef node) {
  size_t generated = 0;
  double share = 0;
  for (const CompileReport::Step &step : report.plan) {
    generated += step.generated;
    share += step.generated ? 0 : step.share;
  }
  llvm::outs() << report.plan.size() << " steps for " << report.cpu << ": " << generated << " of generated code, "
               << report.plan.size() - generated << " of reference functions (" << llvm::format("%.1f", 100 * share)
               << " % of the time, estimated)\n\n"
               << " step  share  code       what runs (ONNX nodes)\n";
  for (auto [number, step] : llvm::enumerate(report.plan)) {
    if (!node.empty() && !llvm::is_contained(step.nodes, node))
      continue;
    llvm::outs() << llvm::format("%5zu %5.1f%%  %-9s  ", number, 100 * step.share,
                                 step.generated ? "generated" : "reference")
                 << step.name << " (" << nodesOf(step) << ")\n";
    if (!step.why.empty())
      llvm::outs() << "                         because " << step.why << "\n";
  }
}

int run(const Options &given) {
  Options options = given;
  Context context;
  DialectRegistry registry;
  registerDialects(registry);
  context.get()->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = context.load(options.input, options.import);
  if (!module)
    return BadInput;
  options.compile.emit = "plan";
  CompileReport report;
  CompileStatus status = compile(*module, options.compile, report);
  if (status != CompileStatus::ok)
    return status == CompileStatus::badInput ? BadInput : InternalFault;
  if (!options.node.empty() &&
      llvm::none_of(report.plan, [&](const CompileReport::Step &s) { return llvm::is_contained(s.nodes, options.node); })) {
    return refuse("MOPT-T030: no step comes from a node '" + options.node +
                  "': it was folded into a constant or a weight, or the model has no such node; `mopt explain` without "
                  "--node lists all");
  }
  printTable(report, options.node);
  if (!options.json.empty()) {
    std::string text = explanationJson(report), error;
    if (!writeFile(ArrayRef<char>(text.data(), text.size()), options.json, PackageOptions(), error))
      return refuse(error);
  }
  return Right;
}
} // namespace

void addExplain(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("explain", "what became of each op: its step, its share of the time, and why");
  command->add_option("model", options->input, "ONNX model or mopt module")->required();
  command->add_option("--node", options->node, "only the step of this ONNX node");
  command->add_option("--json", options->json, "also write the record as JSON (docs/explain.md)");
  command->add_option(
      "--triple", options->compile.triple,
      "machine to compile for; default: this one; examples aarch64-linux-gnu, spirv-unknown-vulkan1.1, hexagon");
  command->add_option("--cpu", options->compile.cpu, "native, x86-64-v2, x86-64-v3, x86-64-v4 or an LLVM CPU name");
  bindRequantizeOption(*command, options->compile.requantize);
  bindImportOptions(*command, options->import);
  command->footer("Shares are estimates; sizes that only a run knows count as 16 (give them with --shape).\n"
                  "Example: mopt explain model.onnx --shape x=1x3x224x224 --json why.json");
  command->callback([options, &status] { status = run(*options); });
}

} // namespace mopt::tool
