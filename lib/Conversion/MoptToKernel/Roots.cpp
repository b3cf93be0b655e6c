//===- Roots.cpp - the kernel op of a root -------------------------------------------------------------------------===//
#include "Roots.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/Norm.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Dialect/Mopt/Reduction.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "mopt/Transforms/Grouping/Quantized.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

Value packedWeight(OpBuilder &builder, ConstantOp constant, ArrayRef<int64_t> outer, const Panels &panels) {
  SmallVector<int64_t> shape(outer);
  shape.append({panels.panels(), panels.rows(), panels.width});
  if (panels.isInt8())
    shape.push_back(Panels::together);
  std::array<int64_t, 10> numbers = panels.toArray();
  Type element = panels.isInt8() ? Type(builder.getI8Type()) : builder.getF32Type();
  return kernel::WeightOp::create(builder, constant.getLoc(), RankedTensorType::get(shape, element), constant.getValue(),
                                  builder.getDenseI64ArrayAttr(numbers));
}

Panels matrixPanels(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  size_t rank = shape.size();
  auto axis = [&](size_t i) { return order.empty() ? i : static_cast<size_t>(order[i]); };
  SmallVector<int64_t> strides(rank, 1);
  for (size_t d = rank - 1; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  Panels panels;
  for (int64_t size : shape.drop_back(2))
    panels.groups *= size;
  panels.groupStride = shape[rank - 2] * shape[rank - 1];
  panels.inner = shape[axis(rank - 2)];
  panels.n = shape[axis(rank - 1)];
  panels.innerStride = strides[axis(rank - 2)];
  panels.nStride = strides[axis(rank - 1)];
  return panels;
}

ConvGeometry convGeometry(Operation *op, Value weights) {
  ArrayRef<int64_t> w = tensorOf(weights).getShape();
  size_t axes = w.size() - 2;
  ConvGeometry geometry;
  geometry.group = attrInt(op, "group");
  Panels &panels = geometry.panels;
  panels.groups = geometry.group;
  panels.n = w[0] / geometry.group;
  for (int64_t size : w.drop_front(2))
    panels.outer *= size;
  panels.inner = w[1];
  panels.outerStride = 1;
  panels.innerStride = panels.outer;
  panels.nStride = w[1] * panels.outer;
  panels.groupStride = panels.n * panels.nStride;
  auto list = [&](StringRef name, int64_t fallback, size_t size) {
    auto given = dyn_cast_or_null<DenseI64ArrayAttr>(op->getInherentAttr(name).value_or(Attribute()));
    return given ? SmallVector<int64_t>(given.asArrayRef()) : SmallVector<int64_t>(size, fallback);
  };
  geometry.kernel.assign(w.begin() + 2, w.end());
  geometry.strides = list("strides", 1, axes);
  geometry.dilations = list("dilations", 1, axes);
  geometry.pads = *leadingPads(op);
  // A 1x1 convolution that reads every pixel is a matrix product over all of them.
  auto allAre = [](ArrayRef<int64_t> values, int64_t value) {
    return llvm::all_of(values, [=](int64_t v) { return v == value; });
  };
  geometry.pointwise = geometry.group == 1 && allAre(geometry.kernel, 1) && allAre(geometry.strides, 1) &&
                       allAre(list("pads", 0, 2 * axes), 0);
  return geometry;
}

namespace {

/// A value, or what it is a transpose of inside of the group: axis i of the value is axis order[i] of `source`.
struct Access {
  Value source;
  SmallVector<int64_t> order; // empty: as it is
};
Access accessOf(Value value, Operation *root) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || transpose->getBlock() != root->getBlock())
    return {value, {}};
  return {transpose.getData(), transposeOrder(transpose)};
}

DenseI64ArrayAttr orderAttr(OpBuilder &builder, ArrayRef<int64_t> order) {
  return order.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(order);
}

