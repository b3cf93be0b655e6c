//===- mopt-compiler.cpp - commands that need the compiler --------------------------------------------------------===//
#include "Commands.h"
#include "mlir/IR/Diagnostics.h"
#include "mopt/Dialect/Mopt/Mopt.h"
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

} // namespace mopt::tool

int main(int argc, char **argv) {
  using namespace mopt::tool;
  CLI::App app("mopt compiler: reads, changes and compiles ONNX models", "mopt");
  app.require_subcommand(1);
  int status = Right;
  addCompile(app, status);
  addImport(app, status);
  addExplain(app, status);
  addExport(app, status);
  addInspect(app, status);
  addInterpret(app, status);
  addVerify(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    llvm::errs() << "error MOPT-T000: " << text << " (mopt "
                 << (app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name())
                 << " --help shows how)\n";
    return BadInput;
  } catch (const std::exception &error) {
    llvm::errs() << "error: " << error.what() << "\n";
    return InternalFault;
  }
  return status;
}
