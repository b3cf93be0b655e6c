//===- KernelDialect.cpp - the dialect, verifiers, effects --------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Dialect/Kernel/Panels.h"
#include "mopt/Dialect/Mopt/OpTable.h"

#include "mopt/Dialect/Kernel/KernelDialect.cpp.inc"
#include "mopt/Dialect/Kernel/KernelInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "mopt/Dialect/Kernel/Kernel.cpp.inc"

namespace mopt::kernel {

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mopt/Dialect/Kernel/Kernel.cpp.inc"
      >();
}

LogicalResult SizeOp::verify() { return isa<DimAttr>(getExpr()) ? success() : emitOpError("needs a #mopt.dim attribute"); }

LogicalResult ViewOp::verify() {
  auto result = cast<ShapedType>(getResult().getType());
  if (static_cast<int64_t>(getSizes().size()) != static_cast<int64_t>(result.getNumDynamicDims()))
    return emitOpError() << "has " << getSizes().size() << " sizes for " << result.getNumDynamicDims() << " dynamic axes";
  if (cast<ShapedType>(getSource().getType()).getElementType() != result.getElementType())
    return emitOpError("changes the element type");
  return success();
}

LogicalResult ReferenceOp::verify() {
  const OpRow *row = findOp((Twine("mopt.") + getOp()).str());
  if (!row || !row->reference)
    return emitOpError() << "names no op with a reference function: '" << getOp() << "'";
  auto ones = [](ArrayRef<int64_t> mask) { return static_cast<size_t>(llvm::count(mask, 1)); };
  if (ones(getPresent()) != getInputs().size() || ones(getWritten()) != getOuts().size())
    return emitOpError("operands do not match `present` and `written`");
  return success();
}

void ReferenceOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addBufferEffects(getOperation(), effects);
}

LogicalResult WeightOp::verify() {
  if (!getPanels())
    return success();
  std::optional<Panels> panels = Panels::fromArray(*getPanels());
  auto type = cast<ShapedType>(getType());
  Type element = type.getElementType();
  if (!panels || !type.hasStaticShape() || type.getNumElements() != panels->elements() ||
      !(panels->isInt8() ? element.isSignlessInteger(8) : element.isF32()))
    return emitOpError("its panels do not fit its type");
  return success();
}

/// Types of a matrix kernel: floats throughout, or bytes with panels of four of them, which are for a depth known now: `taps`
/// times `depth`.
static LogicalResult verifyMatrix(Operation *op, ValueRange inputs, Region &epilogue, int64_t taps, int64_t group,
                                  int64_t zeroPoint) {
  if (inputs.size() != 2)
    return op->emitOpError("has two inputs");
  auto a = cast<ShapedType>(inputs[0].getType()), b = cast<ShapedType>(inputs[1].getType());
  if (a.getElementType().isF32())
    return b.getElementType().isF32() && !zeroPoint ? success() : op->emitOpError("has a float and an integer operand");
  bool isUnsigned = a.getElementType().isUnsignedInteger(8);
  if (!(isUnsigned || a.getElementType().isSignlessInteger(8)) || !b.getElementType().isSignlessInteger(8) || !a.getRank() ||
      b.getRank() < 4 || !b.hasStaticShape() || a.isDynamicDim(a.getRank() - 1) || group < 1)
    return op->emitOpError("its operands are neither floats nor 8-bit integers with panels of i8 for a known depth");
  ArrayRef<int64_t> panels = b.getShape().take_back(4);
  int64_t depth = a.getShape().back() / group, rows = taps * ((depth + Panels::together - 1) / Panels::together);
  if (panels[3] != Panels::together || (panels[2] != 16 && panels[2] != 32) || panels[1] != rows)
    return op->emitOpError() << "its panels have " << panels[1] << " rows of " << panels[2] << " times " << panels[3]
                             << ", expected " << rows << " rows of 16 or 32 times 4";
  if (zeroPoint < (isUnsigned ? 0 : -128) || zeroPoint > (isUnsigned ? 255 : 127))
    return op->emitOpError("its zero point is no value of its operand");
  if (!epilogue.front().getArgument(0).getType().isSignlessInteger(32))
    return op->emitOpError("its sum is an i32");
  return success();
}
LogicalResult MatMulOp::verify() { return verifyMatrix(*this, getInputs(), getEpilogue(), 1, 1, 0); }
LogicalResult ConvOp::verify() {
  int64_t taps = 1;
  for (int64_t size : getKernel())
    if (size < 1 || !checked::mul<int64_t>(taps, size))
      return emitOpError("its kernel has a size below 1");
    else
      taps *= size;
  return verifyMatrix(*this, getInputs(), getEpilogue(), taps, getGroup(), static_cast<int64_t>(getZeroPoint()));
}

