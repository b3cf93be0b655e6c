//===- Roots.cpp - the kernel op of a root -------------------------------------------------------------------------===//
#include "Roots.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Dialect/Mopt/OpTable.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {
namespace {

/// A constant in panels: packed when the artifact is written.
Value packedWeight(OpBuilder &builder, ConstantOp constant, ArrayRef<int64_t> outer, const Panels &panels) {
  SmallVector<int64_t> shape(outer);
  shape.append({panels.panels(), panels.k(), Panels::width});
  std::array<int64_t, 8> numbers = panels.toArray();
  return kernel::WeightOp::create(builder, constant.getLoc(), RankedTensorType::get(shape, builder.getF32Type()),
                                  constant.getValue(), builder.getDenseI64ArrayAttr(numbers));
}

/// A matrix operand b[...,k,n], or b[...,n,k], in panels; constant or by a step of its own.
Value packedMatrix(Value b, bool transposed, Location loc, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  SmallVector<DimExpr> dims = dimsOf(b);
  size_t rank = dims.size();
  if (auto constant = b.getDefiningOp<ConstantOp>()) {
    ArrayRef<int64_t> shape = tensorOf(b).getShape();
    int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    Panels panels;
    for (int64_t size : shape.drop_back(2))
      panels.groups *= size;
    panels.groupStride = rows * columns;
    panels.inner = transposed ? columns : rows;
    panels.n = transposed ? rows : columns;
    panels.innerStride = transposed ? 1 : columns;
    panels.nStride = transposed ? columns : 1;
    return packedWeight(builder, constant, shape.drop_back(2), panels);
  }
  SmallVector<DimExpr> packed(dims.begin(), dims.end() - 2);
  DimExpr k = dims[transposed ? rank - 1 : rank - 2], n = dims[transposed ? rank - 2 : rank - 1];
  packed.append({n.ceilDiv(Panels::width), k, DimExpr::constant(builder.getContext(), Panels::width)});
  Value out = operands.destination(loc, packed);
  auto group = GroupOp::create(builder, loc, out.getType(), builder.getStringAttr("movement"));
  OpBuilder inner = OpBuilder::atBlockBegin(&group.getBody().emplaceBlock());
  auto pack = kernel::PackOp::create(inner, loc, out.getType(), operands.map.lookup(b), out,
                                     transposed ? inner.getUnitAttr() : UnitAttr());
  YieldOp::create(inner, loc, pack.getResults());
  return group.getResult(0);
}

KernelParts matmulParts(Value a, Value packed, Location loc) {
  KernelParts parts;
  parts.create = [=](OpBuilder &builder, ValueRange extras, Value out, ArrayRef<AffineMap> maps) -> Operation * {
    return kernel::MatMulOp::create(builder, loc, out.getType(), ValueRange{a, packed}, extras, out,
                                    builder.getAffineMapArrayAttr(maps));
  };
  return parts;
}

KernelParts convParts(ConvOp op, OperandBuilder &operands) {
  OpBuilder &builder = operands.builder;
  ArrayRef<int64_t> w = tensorOf(op.getW()).getShape();
  size_t axes = w.size() - 2;
  int64_t group = op.getGroup();
  Panels panels;
  panels.groups = group;
  panels.n = w[0] / group;
  for (int64_t size : w.drop_front(2))
    panels.outer *= size;
  panels.inner = w[1];
  panels.outerStride = 1;
  panels.innerStride = panels.outer;
  panels.nStride = w[1] * panels.outer;
  panels.groupStride = panels.n * panels.nStride;
  SmallVector<int64_t> ones(axes, 1), kernel(w.drop_front(2)), pads = *leadingPads(op);
  SmallVector<int64_t> strides(op.getStrides().value_or(ones)), dilations(op.getDilations().value_or(ones));
  // A 1x1 convolution that reads every pixel is a matrix product over all of them.
  bool pointwise = group == 1 && llvm::all_of(kernel, [](int64_t k) { return k == 1; }) &&
                   llvm::all_of(strides, [](int64_t s) { return s == 1; });
  if (op.getPads())
    pointwise &= llvm::all_of(*op.getPads(), [](int64_t p) { return p == 0; });
  auto constant = op.getW().getDefiningOp<ConstantOp>();
  Value x = operands.map.lookup(op.getX());
  KernelParts parts;
  if (pointwise) {
    parts = matmulParts(x, packedWeight(builder, constant, {}, panels), op.getLoc());
  } else {
    Value packed = packedWeight(builder, constant, {group}, panels);
    Location loc = op.getLoc();
    parts.create = [=](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps) -> Operation * {
      return kernel::ConvOp::create(b, loc, out.getType(), ValueRange{x, packed}, extras, out, b.getAffineMapArrayAttr(maps),
                                    kernel, strides, dilations, pads, group);
    };
  }
  if (!isAbsent(op.getB()))
    parts.bias = op.getB();
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
                                                                       ArrayRef<AffineMap> maps) -> Operation * {
    return kernel::MoveOp::create(b, loc, out.getType(), inputs, extras, out, b.getAffineMapArrayAttr(maps), name,
                                  b.getArrayAttr(parts));
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
                                                                       ArrayRef<AffineMap> maps) -> Operation * {
    return kernel::PoolOp::create(b, loc, out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps), name, window.kernel,
                                  window.strides, window.dilations, DimsAttr::get(b.getContext(), pads),
                                  window.channelsLast, window.countPads);
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
  parts.create = [=, loc = op.getLoc()](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps) -> Operation * {
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
  parts.create = [=](OpBuilder &b, ValueRange extras, Value out, ArrayRef<AffineMap> maps) -> Operation * {
    ResizeOp resize = op; // handles are not const-correct
    return kernel::ResizeOp::create(b, resize.getLoc(), out.getType(), x, extras, out, b.getAffineMapArrayAttr(maps),
                                    *resizeScales(resize), resize.getMode(),
                                    resize.getCoordinateTransformationMode(),
                                    resize.getNearestMode());
  };
  return parts;
}

} // namespace

KernelParts makeKernelParts(Operation *root, OperandBuilder &operands) {
  if (std::optional<SmallVector<Move>> moves = movesOf(root))
    return moveParts(root, *moves, operands);
  if (std::optional<PoolWindow> window = poolWindow(root))
    return poolParts(root, *window, operands);
  return llvm::TypeSwitch<Operation *, KernelParts>(root)
      .Case([&](MatMulOp op) {
        return matmulParts(operands.map.lookup(op.getA()), packedMatrix(op.getB(), false, op.getLoc(), operands), op.getLoc());
      })
      .Case([&](GemmOp op) {
        KernelParts parts = matmulParts(operands.map.lookup(op.getA()),
                                        packedMatrix(op.getB(), op.getTransB(), op.getLoc(), operands), op.getLoc());
        if (!isAbsent(op.getC()))
          parts.bias = op.getC();
        return parts;
      })
      .Case([&](ResizeOp op) { return resizeParts(op, operands); })
      .Case([&](ConvTransposeOp op) { return convTransposeParts(op, operands); })
      .Case([&](ConvOp op) { return convParts(op, operands); });
}

} // namespace mopt
