//===- GraphBuilder.cpp - one node to one op ----------------------------------------------------------------------===//
#include "GraphBuilder.h"
#include "mlir/IR/Verifier.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {

std::optional<Value> Frame::lookup(StringRef name) const {
  for (const Frame *frame = this; frame; frame = frame->parent)
    if (auto found = frame->values.find(name); found != frame->values.end())
      return found->second;
  return std::nullopt;
}

const pb::AttributeProto *Node::attribute(StringRef name) {
  auto found = attributes.find(name);
  used.push_back(name);
  return found == attributes.end() ? nullptr : found->second;
}
std::optional<int64_t> Node::intAttribute(StringRef name) {
  const pb::AttributeProto *attr = attribute(name);
  return attr ? std::optional<int64_t>(attr->i()) : std::nullopt;
}
std::optional<float> Node::floatAttribute(StringRef name) {
  const pb::AttributeProto *attr = attribute(name);
  return attr ? std::optional<float>(attr->f()) : std::nullopt;
}

GraphBuilder::GraphBuilder(MLIRContext *context, const ImportOptions &options, TensorReader &tensors)
    : context(context), options(options), tensors(tensors), shapeContext(context), builder(context),
      deadline(std::chrono::steady_clock::now() + std::chrono::seconds(options.limits.seconds)) {}

LogicalResult GraphBuilder::failNode(Node &node, Diag diag, const Twine &message) {
  return fail(node.location, diag, quote(node.op()) + " of opset " + Twine(node.opset) + ": " + message);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(TypedAttr value, Location location, StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = main.getBody().front();
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(&entry);
  auto op = ConstantOp::create(builder, location, value.getType(), value);
  if (!name.empty())
    op->setAttr("mopt.outputs", builder.getStrArrayAttr({name}));
  lastConstant = op;
  return op.getResult();
}

Value GraphBuilder::none() {
  if (!noneValue) {
    OpBuilder::InsertionGuard guard(builder);
    if (lastConstant)
      builder.setInsertionPointAfter(lastConstant);
    else
      builder.setInsertionPointToStart(&main.getBody().front());
    auto op = NoneOp::create(builder, main.getLoc(), builder.getNoneType(), builder.getUnitAttr());
    lastConstant = op;
    noneValue = op.getResult();
  }
  return noneValue;
}

Value GraphBuilder::intVector(ArrayRef<int64_t> values, Location location) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  std::vector<uint8_t> bytes(values.size() * sizeof(int64_t));
  if (!bytes.empty())
    memcpy(bytes.data(), values.data(), bytes.size());
  return constant(constantFromBytes(type, std::move(bytes)), location);
}

