//===- ExportOps.cpp - nodes from records -------------------------------------------------------------------------===//
#include "ExportOps.h"
#include "onnx/defs/data_type_utils.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {

using pb::AttributeProto;

/// An attribute of the op, or the record's default; null when it is left out and has none.
static Attribute attributeOf(Operation *op, const AttrRow &row) {
  Attribute given;
  if (auto inherent = op->getInherentAttr(row.name))
    given = *inherent;
  if (given || !row.hasDefault)
    return given;
  Builder b(op->getContext());
  if (row.kind == AttrKind::Int)
    return b.getI64IntegerAttr(static_cast<int64_t>(row.defaultValue));
  if (row.kind == AttrKind::Float)
    return b.getF32FloatAttr(static_cast<float>(row.defaultValue));
  if (row.kind == AttrKind::Choice && row.defaultValue < row.numChoices)
    return b.getStringAttr(row.choices[static_cast<size_t>(row.defaultValue)]);
  return {};
}

static std::string textOf(Attribute attr) {
  if (auto text = dyn_cast_or_null<StringAttr>(attr))
    return text.getValue().str();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
    return std::to_string(number.getInt());
  return "";
}

static bool isFixed(const OnnxRow &range, StringRef name) {
  for (const char *const *entry = range.set; entry && *entry; ++entry)
    if (StringRef(*entry).split('=').first == name)
      return true;
  return false;
}

const OnnxRow *rangeFor(Operation *op, const OpRow &row, int opset) {
  for (const OnnxRow &range : row.onnxRows()) {
    if (opset < range.since || (range.until && opset > range.until) || (range.attrInputs && *range.attrInputs))
      continue;
    // Sum, Mean, CastLike and Upsample are other ways to say an op that has a name of its own.
    StringRef name = range.name;
    if (name == "Sum" || name == "Mean" || name == "CastLike" || name == "Upsample")
      continue;
    bool matches = true;
    for (const char *const *entry = range.set; entry && *entry; ++entry) {
      auto [left, value] = StringRef(*entry).split('=');
      for (const AttrRow &attr : row.attrRows())
        if (left == attr.name && textOf(attributeOf(op, attr)) != value)
          matches = false;
    }
    // What a range does not fix has to be sayable or at its default: see `canWrite`.
    if (matches)
      return &range;
  }
  return nullptr;
}

static const mopt_onnx::OpSchema *schemaOf(StringRef type, int opset) {
  const auto *schema = mopt_onnx::OpSchemaRegistry::Schema(type.str(), opset, "");
  return schema && !schema->deprecated() ? schema : nullptr;
}

static bool isDefault(const AttrRow &row, Attribute value) {
  if (!value || !row.hasDefault)
    return !value;
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getInt() == static_cast<int64_t>(row.defaultValue);
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble() == static_cast<double>(static_cast<float>(row.defaultValue));
  if (auto text = dyn_cast<StringAttr>(value))
    return row.defaultValue < row.numChoices && text.getValue() == row.choices[static_cast<size_t>(row.defaultValue)];
  return false;
}

static bool typesFit(ValueRange values, const std::vector<mopt_onnx::OpSchema::FormalParameter> &formals,
                     std::string &reason) {
  for (auto [i, value] : llvm::enumerate(values)) {
    RankedTensorType tensor = tensorOf(value);
    if (!tensor)
      continue;
    if (formals.empty())
      return false;
    const auto &formal = formals[std::min<size_t>(i, formals.size() - 1)];
    std::string text =
        "tensor(" + mopt_onnx::Utils::DataTypeUtils::ToDataTypeString(onnxType(tensor.getElementType())) + ")";
    if (!llvm::any_of(formal.GetTypes(), [&](mopt_onnx::DataType type) { return *type == text; })) {
      reason = "it does not take " + text;
      return false;
    }
  }
  return true;
}

