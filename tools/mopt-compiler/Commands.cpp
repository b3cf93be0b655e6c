//===- Commands.cpp - what the commands share ---------------------------------------------------------------------===//
#include "Commands.h"
#include "mlir/IR/Diagnostics.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace mopt::tool {

static std::string place(Location location) {
  std::string text;
  for (const std::string &name : onnxNames(location)) {
    std::string shown;
    for (unsigned char c : StringRef(name).take_front(120)) {
      if (c >= 0x20 && c < 0x7f && c != '\\') {
        shown += static_cast<char>(c);
        continue;
      }
      shown += "\\x";
      shown += llvm::hexdigit(c >> 4, true);
      shown += llvm::hexdigit(c & 15, true);
    }
    text += (text.empty() ? "" : ", ") + ("'" + shown + "'");
  }
  if (!text.empty())
    return " (node " + text + ")";
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    text = " (" + file.getFilename().str();
    if (file.getLine())
      text += ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
    return text + ")";
  }
  return "";
}

Context::Context() {
  context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
    StringRef kind = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? "error "
                     : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning "
                                                                               : "";
    if (!kind.empty()) { // notes repeat the op, which the place names already
      std::string text = diagnostic.str();
      std::replace(text.begin(), text.end(), '\n', ' ');
      llvm::errs() << kind << text << place(diagnostic.getLocation()) << "\n";
    }
    return success();
  });
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
}

OwningOpRef<ModuleOp> Context::load(StringRef path, const ImportOptions &options) {
  OwningOpRef<ModuleOp> module = loadModule(path, &context, options);
  // The importer binds the sizes of an ONNX model, also those that decide its rank.
  if (module && fileKind(path) == FileKind::module && failed(bindShapes(*module, options.shapes)))
    return {};
  return module;
}

Progress::Progress(bool quiet) : shown(!quiet && llvm::errs().is_displayed()) {}

void Progress::clear() {
  if (std::exchange(pending, false))
    llvm::errs() << "\r\x1b[K";
}

void Progress::say(const Twine &line) {
  if (!shown)
    return;
  clear();
  llvm::errs() << line << "\n";
}

void Progress::watch(CompileOptions &options) {
  if (!shown)
    return;
  options.onPhase = [this](StringRef phase, double ms) {
    clear();
    llvm::errs() << llvm::format("%-12s %8.1f ms\n", phase.str().c_str(), ms);
  };
  options.onProgress = [this](StringRef stage, uint64_t done, uint64_t total) {
    clear();
    llvm::errs() << "code: " << stage << " " << done << " of " << total;
    pending = true;
  };
}

int refuse(const Twine &message) {
  llvm::errs() << "error " << message << "\n";
  return BadInput;
}

void bindImportOptions(CLI::App &command, ImportOptions &options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--shape",
          [&options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              if (!parseShapeOption(text, options))
                throw CLI::ValidationError("--shape", "expected NAME=SIZExSIZE..., found '" + text + "'");
          },
          "sizes of an input, as x=1x3x224x224; '?' keeps an axis")
      ->allow_extra_args(false) // one value each, so that the model may follow
      ->take_all();
  command.add_flag("--overridable-inputs", options.overridableInputs, "keep initializers that are inputs as inputs");
#define MOPT_LIMIT(field, flag, value, text)                                                                                \
  command.add_option("--" flag, options.limits.field, text)->capture_default_str()->group("Limits");
  MOPT_IMPORT_LIMITS(MOPT_LIMIT)
#undef MOPT_LIMIT
}

void bindRequantizeOption(CLI::App &command, std::string &mode) {
  command
      .add_option("--requantize", mode,
                  "how sums become quantized integers: float, as ONNX says, or fixed, in integers alone; default: float, on "
                  "Hexagon fixed")
      ->check(CLI::IsMember({"float", "fixed"}));
}

} // namespace mopt::tool