/// A matrix operand b[...,k,n] in panels; constant or by a step of its own.
Value packedMatrix(Access b, Location loc, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  SmallVector<DimExpr> stored = dimsOf(b.source);
  size_t rank = stored.size();
  auto axis = [&](size_t i) { return b.order.empty() ? i : static_cast<size_t>(b.order[i]); };
  if (auto constant = b.source.getDefiningOp<ConstantOp>(); constant && (b.order.empty() || rank == 2)) {
    ArrayRef<int64_t> shape = tensorOf(b.source).getShape();
    return packedWeight(builder, constant, shape.drop_back(2), matrixPanels(shape, b.order));
  }
  SmallVector<DimExpr> packed;
  for (size_t i = 0; i + 2 < rank; ++i)
    packed.push_back(stored[axis(i)]);
  DimExpr k = stored[axis(rank - 2)], n = stored[axis(rank - 1)];
  packed.append({n.ceilDiv(Panels::floatWidth), k, DimExpr::constant(builder.getContext(), Panels::floatWidth)});
  Value out = operands.destination(loc, packed);
  auto group = GroupOp::create(builder, loc, out.getType(), builder.getStringAttr("movement"));
  OpBuilder inner = OpBuilder::atBlockBegin(&group.getBody().emplaceBlock());
  auto pack =
      kernel::PackOp::create(inner, loc, out.getType(), operands.map.lookup(b.source), out, orderAttr(inner, b.order));
  YieldOp::create(inner, loc, pack.getResults());
  return group.getResult(0);
}

KernelParts matmulParts(Value a, ArrayRef<int64_t> aOrder, Value packed, Location loc) {
  KernelParts parts;
  parts.create = [a, packed, loc, aOrder = SmallVector<int64_t>(aOrder)](OpBuilder &builder, ValueRange extras, Value out,
                                                                         ArrayRef<AffineMap> maps,
                                                                         ArrayRef<int64_t> yOrder) -> Operation * {
    return kernel::MatMulOp::create(builder, loc, out.getType(), ValueRange{a, packed}, extras, out,
                                    builder.getAffineMapArrayAttr(maps), orderAttr(builder, aOrder),
                                    orderAttr(builder, yOrder));
  };
  return parts;
}

KernelParts convParts(ConvOp op, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape();
  ConvGeometry geometry = convGeometry(op, op.getW());
  const Panels &panels = geometry.panels;
  int64_t group = geometry.group;
  SmallVector<int64_t> kernel = geometry.kernel, strides = geometry.strides, dilations = geometry.dilations,
                       pads = geometry.pads;
  auto constant = op.getW().getDefiningOp<ConstantOp>();
  Value x = operands.map.lookup(op.getX());
  KernelParts parts;
  if (group != 1 && w[0] == group && w[1] == 1) {
    Panels channels;
    channels.n = group;
    channels.inner = channels.nStride = panels.outer;
    channels.innerStride = 1;
    Value packed = packedWeight(builder, constant, {}, channels);
    Location loc = op.getLoc();
    parts.create = [=](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                       ArrayRef<int64_t>) -> Operation * {
      return kernel::DepthwiseOp::create(b, loc, out.getType(), ValueRange{x, packed}, extras, out,
                                         b.getAffineMapArrayAttr(maps), kernel, strides, dilations, pads);
    };
  } else if (geometry.pointwise) {
    parts = matmulParts(x, {}, packedWeight(builder, constant, {}, panels), op.getLoc());
  } else {
    Value packed = packedWeight(builder, constant, {group}, panels);
    Location loc = op.getLoc();
    parts.create = [=](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                       ArrayRef<int64_t>) -> Operation * {
      return kernel::ConvOp::create(b, loc, out.getType(), ValueRange{x, packed}, extras, out, b.getAffineMapArrayAttr(maps),
                                    kernel, strides, dilations, pads, group);
    };
  }
  if (!isAbsent(op.getB()))
    parts.bias = op.getB();
  return parts;
}

KernelParts reduceParts(Operation *root, StringRef kind, OperandBuilder &operands) {
  Value x = operands.map.lookup(root->getOperand(0));
  SmallVector<int64_t> axes = *rowAxes(root);
  KernelParts parts;
  parts.create = [=, loc = root->getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                                           ArrayRef<int64_t>) -> Operation * {
    return kernel::ReduceOp::create(b, loc, out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps), axes, kind);
  };
  return parts;
}

KernelParts softmaxParts(Operation *root, OperandBuilder &operands) {
  Value x = operands.map.lookup(root->getOperand(0));
  SmallVector<int64_t> axes = *rowAxes(root);
  bool logarithm = isa<LogSoftmaxOp>(root);
  KernelParts parts;
  parts.create = [=, loc = root->getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                                           ArrayRef<int64_t>) -> Operation * {
    return kernel::SoftmaxOp::create(b, loc, out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps), axes, logarithm);
  };
  return parts;
}

