//===- mopt-compiler.cpp - commands that need the compiler --------------------------------------------------------===//
#include "Commands.h"
#include "llvm/Support/raw_ostream.h"

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
