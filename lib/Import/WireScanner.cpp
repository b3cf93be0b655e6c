//===- WireScanner.cpp --------------------------------------------------------------------------------------------===//
#include "WireScanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mopt {

bool readVarint(const uint8_t *&at, const uint8_t *end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == end)
      return false;
    uint8_t byte = *at++;
    if (shift == 63 && byte > 1)
      return false;
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

namespace {

enum Message : uint8_t {
  Model,
  Graph,
  Node,
  Attr,
  Tensor,
  Sparse,
  Info,
  TypeP,
  TensorType,
  Seq,
  MapType,
  Opt,
  Shape,
  Dim,
  Entry,
  Opset,
  Function,
  Plain
};
enum Kind : uint8_t {
  Varint,  // one number, or many packed
  Fixed32, // the same, four bytes each
  Fixed64,
  Name,    // a string with the limit of names
  Text,    // a string with the limit of string attributes
  Child,   // a message
  Payload, // bytes, or packed numbers, that stay in the file when there are many
  Drop,    // not needed by the importer
};
struct Field {
  unsigned number;
  Kind kind;
  Message child = Plain;
  Kind element = Name; // of Payload: Varint, Fixed32, Fixed64, Name for bytes
};
struct Descriptor {
  const char *name;
  llvm::ArrayRef<Field> fields;
};

constexpr Field modelFields[] = {
    {1, Varint},       {2, Name},         {3, Name},  {4, Name},  {5, Varint},           {6, Drop},
    {7, Child, Graph}, {8, Child, Opset}, {14, Drop}, {20, Drop}, {25, Child, Function}, {26, Drop}};
constexpr Field graphFields[] = {{1, Child, Node},    {2, Name},         {5, Child, Tensor}, {10, Drop},
                                 {11, Child, Info},   {12, Child, Info}, {13, Child, Info},  {14, Drop},
                                 {15, Child, Sparse}, {16, Drop}};
constexpr Field nodeFields[] = {{1, Name}, {2, Name}, {3, Name}, {4, Name}, {5, Child, Attr},
                                {6, Drop}, {7, Name}, {8, Name}, {9, Drop}, {10, Drop}};
constexpr Field attrFields[] = {
    {1, Name},          {2, Fixed32},       {3, Varint},  {4, Text},           {5, Child, Tensor},  {6, Child, Graph},
    {7, Fixed32},       {8, Varint},        {9, Text},    {10, Child, Tensor}, {11, Child, Graph},  {13, Drop},
    {14, Child, TypeP}, {15, Child, TypeP}, {20, Varint}, {21, Name},          {22, Child, Sparse}, {23, Child, Sparse}};
constexpr Field tensorFields[] = {{1, Varint},
                                  {2, Varint},
                                  {3, Drop},
                                  {4, Payload, Plain, Fixed32},
                                  {5, Payload, Plain, Varint},
                                  {6, Text},
                                  {7, Payload, Plain, Varint},
                                  {8, Name},
                                  {9, Payload},
                                  {10, Payload, Plain, Fixed64},
                                  {11, Payload, Plain, Varint},
                                  {12, Drop},
                                  {13, Child, Entry},
                                  {14, Varint},
                                  {16, Drop}};
constexpr Field sparseFields[] = {{1, Child, Tensor}, {2, Child, Tensor}, {3, Varint}};
constexpr Field infoFields[] = {{1, Name}, {2, Child, TypeP}, {3, Drop}, {4, Drop}};
constexpr Field typeFields[] = {{1, Child, TensorType}, {4, Child, Seq},        {5, Child, MapType}, {6, Drop},
                                {7, Child, Plain},      {8, Child, TensorType}, {9, Child, Opt}};
constexpr Field tensorTypeFields[] = {{1, Varint}, {2, Child, Shape}};
constexpr Field seqFields[] = {{1, Child, TypeP}};
constexpr Field mapFields[] = {{1, Varint}, {2, Child, TypeP}};
constexpr Field shapeFields[] = {{1, Child, Dim}};
constexpr Field dimFields[] = {{1, Varint}, {2, Name}, {3, Drop}};
constexpr Field entryFields[] = {{1, Name}, {2, Text}};
constexpr Field opsetFields[] = {{1, Name}, {2, Varint}};
constexpr Field functionFields[] = {{1, Name},         {4, Name},  {5, Name},         {6, Name},
                                    {7, Child, Node},  {8, Drop},  {9, Child, Opset}, {10, Name},
                                    {11, Child, Attr}, {12, Drop}, {13, Name},        {14, Drop}};
const Descriptor descriptors[] = {{"ModelProto", modelFields},
                                  {"GraphProto", graphFields},
                                  {"NodeProto", nodeFields},
                                  {"AttributeProto", attrFields},
                                  {"TensorProto", tensorFields},
                                  {"SparseTensorProto", sparseFields},
                                  {"ValueInfoProto", infoFields},
                                  {"TypeProto", typeFields},
                                  {"TypeProto.Tensor", tensorTypeFields},
                                  {"TypeProto.Sequence", seqFields},
                                  {"TypeProto.Map", mapFields},
                                  {"TypeProto.Optional", seqFields},
                                  {"TensorShapeProto", shapeFields},
                                  {"TensorShapeProto.Dimension", dimFields},
                                  {"StringStringEntryProto", entryFields},
                                  {"OperatorSetIdProto", opsetFields},
                                  {"FunctionProto", functionFields},
                                  {"TypeProto.Opaque", {}}};

/// Fewer bytes than this are not worth a place in a table.
constexpr uint64_t smallPayload = 256;

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

class Scanner {
public:
  Scanner(ArrayRef<uint8_t> file, const ImportLimits &limits, ScanResult &result, ScanError &error,
          llvm::function_ref<void(uint64_t, uint64_t)> passed)
      : start(file.data()), fileEnd(file.data() + file.size()), limits(limits), result(result), out(result.reduced),
        error(error), passed(passed) {}