/// `perChannel`: scale and bias are vectors over the channels; else they broadcast from the right.
KernelParts normParts(Operation *root, APFloat epsilon, Value scale, Value bias, bool perChannel, OperandBuilder &operands) {
  Value x = operands.map.lookup(root->getOperand(0));
  SmallVector<int64_t> axes = *rowAxes(root), split;
  bool rms = isa<RMSNormOp>(root);
  unsigned rank = tensorOf(root->getOperand(0)).getRank(), channel = isChannelsLast(root) ? rank - 1 : 1;
  if (auto group = dyn_cast<GroupNormOp>(root))
    split = {channel, static_cast<int64_t>(group.getNumGroups())};
  KernelParts parts;
  parts.scale = scale;
  if (bias && !isAbsent(bias))
    parts.bias = bias;
  if (perChannel)
    parts.scaleMap = parts.biasMap =
        AffineMap::get(rank, 0, operands.builder.getAffineDimExpr(channel), operands.builder.getContext());
  parts.create = [=, loc = root->getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                                           ArrayRef<int64_t>) -> Operation * {
    return kernel::NormOp::create(b, loc, out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps), axes, epsilon, rms,
                                  split.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(split));
  };
  return parts;
}

KernelParts moveParts(Operation *op, ArrayRef<Move> moves, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  SmallVector<Value> inputs;
  SmallVector<Attribute> parts;
  Value zeros;
  auto dims = [&](ArrayRef<DimExpr> list) -> Attribute {
    SmallVector<DimAttr> attrs;
    for (DimExpr dim : list)
      attrs.push_back(dim.attr());
    return DimsAttr::get(builder.getContext(), attrs);
  };
  for (const Move &move : moves) {
    if (!move.source && !zeros) {
      auto type = RankedTensorType::get({1}, tensorOf(op->getResult(0)).getElementType());
      zeros = kernel::WeightOp::create(builder, op->getLoc(), type, builder.getZeroAttr(type));
    }
    inputs.push_back(move.source ? operands.map.lookup(move.source) : zeros);
    parts.push_back(builder.getArrayAttr({dims(move.sizes), dims(move.from), dims(move.to)}));
  }
  KernelParts result;
  result.create = [=, loc = op->getLoc(), name = findOp(op)->mnemonic](OpBuilder &b, ValueRange extras, Value out,
                                                                       ArrayRef<AffineMap> maps,
                                                                       ArrayRef<int64_t>) -> Operation * {
    return kernel::MoveOp::create(b, loc, out.getType(), inputs, extras, out, b.getAffineMapArrayAttr(maps), name,
                                  b.getArrayAttr(parts));
  };
  return result;
}

/// Of indices that only a run knows.
KernelParts gatherParts(GatherOp op, OperandBuilder &operands) {
  SmallVector<Value> inputs{operands.map.lookup(op.getData()), operands.map.lookup(op.getIndices())};
  auto axis = static_cast<int64_t>(op.getAxis());
  axis += axis < 0 ? tensorOf(op.getData()).getRank() : 0;
  KernelParts result;
  result.create = [=, loc = op->getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                                          ArrayRef<int64_t>) -> Operation * {
    return kernel::GatherOp::create(b, loc, out.getType(), inputs, extras, out, b.getAffineMapArrayAttr(maps), axis);
  };
  return result;
}

KernelParts poolParts(Operation *op, const PoolWindow &window, OperandBuilder &operands) {
  SmallVector<DimAttr> pads;
  for (DimExpr pad : window.pads)
    pads.push_back(pad.attr());
  Value x = operands.map.lookup(op->getOperand(0));
  KernelParts result;
  result.create = [=, loc = op->getLoc(), name = findOp(op)->mnemonic](OpBuilder &b, ValueRange extras, Value out,
                                                                       ArrayRef<AffineMap> maps,
                                                                       ArrayRef<int64_t>) -> Operation * {
    return kernel::PoolOp::create(b, loc, out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps), name, window.kernel,
                                  window.strides, window.dilations, DimsAttr::get(b.getContext(), pads), window.channelsLast,
                                  window.countPads);
  };
  return result;
}

