//===- Adapters.cpp - nodes whose op does not follow from position and name ---------------------------------------===//
#include "GraphBuilder.h"
#include "llvm/ADT/StringSwitch.h"

namespace mopt {
namespace {

using pb::AttributeProto;

LogicalResult one(Node &node, FailureOr<Operation *> op) {
  if (failed(op))
    return failure();
  node.results.assign((*op)->result_begin(), (*op)->result_end());
  return success();
}
Type elementOf(Value value) {
  RankedTensorType tensor = value ? tensorOf(value) : RankedTensorType();
  return tensor ? tensor.getElementType() : Type();
}
Attribute intAttr(GraphBuilder &b, int64_t value) { return Builder(b.getContext()).getI64IntegerAttr(value); }

/// The element type that an attribute names with ONNX's number.
FailureOr<Type> elementAttribute(GraphBuilder &b, Node &node, StringRef name, Type otherwise) {
  auto number = node.intAttribute(name);
  if (!number || (*number == 0 && otherwise))
    return otherwise;
  constexpr int64_t largest = 1000; // past every data type of ONNX
  Type element = *number > 0 && *number < largest ? elementType(b.getContext(), static_cast<int32_t>(*number)) : Type();
  if (!element)
    return b.failNode(node, Diag::BadTensorType, "attribute '" + name + "' names data type " + Twine(*number));
  return element;
}

LogicalResult cast(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  FailureOr<Type> element = elementAttribute(b, node, "to", {});
  if (failed(element))
    return failure();
  if (!*element)
    return b.failNode(node, Diag::BadAttribute, "attribute 'to' is missing");
  OpParts parts;
  parts.elements = {*element};
  return one(node, b.create(node, row, range, parts));
}

LogicalResult castLike(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  OpParts parts;
  parts.operands = SmallVector<Value>{node.input(0)};
  parts.elements = {elementOf(node.input(1))};
  return one(node, b.create(node, row, range, parts));
}

/// Max(a, b, c) = max(max(a, b), c), from the left.
LogicalResult fold(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  Value value = node.input(0);
  if (node.inputs.size() == 1)
    return one(node, b.createPlain(node.location, "mopt.identity", {value}));
  for (Value next : ArrayRef(node.inputs).drop_front()) {
    OpParts parts;
    parts.operands = SmallVector<Value>{value, next};
    FailureOr<Operation *> op = b.create(node, row, range, parts);
    if (failed(op))
      return failure();
    value = (*op)->getResult(0);
  }
  node.results = {value};
  return success();
}

LogicalResult mean(GraphBuilder &b, Node &node, const OpRow &, const OnnxRow &) {
  Value value = node.input(0);
  for (Value next : ArrayRef(node.inputs).drop_front()) {
    FailureOr<Operation *> op = b.createPlain(node.location, "mopt.add", {value, next});
    if (failed(op))
      return failure();
    value = (*op)->getResult(0);
  }
  if (node.inputs.size() == 1)
    return one(node, b.createPlain(node.location, "mopt.identity", {value}));
  Value count = b.floatScalar(elementOf(value), static_cast<double>(node.inputs.size()), node.location);
  return one(node, b.createPlain(node.location, "mopt.div", {value, count}));
}

/// The smallest or largest number of a type.
Value limitOf(GraphBuilder &b, Type element, bool largest, Location location) {
  auto type = RankedTensorType::get({}, element);
  if (auto floating = dyn_cast<FloatType>(element))
    return b.constant(DenseElementsAttr::get(type, APFloat::getLargest(floating.getFloatSemantics(), !largest)), location);
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  APInt value = largest ? (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width))
                        : (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width));
  return b.constant(DenseElementsAttr::get(type, value), location);
}

LogicalResult clip(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  Type element = elementOf(node.input(0));
  if (!element || !element.isIntOrFloat())
    return b.failNode(node, Diag::BadType, "the input is not a tensor of numbers");
  Value bounds[2] = {node.input(1), node.input(2)};
  for (bool largest : {false, true}) {
    Value &bound = bounds[largest];
    if (auto value = node.floatAttribute(largest ? "max" : "min"); value && !bound)
      bound = b.floatScalar(element, *value, node.location);
    if (!bound)
      bound = limitOf(b, element, largest, node.location);
  }
  OpParts parts;
  parts.operands = SmallVector<Value>{node.input(0), bounds[0], bounds[1]};
  return one(node, b.create(node, row, range, parts));
}

