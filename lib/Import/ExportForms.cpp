//===- ExportForms.cpp - ops that are not one node of their record ------------------------------------------------===//
#include "ExportOps.h"

namespace mopt {
namespace {

int64_t intOf(Operation *op, StringRef name) { return attrInt(op, name); }

LogicalResult byRecord(NodeWriter &w, Operation *op) {
  const OpRow *row = findOp(op);
  const OnnxRow *range = row ? rangeFor(op, *row, w.version()) : nullptr;
  return range ? w.writeByRecord(op, *range) : fail(op->getLoc(), Diag::CannotExport, "there is no operator for it");
}
pb::NodeProto *lastNode(pb::GraphProto &graph) { return graph.mutable_node(graph.node_size() - 1); }

/// The result type is an attribute in ONNX.
LogicalResult cast(NodeWriter &w, Operation *op) {
  if (failed(byRecord(w, op)))
    return failure();
  setInt(*lastNode(w.target()), "to", onnxType(tensorOf(op->getResult(0)).getElementType()));
  return success();
}
LogicalResult eyeLike(NodeWriter &w, Operation *op) {
  if (failed(byRecord(w, op)))
    return failure();
  setInt(*lastNode(w.target()), "dtype", onnxType(tensorOf(op->getResult(0)).getElementType()));
  return success();
}
/// The type of quantized integers follows from the zero point; without one it is u8 unless said otherwise.
LogicalResult quantize(NodeWriter &w, Operation *op) {
  if (failed(byRecord(w, op)))
    return failure();
  int32_t type = onnxType(tensorOf(op->getResult(0)).getElementType());
  if (isAbsent(op->getOperand(2)) && type != pb::TensorProto::UINT8)
    setInt(*lastNode(w.target()), "output_dtype", type);
  return success();
}
LogicalResult dequantize(NodeWriter &w, Operation *op) {
  if (failed(byRecord(w, op)))
    return failure();
  Type element = tensorOf(op->getResult(0)).getElementType();
  if (element != tensorOf(op->getOperand(1)).getElementType())
    setInt(*lastNode(w.target()), "output_dtype", onnxType(element));
  return success();
}

LogicalResult split(NodeWriter &w, Operation *op) {
  if (failed(byRecord(w, op)))
    return failure();
  if (isAbsent(op->getOperand(1)))
    setInt(*lastNode(w.target()), "num_outputs", op->getNumResults());
  return success();
}

/// ONNX takes scalar bounds only.
LogicalResult clip(NodeWriter &w, Operation *op) {
  if (tensorOf(op->getOperand(1)).getRank() == 0 && tensorOf(op->getOperand(2)).getRank() == 0)
    return byRecord(w, op);
  std::string raised = w.fresh(w.outputOf(op) + "/low");
  w.node(op, "Max", {w.nameOf(op->getOperand(0)), w.nameOf(op->getOperand(1))}, {raised});
  w.node(op, "Min", {raised, w.nameOf(op->getOperand(2))}, {w.outputOf(op)});
  return success();
}

/// The value is an attribute in ONNX; one that is computed is spread by Expand.
LogicalResult constantOfShape(NodeWriter &w, Operation *op) {
  auto constant = op->getOperand(1).getDefiningOp<ConstantOp>();
  std::vector<uint8_t> scratch;
  auto bytes = constant ? constantBytes(constant.getValue(), op->getContext(), scratch) : std::nullopt;
  if (!bytes) {
    w.node(op, "Expand", {w.nameOf(op->getOperand(1)), w.nameOf(op->getOperand(0))}, {w.outputOf(op)});
    return success();
  }
  pb::NodeProto &node = w.node(op, "ConstantOfShape", {w.nameOf(op->getOperand(0))}, {w.outputOf(op)});
  pb::AttributeProto *attr = node.add_attribute();
  attr->set_name("value");
  attr->set_type(pb::AttributeProto::TENSOR);
  attr->mutable_t()->set_data_type(onnxType(tensorOf(constant.getResult()).getElementType()));
  attr->mutable_t()->add_dims(1);
  attr->mutable_t()->set_raw_data(bytes->data(), bytes->size());
  return success();
}

/// Softmax of opsets before 13: the axes from `axis` on are one.
LogicalResult flatSoftmax(NodeWriter &w, Operation *op) {
  StringRef mnemonic = op->getName().stripDialect();
  StringRef type = mnemonic == "softmax" ? "Softmax" : mnemonic == "hardmax" ? "Hardmax" : "LogSoftmax";
  int64_t axis = intOf(op, "axis"), rank = tensorOf(op->getOperand(0)).getRank();
  std::string input = w.nameOf(op->getOperand(0)), output = w.outputOf(op);
  if (axis == -1 || axis == rank - 1) {
    setInt(w.node(op, type, {input}, {output}), "axis", -1);
    return success();
  }
  std::string shape = w.fresh(output + "/shape"), flat = w.fresh(output + "/flat"), soft = w.fresh(output + "/soft");
  w.node(op, "Shape", {input}, {shape});
  setInt(w.node(op, "Flatten", {input}, {flat}), "axis", axis);
  setInt(w.node(op, type, {flat}, {soft}), "axis", -1);
  w.node(op, "Reshape", {soft, shape}, {output});
  return success();
}

/// GroupNormalization of opsets before 21: one scale per group, here repeated for the channels of the group.
LogicalResult groupNormPerGroup(NodeWriter &w, Operation *op) {
  int64_t groups = intOf(op, "num_groups");
  RankedTensorType x = tensorOf(op->getOperand(0));
  auto channels = x.getRank() > 1 && groups > 0 && !x.isDynamicDim(1) ? x.getDimSize(1) : 0;
  if (!channels || channels % groups)
    return fail(op->getLoc(), Diag::CannotExport, "one scale per group of an unknown number of channels");
  std::string output = w.outputOf(op);
  std::string column = w.intTensor(output + "/column", {groups, 1});
  std::string size = w.intTensor(output + "/size", {groups, channels / groups});
  std::string all = w.intTensor(output + "/all", {channels});
  auto repeat = [&](Value value, StringRef part) {
    std::string base = output + "/" + part.str();
    std::string a = w.fresh(base + "_column"), b = w.fresh(base + "_groups"), c = w.fresh(base);
    w.node(op, "Reshape", {w.nameOf(value), column}, {a});
    w.node(op, "Expand", {a, size}, {b});
    w.node(op, "Reshape", {b, all}, {c});
    return c;
  };
  std::string scale = repeat(op->getOperand(1), "scale"), bias = repeat(op->getOperand(2), "bias");
  pb::NodeProto &node = w.node(op, "GroupNormalization", {w.nameOf(op->getOperand(0)), scale, bias}, {output});
  setInt(node, "num_groups", groups);
  setInt(node, "stash_type", intOf(op, "stash_type"));
  pb::AttributeProto *epsilon = node.add_attribute();
  epsilon->set_name("epsilon");
  epsilon->set_type(pb::AttributeProto::FLOAT);
  auto given = op->getAttrOfType<FloatAttr>("epsilon");
  epsilon->set_f(given ? static_cast<float>(given.getValueAsDouble()) : 1e-05f);
  return success();
}

} // namespace

OpWriter findWriter(Operation *op, int opset) {
  StringRef name = op->getName().stripDialect();
  if ((name == "softmax" || name == "log_softmax" || name == "hardmax") && intOf(op, "flatten"))
    return flatSoftmax;
  if (name == "group_norm" && intOf(op, "scale_per_group") && opset > 20)
    return groupNormPerGroup;
  if (name == "clip")
    return clip;
  if (name == "constant_of_shape")
    return constantOfShape;
  return nullptr;
}

OpWriter findRecordWriter(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return name == "cast"                ? cast
         : name == "eye_like"          ? eyeLike
         : name == "quantize_linear"   ? quantize
         : name == "dequantize_linear" ? dequantize
         : name == "split"             ? split
                                       : nullptr;
}

} // namespace mopt