KernelParts convTransposeParts(ConvTransposeOp op, OperandBuilder &operands) {
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape();
  SmallVector<int64_t> kernel(w.drop_front(2));
  Panels panels; // one matrix for each tap
  for (int64_t size : kernel)
    panels.groups *= size;
  panels.groupStride = 1;
  panels.n = w[1];
  panels.nStride = panels.groups;
  panels.inner = w[0];
  panels.innerStride = w[1] * panels.groups;
  Value x = operands.map.lookup(op.getX());
  Value packed = packedWeight(operands.builder, op.getW().getDefiningOp<ConstantOp>(), {panels.groups}, panels);
  KernelParts parts;
  parts.create = [=, loc = op.getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                                        ArrayRef<int64_t>) -> Operation * {
    return kernel::ConvTransposeOp::create(b, loc, out.getType(), ValueRange{x, packed}, extras, out,
                                           b.getAffineMapArrayAttr(maps), kernel);
  };
  if (!isAbsent(op.getB()))
    parts.bias = op.getB();
  return parts;
}

KernelParts resizeParts(ResizeOp op, OperandBuilder &operands) {
  Value x = operands.map.lookup(op.getX());
  KernelParts parts;
  parts.create = [=](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps,
                     ArrayRef<int64_t>) -> Operation * {
    ResizeOp resize = op; // handles are not const-correct
    return kernel::ResizeOp::create(b, resize.getLoc(), out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps),
                                    *resizeScales(resize), resize.getMode(), resize.getCoordinateTransformationMode(),
                                    resize.getNearestMode());
  };
  return parts;
}

} // namespace

KernelParts makeKernelParts(Operation *root, OperandBuilder &operands) {
  if (quantizedOperands(root))
    return makeQuantizedParts(root, operands);
  if (std::optional<SmallVector<Move>> moves = movesOf(root))
    return moveParts(root, *moves, operands);
  if (std::optional<PoolWindow> window = poolWindow(root))
    return poolParts(root, *window, operands);
  return llvm::TypeSwitch<Operation *, KernelParts>(root)
      .Case([&](MatMulOp op) {
        Access a = accessOf(op.getA(), op), b = accessOf(op.getB(), op);
        return matmulParts(operands.map.lookup(a.source), a.order, packedMatrix(b, op.getLoc(), operands), op.getLoc());
      })
      .Case([&](GemmOp op) {
        Access b{op.getB(), op.getTransB() ? SmallVector<int64_t>{1, 0} : SmallVector<int64_t>{}};
        KernelParts parts =
            matmulParts(operands.map.lookup(op.getA()), {}, packedMatrix(b, op.getLoc(), operands), op.getLoc());
        if (!isAbsent(op.getC()))
          parts.bias = op.getC();
        return parts;
      })
      .Case([&](ConvTransposeOp op) { return convTransposeParts(op, operands); })
      .Case([&](ResizeOp op) { return resizeParts(op, operands); })
      .Case([&](ConvOp op) { return convParts(op, operands); })
      .Case([&](GatherOp op) { return gatherParts(op, operands); })
      .Case([&](ReduceOp op) { return reduceParts(op, op.getKind(), operands); })
      .Case([&](GlobalAveragePoolOp op) { return reduceParts(op, "mean", operands); })
      .Case([&](GlobalMaxPoolOp op) { return reduceParts(op, "max", operands); })
      .Case([&](GlobalLpPoolOp op) { return reduceParts(op, op.getP() == 1 ? "l1" : "l2", operands); })
      .Case<SoftmaxOp, LogSoftmaxOp>([&](Operation *op) { return softmaxParts(op, operands); })
      .Case([&](LayerNormOp op) { return normParts(op, op.getEpsilon(), op.getScale(), op.getB(), false, operands); })
      .Case([&](RMSNormOp op) { return normParts(op, op.getEpsilon(), op.getScale(), Value(), false, operands); })
      .Case([&](InstanceNormOp op) { return normParts(op, op.getEpsilon(), op.getScale(), op.getB(), true, operands); })
      .Case([&](GroupNormOp op) { return normParts(op, op.getEpsilon(), op.getScale(), op.getBias(), true, operands); });
}

} // namespace mopt
