//===- WireScanner.h - the first look at a model file -------------------------------------------------------------===//
//
// Walks the protobuf of a ModelProto with every length checked, and writes a reduced copy without the bytes of tensors:
// in their place stands where they are in the file. The protobuf library parses that copy only, so that its memory
// follows the graph and not the weights, and what it sees is well formed and within the limits.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_WIRESCANNER_H
#define MOPT_LIB_IMPORT_WIRESCANNER_H

#include "Diagnostics.h"
#include "mopt/Import/Limits.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mopt {

/// Key of the entry in `TensorProto.external_data` that replaces tensor bytes: "<field> <offset> <bytes>". A file that
/// uses the key itself is refused.
constexpr llvm::StringLiteral rangeKey = "\x01mopt.range";

struct ScanError {
  Diag diag = Diag::Malformed;
  std::string message;
};
struct ScanResult {
  std::string reduced;
  bool hasTraining = false;
};
/// False with an error when the bytes are not a model within the limits. `passed` is told of ranges with large tensors that
/// the scan is through with: reading beside a tensor maps pages of it too, which then count as memory.
bool scanModel(ArrayRef<uint8_t> file, const ImportLimits &limits, ScanResult &result, ScanError &error,
               llvm::function_ref<void(uint64_t offset, uint64_t bytes)> passed = {});

/// Reads a varint; false at the end of the bytes or after ten bytes.
bool readVarint(const uint8_t *&at, const uint8_t *end, uint64_t &value);

} // namespace mopt
#endif