LogicalResult RequantizeOp::verify() {
  if (!isa_and_nonnull<RootOpInterface>((*this)->getParentOp()))
    return emitOpError("stands outside of an epilogue");
  if (getScale().getType().isF32() == static_cast<bool>(getShift()))
    return emitOpError("takes an f32, or an i32 and a shift");
  bool isUnsigned = getResult().getType().isUnsignedInteger();
  auto low = static_cast<int64_t>(getLow()), high = static_cast<int64_t>(getHigh()),
       zero = static_cast<int64_t>(getZeroPoint()), least = isUnsigned ? int64_t(0) : int64_t(-128), most = least + 255;
  if (low < least || high > most || low > high || zero < least || zero > most)
    return emitOpError("its bounds or zero point are no values of its result");
  return success();
}

LogicalResult PoolOp::verify() {
  auto x = getInputs().size() == 1 ? cast<ShapedType>(getInputs().front().getType()) : ShapedType();
  auto pads = dyn_cast<DimsAttr>(getPads());
  size_t axes = getKernel().size();
  if (!x || !x.getElementType().isF32() || axes < 1 || axes > 3 || x.getRank() != static_cast<int64_t>(axes) + 2 ||
      cast<ShapedType>(getOuts().front().getType()).getRank() != x.getRank() || getStrides().size() != axes ||
      getDilations().size() != axes || !pads || pads.getDims().size() != 2 * axes)
    return emitOpError("its window does not fit its operand");
  for (ArrayRef<int64_t> list : {getKernel(), getStrides(), getDilations()})
    if (llvm::any_of(list, [](int64_t value) { return value < 1 || value > INT32_MAX; }))
      return emitOpError("its window holds a number below 1");
  return success();
}

LogicalResult ResizeOp::verify() {
  auto x = getInputs().size() == 1 ? cast<ShapedType>(getInputs().front().getType()) : ShapedType();
  if (!x || !x.getElementType().isF32() || x.getRank() != static_cast<int64_t>(getScales().size()) ||
      cast<ShapedType>(getOuts().front().getType()).getRank() != x.getRank())
    return emitOpError("its scales do not fit its operand");
  if (!llvm::is_contained({"nearest", "linear"}, getMode()))
    return emitOpError("its mode is '") << getMode() << "', expected nearest or linear";
  return success();
}

LogicalResult MoveOp::verify() {
  if (getParts().size() != getInputs().size())
    return emitOpError("has other numbers of parts and inputs");
  for (auto [part, input] : llvm::zip(getParts(), getInputs())) {
    auto list = dyn_cast<ArrayAttr>(part);
    if (!list || list.size() != 3 || !llvm::all_of(list, llvm::IsaPred<DimsAttr>))
      return emitOpError("a part has sizes, a source and a target, each #mopt.dims");
    size_t rank = cast<DimsAttr>(list[0]).getDims().size();
    if (rank > 2 * MOPT_MAX_RANK || cast<DimsAttr>(list[1]).getDims().size() != rank + 1 ||
        cast<DimsAttr>(list[2]).getDims().size() != rank + 1)
      return emitOpError("a part has an offset and a stride for each axis, and at most 16 axes");
    Type element = cast<ShapedType>(input.getType()).getElementType();
    if (element != cast<ShapedType>(getOuts().front().getType()).getElementType() ||
        !llvm::is_contained({8, 16, 32, 64}, storedBits(element)))
      return emitOpError("moves elements of one type, of 1, 2, 4 or 8 bytes");
  }
  bool isPlain = llvm::hasSingleElement(getEpilogue().front());
  if (!isPlain && (getParts().size() != 1 || !cast<ShapedType>(getOuts().front().getType()).getElementType().isF32() ||
                   static_cast<int64_t>(cast<DimsAttr>(cast<ArrayAttr>(getParts()[0])[0]).getDims().size()) !=
                       cast<ShapedType>(getOuts().front().getType()).getRank()))
    return emitOpError("has an epilogue and more than one part, or another type than f32");
  return success();
}

LogicalResult GatherOp::verify() {
  if (getInputs().size() != 2)
    return emitOpError("has data and indices");
  auto data = cast<ShapedType>(getInputs()[0].getType()), indices = cast<ShapedType>(getInputs()[1].getType()),
       y = cast<ShapedType>(getOuts().front().getType());
  if (static_cast<int64_t>(getAxis()) < 0 || static_cast<int64_t>(getAxis()) >= data.getRank() ||
      y.getRank() != data.getRank() + indices.getRank() - 1)
    return emitOpError("its axis or the rank of its result does not fit its data");
  if (!indices.getElementType().isSignlessInteger(32) && !indices.getElementType().isSignlessInteger(64))
    return emitOpError("its indices are of i32 or i64");
  if (data.getElementType() != y.getElementType() || !llvm::is_contained({8, 16, 32, 64}, storedBits(y.getElementType())))
    return emitOpError("moves elements of one type, of 1, 2, 4 or 8 bytes");
  if (!llvm::hasSingleElement(getEpilogue().front()) && !y.getElementType().isF32())
    return emitOpError("has an epilogue and another type than f32");
  return success();
}

