//===- KernelBody.cpp - reference calls and the elementwise loop --------------------------------------------------===//
//
// Descriptors and attributes are built on the stack from constants: once the reference function is inlined they fold
// away, and nothing in the artifact holds an address that would need a relocation.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "KernelBody.h"
#include "../KernelToVector/VectorLoop.h"

namespace mopt {
namespace {

constexpr int64_t tensorBytes = sizeof(mopt_tensor), attrBytes = sizeof(mopt_attr);

} // namespace

KernelBody::KernelBody(FunctionEmitter &emitter, LLVM::LLVMFuncOp function)
    : emitter(emitter), builder(function.getContext()), loc(function.getLoc()), function(function) {
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
}

Value KernelBody::zeros(int64_t floats) {
  auto type = RankedTensorType::get({floats}, builder.getF32Type());
  std::string name =
      emitter.globalFor(DenseElementsAttr::get(type, 0.0f), LLVM::LLVMArrayType::get(builder.getF32Type(), floats));
  return LLVM::AddressOfOp::create(builder, loc, ptrType(), name);
}

Value KernelBody::bytes(int64_t value, int64_t count) {
  auto type = RankedTensorType::get({count}, builder.getI8Type());
  auto row = DenseElementsAttr::get(type, APInt(8, value, /*isSigned=*/true, /*implicitTrunc=*/true));
  std::string name = emitter.globalFor(row, LLVM::LLVMArrayType::get(builder.getI8Type(), count));
  return LLVM::AddressOfOp::create(builder, loc, ptrType(), name);
}

void KernelBody::start(LLVM::LLVMFuncOp fn, ArrayRef<Value> buffers) {
  function = fn;
  Block *block = fn.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  unsigned n = 0;
  for (Value base : buffers)
    bases[base] = block->getArgument(n++);
  for (auto &[dim, value] : sizeArgs)
    value = block->getArgument(n++);
  begin = block->getArgument(n++);
  end = block->getArgument(n++);
  fault = block->getArgument(n++);
}

Value KernelBody::i64(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value)); }
Value KernelBody::i32(int32_t value) { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)); }

Value KernelBody::size(DimExpr expr) {
  if (auto value = expr.asConstant())
    return i64(*value);
  if (auto found = sizeArgs.find(expr.attr()); found != sizeArgs.end())
    return found->second;
  return {}; // cannot happen: the caller named every size
}

Value KernelBody::size(ArrayRef<DimExpr> factors) {
  Code code(builder, loc); // folds: sizes known now give loops and tails known now
  Value product = i64(1);
  for (DimExpr factor : factors)
    product = code.mul(product, size(factor));
  return product;
}

Value KernelBody::address(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(builder, loc, ptrType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}
void KernelBody::storeAt(Value base, int64_t bytes, Value value) {
  LLVM::StoreOp::create(builder, loc, value, address(base, bytes));
}
Value KernelBody::stackBytes(int64_t bytes, int64_t alignment) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front()); // one alloca, not one a loop iteration
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(1));
  return LLVM::AllocaOp::create(builder, loc, ptrType(), type, one, alignment);
}

Value KernelBody::attributes(StringRef opName, DictionaryAttr attrs) {
  const OpRow *row = findOp((Twine("mopt.") + opName).str());
  if (!row->numAttrs)
    return LLVM::ZeroOp::create(builder, loc, ptrType());
  AttrValues values(*row, attrs);
  Value array = stackBytes(attrBytes * row->numAttrs);
  for (auto [slot, attr] : llvm::enumerate(values.attrs())) {
    Value address;
    if (!attr.n) {
      address = LLVM::ZeroOp::create(builder, loc, ptrType());
    } else {
      AttrKind kind = row->attrs[slot].kind;
      Attribute elements;
      Type arrayType;
      if (kind == AttrKind::String || kind == AttrKind::Strings) {
        elements = builder.getStringAttr(StringRef(static_cast<const char *>(attr.values), attr.n));
        arrayType = LLVM::LLVMArrayType::get(builder.getI8Type(), attr.n);
      } else if (kind == AttrKind::Float || kind == AttrKind::Floats) {
        auto type = RankedTensorType::get({attr.n}, builder.getF64Type());
        elements = DenseElementsAttr::get(type, ArrayRef(static_cast<const double *>(attr.values), attr.n));
        arrayType = LLVM::LLVMArrayType::get(builder.getF64Type(), attr.n);
      } else {
        auto type = RankedTensorType::get({attr.n}, builder.getI64Type());
        elements = DenseElementsAttr::get(type, ArrayRef(static_cast<const int64_t *>(attr.values), attr.n));
        arrayType = LLVM::LLVMArrayType::get(builder.getI64Type(), attr.n);
      }
      address = LLVM::AddressOfOp::create(builder, loc, ptrType(), emitter.globalFor(elements, arrayType));
    }
    storeAt(array, attrBytes * slot, address);
    storeAt(array, attrBytes * slot + 8, i64(attr.n));
  }
  return array;
}

