//===- Tensors.h - every storage form of a tensor -----------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_TENSORS_H
#define MOPT_LIB_IMPORT_TENSORS_H

#include "Diagnostics.h"
#include "Files.h"
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Import/Import.h"
#include "onnx/onnx_pb.h"
#include <map>

namespace mopt {
namespace pb = mopt_onnx;

/// Turns tensors of a model into constants. Large ones become handles into the mapped files, whatever their form lets.
class TensorReader {
public:
  /// `bytes`: the model file, already known to the weight store as `source`.
  TensorReader(MLIRContext *context, const ImportOptions &options, ArrayRef<uint8_t> bytes, StringRef source)
      : context(context), options(options), bytes(bytes), source(source.str()) {}

  FailureOr<TypedAttr> read(const pb::TensorProto &tensor, Location location);
  FailureOr<TypedAttr> readSparse(const pb::SparseTensorProto &tensor, Location location);
  /// Rank, sizes and element type within the limits; the number of elements.
  FailureOr<RankedTensorType> typeOf(ArrayRef<int64_t> dims, int32_t onnxType, Location location);
  /// Adds what identifies the external data to a hash.
  void hashExternal(llvm::function_ref<void(ArrayRef<uint8_t>)> update);
  bool damaged() const;

private:
  struct External {
    std::string source;
    std::shared_ptr<MappedFile> file;
    bool checked = false;
  };
  struct Range {
    unsigned field;
    uint64_t offset, bytes;
  };
  FailureOr<TypedAttr> readExternal(const pb::TensorProto &tensor, RankedTensorType type, Location location);
  FailureOr<External *> openExternal(const std::string &name, Location location);
  FailureOr<std::vector<Range>> ranges(const pb::TensorProto &tensor, Location location);
  FailureOr<std::vector<uint8_t>> typedData(const pb::TensorProto &tensor, RankedTensorType type, ArrayRef<Range> ranges,
                                            Location location);
  TypedAttr constant(StringRef sourceName, ArrayRef<uint8_t> whole, uint64_t offset, uint64_t size, RankedTensorType type);

  MLIRContext *context;
  const ImportOptions &options;
  ArrayRef<uint8_t> bytes;
  std::string source;
  Handle folder;
  std::map<std::string, External> external;
  uint64_t externalBytes = 0;
};

/// A source name that the context's store does not have yet.
std::string freshSource(MLIRContext *context, StringRef name);

} // namespace mopt
#endif