LogicalResult verifyRoot(Operation *op) {
  auto root = cast<RootOpInterface>(op);
  Region &region = root.getEpilogue();
  if (region.empty() || !isa<ResultOp>(region.front().back()))
    return op->emitOpError("has no epilogue that ends in kernel.result");
  if (root.getOuts().size() != 1)
    return op->emitOpError("writes one result");
  for (Operation &inner : region.front().without_terminator()) {
    if (isa<RequantizeOp>(inner))
      continue;
    auto scalar = dyn_cast<ScalarOp>(inner);
    if (!scalar)
      return op->emitOpError("its epilogue holds other ops than kernel.scalar and kernel.requantize");
    auto all = [&](auto fits) {
      return llvm::all_of(inner.getOperandTypes(), fits) && llvm::all_of(inner.getResultTypes(), fits);
    };
    bool bias = scalar.getOp() == "add" && all([](Type type) { return type.isSignlessInteger(32); });
    if (!bias && !all([](Type type) { return type.isF32() || type.isInteger(1); }))
      return inner.emitOpError("in an epilogue is of f32 and bool, or adds a bias of i32");
  }
  SmallVector<AffineMap> maps = root.getExtraMaps();
  if (maps.size() != root.getExtras().size() || region.front().getNumArguments() != maps.size() + 1)
    return op->emitOpError("epilogue, extras and maps do not match");
  auto out = cast<ShapedType>(root.getOuts().front().getType());
  if (cast<ResultOp>(region.front().back()).getValue().getType() != out.getElementType())
    return op->emitOpError("its epilogue ends in another type than that of its result");
  for (auto [argument, extra] : llvm::zip(region.front().getArguments().drop_front(), root.getExtras()))
    if (argument.getType() != cast<ShapedType>(extra.getType()).getElementType())
      return op->emitOpError("the types of extras and epilogue do not match");
  for (auto [map, extra] : llvm::zip(maps, root.getExtras()))
    if (map.getNumDims() != out.getRank() || map.getNumResults() != cast<ShapedType>(extra.getType()).getRank())
      return op->emitOpError("a map does not fit its extra");
  return success();
}

/// Axes and shapes of an op that combines elements along axes; `whole`: the result has the sizes of the input.
static LogicalResult verifyRows(Operation *op, ValueRange inputs, ValueRange outs, ArrayRef<int64_t> axes, bool whole) {
  if (inputs.size() != 1 || outs.size() != 1)
    return op->emitOpError("has one input and one result");
  auto x = cast<ShapedType>(inputs.front().getType()), y = cast<ShapedType>(outs.front().getType());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis < (i ? axes[i - 1] + 1 : 0) || axis >= x.getRank())
      return op->emitOpError("axes are not ascending numbers of axes of its input");
  bool same = x.getRank() == y.getRank();
  if (!x.getElementType().isF32() || !y.getElementType().isF32() ||
      (!same && (whole || y.getRank() != x.getRank() - static_cast<int64_t>(axes.size()))))
    return op->emitOpError("its result does not fit its input");
  int64_t yAxis = 0;
  for (int64_t d = 0; d < x.getRank(); ++d) {
    bool reduced = llvm::is_contained(axes, d);
    if (reduced && !same)
      continue;
    int64_t expected = reduced && !whole ? 1 : x.getDimSize(d), size = y.getDimSize(yAxis++);
    if (ShapedType::isStatic(expected) && ShapedType::isStatic(size) && size != expected)
      return op->emitOpError("its result does not fit its input");
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  if (!llvm::is_contained({"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"},
                          getKind()))
    return emitOpError() << "knows no kind '" << getKind() << "'";
  return verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/false);
}
LogicalResult SoftmaxOp::verify() { return verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/true); }
LogicalResult NormOp::verify() {
  if (failed(verifyRows(*this, getInputs(), getOuts(), getAxes(), /*whole=*/true)))
    return failure();
  if (!getSplit())
    return success();
  ArrayRef<int64_t> split = *getSplit();
  auto x = cast<ShapedType>(getInputs().front().getType());
  if (split.size() != 2 || split[1] < 1 || !llvm::is_contained(getAxes(), split[0]) || x.isDynamicDim(split[0]) ||
      x.getDimSize(split[0]) % split[1])
    return emitOpError("its split names no axis that divides into the parts");
  return success();
}

void addBufferEffects(Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (dps.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
  }
}

Value materializeSize(OpBuilder &builder, Location loc, DimExpr size) {
  if (auto value = size.asConstant())
    return arith::ConstantIndexOp::create(builder, loc, *value);
  return SizeOp::create(builder, loc, builder.getIndexType(), size.attr());
}

DimExpr sizeOf(Value value) {
  if (auto size = value.getDefiningOp<SizeOp>())
    return DimExpr(cast<DimAttr>(size.getExpr()));
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return DimExpr::constant(value.getContext(), number.getInt());
  return {};
}

} // namespace mopt::kernel
