//===- Recognize.h - what a file is, by its first bytes -----------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_RECOGNIZE_H
#define MOPT_LIB_IMPORT_RECOGNIZE_H

#include "mopt/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mopt {

/// MLIR as bytecode, or as text that starts as modules do. An ONNX model never looks like that: the first byte of either
/// form is no field of a ModelProto.
bool isModule(ArrayRef<uint8_t> bytes);

/// "a zip archive, ..." with what to do, for files that are often given by mistake; "" for what is not known.
StringRef describeContent(ArrayRef<uint8_t> bytes);

} // namespace mopt
#endif