  bool model() {
    if (start == fileEnd)
      return bad(Diag::NotAModel, "the file is empty");
    if (!message(Model, start, fileEnd, 0))
      return false;
    if (!sawGraph)
      return bad(Diag::NotAModel, "not an ONNX ModelProto: it has no graph");
    return true;
  }

private:
  bool bad(Diag diag, const Twine &text) {
    error.diag = diag;
    error.message = text.str();
    return false;
  }
  /// A file whose first fields make no sense is no model; what goes wrong later is damage.
  bool malformed(Message kind, const uint8_t *at, const Twine &text) {
    bool first = kind == Model && !sawGraph && !sawVersion;
    return bad(first ? Diag::NotAModel : Diag::Malformed,
               Twine(first ? "not an ONNX ModelProto: " : "") + text + " in " + descriptors[kind].name + " at byte " +
                   Twine(static_cast<uint64_t>(at - start)) + " of " + Twine(static_cast<uint64_t>(fileEnd - start)));
  }
  bool over(StringRef what, int64_t limit, const uint8_t *at) {
    return bad(Diag::LimitExceeded, Twine("too many ") + what + ", limit " + Twine(limit) + ", at byte " +
                                        Twine(static_cast<uint64_t>(at - start)));
  }
  bool count(Message kind, unsigned number, const uint8_t *at) {
    if (++messages > limits.messages)
      return over("messages", limits.messages, at);
    if ((kind == Graph && number == 1) || (kind == Function && number == 7)) {
      if (++nodes > limits.nodes)
        return over("nodes", limits.nodes, at);
    } else if (kind == Graph && (number == 5 || number == 15)) {
      if (++initializers > limits.initializers)
        return over("initializers", limits.initializers, at);
    } else if (kind == Model && number == 25) {
      if (++functions > limits.functions)
        return over("functions", limits.functions, at);
    } else if (kind == Model && number == 7) {
      if (sawGraph)
        return bad(Diag::Malformed, "the model has two graphs");
      sawGraph = true;
    }
    return true;
  }

  bool message(Message kind, const uint8_t *at, const uint8_t *end, int64_t depth);
  bool lengthDelimited(Message kind, const Field &field, const uint8_t *tag, const uint8_t *at, uint64_t size,
                       int64_t depth);
  void range(unsigned field, const uint8_t *at, uint64_t size) {
    std::string value = (Twine(field) + " " + Twine(static_cast<uint64_t>(at - start)) + " " + Twine(size)).str();
    std::string entry;
    entry += '\x0a';
    putVarint(entry, rangeKey.size());
    entry += rangeKey;
    entry += '\x12';
    putVarint(entry, value.size());
    entry += value;
    out += '\x6a'; // external_data
    putVarint(out, entry.size());
    out += entry;
    constexpr uint64_t large = uint64_t(1) << 20;
    if (!passed || size < large)
      return;
    // The end of the tensor before has come back with the head of this one.
    uint64_t begin = static_cast<uint64_t>(at - start);
    passed(lastLarge, begin + size - lastLarge);
    lastLarge = begin;
  }

