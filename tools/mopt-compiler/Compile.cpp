//===- Compile.cpp - `mopt-compiler compile` ----------------------------------------------------------------------===//
#include "mopt/Pipelines/Compile.h"
#include "Commands.h"
#include "mopt/Package/Package.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input, report;
  bool quiet = false, emitGiven = false;
  ImportOptions import;
  CompileOptions compile;
};

int refuse(const Twine &message) {
  llvm::errs() << "error " << message << "\n";
  return BadInput;
}

int run(const Options &given) {
  Options options = given;
  std::optional<unsigned> last = findPhase(options.compile.toPhase);
  bool textOnly = last && *last < phases().size();
  if (textOnly && options.emitGiven && options.compile.emit != "mlir")
    return refuse("MOPT-C011: phase '" + options.compile.toPhase + "' is written as mlir, not as '" + options.compile.emit +
                  "'; leave out --emit, or --to");
  if (llvm::sys::fs::equivalent(options.input, options.compile.output))
    return refuse("MOPT-T007: -o names the input itself, '" + options.compile.output + "'; choose another name");
  Context context;
  DialectRegistry registry;
  registerDialects(registry);
  context.get()->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = loadModule(options.input, context.get(), options.import);
  if (!module)
    return BadInput;
  // The importer binds shapes of ONNX models; a module is bound here.
  if (!StringRef(options.input).ends_with(".onnx") && failed(bindShapes(*module, options.import.shapes)))
    return BadInput;
  for (const auto &[name, sizes] : options.import.shapes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "" : "x") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
    options.compile.recorded.push_back({"shape " + name, text});
  }
  if (!options.quiet && llvm::errs().is_displayed())
    options.compile.onPhase = [](StringRef phase, double ms) {
      llvm::errs() << llvm::format("%-12s %8.1f ms\n", phase.str().c_str(), ms);
      if (phase == llvmPhase)
        llvm::errs() << "machine code ...\r"; // where most of the time goes
    };
  CompileReport report;
  CompileStatus status = compile(*module, options.compile, report);
  if (status != CompileStatus::ok)
    return status == CompileStatus::badInput ? BadInput : InternalFault;
  // A phase above code is a module again, which any command can read: text, and its weights beside it.
  if (textOnly && failed(saveModule(*module, options.compile.output)))
    return BadInput;
  if (!options.report.empty()) {
    std::string text = toJson(report), error;
    if (!writeFile(ArrayRef<char>(text.data(), text.size()), options.report, 0644, error)) {
      llvm::errs() << "error " << error << "\n";
      return BadInput;
    }
  }
  if (!options.quiet && llvm::errs().is_displayed())
    llvm::errs() << "wrote " << options.compile.output
                 << (report.fileBytes ? llvm::formatv(", {0:f2} MB", report.fileBytes / 1e6).str() : "") << "\n";
  return Right;
}
} // namespace

void addCompile(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("compile", "ONNX model or mopt module to a native artifact");
  command->add_option("model", options->input, "ONNX model (.onnx) or mopt module (.mlir)")->required();
  command
      ->add_option("-o,--output", options->compile.output,
                   "what to write, for example M.so; a phase before llvm also writes M.weights beside M.mlir")
      ->required();
  command->add_option("--triple", options->compile.triple,
                      "machine to compile for; default: this one; example aarch64-linux-gnu");
  command->add_option("--cpu", options->compile.cpu, "native, x86-64-v2, x86-64-v3, x86-64-v4 or an LLVM CPU name");
  command
      ->add_option("--to", options->compile.toPhase,
                   "stop after a phase: imported, normalized, pruned, quantized, fused, grouped, kernels, buffers, llvm")
      ->capture_default_str();
  command->add_option("--emit", options->compile.emit, "so, obj, llvm, asm or mlir")->capture_default_str();
  command->add_option("--report", options->report, "write times and sizes as JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  bindImportOptions(*command, options->import);
  command->footer("Example: mopt compile model.onnx -o model.so --cpu x86-64-v3 --shape x=1x3x224x224");
  command->callback([options, command, &status] {
    options->emitGiven = command->count("--emit") > 0;
    status = run(*options);
  });
}

} // namespace mopt::tool
