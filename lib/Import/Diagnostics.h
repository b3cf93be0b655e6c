//===- Diagnostics.h - coded errors about models ------------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_DIAGNOSTICS_H
#define MOPT_LIB_IMPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

/// Numbers of the codes MOPT-Innn in Diagnostics.def.
enum class Diag : unsigned {
  NotAModel = 1,
  Malformed = 2,
  TooDeep = 3,
  LimitExceeded = 4,
  CannotRead = 5,
  IrVersion = 6,
  OpsetImport = 7,
  UnsupportedOp = 8,
  FunctionCycle = 9,
  DuplicateName = 10,
  UndefinedValue = 11,
  BadDims = 12,
  BadTensorData = 13,
  BadTensorType = 14,
  ExternalLocation = 15,
  ExternalRange = 16,
  ExternalChecksum = 17,
  BadAttribute = 18,
  BadArity = 19,
  BadType = 20,
  ControlFlow = 21,
  BadInput = 22,
  BadShapeOption = 23,
  BadSparse = 24,
  FunctionBody = 25,
  FileChanged = 26,
  CannotWrite = 27,
  CannotExport = 28,
  OverridableInput = 29,
  DeclaredShape = 30,
  IgnoredContent = 31,
  BadModuleFile = 32,
  UnknownRank = 33,
};
std::string diagCode(Diag diag);
StringRef diagAdvice(Diag diag);

/// Reports "<code>: <message>; <advice>" at `location` and returns failure.
LogicalResult fail(Location location, Diag diag, const Twine &message);
void warn(Location location, Diag diag, const Twine &message);

/// While it lives, errors that MLIR reports without a code (of its verifiers and its parser) get one.
class CodedErrors {
public:
  CodedErrors(MLIRContext *context, Diag diag);

private:
  ScopedDiagnosticHandler handler;
};

/// Text of a file as diagnostics may show it: in quotes, control and non-ASCII characters escaped, cut at 120.
std::string quote(StringRef text);

} // namespace mopt
#endif
