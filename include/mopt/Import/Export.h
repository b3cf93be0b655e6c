//===- Export.h - the mopt dialect to ONNX bytes ------------------------------------------------------------------===//
#ifndef MOPT_IMPORT_EXPORT_H
#define MOPT_IMPORT_EXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mopt/Support/LLVM.h"

namespace mopt {

struct ExportOptions {
  /// Weights go to `<stem>.data` beside the model when the file would be larger than this (protobuf ends at 2 GiB).
  int64_t singleFileBytes = int64_t(1900) << 20;
};

/// Writes `@main` as a standard ONNX model: original names of nodes, tensors and sizes, the oldest opset from 21 on in
/// which every op can be said. The same module gives the same bytes. Written aside and renamed.
LogicalResult exportOnnx(ModuleOp module, StringRef path, const ExportOptions &options = {});

} // namespace mopt
#endif
