//===- Tensors.cpp ------------------------------------------------------------------------------------------------===//
#include "Tensors.h"
#include "WireScanner.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA1.h"

namespace mopt {

using pb::TensorProto;

std::string freshSource(MLIRContext *context, StringRef name) {
  WeightStore &store = context->getOrLoadDialect<MoptDialect>()->getWeightStore();
  std::string fresh = name.str();
  for (unsigned i = 2; store.contains(fresh); ++i)
    fresh = (name + "~" + Twine(i)).str();
  return fresh;
}

FailureOr<RankedTensorType> TensorReader::typeOf(ArrayRef<int64_t> dims, int32_t onnxType, Location location) {
  const ImportLimits &limits = options.limits;
  if (onnxType == TensorProto::STRING)
    return fail(location, Diag::BadTensorType, "a tensor of strings");
  Type element = elementType(context, onnxType);
  if (!element)
    return fail(location, Diag::BadTensorType, "a tensor with data type " + Twine(onnxType));
  if (static_cast<int64_t>(dims.size()) > limits.rank)
    return fail(location, Diag::BadDims, "a tensor of rank " + Twine(dims.size()) + ", limit " + Twine(limits.rank));
  int64_t elements = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return fail(location, Diag::BadDims, "negative size " + Twine(dim));
    if (dim > limits.dim)
      return fail(location, Diag::BadDims, "size " + Twine(dim) + " of an axis, limit " + Twine(limits.dim));
    auto product = checked::mul(elements, dim);
    if (!product || *product > limits.elements)
      return fail(location, Diag::BadDims, "shape too large: more than " + Twine(limits.elements) + " elements");
    elements = *product;
  }
  return RankedTensorType::get(dims, element);
}

TypedAttr TensorReader::constant(StringRef sourceName, ArrayRef<uint8_t> whole, uint64_t offset, uint64_t size,
                                 RankedTensorType type) {
  constexpr uint64_t inlineBytes = 1024;
  if (size <= inlineBytes && !isa<ComplexType>(type.getElementType())) {
    ArrayRef<uint8_t> part = whole.slice(offset, size);
    return constantFromBytes(type, std::vector<uint8_t>(part.begin(), part.end()));
  }
  return WeightAttr::get(context, StringAttr::get(context, sourceName), static_cast<int64_t>(offset),
                         static_cast<int64_t>(size), type);
}

//===----------------------------------------------------------------------===//
// Data inside the model file
//===----------------------------------------------------------------------===//

FailureOr<std::vector<TensorReader::Range>> TensorReader::ranges(const TensorProto &tensor, Location location) {
  std::vector<Range> out;
  for (const pb::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() != rangeKey)
      continue;
    SmallVector<StringRef> parts;
    StringRef(entry.value()).split(parts, ' ');
    Range range;
    if (parts.size() != 3 || parts[0].getAsInteger(10, range.field) || parts[1].getAsInteger(10, range.offset) ||
        parts[2].getAsInteger(10, range.bytes) || range.offset > bytes.size() || range.bytes > bytes.size() - range.offset)
      return fail(location, Diag::Malformed, "a tensor's place in the file is lost");
    out.push_back(range);
  }
  return out;
}