Value KernelBody::reference(kernel::ReferenceOp op, PlanView &plan) {
  bool channelsLast = isChannelsLast(*findOp(("mopt." + op.getOp()).str()), op.getAttrs());
  auto descriptors = [&](ArrayRef<int64_t> mask, ValueRange memrefs) {
    Value array = stackBytes(tensorBytes * std::max<int64_t>(1, mask.size()));
    unsigned next = 0;
    for (auto [i, present] : llvm::enumerate(mask)) {
      int64_t at = tensorBytes * i;
      if (!present) {
        storeAt(array, at + offsetof(mopt_tensor, data), LLVM::ZeroOp::create(builder, loc, ptrType()));
        storeAt(array, at + offsetof(mopt_tensor, type), i32(MOPT_UNDEFINED));
        storeAt(array, at + offsetof(mopt_tensor, rank), i32(0));
        continue;
      }
      BufferView view = plan.view(memrefs[next++]);
      storeAt(array, at + offsetof(mopt_tensor, data), bases.lookup(view.base));
      storeAt(array, at + offsetof(mopt_tensor, type), i32(onnxType(view.element)));
      storeAt(array, at + offsetof(mopt_tensor, rank), i32(view.dims.size()));
      Value stride = i64(1);
      // Where axis d lies in memory; the function reads N, C, spatial... through strides.
      SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, view.dims.size()));
      for (unsigned d = 0; channelsLast && i == 0 && d < order.size(); ++d)
        order[channelsLastAxis(d, order.size())] = d;
      for (unsigned d = view.dims.size(); d-- > 0;) {
        Value extent = size(view.dims[d]);
        storeAt(array, at + offsetof(mopt_tensor, dims) + 8 * order[d], extent);
        storeAt(array, at + offsetof(mopt_tensor, strides) + 8 * order[d], stride);
        stride = arith::MulIOp::create(builder, loc, stride, extent);
      }
    }
    return array;
  };
  Value in = descriptors(op.getPresent(), op.getInputs());
  Value out = descriptors(op.getWritten(), op.getOuts());
  Value attrs = attributes(op.getOp(), op.getAttrs());
  Type p = ptrType(), w = builder.getI64Type(), h = builder.getI32Type();
  LLVM::LLVMFuncOp callee = emitter.declare(("mopt_ref_" + op.getOp()).str(), h, {p, h, p, h, p, w, w, p});
  return LLVM::CallOp::create(
             builder, loc, callee,
             ValueRange{in, i32(op.getPresent().size()), out, i32(op.getWritten().size()), attrs, begin, end, fault})
      .getResult();
}

//===----------------------------------------------------------------------===//
// The elementwise loop
//===----------------------------------------------------------------------===//
SmallVector<KernelBody::Axis> KernelBody::collapse(linalg::GenericOp op, PlanView &plan) {
  SmallVector<DimExpr> space = plan.view(op.getDpsInits().front()).dims;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Axis> axes;
  for (auto [d, dim] : llvm::enumerate(space)) {
    if (dim.isConstant(1))
      continue;
    Axis axis{{dim}, {}};
    for (AffineMap map : maps)
      axis.full.push_back(map.isFunctionOfDim(d));
    if (!axes.empty() && axes.back().full == axis.full)
      axes.back().sizes.push_back(dim);
    else
      axes.push_back(axis);
  }
  return axes;
}

