//===- Commands.h - what the commands share -----------------------------------------------------------------------===//
//
// One file per command. A command binds its options to a plain struct and sets `status` from its callback.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_TOOLS_COMPILER_COMMANDS_H
#define MOPT_TOOLS_COMPILER_COMMANDS_H

#include "mlir/IR/MLIRContext.h"
#include "mopt/Import/Import.h"
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

/// A context whose diagnostics go to stderr, one line each: "error MOPT-I011: ... (node 'x')".
class Context {
public:
  Context();
  MLIRContext *get() { return &context; }

private:
  MLIRContext context;
};

} // namespace mopt::tool
#endif