namespace {
/// Field numbers of TensorProto.
enum : unsigned { FloatData = 4, Int32Data = 5, Int64Data = 7, RawData = 9, DoubleData = 10, Uint64Data = 11 };

/// The field that holds elements of a type, and bytes of one number there.
struct Storage {
  unsigned field = 0, bytes = 0;
};
Storage storageOf(int32_t type) {
  switch (type) {
  case TensorProto::FLOAT:
  case TensorProto::COMPLEX64:
    return {FloatData, 4};
  case TensorProto::DOUBLE:
  case TensorProto::COMPLEX128:
    return {DoubleData, 8};
  case TensorProto::INT64:
    return {Int64Data, 8};
  case TensorProto::UINT32:
    return {Uint64Data, 4};
  case TensorProto::UINT64:
    return {Uint64Data, 8};
  case TensorProto::INT32:
    return {Int32Data, 4};
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return {Int32Data, 2};
  default:
    return {Int32Data, 1};
  }
}

void append(std::vector<uint8_t> &out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
/// Whether a number of the field can be an element of `bytes` bytes: both signs are in use for the same bits.
bool fits(uint64_t value, unsigned bytes) {
  if (bytes == 8)
    return true;
  auto number = static_cast<int64_t>(value);
  return number >= -(int64_t(1) << (8 * bytes - 1)) && number < int64_t(1) << (8 * bytes);
}
} // namespace

FailureOr<std::vector<uint8_t>> TensorReader::typedData(const TensorProto &tensor, RankedTensorType type,
                                                        ArrayRef<Range> ranges, Location location) {
  Storage storage = storageOf(tensor.data_type());
  int64_t wanted = *storedBytes(type.getElementType(), type.getNumElements());
  std::vector<uint8_t> out;
  bool isBool = tensor.data_type() == TensorProto::BOOL;
  auto put = [&](uint64_t value) {
    if (static_cast<int64_t>(out.size()) > wanted)
      return true; // counted below; no need to keep more
    if (!fits(value, storage.bytes))
      return false;
    append(out, isBool ? value != 0 : value, storage.bytes);
    return true;
  };
  bool ok = true;
  int64_t extra = 0;
  for (float value : tensor.float_data()) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    append(out, bits, 4);
  }
  for (double value : tensor.double_data()) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    append(out, bits, 8);
  }
  for (int32_t value : tensor.int32_data())
    ok &= put(static_cast<uint64_t>(static_cast<int64_t>(value)));
  for (int64_t value : tensor.int64_data())
    ok &= put(static_cast<uint64_t>(value));
  for (uint64_t value : tensor.uint64_data())
    ok &= put(value);
  for (const Range &range : ranges) {
    const uint8_t *at = bytes.data() + range.offset, *end = at + range.bytes;
    if (range.field == FloatData || range.field == DoubleData) {
      out.insert(out.end(), at, end);
      continue;
    }
    for (uint64_t value; ok && at != end;) {
      if (!readVarint(at, end, value))
        return fail(location, Diag::Malformed, "a tensor's numbers end inside a number");
      if (static_cast<int64_t>(out.size()) > wanted)
        ++extra;
      ok &= put(range.field == Int32Data ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value))) : value);
    }
  }
  if (!ok)
    return fail(location, Diag::BadTensorData, "a number that does not fit the tensor's type");
  if (static_cast<int64_t>(out.size()) != wanted)
    return fail(location, Diag::BadTensorData,
                "the data has " + Twine(static_cast<int64_t>(out.size()) + extra) + " bytes, the shape needs " +
                    Twine(wanted));
  return out;
}

FailureOr<TypedAttr> TensorReader::read(const TensorProto &tensor, Location location) {
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  FailureOr<RankedTensorType> type = typeOf(dims, tensor.data_type(), location);
  if (failed(type))
    return failure();
  if (tensor.has_segment())
    return fail(location, Diag::BadTensorData, "a tensor in segments");
  auto wanted = storedBytes(type->getElementType(), type->getNumElements());
  if (!wanted)
    return fail(location, Diag::BadDims, "shape too large");
  FailureOr<std::vector<Range>> places = ranges(tensor, location);
  if (failed(places))
    return failure();
  // One field holds the data; which, follows from the type. Two would be two meanings.
  Storage storage = storageOf(tensor.data_type());
  unsigned fields = 0, used = 0;
  auto note = [&](unsigned field, bool present) {
    if (present || llvm::any_of(*places, [&](const Range &r) { return r.field == field; })) {
      ++fields;
      used = field;
    }
  };
  note(RawData, tensor.has_raw_data());
  note(FloatData, tensor.float_data_size());
  note(DoubleData, tensor.double_data_size());
  note(Int32Data, tensor.int32_data_size());
  note(Int64Data, tensor.int64_data_size());
  note(Uint64Data, tensor.uint64_data_size());
  bool isExternal = tensor.has_data_location() && tensor.data_location() == TensorProto::EXTERNAL;
  if (fields + isExternal > 1)
    return fail(location, Diag::BadTensorData, "a tensor with data in two fields");
  if (isExternal)
    return readExternal(tensor, *type, location);
  if (tensor.string_data_size())
    return fail(location, Diag::BadTensorType, "a tensor of strings");
  if (fields && used != RawData && used != storage.field)
    return fail(location, Diag::BadTensorData,
                "a tensor of data type " + Twine(tensor.data_type()) + " with its data in field " + Twine(used) +
                    ", expected " + Twine(storage.field));
  if (used == RawData || (places->size() == 1 && (used == FloatData || used == DoubleData) && !tensor.float_data_size() &&
                          !tensor.double_data_size())) {
    // The same bytes in the file as in memory. Of several `raw_data` the last one counts, as protobuf has it.
    if (used == RawData && tensor.has_raw_data() && !places->empty())
      return fail(location, Diag::BadTensorData, "a tensor with data in two fields");
    if (!places->empty()) {
      const Range &range = places->back();
      if (range.bytes != static_cast<uint64_t>(*wanted))
        return fail(location, Diag::BadTensorData,
                    "the data has " + Twine(range.bytes) + " bytes, the shape needs " + Twine(*wanted));
      return constant(source, bytes, range.offset, range.bytes, *type);
    }
    const std::string &raw = tensor.raw_data();
    if (raw.size() != static_cast<size_t>(*wanted))
      return fail(location, Diag::BadTensorData,
                  "the data has " + Twine(raw.size()) + " bytes, the shape needs " + Twine(*wanted));
    return constantFromBytes(*type, std::vector<uint8_t>(raw.begin(), raw.end()));
  }
  FailureOr<std::vector<uint8_t>> data = typedData(tensor, *type, *places, location);
  if (failed(data))
    return failure();
  return constantFromBytes(*type, std::move(*data));
}