DimExpr KernelBody::loopUnits(linalg::GenericOp op, PlanView &plan) {
  SmallVector<Axis> axes = collapse(op, plan);
  DimExpr units = DimExpr::constant(op.getContext(), 1);
  for (const Axis &axis : ArrayRef(axes).drop_back(axes.size() > 1 ? 1 : 0))
    for (DimExpr factor : axis.sizes)
      units = units * factor;
  return units;
}

void KernelBody::loop(linalg::GenericOp op, PlanView &plan, bool whole) {
  SmallVector<Axis> axes = collapse(op, plan);
  unsigned n = op->getNumOperands();
  Value zero = i64(0), one = i64(1);
  SmallVector<Value> offsets(n, zero);
  if (axes.empty()) { // one element: an axis that only results have
    axes.push_back({{}, SmallVector<bool>(n, false)});
    std::fill(axes.front().full.begin() + op.getNumDpsInputs(), axes.front().full.end(), true);
  }
  if (axes.size() == 1) {
    Value lower = whole ? zero : begin, upper = whole ? size(axes.front().sizes) : end;
    return innerLoop(op, plan, lower, upper, offsets, axes.front().full);
  }
  // One unit is a row: the last axis. The others are counted out of the unit's number.
  auto rows = scf::ForOp::create(builder, loc, begin, end, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rows.getBody());
  SmallVector<Value> strides(n);
  const Axis &last = axes.back();
  Value lastSize = size(last.sizes), rest = rows.getInductionVar();
  for (unsigned k = 0; k < n; ++k)
    strides[k] = last.full[k] ? lastSize : one;
  for (unsigned a = axes.size() - 1; a-- > 0;) {
    Value extent = size(axes[a].sizes);
    Value index = a == 0 ? rest : arith::RemUIOp::create(builder, loc, rest, extent).getResult();
    for (unsigned k = 0; k < n; ++k)
      if (axes[a].full[k]) {
        offsets[k] = arith::AddIOp::create(builder, loc, offsets[k], arith::MulIOp::create(builder, loc, index, strides[k]));
        strides[k] = arith::MulIOp::create(builder, loc, strides[k], extent);
      }
    if (a)
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
  }
  innerLoop(op, plan, zero, lastSize, offsets, last.full);
}

void KernelBody::innerLoop(linalg::GenericOp op, PlanView &plan, Value lower, Value upper, ArrayRef<Value> offsets,
                           ArrayRef<bool> moves) {
  if (vectorLoop(op, plan, lower, upper, offsets, moves))
    return;
  auto loop = scf::ForOp::create(builder, loc, lower, upper, i64(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto indexOf = [&](unsigned k) {
    return moves[k] ? arith::AddIOp::create(builder, loc, offsets[k], loop.getInductionVar()).getResult() : offsets[k];
  };
  llvm::DenseMap<Value, Scalar> scalars;
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned k = 0; k < inputs; ++k) {
    BufferView view = plan.view(op->getOperand(k));
    scalars[op.getBody()->getArgument(k)] = load(bases.lookup(view.base), indexOf(k), view.element);
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto scalar = cast<kernel::ScalarOp>(inner);
    SmallVector<Scalar> operands;
    for (Value operand : scalar.getOperands())
      operands.push_back(scalars.lookup(operand));
    scalars[scalar.getResult()] = scalarOp(scalar.getOp(), scalar.getAttrs(), scalar.getResult().getType(), operands);
  }
  for (auto [i, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands())) {
    BufferView view = plan.view(op.getDpsInits()[i]);
    store(bases.lookup(view.base), indexOf(inputs + i), view.element, scalars.lookup(value));
  }
}

bool KernelBody::vectorLoop(linalg::GenericOp op, PlanView &plan, Value lower, Value upper, ArrayRef<Value> offsets,
                            ArrayRef<bool> moves) {
  SmallVector<Type> elements;
  SmallVector<VectorLoop::Operand> operands;
  for (auto [operand, offset, move] : llvm::zip_equal(op->getOperands(), offsets, moves)) {
    BufferView view = plan.view(operand);
    elements.push_back(view.element);
    operands.push_back({bases.lookup(view.base), view.element, offset, move});
  }
  if (!VectorLoop::fits(op, elements))
    return false;
  Code code(builder, loc);
  VectorLoop(code, op, operands, [&](kernel::ScalarOp scalar, ArrayRef<Value> vectors) {
    return laneByLane(scalar, vectors);
  }).run(lower, upper);
  return true;
}

// A loop over memory: LLVM turns it into vectors if it can, and the scalar function is there once, not 16 times.
Value KernelBody::laneByLane(StringRef op, DictionaryAttr attrs, ArrayRef<Value> vectors, Type element) {
  Type byte = builder.getI8Type();
  auto stored = [&](Type type) { return VectorType::get({Code::width}, type.isInteger(1) ? byte : type); };
  auto array = [&](Type type) { return stackBytes(Code::width * (type.isInteger(1) ? 1 : 4), /*alignment=*/64); };
  SmallVector<std::pair<Value, Type>> arguments;
  for (Value vector : vectors) {
    Type type = getElementTypeOrSelf(vector.getType());
    arguments.push_back({array(type), type});
    Value some = LLVM::FreezeOp::create(builder, loc, vector); // lanes that nobody reads hold anything, but something
    if (type.isInteger(1))
      some = arith::ExtUIOp::create(builder, loc, stored(type), some);
    LLVM::StoreOp::create(builder, loc, some, arguments.back().first);
  }
  Value result = array(element);
  auto loop = scf::ForOp::create(builder, loc, i64(0), i64(Code::width), i64(1));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Scalar> operands;
    for (auto [base, type] : arguments)
      operands.push_back(load(base, loop.getInductionVar(), type));
    store(result, loop.getInductionVar(), element, scalarOp(op, attrs, element, operands));
  }
  Value loaded = LLVM::LoadOp::create(builder, loc, stored(element), result);
  if (!element.isInteger(1))
    return loaded;
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loaded,
                               LLVM::ZeroOp::create(builder, loc, stored(element)));
}