bool NodeWriter::canWrite(Operation *op, int opset, std::string &reason) {
  if (isa<ConstantOp, NoneOp, func::ReturnOp>(op))
    return true;
  const OpRow *row = findOp(op);
  if (!row) {
    reason = "it is no op of a graph";
    return false;
  }
  if (isChannelsLast(op)) {
    reason = "its channels are the last axis, which ONNX cannot say; export a phase before the layout is chosen";
    return false;
  }
  if (auto mode = op->getAttrOfType<StringAttr>("requantize"); mode && mode.getValue() != "float") {
    reason = "its sums are requantized by fixed-point numbers, which ONNX cannot say; export with --requantize float";
    return false;
  }
  if (findWriter(op, opset))
    return true;
  const OnnxRow *range = rangeFor(op, *row, opset);
  const auto *schema = range ? schemaOf(range->name, opset) : nullptr;
  if (!schema) {
    reason = "opset " + std::to_string(opset) + " has no operator for it";
    return false;
  }
  for (const AttrRow &attr : row->attrRows())
    if (!isFixed(*range, attr.name) && !schema->attributes().count(attr.name) && !isDefault(attr, attributeOf(op, attr))) {
      reason = "opset " + std::to_string(opset) + " has no attribute '" + attr.name + "' of " + range->name;
      return false;
    }
  // Element types that only an attribute of newer versions can say.
  StringRef name = op->getName().stripDialect();
  if (name == "dequantize_linear" &&
      tensorOf(op->getResult(0)).getElementType() != tensorOf(op->getOperand(1)).getElementType() &&
      !schema->attributes().count("output_dtype")) {
    reason = "opset " + std::to_string(opset) + " cannot say its result type";
    return false;
  }
  // Until opset 21 a window that lies in the padding alone counted when sizes were rounded up.
  constexpr int windowsInPaddingDropped = 22;
  if (name.ends_with("_pool") && attrInt(op, "ceil_mode") && opset < windowsInPaddingDropped) {
    reason = "opset " + std::to_string(opset) + " has other sizes for ceil_mode";
    return false;
  }
  return typesFit(op->getOperands(), schema->inputs(), reason) && typesFit(op->getResults(), schema->outputs(), reason);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string NodeWriter::fresh(StringRef base) {
  std::string name = base.str();
  for (unsigned i = 1; name.empty() || !taken.insert(name).second; ++i)
    name = (base + "_" + Twine(i)).str();
  return name;
}

/// Inputs and outputs keep their names; then ops get the names that tensors had, where they are still free.
LogicalResult NodeWriter::nameValues() {
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, "mopt.name");
    std::string text = name ? name.getValue().str() : "input_" + std::to_string(i);
    if (!taken.insert(text).second)
      return fail(main.getLoc(), Diag::CannotExport, "two inputs are named " + quote(text));
    names[main.getArgument(i)] = text;
  }
  auto ret = dyn_cast<func::ReturnOp>(main.getBody().front().getTerminator());
  if (!ret)
    return fail(main.getLoc(), Diag::CannotExport, "main does not end in a return");
  llvm::StringMap<Value> named; // a value may be an output several times, under one name or several
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "mopt.name");
    std::string text = name ? name.getValue().str() : "output_" + std::to_string(i);
    if (!taken.insert(text).second && names.lookup(value) != text && named.lookup(text) != value)
      return fail(main.getLoc(), Diag::CannotExport, "two values are named " + quote(text));
    named[text] = value;
    outputs.push_back(text);
    if (!names.count(value) && !value.getDefiningOp<ConstantOp>())
      names[value] = text;
  }
  for (Operation &op : main.getBody().front()) {
    auto given = op.getAttrOfType<ArrayAttr>("mopt.outputs");
    for (OpResult result : op.getResults()) {
      if (names.count(result) || isAbsent(result))
        continue;
      StringRef original;
      if (given && result.getResultNumber() < given.size())
        if (auto text = dyn_cast<StringAttr>(given[result.getResultNumber()]))
          original = text.getValue();
      std::string base = original.str();
      if (base.empty()) {
        std::string node = onnxName(op.getLoc());
        base = node.empty() ? op.getName().stripDialect().str() : node + "/" + op.getName().stripDialect().str();
      }
      names[result] = fresh(base);
    }
  }
  return success();
}

std::string NodeWriter::nameOf(Value value) {
  if (isAbsent(value))
    return "";
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (usedConstants.insert(value).second)
      used.push_back({names.lookup(value), constant});
  return names.lookup(value);
}

std::string NodeWriter::outputOf(Operation *op, unsigned i) {
  return i < op->getNumResults() && !isAbsent(op->getResult(i)) ? names.lookup(op->getResult(i)) : "";
}

std::string NodeWriter::intTensor(StringRef base, ArrayRef<int64_t> values) {
  pb::TensorProto *tensor = graph.add_initializer();
  std::string name = fresh(base);
  tensor->set_name(name);
  tensor->set_data_type(pb::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return name;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void setInt(pb::NodeProto &node, StringRef name, int64_t value) {
  AttributeProto *attr = node.add_attribute();
  attr->set_name(name.str());
  attr->set_type(AttributeProto::INT);
  attr->set_i(value);
}

static bool setAttribute(pb::NodeProto &node, const AttrRow &row, Attribute value) {
  AttributeProto attr;
  attr.set_name(row.name);
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    attr.set_type(AttributeProto::INT);
    attr.set_i(number.getInt());
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    attr.set_type(AttributeProto::FLOAT);
    attr.set_f(static_cast<float>(number.getValueAsDouble()));
  } else if (auto text = dyn_cast<StringAttr>(value)) {
    attr.set_type(AttributeProto::STRING);
    attr.set_s(text.getValue().str());
  } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
    attr.set_type(AttributeProto::INTS);
    for (int64_t number : list.asArrayRef())
      attr.add_ints(number);
  } else if (auto list = dyn_cast<DenseF32ArrayAttr>(value)) {
    attr.set_type(AttributeProto::FLOATS);
    for (float number : list.asArrayRef())
      attr.add_floats(number);
  } else if (auto list = dyn_cast<ArrayAttr>(value)) {
    attr.set_type(AttributeProto::STRINGS);
    for (Attribute entry : list)
      if (auto text = dyn_cast<StringAttr>(entry))
        attr.add_strings(text.getValue().str());
  } else {
    return false;
  }
  *node.add_attribute() = attr;
  return true;
}

