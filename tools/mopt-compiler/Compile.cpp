//===- Compile.cpp - `mopt-compiler compile` ----------------------------------------------------------------------===//
#include "mopt/Pipelines/Compile.h"
#include "Commands.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Package/Package.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace mopt::tool {
namespace {
struct Options {
  std::string input, report;
  std::vector<std::string> tiles;
  bool quiet = false, emitGiven = false;
  ImportOptions import;
  CompileOptions compile;
};

/// Whether two paths name one file, which need not exist yet.
bool samePlace(StringRef a, StringRef b) {
  auto folder = [](StringRef path) {
    StringRef parent = llvm::sys::path::parent_path(path);
    return parent.empty() ? StringRef(".") : parent;
  };
  return llvm::sys::fs::equivalent(a, b) ||
         (llvm::sys::path::filename(a) == llvm::sys::path::filename(b) && llvm::sys::fs::equivalent(folder(a), folder(b)));
}

/// The file of --report. It is opened before the work, so that a bad path costs nothing, and gets its name together with
/// the output: both are there, or none.
class ReportFile {
public:
  explicit ReportFile(const std::string &path) : path(path) {
    if (!path.empty())
      file.emplace(path);
  }
  ~ReportFile() {
    if (named && !kept)
      (void)llvm::sys::fs::remove(path);
  }
  bool ok(std::string &error) const {
    if (file && !file->ok())
      error = outputError(*file);
    return error.empty();
  }
  bool write(const CompileReport &report, std::string &error) {
    if (!file)
      return true;
    std::string text = toJson(report);
    named = file->write(text.data(), text.size()) && file->commit();
    return ok(error);
  }
  void keep() { kept = true; }

private:
  std::string path;
  std::optional<OutputFile> file;
  bool named = false, kept = false;
};

int run(const Options &given) {
  Options options = given;
  std::optional<unsigned> last = findPhase(options.compile.toPhase);
  bool textOnly = last && *last < phases().size();
  if (textOnly && options.emitGiven && options.compile.emit != "mlir")
    return refuse("MOPT-C011: phase '" + options.compile.toPhase + "' is written as mlir, not as '" + options.compile.emit +
                  "'; leave out --emit, or --to");
  const std::string &output = options.compile.output;
  if (samePlace(options.input, output))
    return refuse("MOPT-T009: -o names the input itself, '" + output + "'; choose another name");
  if (!options.report.empty() && (samePlace(options.report, options.input) || samePlace(options.report, output)))
    return refuse("MOPT-T009: --report names the input or the output, '" + options.report + "'; choose another name");
  for (StringRef text : options.tiles) {
    unsigned rows = 0, panels = 0;
    auto [left, right] = text.split('x');
    if (left.getAsInteger(10, rows) || right.getAsInteger(10, panels))
      return refuse("MOPT-T031: --tiles " + text.str() +
                    ": expected ROWSxPANELS with 1 to 8 rows and 1 to 4 panels of 16 "
                    "columns, for example 4x1");
    options.compile.tiles.push_back({rows, panels});
    options.compile.recorded.push_back({"tile", text.str()});
  }
  ReportFile reportFile(options.report);
  std::string error;
  if (!reportFile.ok(error))
    return refuse(error);
  Context context;
  OwningOpRef<ModuleOp> module = context.load(options.input, options.import);
  if (!module)
    return BadInput;
  for (const auto &[name, sizes] : options.import.shapes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "" : "x") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
    options.compile.recorded.push_back({"shape " + name, text});
  }
  if (!options.compile.requantize.empty())
    options.compile.recorded.push_back({"requantize", options.compile.requantize});
  Progress progress(options.quiet);
  progress.watch(options.compile);
  if (!textOnly)
    options.compile.beforeCommit = [&](const CompileReport &report, std::string &why) {
      return reportFile.write(report, why);
    };
  const WeightStore &store = context.get()->getOrLoadDialect<MoptDialect>()->getWeightStore();
  options.compile.copied = [&](ArrayRef<uint8_t> bytes) { store.release(bytes); };
  CompileReport report;
  CompileStatus status = compile(*module, options.compile, report);
  if (status != CompileStatus::ok)
    return status == CompileStatus::badInput ? BadInput : InternalFault;
  // A phase above code is a module again, which any command can read: text, and its weights beside it.
  auto writeReport = [&] { return success(reportFile.write(report, error)); };
  if (textOnly && failed(saveModule(*module, output, writeReport)))
    return error.empty() ? int(BadInput) : refuse(error);
  reportFile.keep();
  progress.say("wrote " + output + (report.fileBytes ? llvm::formatv(", {0:f2} MB", report.fileBytes / 1e6).str() : ""));
  return Right;
}
} // namespace

void addCompile(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("compile", "ONNX model or mopt module to a native artifact");
  command->add_option("model", options->input, "ONNX model, or mopt module of any phase")->required();
  command
      ->add_option(
          "-o,--output", options->compile.output,
          "what to write, for example M.so; a phase before llvm also writes M.weights beside M.mlir; for a GPU a folder")
      ->required();
  command->add_option(
      "--triple", options->compile.triple,
      "machine to compile for; default: this one; examples aarch64-linux-gnu, spirv-unknown-vulkan1.1, hexagon");
  command->add_option("--cpu", options->compile.cpu, "native, x86-64-v2, x86-64-v3, x86-64-v4 or an LLVM CPU name");
  command
      ->add_option("--to", options->compile.toPhase,
                   "stop after a phase: imported, normalized, pruned, quantized, fused, grouped, kernels, buffers, llvm")
      ->capture_default_str();
  command->add_option("--emit", options->compile.emit, "so, obj, llvm, asm or mlir")->capture_default_str();
  bindRequantizeOption(*command, options->compile.requantize);
  command->add_option("--report", options->report, "write times and sizes as JSON");
  command
      ->add_option("--tiles", options->tiles,
                   "more variants of matrix steps, with register tiles of ROWSxPANELS, for example 4x1,2x2; for mopt bench "
                   "--variant tile_4x1")
      ->delimiter(',');
  command->add_flag("--quiet", options->quiet, "no progress");
  bindImportOptions(*command, options->import);
  command->footer("Example: mopt compile model.onnx -o model.so --cpu x86-64-v3 --shape x=1x3x224x224");
  command->callback([options, command, &status] {
    options->emitGiven = command->count("--emit") > 0;
    status = run(*options);
  });
}

} // namespace mopt::tool
