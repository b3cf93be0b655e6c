//===- Functions.cpp - calls and branches -------------------------------------------------------------------------===//
#include "GraphBuilder.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (normalDomain(domain) + ":" + name + ":" + overload).str();
}

LogicalResult GraphBuilder::call(Node &node, const pb::FunctionProto &function, bool local) {
  std::string key = functionKey(node.domain, node.op(), node.proto->overload());
  if (llvm::is_contained(callPath, key)) {
    std::string path;
    for (const std::string &step : callPath)
      path += quote(step) + " -> ";
    return fail(node.location, Diag::FunctionCycle, "functions call each other in a circle: " + path + quote(key));
  }
  if (static_cast<int64_t>(callPath.size()) >= options.limits.callDepth)
    return fail(node.location, Diag::FunctionCycle,
                "functions are nested more than " + Twine(options.limits.callDepth) + " deep");
  if (node.proto->input_size() > function.input_size())
    return failNode(node, Diag::BadArity,
                    "the function takes " + Twine(function.input_size()) + " inputs, found " +
                        Twine(node.proto->input_size()));
  if (node.proto->output_size() > function.output_size())
    return failNode(node, Diag::BadArity,
                    "the function has " + Twine(function.output_size()) + " outputs, found " +
                        Twine(node.proto->output_size()));
  Frame frame;
  frame.prefix = onnxName(node.location) + "/";
  frame.attributes = node.attributes;
  for (const pb::AttributeProto &attr : function.attribute_proto())
    frame.attributes.emplace(attr.name(), &attr);
  if (!local)
    for (const auto &[name, attr] : node.schema->attributes())
      if (!attr.default_value.name().empty())
        frame.attributes.emplace(name, &attr.default_value);
  for (const pb::OperatorSetIdProto &opset : function.opset_import())
    frame.opsets.emplace(normalDomain(opset.domain()).str(), opset.version());
  if (!local)
    frame.opsets.emplace("", node.opset);
  for (int i = 0; i < function.input_size(); ++i)
    if (!frame.values.try_emplace(function.input(i), node.input(static_cast<unsigned>(i))).second)
      return failNode(node, Diag::DuplicateName, "the function has two inputs " + quote(function.input(i)));
  callPath.push_back(key);
  LogicalResult done = emitNodes(function.node(), frame);
  callPath.pop_back();
  if (failed(done))
    return failure();
  for (int i = 0; i < function.output_size(); ++i) {
    std::optional<Value> value = frame.lookup(function.output(i));
    if (node.wants(static_cast<unsigned>(i)) && (!value || !*value))
      return failNode(node, Diag::UndefinedValue, "the function does not define its output " + quote(function.output(i)));
    node.results.push_back(value.value_or(Value()));
  }
  return success();
}