//===----------------------------------------------------------------------===//
// Data in other files
//===----------------------------------------------------------------------===//

FailureOr<TensorReader::External *> TensorReader::openExternal(const std::string &name, Location location) {
  auto found = external.find(name);
  if (found != external.end())
    return &found->second;
  std::string reason;
  if (!folder && !options.folder.empty())
    folder = openFolder(options.folder, reason);
  Handle file = openBeneath(folder, name, reason);
  if (!file)
    return fail(location, Diag::ExternalLocation, "external data file " + quote(name) + " is refused: " + reason);
  External entry;
  entry.file = MappedFile::map(file, reason);
  if (!entry.file)
    return fail(location, Diag::CannotRead, "external data file " + quote(name) + ": " + reason);
  externalBytes += entry.file->bytes().size();
  if (externalBytes > static_cast<uint64_t>(options.limits.externalBytes))
    return fail(location, Diag::LimitExceeded,
                "external data of " + Twine(externalBytes) + " bytes, limit " + Twine(options.limits.externalBytes));
  entry.source = freshSource(context, name);
  MappedFile::addTo(context->getOrLoadDialect<MoptDialect>()->getWeightStore(), entry.source, entry.file);
  return &external.emplace(name, std::move(entry)).first->second;
}

FailureOr<TypedAttr> TensorReader::readExternal(const TensorProto &tensor, RankedTensorType type, Location location) {
  std::string name, checksum;
  std::optional<uint64_t> offset, length;
  llvm::SmallVector<StringRef, 4> seen;
  for (const pb::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (llvm::is_contained(seen, key))
      return fail(location, Diag::ExternalRange, "external data key " + quote(key) + " is given twice");
    seen.push_back(key);
    uint64_t number = 0;
    if (key == "location") {
      name = value.str();
    } else if (key == "checksum") {
      checksum = value.lower();
    } else if (key == "offset" || key == "length") {
      if (value.getAsInteger(10, number) || number > static_cast<uint64_t>(INT64_MAX))
        return fail(location, Diag::ExternalRange, "external data " + key.str() + " " + quote(value));
      (key == "offset" ? offset : length) = number;
    } else {
      warn(location, Diag::IgnoredContent, "external data key " + quote(key) + " is not known");
    }
  }
  if (name.empty())
    return fail(location, Diag::ExternalLocation, "external data without a location");
  FailureOr<External *> opened = openExternal(name, location);
  if (failed(opened))
    return failure();
  External &entry = **opened;
  ArrayRef<uint8_t> whole = entry.file->bytes();
  uint64_t wanted = static_cast<uint64_t>(*storedBytes(type.getElementType(), type.getNumElements()));
  uint64_t begin = offset.value_or(0), size = length.value_or(wanted);
  if (begin > whole.size() || size > whole.size() - begin)
    return fail(location, Diag::ExternalRange,
                "bytes [" + Twine(begin) + ", +" + Twine(size) + ") of " + quote(name) + ", which has " +
                    Twine(whole.size()));
  if (size != wanted)
    return fail(location, Diag::BadTensorData,
                "the external data has " + Twine(size) + " bytes, the shape needs " + Twine(wanted));
  if (!checksum.empty() && !entry.checked) {
    constexpr size_t chunk = size_t(16) << 20;
    llvm::SHA1 sha;
    for (size_t at = 0; at < whole.size(); at += chunk) {
      sha.update(whole.slice(at, std::min(chunk, whole.size() - at)));
      entry.file->forget(at, chunk);
    }
    if (llvm::toHex(sha.final(), /*LowerCase=*/true) != checksum)
      return fail(location, Diag::ExternalChecksum,
                  "external data file " + quote(name) + " has another SHA1 than " + quote(checksum));
    entry.checked = true;
  }
  return constant(entry.source, whole, begin, size, type);
}