LogicalResult split(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  int outputs = node.proto->output_size();
  auto wanted = node.intAttribute("num_outputs");
  if (wanted && *wanted != outputs)
    return b.failNode(node, Diag::BadArity, "num_outputs is " + Twine(*wanted) + ", found " + Twine(outputs) + " outputs");
  if (wanted && node.input(1))
    return b.failNode(node, Diag::BadAttribute, "both 'split' and 'num_outputs' are given");
  OpParts parts;
  parts.results = static_cast<unsigned>(outputs);
  return one(node, b.create(node, row, range, parts));
}

LogicalResult constantOfShape(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  Value value;
  if (const AttributeProto *attr = node.attribute("value")) {
    FailureOr<TypedAttr> tensor = b.tensorReader().read(attr->t(), node.location);
    if (failed(tensor))
      return failure();
    auto type = dyn_cast<RankedTensorType>(tensor->getType());
    if (!type || type.getNumElements() != 1)
      return b.failNode(node, Diag::BadAttribute, "attribute 'value' is not one element");
    value = b.constant(*tensor, node.location);
  } else {
    auto type = RankedTensorType::get({1}, Builder(b.getContext()).getF32Type());
    value = b.constant(DenseElementsAttr::get(type, APFloat(0.0f)), node.location);
  }
  OpParts parts;
  parts.operands = SmallVector<Value>{node.input(0), value};
  parts.elements = {elementOf(value)};
  return one(node, b.create(node, row, range, parts));
}

LogicalResult eyeLike(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  FailureOr<Type> element = elementAttribute(b, node, "dtype", elementOf(node.input(0)));
  if (failed(element))
    return failure();
  OpParts parts;
  parts.elements = {*element};
  return one(node, b.create(node, row, range, parts));
}

/// Upsample, and Resize of opset 10: scales only.
LogicalResult upsample(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  Value scales = node.input(1);
  if (const AttributeProto *attr = node.attribute("scales")) {
    if (attr->floats().empty())
      return b.failNode(node, Diag::BadAttribute, "attribute 'scales' is empty");
    auto type = RankedTensorType::get({attr->floats_size()}, Builder(b.getContext()).getF32Type());
    scales =
        b.constant(DenseElementsAttr::get(type, ArrayRef<float>(attr->floats().data(), attr->floats_size())), node.location);
  }
  if (!scales)
    return b.failNode(node, Diag::BadArity, "input 'scales' is missing");
  OpParts parts;
  parts.operands = SmallVector<Value>{node.input(0), Value(), scales, Value()};
  if (const AttributeProto *mode = node.attribute("mode"))
    parts.attributes.set("mode", StringAttr::get(b.getContext(), mode->s() == "bilinear" ? "linear" : mode->s()));
  return one(node, b.create(node, row, range, parts));
}

/// Before opset 14 it is training when a running mean or variance is asked for.
LogicalResult batchNorm(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  if (auto spatial = node.intAttribute("spatial"); spatial && *spatial != 1)
    return b.failNode(node, Diag::BadAttribute, "spatial = " + Twine(*spatial) + " is not supported, expected 1");
  if (node.wants(3) || node.wants(4))
    return b.failNode(node, Diag::BadArity, "saved mean and variance are not supported");
  OpParts parts;
  if (node.opset < 14)
    parts.attributes.set("training_mode", intAttr(b, node.wants(1) || node.wants(2)));
  return one(node, b.create(node, row, range, parts));
}

LogicalResult quantizeLinear(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  Type element = elementOf(node.input(2));
  FailureOr<Type> named = elementAttribute(b, node, "output_dtype",
                                           element ? element : IntegerType::get(b.getContext(), 8, IntegerType::Unsigned));
  if (failed(named))
    return failure();
  if (element && *named != element)
    return b.failNode(node, Diag::BadType, "the zero point and output_dtype have different types");
  OpParts parts;
  parts.elements = {*named};
  return one(node, b.create(node, row, range, parts));
}

LogicalResult dequantizeLinear(GraphBuilder &b, Node &node, const OpRow &row, const OnnxRow &range) {
  FailureOr<Type> element = elementAttribute(b, node, "output_dtype", elementOf(node.input(1)));
  if (failed(element))
    return failure();
  OpParts parts;
  parts.elements = {*element};
  return one(node, b.create(node, row, range, parts));
}