char KernelBody::naturalKind(Type element) {
  if (element.isF64())
    return 'd';
  if (isa<FloatType>(element))
    return 'f';
  return element.isInteger(1) || cast<IntegerType>(element).isUnsigned() ? 'u' : 'i';
}
Type KernelBody::kindType(char kind) {
  return kind == 'f' ? builder.getF32Type() : kind == 'd' ? Type(builder.getF64Type()) : builder.getI64Type();
}

/// Names of element types in scalar functions; those that isLoopElementwise lets through.
static StringRef dtypeName(Type element) {
  switch (onnxType(element)) {
  case MOPT_F32:
    return "f32";
  case MOPT_F64:
    return "f64";
  case MOPT_F16:
    return "f16";
  case MOPT_BF16:
    return "bf16";
  case MOPT_BOOL:
    return "bool";
  case MOPT_I8:
    return "i8";
  case MOPT_I16:
    return "i16";
  case MOPT_I32:
    return "i32";
  case MOPT_U8:
    return "u8";
  case MOPT_U16:
    return "u16";
  case MOPT_U32:
    return "u32";
  case MOPT_U64:
    return "u64";
  default:
    return "i64";
  }
}

static StringRef kindName(char kind) { return kind == 'f' ? "f32" : kind == 'd' ? "f64" : kind == 'i' ? "i64" : "u64"; }

KernelBody::Scalar KernelBody::load(Value base, Value index, Type element) {
  char kind = naturalKind(element);
  if (element.isF16() || element.isBF16()) {
    LLVM::LLVMFuncOp callee = emitter.declare(element.isF16() ? "mopt_ld_f16" : "mopt_ld_bf16", builder.getF32Type(),
                                              {ptrType(), builder.getI64Type()});
    return {LLVM::CallOp::create(builder, loc, callee, ValueRange{base, index}).getResult(), kind};
  }
  Type stored = isa<FloatType>(element) ? element : Type(builder.getIntegerType(storedBits(element)));
  Value address = LLVM::GEPOp::create(builder, loc, ptrType(), stored, base, ArrayRef<LLVM::GEPArg>{index});
  Value value = LLVM::LoadOp::create(builder, loc, stored, address);
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(stored, 0));
    value = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
    value = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  } else if (isa<IntegerType>(stored) && storedBits(element) < 64) {
    value = kind == 'i' ? arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value).getResult()
                        : arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value).getResult();
  }
  return {value, kind};
}

