//===- ModelChecks.cpp - what can be said before any node is built ------------------------------------------------===//
#include "GraphBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mopt {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

/// Nodes of all operators that are not read, by operator.
class Support {
public:
  Support(const Functions &functions, int64_t maxDepth) : functions(functions), maxDepth(maxDepth) {}

  void walk(const Nodes &nodes, const Opsets &opsets, int64_t depth) {
    if (depth > maxDepth)
      return; // reported where the call is built
    for (const pb::NodeProto &node : nodes) {
      StringRef domain = normalDomain(node.domain());
      auto local = functions.find(functionKey(domain, node.op_type(), node.overload()));
      if (local != functions.end()) {
        if (visited.insert(local->first).second)
          walk(local->second->node(), opsetsOf(*local->second), depth + 1);
        continue;
      }
      auto opset = opsets.find(domain);
      int64_t version = opset == opsets.end() ? 0 : opset->second;
      if (std::string reason = reasonAgainst(node, domain, version); !reason.empty())
        missing[(node.op_type() + "\n" + domain + "\n" + Twine(version) + "\n" + reason).str()].push_back(&node);
    }
  }

  LogicalResult report(Location location) {
    if (missing.empty())
      return success();
    constexpr size_t shownOps = 40, shownNodes = 3;
    std::string text;
    size_t shown = 0;
    for (auto &[key, nodes] : missing) {
      if (++shown > shownOps)
        break;
      SmallVector<StringRef> parts;
      StringRef(key).split(parts, '\n');
      text += (shown > 1 ? ", " : "") + quote(parts[0]) + " (domain " + quote(parts[1]) + ", opset " + parts[2].str() +
              ", " + parts[3].str() + ", nodes ";
      for (size_t i = 0; i < std::min(nodes.size(), shownNodes); ++i)
        text += (i ? ", " : "") +
                quote(nodes[i]->name().empty() && nodes[i]->output_size() ? nodes[i]->output(0) : nodes[i]->name());
      if (nodes.size() > shownNodes)
        text += " and " + std::to_string(nodes.size() - shownNodes) + " more";
      text += ")";
    }
    if (missing.size() > shownOps)
      text += " and " + std::to_string(missing.size() - shownOps) + " more";
    return fail(location, Diag::UnsupportedOp,
                Twine(missing.size()) + (missing.size() == 1 ? " operator is" : " operators are") +
                    " not supported: " + text);
  }

  static Opsets opsetsOf(const pb::FunctionProto &function) {
    Opsets out;
    for (const pb::OperatorSetIdProto &opset : function.opset_import())
      out.emplace(normalDomain(opset.domain()).str(), opset.version());
    return out;
  }

private:
  /// "" for an operator that is read.
  std::string reasonAgainst(const pb::NodeProto &node, StringRef domain, int64_t version) {
    if (!version)
      return "its domain is not imported";
    const auto *schema = mopt_onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), domain.str());
    if (!schema)
      return "ONNX does not define it";
    if (findOnnx(node.op_type(), domain, version).first || findForm(node.op_type(), domain) ||
        (domain.empty() && node.op_type() == "If"))
      return "";
    if (schema->deprecated())
      return "deprecated";
    if (schema->HasFunction() || schema->HasContextDependentFunction())
      return ""; // what its body uses is seen when it is expanded
    return "not implemented";
  }

  const Functions &functions;
  int64_t maxDepth;
  std::set<std::string> visited;
  llvm::MapVector<std::string, SmallVector<const pb::NodeProto *>, std::map<std::string, unsigned>> missing;
};

LogicalResult checkOpsets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto> &imports, StringRef of,
                          Location location) {
  if (imports.empty())
    return fail(location, Diag::OpsetImport, of + " has no opset import");
  const auto &ranges = mopt_onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  std::set<std::string> seen;
  for (const pb::OperatorSetIdProto &opset : imports) {
    std::string domain = normalDomain(opset.domain()).str();
    if (!seen.insert(domain).second)
      return fail(location, Diag::OpsetImport, of + " imports domain " + quote(domain) + " twice");
    auto range = ranges.find(domain);
    if (opset.version() < 1)
      return fail(location, Diag::OpsetImport, "opset " + Twine(opset.version()) + " of domain " + quote(domain));
    if (range != ranges.end() && opset.version() > range->second.second)
      return fail(location, Diag::OpsetImport,
                  "opset " + Twine(opset.version()) + " of domain " + quote(domain) + ", newest known is " +
                      Twine(range->second.second));
  }
  return success();
}