Value GraphBuilder::floatScalar(Type element, double value, Location location) {
  TypedAttr attr;
  auto type = RankedTensorType::get({}, element);
  if (auto floating = dyn_cast<FloatType>(element)) {
    APFloat number(value);
    bool loses;
    number.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    attr = DenseElementsAttr::get(type, number);
  } else {
    attr = DenseElementsAttr::get(
        type, APInt(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true, true));
  }
  return constant(attr, location);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Attribute attributeFromText(MLIRContext *context, const AttrRow &row, StringRef text) {
  Builder b(context);
  int64_t integer;
  double number;
  switch (row.kind) {
  case AttrKind::Int:
    return text.getAsInteger(10, integer) ? Attribute() : b.getI64IntegerAttr(integer);
  case AttrKind::Float:
    return text.getAsDouble(number) ? Attribute() : b.getF32FloatAttr(static_cast<float>(number));
  case AttrKind::Choice:
  case AttrKind::String:
    return b.getStringAttr(text);
  default:
    return {};
  }
}

/// The attribute "name=value" or "name?=value" of a version range.
static std::optional<StringRef> fixedBy(const OnnxRow &range, StringRef name, bool isDefault) {
  for (const char *const *entry = range.set; entry && *entry; ++entry) {
    auto [left, right] = StringRef(*entry).split('=');
    if (left.consume_back("?") == isDefault && left == name)
      return right;
  }
  return std::nullopt;
}

/// Attributes that say nothing any more: in-place hints of the first opsets.
static bool isIgnorable(StringRef name) { return name == "consumed_inputs"; }

FailureOr<Operation *> GraphBuilder::create(Node &node, const OpRow &row, const OnnxRow &range, const OpParts &parts) {
  OperationState state(node.location, row.name);
  // Operands: by position, or from attributes that later versions made inputs.
  SmallVector<Value> operands;
  if (parts.operands) {
    operands = *parts.operands;
  } else if (row.numOperands == 1 && row.operands[0].variadic) {
    operands.assign(node.inputs.begin(), node.inputs.end());
  } else {
    for (unsigned i = 0; i < row.numOperands; ++i)
      operands.push_back(node.input(i));
    for (const char *const *entry = range.attrInputs; entry && *entry; ++entry) {
      StringRef name = StringRef(*entry).split(':').first, operand = StringRef(*entry).split(':').second;
      const pb::AttributeProto *attr = node.attribute(name);
      auto slot = llvm::find_if(row.operandRows(), [&](const ValueRow &v) { return operand == v.name; });
      if (!attr || slot == row.operandRows().end())
        continue;
      Value value;
      if (attr->type() == pb::AttributeProto::INTS)
        value = intVector(SmallVector<int64_t>(attr->ints().begin(), attr->ints().end()), node.location);
      else if (attr->type() == pb::AttributeProto::INT)
        value = intVector({attr->i()}, node.location);
      else if (attr->type() == pb::AttributeProto::FLOAT && node.input(0) && tensorOf(node.input(0)) &&
               tensorOf(node.input(0)).getElementType().isIntOrFloat())
        value = floatScalar(tensorOf(node.input(0)).getElementType(), attr->f(), node.location);
      else if (attr->type() == pb::AttributeProto::FLOATS && !attr->floats().empty())
        value = constant(DenseElementsAttr::get(RankedTensorType::get({attr->floats_size()}, builder.getF32Type()),
                                                ArrayRef<float>(attr->floats().data(), attr->floats_size())),
                         node.location);
      else
        return failNode(node, Diag::BadAttribute, "attribute " + quote(name) + " has a value that cannot be an input");
      operands[slot - row.operandRows().begin()] = value;
    }
    for (unsigned i = 0; i < row.numOperands; ++i)
      if (!operands[i] && !row.operands[i].optional)
        return failNode(node, Diag::BadArity, Twine("input '") + row.operands[i].name + "' is missing");
  }
  for (Value operand : operands)
    state.operands.push_back(operand ? operand : none());

  // Attributes: fixed by the version, then by the adapter, then as the node has them, then the version's default.
  for (const AttrRow &attr : row.attrRows()) {
    Attribute value;
    if (auto text = fixedBy(range, attr.name, false)) {
      value = attributeFromText(context, attr, *text);
    } else if (Attribute given = parts.attributes.get(attr.name)) {
      value = given;
    } else if (const pb::AttributeProto *given =
                   llvm::is_contained(node.used, attr.name) ? nullptr : node.attribute(attr.name)) {
      value = convertAttribute(node, attr, *given);
      if (!value)
        return failure();
    } else if (auto text = fixedBy(range, attr.name, true)) {
      value = attributeFromText(context, attr, *text);
    } else if (!attr.optional && !attr.hasDefault) {
      return failNode(node, Diag::BadAttribute, Twine("attribute '") + attr.name + "' is missing");
    }
    if (value)
      state.addAttribute(attr.name, value);
  }
  for (const auto &[name, attr] : node.attributes)
    if (!llvm::is_contained(node.used, name) && !isIgnorable(name))
      return failNode(node, Diag::BadAttribute, "attribute " + quote(name) + " is not supported");

  // Results get their types from the shape rule. It reads from these stand-ins which are left out, and element types
  // that operands do not give.
  unsigned count = parts.results.value_or(row.numResults);
  for (unsigned i = 0; i < count; ++i) {
    bool optional = i < row.numResults && row.results[i].optional;
    Type element = i < parts.elements.size() && parts.elements[i] ? parts.elements[i] : builder.getF32Type();
    state.addTypes(optional && !node.wants(i) ? Type(builder.getNoneType()) : Type(RankedTensorType::get({}, element)));
  }
  Operation *op = builder.create(state);
  if (failed(finish(op, &node))) {
    op->erase();
    return failure();
  }
  return op;
}

FailureOr<Operation *> GraphBuilder::createPlain(Location location, StringRef opName, ArrayRef<Value> operands,
                                                 ArrayRef<NamedAttribute> attributes, Type element) {
  const OpRow *row = findOp(opName);
  if (!row)
    return fail(location, Diag::UnsupportedOp, "no op " + opName);
  OperationState state(location, opName);
  for (Value operand : operands)
    state.operands.push_back(operand ? operand : none());
  state.addAttributes(attributes);
  for (unsigned i = 0; i < row->numResults; ++i)
    state.addTypes(row->results[i].optional ? Type(builder.getNoneType())
                                            : Type(RankedTensorType::get({}, element ? element : builder.getF32Type())));
  Operation *op = builder.create(state);
  if (failed(finish(op, nullptr))) {
    op->erase();
    return failure();
  }
  return op;
}

/// Gives the op its result types and checks it.
LogicalResult GraphBuilder::finish(Operation *op, Node *node) {
  if (failed(checkBudget(op->getLoc())))
    return failure();
  auto rule = dyn_cast<MoptOpInterface>(op);
  if (!rule)
    return fail(op->getLoc(), Diag::UnsupportedOp, "op " + op->getName().getStringRef() + " has no shape rule");
  SmallVector<Type> types;
  if (failed(rule.inferTypes(shapeContext, types)))
    return failure();
  if (types.size() != op->getNumResults())
    return fail(op->getLoc(), Diag::BadArity,
                "the shape rule of " + op->getName().getStringRef() + " gives " + Twine(types.size()) +
                    " results, there are " + Twine(op->getNumResults()));
  if (node)
    refine(op, *node, types);
  for (auto [result, type] : llvm::zip(op->getResults(), types)) {
    result.setType(type);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      continue;
    auto elements = std::optional<int64_t>(1);
    for (int64_t dim : tensor.getShape())
      elements = elements ? checked::mul(*elements, dim) : std::nullopt;
    auto bytes = elements ? storedBytes(tensor.getElementType(), *elements) : std::nullopt;
    auto sum = bytes ? checked::add(activationBytes, *bytes) : std::nullopt;
    if (!sum || *sum > options.limits.activationBytes)
      return fail(op->getLoc(), Diag::LimitExceeded,
                  "results of the graph need more than " + Twine(options.limits.activationBytes) + " bytes together");
    activationBytes = *sum;
  }
  return verify(op);
}

/// Sizes that inference cannot know may be declared. A declared number replaces a size that only the run will tell; the
/// reference functions check their result sizes when they run.
void GraphBuilder::refine(Operation *op, Node &node, SmallVectorImpl<Type> &types) {
  if (!node.frame->prefix.empty() || node.frame->parent)
    return;
  std::map<std::string, DimExpr> known;
  for (unsigned i = 0; i < types.size() && node.wants(i); ++i) {
    auto found = declared.find(node.proto->output(i));
    auto tensor = dyn_cast<RankedTensorType>(types[i]);
    if (found == declared.end() || !tensor || !found->second->type().has_tensor_type() ||
        !found->second->type().tensor_type().has_shape())
      continue;
    const pb::TensorShapeProto &shape = found->second->type().tensor_type().shape();
    SmallVector<DimExpr> dims = dimsOf(tensor);
    bool differs = shape.dim_size() != static_cast<int>(dims.size());
    for (unsigned axis = 0; !differs && axis < dims.size(); ++axis) {
      const auto &dim = shape.dim(static_cast<int>(axis));
      if (!dim.has_dim_value() || dim.dim_value() < 0 || !dims[axis])
        continue;
      if (auto size = dims[axis].asConstant())
        differs = *size != dim.dim_value();
      else if (auto symbol = dims[axis].asSymbol(); symbol && !inputSymbols.contains(*symbol))
        known.emplace(symbol->str(), DimExpr::constant(context, dim.dim_value()));
    }
    if (differs && options.shapes.empty())
      warn(node.location, Diag::DeclaredShape, "value " + quote(node.proto->output(i)) + " is declared with another shape");
  }
  if (known.empty())
    return;
  for (Type &type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    SmallVector<DimExpr> dims = dimsOf(tensor);
    for (DimExpr &dim : dims)
      if (dim)
        if (DimExpr known_ = dim.substitute([&](StringRef name) {
              auto found = known.find(name.str());
              return found == known.end() ? DimExpr() : found->second;
            }))
          dim = known_;
    type = tensorType(dims, tensor.getElementType());
  }
}

LogicalResult GraphBuilder::checkBudget(Location location) {
  if (++emitted > options.limits.nodes)
    return fail(location, Diag::LimitExceeded,
                "more than " + Twine(options.limits.nodes) + " nodes with functions expanded");
  if (emitted % 64 == 0 && std::chrono::steady_clock::now() > deadline)
    return fail(location, Diag::LimitExceeded, "the import took more than " + Twine(options.limits.seconds) + " seconds");
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphBuilder::emitNodes(const google::protobuf::RepeatedPtrField<pb::NodeProto> &nodes, Frame &frame) {
  frame.nodes = &nodes;
  for (const pb::NodeProto &node : nodes)
    if (failed(emit(node, frame)))
      return failure();
  return success();
}

static std::string nodeName(const pb::NodeProto &proto) {
  if (!proto.name().empty())
    return proto.name();
  std::string name = proto.op_type();
  for (const std::string &output : proto.output())
    if (!output.empty())
      return name + "_" + output;
  return name;
}

LogicalResult GraphBuilder::emit(const pb::NodeProto &proto, Frame &frame) {
  auto name = StringAttr::get(context, frame.prefix + nodeName(proto));
  Node node(proto, frame, NameLoc::get(name));
  if (failed(checkBudget(node.location)))
    return failure();
  for (const pb::AttributeProto &attr : proto.attribute()) {
    const pb::AttributeProto *value = &attr;
    if (!attr.ref_attr_name().empty()) {
      auto found = frame.attributes.find(attr.ref_attr_name());
      if (found == frame.attributes.end())
        continue; // the caller leaves it out, and so does this node
      value = found->second;
    }
    if (!node.attributes.emplace(attr.name(), value).second)
      return failNode(node, Diag::BadAttribute, "attribute " + quote(attr.name()) + " is given twice");
  }
  if (failed(gatherInputs(node)))
    return failure();
  auto local = functions->find(functionKey(node.domain, node.op(), proto.overload()));
  if (local != functions->end()) {
    if (failed(call(node, *local->second, true)))
      return failure();
    return bind(node);
  }
  if (!node.opset)
    return failNode(node, Diag::OpsetImport, "domain " + quote(node.domain) + " is not imported");
  node.schema = mopt_onnx::OpSchemaRegistry::Schema(proto.op_type(), static_cast<int>(node.opset), node.domain.str());
  if (!node.schema)
    return failNode(node, Diag::UnsupportedOp, "the operator does not exist in domain " + quote(node.domain));
  if (failed(checkNode(node)))
    return failure();
  LogicalResult done = success();
  auto [row, range] = findOnnx(node.op(), node.domain, node.opset);
  if (node.domain.empty() && node.op() == "If") {
    done = emitIf(node);
  } else if (Adapter form = findForm(node.op(), node.domain)) {
    done = form(*this, node, OpRow{}, OnnxRow{});
  } else if (row && StringRef(range->adapter).empty()) {
    FailureOr<Operation *> op = create(node, *row, *range);
    if (failed(op))
      return failure();
    node.results.assign((*op)->result_begin(), (*op)->result_end());
  } else if (row) {
    Adapter adapter = findAdapter(range->adapter);
    done = adapter ? adapter(*this, node, *row, *range)
                   : failNode(node, Diag::UnsupportedOp, Twine("no adapter '") + range->adapter + "'");
  } else {
    done = expand(node);
  }
  return failed(done) ? failure() : bind(node);
}

LogicalResult GraphBuilder::gatherInputs(Node &node) {
  for (const std::string &name : node.proto->input()) {
    if (name.empty()) {
      node.inputs.push_back({});
      continue;
    }
    if (std::optional<Value> value = node.frame->lookup(name)) {
      node.inputs.push_back(*value);
      continue;
    }
    // An initializer becomes an op when something uses it.
    auto initializer = pending.find(name);
    if (initializer == pending.end() || !node.frame->prefix.empty())
      return undefined(node, name);
    Frame *outer = node.frame;
    while (outer->parent)
      outer = const_cast<Frame *>(outer->parent);
    Value value = constant(initializer->second, NameLoc::get(StringAttr::get(context, name)), name);
    outer->values[name] = value;
    node.inputs.push_back(value);
  }
  return success();
}

LogicalResult GraphBuilder::undefined(const Node &node, StringRef name) {
  for (const Frame *frame = node.frame; frame; frame = frame->parent)
    if (frame->nodes)
      for (const pb::NodeProto &other : *frame->nodes)
        if (llvm::is_contained(other.output(), name))
          return fail(node.location, Diag::UndefinedValue,
                      "node uses value " + quote(name) + ", which node " + quote(nodeName(other)) +
                          " defines later: the nodes are not in order or form a cycle");
  return fail(node.location, Diag::UndefinedValue, "node uses value " + quote(name) + ", which nothing defines");
}

LogicalResult GraphBuilder::bind(Node &node) {
  std::string inner = node.frame->prefix + nodeName(*node.proto) + "/"; // before names of values in the node's own body
  for (unsigned i = 0; i < static_cast<unsigned>(node.proto->output_size()); ++i) {
    StringRef name = node.proto->output(static_cast<int>(i));
    if (name.empty())
      continue;
    if (i >= node.results.size() || !node.results[i])
      return failNode(node, Diag::BadArity, "output " + Twine(i) + " is not supported");
    if (node.frame->lookup(name) || (node.frame->prefix.empty() && pending.count(name)))
      return fail(node.location, Diag::DuplicateName, "value " + quote(name) + " is defined twice");
    node.frame->values[name] = node.results[i];
    // The op that makes a value keeps its name. A value that only passes through has one already.
    auto result = dyn_cast<OpResult>(node.results[i]);
    if (!result)
      continue;
    Operation *op = result.getOwner();
    SmallVector<Attribute> names(op->getNumResults(), builder.getStringAttr(""));
    if (auto given = op->getAttrOfType<ArrayAttr>("mopt.outputs"); given && given.size() == names.size())
      names.assign(given.begin(), given.end());
    auto present = dyn_cast<StringAttr>(names[result.getResultNumber()]);
    if (present && !present.empty() && !present.getValue().starts_with(inner))
      continue;
    names[result.getResultNumber()] = builder.getStringAttr(node.frame->prefix + name.str());
    op->setAttr("mopt.outputs", builder.getArrayAttr(names));
  }
  if (node.frame->prefix.empty())
    for (unsigned i = 0; i < node.results.size() && node.wants(i); ++i)
      if (auto found = declared.find(node.proto->output(i)); found != declared.end() && tensorOf(node.results[i])) {
        const pb::TypeProto &type = found->second->type();
        int32_t element = type.tensor_type().elem_type();
        if (type.has_tensor_type() && element && element != onnxType(tensorOf(node.results[i]).getElementType()))
          return fail(node.location, Diag::BadType,
                      "value " + quote(node.proto->output(i)) + " is declared with data type " + Twine(element) +
                          ", but has " + Twine(onnxType(tensorOf(node.results[i]).getElementType())));
      }
  return success();
}

} // namespace mopt