/// An operator without record: through the function body that ONNX gives for it.
LogicalResult GraphBuilder::expand(Node &node) {
  std::string reason = "the operator has no function body";
  try {
    if (node.schema->HasFunction())
      if (const pb::FunctionProto *body = node.schema->GetFunction(static_cast<int>(node.opset)))
        return call(node, *body, /*local=*/false);
    if (node.schema->HasContextDependentFunction()) {
      pb::NodeProto proto = *node.proto;
      proto.clear_attribute();
      for (const auto &[name, attr] : node.attributes) {
        pb::AttributeProto *copy = proto.add_attribute();
        *copy = *attr;
        copy->set_name(name);
        copy->clear_ref_attr_name();
      }
      std::vector<pb::TypeProto> types;
      for (Value input : node.inputs) {
        pb::TypeProto type;
        if (RankedTensorType tensor = input ? tensorOf(input) : RankedTensorType()) {
          type.mutable_tensor_type()->set_elem_type(onnxType(tensor.getElementType()));
          pb::TensorShapeProto *shape = type.mutable_tensor_type()->mutable_shape();
          for (DimExpr dim : dimsOf(tensor)) {
            auto *out = shape->add_dim();
            if (auto size = dim ? dim.asConstant() : std::nullopt)
              out->set_dim_value(*size);
            else if (dim)
              out->set_dim_param(dim.str());
          }
        }
        types.push_back(std::move(type));
      }
      auto body = std::make_unique<pb::FunctionProto>();
      mopt_onnx::FunctionBodyBuildContextImpl bodyContext(proto, types);
      if (node.schema->BuildContextDependentFunction(bodyContext, *body, static_cast<int>(node.opset))) {
        bodies.push_back(std::move(body));
        return call(node, *bodies.back(), /*local=*/false);
      }
      reason = "its function body needs what is not known of the inputs";
    }
  } catch (const std::exception &error) {
    reason = error.what();
  }
  return failNode(node, Diag::FunctionBody, quote(reason));
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Exporters leave branches whose condition follows from constants or from sizes.
std::optional<bool> GraphBuilder::condition(Value value, unsigned depth) {
  constexpr unsigned deepest = 32;
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || depth > deepest)
    return std::nullopt;
  if (auto ints = constantInts(value))
    return ints->size() == 1 ? std::optional<bool>(ints->front() != 0) : std::nullopt;
  StringRef name = op->getName().stripDialect();
  auto operand = [&](unsigned i) { return i < op->getNumOperands() ? op->getOperand(i) : Value(); };
  if (name == "not") {
    auto inner = condition(operand(0), depth + 1);
    return inner ? std::optional<bool>(!*inner) : std::nullopt;
  }
  if (name == "and" || name == "or" || name == "xor") {
    auto a = condition(operand(0), depth + 1), b = condition(operand(1), depth + 1);
    bool decides = name == "or";
    if (name != "xor" && ((a && *a == decides) || (b && *b == decides)))
      return decides;
    if (!a || !b)
      return std::nullopt;
    return name == "and" ? *a && *b : name == "or" ? *a || *b : *a != *b;
  }
  if (name == "identity" || name == "reshape" || name == "squeeze" || name == "unsqueeze")
    return condition(operand(0), depth + 1);
  if (name == "cast") {
    if (auto inner = condition(operand(0), depth + 1))
      return inner;
    auto ints = shapeContext.constantsOf(operand(0));
    return ints && ints->size() == 1 ? std::optional<bool>(ints->front() != 0) : std::nullopt;
  }
  bool compares =
      name == "equal" || name == "less" || name == "greater" || name == "less_or_equal" || name == "greater_or_equal";
  if (!compares || !tensorOf(operand(0)) || !isa<IntegerType>(tensorOf(operand(0)).getElementType()))
    return std::nullopt;
  auto a = shapeContext.constantsOf(operand(0)), b = shapeContext.constantsOf(operand(1));
  if (!a || !b || a->size() != 1 || b->size() != 1)
    return std::nullopt;
  int64_t x = a->front(), y = b->front();
  return name == "equal"           ? x == y
         : name == "less"          ? x < y
         : name == "greater"       ? x > y
         : name == "less_or_equal" ? x <= y
                                   : x >= y;
}

LogicalResult GraphBuilder::emitIf(Node &node) {
  auto taken = condition(node.input(0));
  if (!taken)
    return failNode(node, Diag::ControlFlow,
                    "the condition " + quote(node.proto->input_size() ? node.proto->input(0) : "") +
                        " is known only at run time");
  const pb::AttributeProto *attr = node.attribute(*taken ? "then_branch" : "else_branch");
  if (!attr || !attr->has_g())
    return failNode(node, Diag::BadAttribute, "a branch is missing");
  const pb::GraphProto &graph = attr->g();
  if (graph.input_size() || graph.output_size() < node.proto->output_size())
    return failNode(node, Diag::BadArity,
                    "the branch has " + Twine(graph.input_size()) + " inputs and " + Twine(graph.output_size()) +
                        " outputs, expected 0 and " + Twine(node.proto->output_size()));
  if (static_cast<int64_t>(callPath.size()) >= options.limits.callDepth)
    return fail(node.location, Diag::FunctionCycle, "branches are nested too deeply");
  Frame frame;
  frame.parent = node.frame;
  frame.attributes = node.frame->attributes;
  frame.opsets = node.frame->opsets;
  frame.prefix = node.frame->prefix;
  callPath.push_back("If");
  LogicalResult done = failed(addInitializers(graph, frame)) ? failure() : emitNodes(graph.node(), frame);
  callPath.pop_back();
  if (failed(done))
    return failure();
  for (int i = 0; i < graph.output_size(); ++i) {
    std::optional<Value> value = frame.lookup(graph.output(i).name());
    if (!value) {
      // An initializer of the outer graph that no node has used so far.
      pb::NodeProto user;
      user.add_input(graph.output(i).name());
      Node probe(user, frame, node.location);
      if (failed(gatherInputs(probe)))
        return failure();
      value = probe.inputs.front();
    }
    node.results.push_back(*value);
  }
  return success();
}

} // namespace mopt
