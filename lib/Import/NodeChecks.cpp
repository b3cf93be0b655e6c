//===- NodeChecks.cpp - one node against the definition of its operator -------------------------------------------===//
#include "GraphBuilder.h"
#include "onnx/defs/data_type_utils.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {

using mopt_onnx::OpSchema;
using pb::AttributeProto;

static StringRef kindName(AttributeProto::AttributeType type) {
  constexpr StringRef names[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
                                 "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
                                 "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  auto index = static_cast<size_t>(type);
  return index < std::size(names) ? names[index] : "unknown";
}

/// Files of the first IR versions leave the kind out; it is that of the field in use.
static AttributeProto::AttributeType kindOf(const AttributeProto &attr) {
  if (attr.type() != AttributeProto::UNDEFINED)
    return attr.type();
  return attr.has_f()          ? AttributeProto::FLOAT
         : attr.has_i()        ? AttributeProto::INT
         : attr.has_s()        ? AttributeProto::STRING
         : attr.has_t()        ? AttributeProto::TENSOR
         : attr.has_g()        ? AttributeProto::GRAPH
         : attr.floats_size()  ? AttributeProto::FLOATS
         : attr.ints_size()    ? AttributeProto::INTS
         : attr.strings_size() ? AttributeProto::STRINGS
                               : AttributeProto::UNDEFINED;
}

static LogicalResult bad(Node &node, Diag diag, const Twine &message) {
  return fail(node.location, diag, quote(node.op()) + " of opset " + Twine(node.opset) + ": " + message);
}

static LogicalResult checkAttributes(Node &node) {
  const auto &known = node.schema->attributes();
  for (const auto &[name, attr] : node.attributes) {
    auto row = known.find(name);
    if (row == known.end())
      return bad(node, Diag::BadAttribute, "attribute " + quote(name) + " is unknown");
    auto kind = kindOf(*attr);
    // An empty list without a kind is a list of whatever is expected.
    if (kind != row->second.type && kind != AttributeProto::UNDEFINED)
      return bad(node, Diag::BadAttribute,
                 "attribute " + quote(name) + " is of kind " + kindName(kind) + ", expected " + kindName(row->second.type));
  }
  for (const auto &[name, row] : known)
    if (row.required && !node.attributes.count(name))
      return bad(node, Diag::BadAttribute, "attribute " + quote(name) + " is missing");
  return success();
}

/// "tensor(float)"; "" for what is no tensor.
static std::string typeText(Value value) {
  RankedTensorType tensor = tensorOf(value);
  int32_t number = tensor ? onnxType(tensor.getElementType()) : 0;
  return number ? "tensor(" + mopt_onnx::Utils::DataTypeUtils::ToDataTypeString(number) + ")" : "";
}

static LogicalResult checkInputs(Node &node) {
  const std::vector<OpSchema::FormalParameter> &formals = node.schema->inputs();
  std::map<std::string, std::string> bound; // type variables of the definition
  for (auto [i, value] : llvm::enumerate(node.inputs)) {
    if (formals.empty())
      return bad(node, Diag::BadArity, "it takes no inputs");
    const OpSchema::FormalParameter &formal = formals[std::min<size_t>(i, formals.size() - 1)];
    bool variadic = formal.GetOption() == OpSchema::Variadic;
    if (i >= formals.size() && !variadic)
      return bad(node, Diag::BadArity, "it takes " + Twine(formals.size()) + " inputs, found " + Twine(node.inputs.size()));
    if (!value) {
      if (formal.GetOption() == OpSchema::Single)
        return bad(node, Diag::BadArity, "input " + quote(formal.GetName()) + " is missing");
      continue;
    }
    std::string text = typeText(value);
    if (!llvm::any_of(formal.GetTypes(), [&](mopt_onnx::DataType type) { return *type == text; }))
      return bad(node, Diag::BadType,
                 "input " + quote(formal.GetName()) + " is " + text + ", which the operator does not take");
    if (variadic && !formal.GetIsHomogeneous())
      continue;
    auto [entry, fresh] = bound.emplace(formal.GetTypeStr(), text);
    if (!fresh && entry->second != text)
      return bad(node, Diag::BadType,
                 "input " + quote(formal.GetName()) + " is " + text + ", expected " + entry->second +
                     " as another input is");
  }
  for (size_t i = node.inputs.size(); i < formals.size(); ++i)
    if (formals[i].GetOption() == OpSchema::Single)
      return bad(node, Diag::BadArity, "input " + quote(formals[i].GetName()) + " is missing");
  if (static_cast<int>(node.inputs.size()) < node.schema->min_input())
    return bad(node, Diag::BadArity,
               "it needs " + Twine(node.schema->min_input()) + " inputs, found " + Twine(node.inputs.size()));
  return success();
}

LogicalResult checkNode(Node &node) {
  int outputs = node.proto->output_size();
  if (outputs > node.schema->max_output() || outputs < node.schema->min_output())
    return bad(node, Diag::BadArity,
               "it has " + Twine(node.schema->min_output()) + " to " + Twine(node.schema->max_output()) +
                   " outputs, found " + Twine(outputs));
  return failed(checkAttributes(node)) ? failure() : checkInputs(node);
}

Attribute convertAttribute(Node &node, const AttrRow &row, const AttributeProto &attr) {
  Builder b(node.location.getContext());
  auto kind = kindOf(attr);
  auto wrong = [&](StringRef expected) {
    (void)bad(node, Diag::BadAttribute,
              Twine("attribute '") + row.name + "' is of kind " + kindName(kind) + ", expected " + expected);
    return Attribute();
  };
  bool empty = kind == AttributeProto::UNDEFINED;
  switch (row.kind) {
  case AttrKind::Int:
    return kind == AttributeProto::INT ? b.getI64IntegerAttr(attr.i()) : wrong("INT");
  case AttrKind::Float:
    return kind == AttributeProto::FLOAT ? b.getF32FloatAttr(attr.f()) : wrong("FLOAT");
  case AttrKind::Ints:
    return kind == AttributeProto::INTS || empty
               ? b.getDenseI64ArrayAttr(SmallVector<int64_t>(attr.ints().begin(), attr.ints().end()))
               : wrong("INTS");
  case AttrKind::Floats:
    return kind == AttributeProto::FLOATS || empty
               ? b.getDenseF32ArrayAttr(SmallVector<float>(attr.floats().begin(), attr.floats().end()))
               : wrong("FLOATS");
  case AttrKind::Strings: {
    if (kind != AttributeProto::STRINGS && !empty)
      return wrong("STRINGS");
    SmallVector<Attribute> texts;
    for (const std::string &text : attr.strings())
      texts.push_back(b.getStringAttr(text));
    return b.getArrayAttr(texts);
  }
  case AttrKind::String:
  case AttrKind::Choice:
    if (kind != AttributeProto::STRING)
      return wrong("STRING");
    if (row.kind == AttrKind::Choice && !llvm::is_contained(ArrayRef(row.choices, row.numChoices), StringRef(attr.s()))) {
      (void)bad(node, Diag::BadAttribute,
                Twine("attribute '") + row.name + "' is " + quote(attr.s()) + ", expected one of " +
                    llvm::join(ArrayRef(row.choices, row.numChoices), ", "));
      return {};
    }
    return b.getStringAttr(attr.s());
  }
  return {};
}

} // namespace mopt