  const uint8_t *start, *fileEnd;
  const ImportLimits &limits;
  ScanResult &result;
  std::string &out;
  ScanError &error;
  llvm::function_ref<void(uint64_t, uint64_t)> passed;
  uint64_t lastLarge = 0; // where the last large tensor begins
  bool sawGraph = false, sawVersion = false;
  int64_t messages = 0, nodes = 0, initializers = 0, functions = 0, names = 0;
};

bool Scanner::lengthDelimited(Message kind, const Field &field, const uint8_t *tag, const uint8_t *at, uint64_t size,
                              int64_t depth) {
  const uint8_t *end = at + size;
  switch (field.kind) {
  case Drop:
    if (kind == Model && field.number == 20)
      result.hasTraining = true;
    return true;
  case Child: {
    if (depth + 1 > limits.depth)
      return bad(Diag::TooDeep, "messages are nested more than " + Twine(limits.depth) + " deep at byte " +
                                    Twine(static_cast<uint64_t>(at - start)));
    if (!count(kind, field.number, at))
      return false;
    putVarint(out, static_cast<uint64_t>(field.number) << 3 | 2);
    size_t mark = out.size();
    if (!message(field.child, at, end, depth + 1))
      return false;
    std::string length;
    putVarint(length, out.size() - mark);
    out.insert(mark, length);
    return true;
  }
  case Payload:
    if (size > smallPayload) {
      range(field.number, at, size);
      return true;
    }
    break;
  case Name:
    if (size > static_cast<uint64_t>(limits.nameBytes))
      return bad(Diag::LimitExceeded, Twine("a name of ") + Twine(size) + " bytes in " + descriptors[kind].name +
                                          " at byte " + Twine(static_cast<uint64_t>(at - start)) + ", limit " +
                                          Twine(limits.nameBytes));
    if (kind == Entry && StringRef(reinterpret_cast<const char *>(at), size).starts_with(rangeKey))
      return malformed(kind, at, "a key that is reserved");
    if ((kind == Node || kind == Function) && ++names > limits.names)
      return over("names of values", limits.names, at);
    break;
  case Text:
    if (size > static_cast<uint64_t>(limits.stringBytes))
      return bad(Diag::LimitExceeded, Twine("a string of ") + Twine(size) + " bytes in " + descriptors[kind].name +
                                          " at byte " + Twine(static_cast<uint64_t>(at - start)) + ", limit " +
                                          Twine(limits.stringBytes));
    if (++names > limits.names)
      return over("strings", limits.names, at);
    break;
  case Varint:
  case Fixed32:
  case Fixed64:
    if (size > static_cast<uint64_t>(limits.attributeElements))
      return bad(Diag::LimitExceeded, Twine("a list of ") + Twine(size) + " bytes in " + descriptors[kind].name +
                                          " at byte " + Twine(static_cast<uint64_t>(at - start)) + ", limit " +
                                          Twine(limits.attributeElements));
    if (field.kind != Varint && size % (field.kind == Fixed32 ? 4 : 8))
      return malformed(kind, at, "a list that ends inside a number");
    break;
  }
  Kind element = field.kind == Payload ? field.element : field.kind;
  if (element == Varint) // the protobuf library would refuse it too, without saying where
    for (const uint8_t *number = at; number != end;) {
      uint64_t ignored;
      if (!readVarint(number, end, ignored))
        return malformed(kind, at, "a list that ends inside a number");
    }
  out.append(reinterpret_cast<const char *>(tag), end - tag);
  return true;
}

bool Scanner::message(Message kind, const uint8_t *at, const uint8_t *end, int64_t depth) {
  while (at != end) {
    const uint8_t *tag = at;
    uint64_t key;
    if (!readVarint(at, end, key) || key >> 3 == 0 || key >> 32)
      return malformed(kind, tag, "a field without a number");
    unsigned number = static_cast<unsigned>(key >> 3), wire = key & 7;
    const Field *field = llvm::find_if(descriptors[kind].fields, [&](const Field &f) { return f.number == number; });
    bool known = field != descriptors[kind].fields.end();
    // Fields are added to ONNX now and then; but a model that starts with an unknown one is something else.
    if (!known && kind == Model && !sawVersion && !sawGraph)
      return malformed(kind, tag, "an unknown field");
    uint64_t value = 0;
    switch (wire) {
    case 0:
      if (!readVarint(at, end, value))
        return malformed(kind, tag, "the file ends inside a number");
      break;
    case 1:
    case 5: {
      size_t bytes = wire == 1 ? 8 : 4;
      if (static_cast<size_t>(end - at) < bytes)
        return malformed(kind, tag, "the file ends inside a number");
      at += bytes;
      break;
    }
    case 2:
      if (!readVarint(at, end, value) || value > static_cast<uint64_t>(end - at))
        return malformed(kind, tag,
                         Twine("a field of ") + Twine(value) + " bytes where " + Twine(static_cast<uint64_t>(end - at)) +
                             " are left");
      if (known) {
        if (!lengthDelimited(kind, *field, tag, at, value, depth))
          return false;
        at += value;
        continue;
      }
      at += value;
      break;
    default:
      return malformed(kind, tag, "a field of a kind that ONNX does not use");
    }
    if (!known || field->kind == Drop)
      continue;
    if (wire != 2) {
      Kind element = field->kind == Payload ? field->element : field->kind;
      unsigned expected = element == Varint ? 0 : element == Fixed32 ? 5 : element == Fixed64 ? 1 : 2;
      if (wire != expected)
        return malformed(kind, tag, "field " + Twine(number) + " has another kind");
      if (kind == Model && number == 1)
        sawVersion = true;
      out.append(reinterpret_cast<const char *>(tag), at - tag);
    }
  }
  return true;
}

} // namespace

bool scanModel(ArrayRef<uint8_t> file, const ImportLimits &limits, ScanResult &result, ScanError &error,
               llvm::function_ref<void(uint64_t offset, uint64_t bytes)> passed) {
  return Scanner(file, limits, result, error, passed).model();
}

} // namespace mopt