LogicalResult constantNode(GraphBuilder &b, Node &node, const OpRow &, const OnnxRow &) {
  if (node.attributes.size() != 1)
    return b.failNode(node, Diag::BadAttribute, "found " + Twine(node.attributes.size()) + " values, expected one");
  StringRef name = node.attributes.begin()->first;
  const AttributeProto &attr = *node.attributes.begin()->second;
  Builder builder(b.getContext());
  FailureOr<TypedAttr> value = failure();
  auto bytes = [&](const void *data, size_t size) {
    auto *first = static_cast<const uint8_t *>(data);
    return std::vector<uint8_t>(first, first + size);
  };
  if (name == "value") {
    value = b.tensorReader().read(attr.t(), node.location);
  } else if (name == "sparse_value") {
    value = b.tensorReader().readSparse(attr.sparse_tensor(), node.location);
  } else if (name == "value_int" || name == "value_ints") {
    SmallVector<int64_t> ints(attr.ints().begin(), attr.ints().end());
    SmallVector<int64_t> shape = {static_cast<int64_t>(ints.size())};
    if (name == "value_int") {
      ints = {attr.i()};
      shape.clear();
    }
    value = constantFromBytes(RankedTensorType::get(shape, builder.getI64Type()), bytes(ints.data(), ints.size() * 8));
  } else if (name == "value_float" || name == "value_floats") {
    SmallVector<float> floats(attr.floats().begin(), attr.floats().end());
    SmallVector<int64_t> shape = {static_cast<int64_t>(floats.size())};
    if (name == "value_float") {
      floats = {attr.f()};
      shape.clear();
    }
    value = constantFromBytes(RankedTensorType::get(shape, builder.getF32Type()), bytes(floats.data(), floats.size() * 4));
  } else {
    return b.failNode(node, Diag::BadTensorType, "a constant of kind " + quote(name));
  }
  if (failed(value))
    return failure();
  node.results = {b.constant(*value, node.location)};
  return success();
}

//===----------------------------------------------------------------------===//
// Operators that are existing ops
//===----------------------------------------------------------------------===//

/// Dropout of inference: its input, and a mask of ones.
LogicalResult dropout(GraphBuilder &b, Node &node, const OpRow &, const OnnxRow &) {
  if (Value training = node.input(2)) {
    auto value = constantInts(training);
    if (!value || value->size() != 1 || value->front() != 0)
      return b.failNode(node, Diag::UnsupportedOp, "training mode is not supported");
  }
  if (failed(one(node, b.createPlain(node.location, "mopt.identity", {node.input(0)}))))
    return failure();
  if (!node.wants(1))
    return success();
  FailureOr<Operation *> shape = b.createPlain(node.location, "mopt.shape", {node.input(0)});
  if (failed(shape))
    return failure();
  Builder builder(b.getContext());
  Type element = node.opset < 10 ? elementOf(node.input(0)) : builder.getI1Type();
  auto type = RankedTensorType::get({1}, element);
  Value value = isa<FloatType>(element)
                    ? b.constant(DenseElementsAttr::get(type, builder.getFloatAttr(element, 1.0).getValue()), node.location)
                    : b.constant(DenseElementsAttr::get(type, true), node.location);
  FailureOr<Operation *> mask =
      b.createPlain(node.location, "mopt.constant_of_shape", {(*shape)->getResult(0), value}, {}, element);
  if (failed(mask))
    return failure();
  node.results.push_back((*mask)->getResult(0));
  return success();
}

} // namespace

Adapter findAdapter(StringRef name) {
  return llvm::StringSwitch<Adapter>(name)
      .Case("batchNorm", batchNorm)
      .Case("cast", cast)
      .Case("castLike", castLike)
      .Case("clip", clip)
      .Case("constant", constantNode)
      .Case("constantOfShape", constantOfShape)
      .Case("dequantizeLinear", dequantizeLinear)
      .Case("eyeLike", eyeLike)
      .Case("fold", fold)
      .Case("mean", mean)
      .Case("quantizeLinear", quantizeLinear)
      .Case("split", split)
      .Case("upsample", upsample)
      .Default(nullptr);
}

Adapter findForm(StringRef op, StringRef domain) { return domain.empty() && op == "Dropout" ? dropout : nullptr; }

} // namespace mopt