pb::NodeProto &NodeWriter::node(Operation *op, StringRef type, ArrayRef<std::string> inputs, ArrayRef<std::string> outs) {
  pb::NodeProto *node = graph.add_node();
  while (!inputs.empty() && inputs.back().empty())
    inputs = inputs.drop_back();
  while (!outs.empty() && outs.back().empty())
    outs = outs.drop_back();
  for (const std::string &name : inputs)
    node->add_input(name);
  for (const std::string &name : outs)
    node->add_output(name);
  // onnxruntime wants a name of its own for every node.
  std::string base = llvm::join(onnxNames(op->getLoc()), "+"), name = base;
  for (unsigned i = 1; !base.empty() && !nodeNames.insert(name).second; ++i)
    name = base + "_" + std::to_string(i);
  node->set_name(name);
  node->set_op_type(type.str());
  return *node;
}

LogicalResult NodeWriter::writeByRecord(Operation *op, const OnnxRow &range) {
  const OpRow *row = findOp(op);
  const auto *schema = schemaOf(range.name, opset);
  if (!row || !schema)
    return fail(op->getLoc(), Diag::CannotExport, "there is no operator for it");
  SmallVector<std::string> inputs, outs;
  for (Value operand : op->getOperands())
    inputs.push_back(nameOf(operand));
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    outs.push_back(outputOf(op, i));
  pb::NodeProto &out = node(op, range.name, inputs, outs);
  for (const AttrRow &attr : row->attrRows()) {
    Attribute value = attributeOf(op, attr);
    auto known = schema->attributes().find(attr.name);
    if (!value || isFixed(range, attr.name) || known == schema->attributes().end())
      continue;
    // A default is written where ONNX would have another one, or none.
    const AttributeProto &standard = known->second.default_value;
    bool same = isDefault(attr, value) && !standard.name().empty();
    if (same && attr.kind == AttrKind::Int)
      same = standard.i() == static_cast<int64_t>(attr.defaultValue);
    else if (same && attr.kind == AttrKind::Float)
      same = standard.f() == static_cast<float>(attr.defaultValue);
    else if (same && attr.kind == AttrKind::Choice)
      same = standard.s() == textOf(value);
    if (!same && !setAttribute(out, attr, value))
      return fail(op->getLoc(), Diag::CannotExport, Twine("attribute '") + attr.name + "' has no ONNX form");
  }
  return success();
}

LogicalResult NodeWriter::writeOp(Operation *op) {
  if (isa<ConstantOp, NoneOp>(op))
    return success();
  if (OpWriter writer = findWriter(op, opset))
    return writer(*this, op);
  if (OpWriter writer = findRecordWriter(op))
    return writer(*this, op);
  const OpRow *row = findOp(op);
  const OnnxRow *range = row ? rangeFor(op, *row, opset) : nullptr;
  if (!range)
    return fail(op->getLoc(), Diag::CannotExport,
                op->getName().getStringRef() + " has no operator in opset " + Twine(opset));
  return writeByRecord(op, *range);
}

void NodeWriter::writeType(Value value, StringRef name, pb::ValueInfoProto &info) {
  info.set_name(name.str());
  RankedTensorType tensor = tensorOf(value);
  if (!tensor)
    return;
  pb::TypeProto::Tensor *type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnxType(tensor.getElementType()));
  pb::TensorShapeProto *shape = type->mutable_shape();
  for (DimExpr dim : dimsOf(tensor)) {
    auto *out = shape->add_dim();
    if (auto size = dim ? dim.asConstant() : std::nullopt)
      out->set_dim_value(*size);
    else if (auto symbol = dim ? dim.asSymbol() : std::nullopt)
      out->set_dim_param(symbol->str());
    else if (dim)
      out->set_dim_param(dim.str());
  }
}

LogicalResult NodeWriter::write() {
  if (failed(nameValues()))
    return failure();
  for (BlockArgument argument : main.getArguments())
    writeType(argument, names.lookup(argument), *graph.add_input());
  Block &block = main.getBody().front();
  for (Operation &op : block.without_terminator())
    if (failed(writeOp(&op)))
      return failure();
  // An output whose value has another name gets a second one by Identity.
  Operation *ret = block.getTerminator();
  llvm::StringSet<> written;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    if (names.lookup(value) != outputs[i] && written.insert(outputs[i]).second)
      node(ret, "Identity", {nameOf(value)}, {outputs[i]}).set_name(outputs[i]);
    writeType(value, outputs[i], *graph.add_output());
  }
  llvm::StringSet<> typed;
  for (const std::string &name : outputs)
    typed.insert(name);
  for (Operation &op : block.without_terminator())
    if (!isa<ConstantOp, NoneOp>(op))
      for (OpResult result : op.getResults())
        if (tensorOf(result) && typed.insert(names.lookup(result)).second)
          writeType(result, names.lookup(result), *graph.add_value_info());
  return success();
}

} // namespace mopt
