//===- Commands.h - what the commands share -----------------------------------------------------------------------===//
//
// One file per command. A command binds its options to a plain struct and sets `status` from its callback.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_TOOLS_COMPILER_COMMANDS_H
#define MOPT_TOOLS_COMPILER_COMMANDS_H

#include "mlir/IR/MLIRContext.h"
#include "mopt/Import/Import.h"
#include "mopt/Pipelines/Compile.h"
#include <CLI/CLI.hpp>

namespace mopt::tool {

/// Exit status of every command.
enum Status { Right = 0, InternalFault = 1, BadInput = 2, GoalMissed = 3 };

void addCompile(CLI::App &app, int &status);
void addExplain(CLI::App &app, int &status);
void addImport(CLI::App &app, int &status);
void addExport(CLI::App &app, int &status);
void addInspect(CLI::App &app, int &status);
void addInterpret(CLI::App &app, int &status);
void addVerify(CLI::App &app, int &status);

/// Flags of what reads a model: limits, --shape, --overridable-inputs.
void bindImportOptions(CLI::App &command, ImportOptions &options);
/// --requantize.
void bindRequantizeOption(CLI::App &command, std::string &mode);

/// A context whose diagnostics go to stderr, one line each: "error MOPT-I011: ... (node 'x')".
class Context {
public:
  Context();
  MLIRContext *get() { return &context; }
  /// Reads an ONNX model or a module and binds the sizes that --shape gives; null after an error.
  OwningOpRef<ModuleOp> load(StringRef path, const ImportOptions &options);

private:
  MLIRContext context;
};

/// What a compilation does, on stderr if that is a terminal: a line for each phase that is done, and one that changes while
/// a phase is at work.
class Progress {
public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  /// Reports this compilation. The object has to live as long.
  void watch(CompileOptions &options);
  /// A line that stays.
  void say(const Twine &line);

private:
  void clear();
  bool shown, pending = false;
};

/// "error <message>" to stderr; the status for it.
int refuse(const Twine &message);

} // namespace mopt::tool
#endif
