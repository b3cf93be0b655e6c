//===- GraphBuilder.h - nodes to ops ------------------------------------------------------------------------------===//
//
// Functions are not copied into the graph first: a call emits the nodes of the body in a frame of names of its own. So
// names cannot clash, the body's types are known where a body depends on them, and nothing grows but the result.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_IMPORT_GRAPHBUILDER_H
#define MOPT_LIB_IMPORT_GRAPHBUILDER_H

#include "Tensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/StringMap.h"
#include <chrono>

namespace mopt {

using Attributes = std::map<std::string, const pb::AttributeProto *, std::less<>>;
using Opsets = std::map<std::string, int64_t, std::less<>>;

/// "" for ONNX's own domain, whose other name is "ai.onnx".
inline StringRef normalDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain; }
/// Model-local functions by domain, name and overload.
std::string functionKey(StringRef domain, StringRef name, StringRef overload);
using Functions = std::map<std::string, const pb::FunctionProto *, std::less<>>;

/// Names and what they mean: of the graph, of the body of one call, or of the branch of an If.
struct Frame {
  const Frame *parent = nullptr; // of a branch: names outside it
  llvm::StringMap<Value> values; // null: left out by the caller
  Attributes attributes;         // of the call
  Opsets opsets;
  std::string prefix; // "caller/" before names of nodes and values
  const google::protobuf::RepeatedPtrField<pb::NodeProto> *nodes = nullptr;

  /// Nothing when the name is not defined here or outside.
  std::optional<Value> lookup(StringRef name) const;
};

/// A node on its way to ops.
struct Node {
  Node(const pb::NodeProto &proto, Frame &frame, Location location)
      : proto(&proto), frame(&frame), location(location), domain(normalDomain(proto.domain())) {
    auto found = frame.opsets.find(domain.str());
    opset = found == frame.opsets.end() ? 0 : found->second;
  }
  const pb::NodeProto *proto;
  Frame *frame;
  Location location;
  StringRef domain;
  int64_t opset; // 0: the domain is not imported
  const mopt_onnx::OpSchema *schema = nullptr;
  SmallVector<Value> inputs; // null: left out
  Attributes attributes;
  SmallVector<Value> results;
  /// Attributes that an adapter has used.
  SmallVector<StringRef, 4> used;

  StringRef op() const { return proto->op_type(); }
  Value input(unsigned i) const { return i < inputs.size() ? inputs[i] : Value(); }
  bool wants(unsigned i) const { return i < static_cast<unsigned>(proto->output_size()) && !proto->output(i).empty(); }
  const pb::AttributeProto *attribute(StringRef name);
  std::optional<int64_t> intAttribute(StringRef name);
  std::optional<float> floatAttribute(StringRef name);
};

/// What is particular of an op that a node becomes.
struct OpParts {
  std::optional<SmallVector<Value>> operands; // instead of the node's inputs; null: none
  NamedAttrList attributes;                   // over the node's
  SmallVector<Type> elements;                 // element types of results that operands do not give
  std::optional<unsigned> results;            // of a variadic op
};

class GraphBuilder {
public:
  GraphBuilder(MLIRContext *context, const ImportOptions &options, TensorReader &tensors);

  /// Builds `main`; null after an error.
  OwningOpRef<ModuleOp> build(const pb::ModelProto &model, const Functions &functions);

  // For adapters
  MLIRContext *getContext() { return context; }
  ShapeContext &shapes() { return shapeContext; }
  TensorReader &tensorReader() { return tensors; }
  /// The op of `row` for `node`, with operands and attributes by position and name unless `parts` says otherwise.
  FailureOr<Operation *> create(Node &node, const OpRow &row, const OnnxRow &range, const OpParts &parts = {});
  /// An op without a node's attributes.
  FailureOr<Operation *> createPlain(Location location, StringRef opName, ArrayRef<Value> operands,
                                     ArrayRef<NamedAttribute> attributes = {}, Type element = {});
  Value constant(TypedAttr value, Location location, StringRef name = "");
  Value intVector(ArrayRef<int64_t> values, Location location);
  Value floatScalar(Type element, double value, Location location);
  Value none();
  LogicalResult failNode(Node &node, Diag diag, const Twine &message);

private:
  LogicalResult bindSymbols(const pb::GraphProto &graph, const llvm::StringSet<> &inputs);
  FailureOr<Type> inputType(const pb::ValueInfoProto &info);
  LogicalResult addInitializers(const pb::GraphProto &graph, Frame &frame);
  LogicalResult emitNodes(const google::protobuf::RepeatedPtrField<pb::NodeProto> &nodes, Frame &frame);
  LogicalResult emit(const pb::NodeProto &proto, Frame &frame);
  LogicalResult gatherInputs(Node &node);
  LogicalResult undefined(const Node &node, StringRef name);
  LogicalResult call(Node &node, const pb::FunctionProto &function, bool local);
  LogicalResult expand(Node &node);
  LogicalResult emitIf(Node &node);
  std::optional<bool> condition(Value value, unsigned depth = 0);
  LogicalResult bind(Node &node);
  LogicalResult finish(Operation *op, Node *node);
  void refine(Operation *op, Node &node, SmallVectorImpl<Type> &types);
  LogicalResult checkBudget(Location location);

  MLIRContext *context;
  const ImportOptions &options;
  TensorReader &tensors;
  ShapeContext shapeContext;
  OpBuilder builder;
  Operation *lastConstant = nullptr;
  Value noneValue;
  func::FuncOp main;
  const Functions *functions = nullptr;
  llvm::StringMap<const pb::ValueInfoProto *> declared; // of the outer graph
  llvm::StringMap<TypedAttr> pending;                   // initializers not used so far
  llvm::StringSet<> inputSymbols;
  std::map<std::string, int64_t> boundSymbols; // by --shape
  SmallVector<std::string> callPath;
  std::vector<std::unique_ptr<pb::FunctionProto>> bodies; // made for one call each
  int64_t emitted = 0, activationBytes = 0;
  std::chrono::steady_clock::time_point deadline;
};

/// Arity, attributes and element types against the operator's definition.
LogicalResult checkNode(Node &node);
/// What can be said before any node is built: versions, names, order, and all operators that are not read.
LogicalResult checkModel(const pb::ModelProto &model, const Functions &functions, const ImportLimits &limits,
                         Location location);
/// An attribute of a node as the record's kind of attribute; null after an error.
Attribute convertAttribute(Node &node, const AttrRow &row, const pb::AttributeProto &attribute);
/// The text of `set` entries and choices as an attribute.
Attribute attributeFromText(MLIRContext *context, const AttrRow &row, StringRef text);

/// Builds the ops of a node whose record names an adapter, and sets `node.results`.
using Adapter = LogicalResult (*)(GraphBuilder &, Node &, const OpRow &, const OnnxRow &);
Adapter findAdapter(StringRef name);
/// Operators that mean existing ops without being in a record (Dropout of inference).
Adapter findForm(StringRef op, StringRef domain);

} // namespace mopt
#endif