LogicalResult defineName(llvm::StringSet<> &names, StringRef name, StringRef what, Location location) {
  if (name.empty())
    return fail(location, Diag::UndefinedValue, what + " has no name");
  if (!names.insert(name).second)
    return fail(location, Diag::DuplicateName, "value " + quote(name) + " is defined twice");
  return success();
}

LogicalResult checkNames(const pb::GraphProto &graph, bool isModel, int64_t irVersion, Location location) {
  llvm::StringSet<> inputs, names;
  for (const pb::ValueInfoProto &input : graph.input())
    if (failed(defineName(inputs, input.name(), "a graph input", location)))
      return failure();
  auto initializer = [&](StringRef name) {
    if (failed(defineName(names, name, "an initializer", location)))
      return failure();
    inputs.erase(name);
    return success();
  };
  for (const pb::TensorProto &tensor : graph.initializer())
    if (failed(initializer(tensor.name())))
      return failure();
  for (const pb::SparseTensorProto &tensor : graph.sparse_initializer())
    if (failed(initializer(tensor.values().name())))
      return failure();
  for (const auto &input : inputs)
    names.insert(input.getKey());
  for (const pb::NodeProto &node : graph.node()) {
    auto nodeLocation = NameLoc::get(StringAttr::get(location.getContext(), node.name()));
    for (const std::string &output : node.output())
      if (!output.empty() && failed(defineName(names, output, "", node.name().empty() ? location : nodeLocation)))
        return failure();
  }
  if (isModel && !graph.output_size())
    return fail(location, Diag::BadInput, "the graph has no outputs");
  for (const pb::ValueInfoProto &output : graph.output()) // the same value may be asked for several times
    if (output.name().empty())
      return fail(location, Diag::UndefinedValue, "a graph output has no name");
  return success();
}

/// How many nodes a call of each function stands for; functions that call each other twice at every level grow without
/// bound from few bytes.
class Expansion {
public:
  Expansion(const Functions &functions, const ImportLimits &limits, Location location)
      : functions(functions), limits(limits), location(location) {}

  LogicalResult count(const Nodes &nodes, int64_t &total) {
    if (static_cast<int64_t>(path.size()) > limits.callDepth)
      return fail(location, Diag::FunctionCycle, "functions are nested more than " + Twine(limits.callDepth) + " deep");
    for (const pb::NodeProto &node : nodes) {
      std::string key = functionKey(node.domain(), node.op_type(), node.overload());
      auto local = functions.find(key);
      int64_t weight = 1;
      if (local != functions.end()) {
        if (llvm::is_contained(path, key)) {
          std::string text;
          for (auto at = llvm::find(path, key); at != path.end(); ++at)
            text += quote(*at) + " -> ";
          return fail(location, Diag::FunctionCycle, "functions call each other in a circle: " + text + quote(key));
        }
        auto known = weights.find(key);
        if (known == weights.end()) {
          path.push_back(key);
          int64_t inner = 0;
          if (failed(count(local->second->node(), inner)))
            return failure();
          path.pop_back();
          known = weights.emplace(key, inner + 1).first;
        }
        weight = known->second;
      }
      total += weight; // both are at most the limit, so the sum cannot wrap
      if (total > limits.nodes)
        return fail(location, Diag::LimitExceeded, "more than " + Twine(limits.nodes) + " nodes with functions expanded");
    }
    return success();
  }

private:
  const Functions &functions;
  const ImportLimits &limits;
  Location location;
  SmallVector<std::string> path;
  std::map<std::string, int64_t> weights;
};

} // namespace

LogicalResult checkModel(const pb::ModelProto &model, const Functions &functions, const ImportLimits &limits,
                         Location location) {
  constexpr int64_t oldestIr = 3, newestIr = pb::Version::IR_VERSION;
  if (model.ir_version() < oldestIr || model.ir_version() > newestIr)
    return fail(location, Diag::IrVersion,
                "IR version " + Twine(model.ir_version()) + ", expected " + Twine(oldestIr) + " to " + Twine(newestIr));
  if (failed(checkOpsets(model.opset_import(), "the model", location)))
    return failure();
  for (const auto &[key, function] : functions)
    if (failed(checkOpsets(function->opset_import(), "function " + quote(key), location)))
      return failure();
  if (failed(checkNames(model.graph(), true, model.ir_version(), location)))
    return failure();
  int64_t total = 0;
  Expansion expansion(functions, limits, location);
  if (failed(expansion.count(model.graph().node(), total)))
    return failure();
  Opsets opsets;
  for (const pb::OperatorSetIdProto &opset : model.opset_import())
    opsets.emplace(normalDomain(opset.domain()).str(), opset.version());
  Support support(functions, limits.callDepth);
  support.walk(model.graph().node(), opsets, 0);
  return support.report(location);
}

} // namespace mopt