void TensorReader::hashExternal(llvm::function_ref<void(ArrayRef<uint8_t>)> update) {
  constexpr size_t chunk = size_t(16) << 20;
  for (auto &[name, entry] : external) {
    update({reinterpret_cast<const uint8_t *>(name.data()), name.size()});
    ArrayRef<uint8_t> whole = entry.file->bytes();
    for (size_t at = 0; at < whole.size(); at += chunk) {
      update(whole.slice(at, std::min(chunk, whole.size() - at)));
      entry.file->forget(at, chunk);
    }
  }
}

bool TensorReader::damaged() const {
  return llvm::any_of(external, [](const auto &entry) { return entry.second.file->damaged(); });
}

//===----------------------------------------------------------------------===//
// Sparse tensors
//===----------------------------------------------------------------------===//

FailureOr<TypedAttr> TensorReader::readSparse(const pb::SparseTensorProto &tensor, Location location) {
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  FailureOr<RankedTensorType> type = typeOf(dims, tensor.values().data_type(), location);
  if (failed(type))
    return failure();
  if (tensor.indices().data_type() != TensorProto::INT64)
    return fail(location, Diag::BadSparse,
                "indices of data type " + Twine(tensor.indices().data_type()) + ", expected INT64");
  int64_t bits = storedBits(type->getElementType()), total = type->getNumElements();
  auto size = storedBytes(type->getElementType(), total);
  if (bits % 8 || !size)
    return fail(location, Diag::BadSparse, "a sparse tensor of elements smaller than a byte");
  if (*size > options.limits.sparseBytes)
    return fail(location, Diag::LimitExceeded,
                "a sparse tensor of " + Twine(*size) + " bytes when dense, limit " + Twine(options.limits.sparseBytes));
  FailureOr<TypedAttr> values = read(tensor.values(), location), indices = read(tensor.indices(), location);
  if (failed(values) || failed(indices))
    return failure();
  auto valuesType = dyn_cast<RankedTensorType>(values->getType()),
       indicesType = dyn_cast<RankedTensorType>(indices->getType());
  if (!valuesType || !indicesType || valuesType.getRank() != 1)
    return fail(location, Diag::BadSparse, "values that are not a vector");
  int64_t count = valuesType.getNumElements(), rank = type->getRank();
  bool linear = indicesType.getRank() == 1;
  if (!(linear && indicesType.getDimSize(0) == count) &&
      !(indicesType.getRank() == 2 && indicesType.getDimSize(0) == count && indicesType.getDimSize(1) == rank))
    return fail(location, Diag::BadSparse,
                "indices do not have the shape [" + Twine(count) + "] or [" + Twine(count) + ", " + Twine(rank) + "]");
  std::vector<uint8_t> scratchValues, scratchIndices;
  auto valueBytes = constantBytes(*values, context, scratchValues),
       indexBytes = constantBytes(*indices, context, scratchIndices);
  int64_t width = bits / 8;
  if (!valueBytes || !indexBytes || static_cast<int64_t>(valueBytes->size()) < count * width ||
      static_cast<int64_t>(indexBytes->size()) < count * (linear ? 1 : rank) * 8)
    return fail(location, Diag::BadSparse, "data that cannot be read");
  std::vector<uint8_t> dense(static_cast<size_t>(*size), 0);
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t flat = 0;
    for (int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      int64_t index;
      memcpy(&index, indexBytes->data() + (i * (linear ? 1 : rank) + axis) * 8, 8);
      int64_t bound = linear ? total : type->getDimSize(axis);
      if (index < 0 || index >= bound)
        return fail(location, Diag::BadSparse, "index " + Twine(index) + ", expected 0 to " + Twine(bound - 1));
      flat = linear ? index : flat * bound + index;
    }
    if (flat <= last)
      return fail(location, Diag::BadSparse, "indices that repeat or are not in ascending order");
    last = flat;
    memcpy(dense.data() + flat * width, valueBytes->data() + i * width, static_cast<size_t>(width));
  }
  return constantFromBytes(*type, std::move(dense));
}

} // namespace mopt
