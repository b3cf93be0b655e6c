//===- Import.h - ONNX bytes to the mopt dialect ------------------------------------------------------------------===//
#ifndef MOPT_IMPORT_IMPORT_H
#define MOPT_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mopt/Import/Limits.h"
#include "mopt/Support/LLVM.h"
#include <map>
#include <vector>

namespace mopt {

struct ImportOptions {
  ImportLimits limits;
  /// Sizes of inputs by name, ShapedType::kDynamic for an axis that stays as the model has it. A size given for a
  /// symbol holds wherever the symbol stands.
  std::map<std::string, SmallVector<int64_t>> shapes;
  /// Initializers that are graph inputs too are inputs that a caller may leave out. By default they are constants, so
  /// that they fold; with this they stay inputs (and have to be given).
  bool overridableInputs = false;
  /// Name of the model in the handles of its weights, and the folder of its external data. Follow from the path when a
  /// file is imported; without a folder a model from memory may not have external data.
  std::string sourceName, folder;
};

/// Registers what an import creates.
void loadImportDialects(MLIRContext *context);

/// Reads a model file. Errors go to the context's diagnostic engine, each with a code; null then.
OwningOpRef<ModuleOp> importOnnxFile(StringRef path, MLIRContext *context, const ImportOptions &options);
/// Reads a model from memory; `keepAlive` owns the bytes, in which large weights stay.
OwningOpRef<ModuleOp> importOnnx(ArrayRef<uint8_t> bytes, std::shared_ptr<void> keepAlive, MLIRContext *context,
                                 const ImportOptions &options);

/// "x=1x3x224x224": the name may hold '=', an axis may be '?'. False when the text is not of this form.
bool parseShapeOption(StringRef text, ImportOptions &options);

/// What a file holds: `.onnx` is ONNX; for other names the first bytes tell, or the end of the name where these do not.
enum class FileKind { onnx, module };
FileKind fileKind(StringRef path);
/// Reads an ONNX model, or an MLIR module (text or bytecode) with the weight sources found beside the file.
OwningOpRef<ModuleOp> loadModule(StringRef path, MLIRContext *context, const ImportOptions &options);

/// Writes `module` as text and all its weights to `<stem>.weights` beside it. Both get their names when both are written and
/// `beforeCommit`, if given, agrees.
LogicalResult saveModule(ModuleOp module, StringRef path, llvm::function_ref<LogicalResult()> beforeCommit = {});

/// A file that another process may cut while it is mapped: a page that vanished reads as zeros and is remembered.
/// True when that happened to any file of this process.
bool anyMappedFileDamaged();

} // namespace mopt
#endif