void KernelBody::store(Value base, Value index, Type element, Scalar scalar) {
  if (element.isF16() || element.isBF16()) {
    LLVM::LLVMFuncOp callee =
        emitter.declare(element.isF16() ? "mopt_st_f16" : "mopt_st_bf16", LLVM::LLVMVoidType::get(builder.getContext()),
                        {ptrType(), builder.getI64Type(), builder.getF32Type()});
    LLVM::CallOp::create(builder, loc, callee, ValueRange{base, index, scalar.value});
    return;
  }
  Type stored = isa<FloatType>(element) ? element : Type(builder.getIntegerType(storedBits(element)));
  Value value = scalar.value;
  if (isa<IntegerType>(stored) && storedBits(element) < 64)
    value = arith::TruncIOp::create(builder, loc, stored, value);
  Value address = LLVM::GEPOp::create(builder, loc, ptrType(), stored, base, ArrayRef<LLVM::GEPArg>{index});
  LLVM::StoreOp::create(builder, loc, value, address);
}

KernelBody::Scalar KernelBody::convert(Scalar scalar, char kind) {
  auto isInteger = [](char k) { return k == 'i' || k == 'u'; };
  if (scalar.kind == kind || (isInteger(scalar.kind) && isInteger(kind)))
    return {scalar.value, kind};
  std::string name = ("mopt_s_cast_" + kindName(scalar.kind) + "_" + kindName(kind)).str();
  LLVM::LLVMFuncOp callee = emitter.declare(name, kindType(kind), {kindType(scalar.kind)});
  return {LLVM::CallOp::create(builder, loc, callee, ValueRange{scalar.value}).getResult(), kind};
}

/// Cuts a 64-bit integer to its element type, as storing and loading it would.
KernelBody::Scalar KernelBody::wrap(Scalar scalar, Type element) {
  int64_t bits = storedBits(element);
  if (isa<FloatType>(element) || bits >= 64 || element.isInteger(1))
    return scalar;
  Value narrow = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits), scalar.value);
  scalar.value = scalar.kind == 'i' ? arith::ExtSIOp::create(builder, loc, builder.getI64Type(), narrow).getResult()
                                    : arith::ExtUIOp::create(builder, loc, builder.getI64Type(), narrow).getResult();
  return scalar;
}

KernelBody::Scalar KernelBody::scalarOp(StringRef op, DictionaryAttr attrs, Type element, ArrayRef<Scalar> operands) {
  const OpRow *row = findOp(("mopt." + op).str());
  char resultKind = naturalKind(element);
  StringRef signature = row->scalar;
  if (signature == "cast") {
    Scalar x = operands.front();
    // Rounds and clamps to the element type once, as the tensor function does.
    std::string name = ("mopt_s_cast_" + kindName(x.kind) + "_" + dtypeName(element)).str();
    LLVM::LLVMFuncOp callee = emitter.declare(name, kindType(resultKind), {kindType(x.kind)});
    return {LLVM::CallOp::create(builder, loc, callee, ValueRange{x.value}).getResult(), resultKind};
  }
  auto [arguments, result] = signature.split("->");
  // The compute type of the operands that share one: equal, integers as signed, everything else in double.
  char common = 0;
  for (auto [letter, x] : llvm::zip_equal(arguments, operands))
    if (letter != 'B')
      common = !common || common == x.kind                                            ? x.kind
               : (common == 'i' || common == 'u') && (x.kind == 'i' || x.kind == 'u') ? 'i'
                                                                                      : 'd';
  if (!common)
    common = 'u';
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (auto [letter, x] : llvm::zip_equal(arguments, operands)) {
    values.push_back(convert(x, letter == 'B' ? 'u' : common).value);
    types.push_back(values.back().getType());
  }
  values.push_back(attributes(op, attrs));
  types.push_back(ptrType());
  char kind = result == "B" ? 'u' : common;
  LLVM::LLVMFuncOp callee = emitter.declare(("mopt_s_" + op + "_" + kindName(common)).str(), kindType(kind), types);
  Scalar y{LLVM::CallOp::create(builder, loc, callee, values).getResult(), kind};
  return wrap(convert(y, resultKind), element);
}

} // namespace mopt
