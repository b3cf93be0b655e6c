//===- FunctionEmitter.cpp - one group, one step function ---------------------------------------------------------===//
#include "FunctionEmitter.h"
#include "../KernelToVector/Epilogue.h"
#include "../KernelToVector/RootEmitter.h"
#include "KernelBody.h"

namespace mopt {
namespace {

/// Work below which a chunk costs more to hand out than to run, in multiply-adds or elements.
constexpr int64_t chunkWork = 1 << 16;
/// Units of a reference op (the record's `units`).
DimExpr unitsOf(kernel::ReferenceOp op, const BufferView &result, const OpRow *row) {
  MLIRContext *context = op.getContext();
  SmallVector<DimExpr> sizes = isChannelsLast(*row, op.getAttrs()) ? channelsFirst(ArrayRef(result.dims)) : result.dims;
  ArrayRef<DimExpr> dims = sizes;
  int64_t rank = dims.size();
  AttrValues attrs(*row, op.getAttrs());
  auto intAttr = [&](StringRef name, int64_t fallback) {
    for (auto [i, attr] : llvm::enumerate(row->attrRows()))
      if (name == attr.name && attrs.attrs()[i].n == 1 && attr.kind == AttrKind::Int)
        return *static_cast<const int64_t *>(attrs.attrs()[i].values);
    return fallback;
  };
  UnitKind kind = row->units;
  int64_t axis = intAttr("axis", -1);
  axis += axis < 0 ? rank : 0;
  if (kind == UnitKind::slices && intAttr("flatten", 0))
    kind = UnitKind::before_axis;
  if ((kind == UnitKind::slices || kind == UnitKind::before_axis) && (axis < 0 || axis > rank))
    return DimExpr::constant(context, 1);
  switch (kind) {
  case UnitKind::serial:
    return DimExpr::constant(context, 1);
  case UnitKind::elements:
    return DimExpr::product(dims, context);
  case UnitKind::rows:
    return DimExpr::product(dims.drop_back(rank ? 1 : 0), context);
  case UnitKind::planes:
    return DimExpr::product(dims.take_front(std::min<int64_t>(rank, 2)), context);
  case UnitKind::outer:
    return DimExpr::product(dims.take_front(std::min<int64_t>(rank, 1)), context);
  case UnitKind::before_axis:
    return DimExpr::product(dims.take_front(axis), context);
  case UnitKind::slices: {
    SmallVector<DimExpr> others(dims);
    if (axis < rank)
      others.erase(others.begin() + axis);
    return DimExpr::product(others, context);
  }
  }
  return DimExpr::constant(context, 1);
}

/// Multiply-adds of a contraction, from the shapes of its operands; elements of the result for other ops.
DimExpr workOf(kernel::ReferenceOp op, const BufferView &result, PlanView &plan) {
  MLIRContext *context = op.getContext();
  DimExpr elements = DimExpr::product(result.dims, context);
  StringRef name = op.getOp();
  if (name == "matmul" || name == "matmul_integer" || name == "qlinear_matmul") {
    BufferView a = plan.view(op.getInputs().front());
    return a.dims.empty() ? elements : elements * a.dims.back();
  }
  if (name == "gemm") {
    BufferView a = plan.view(op.getInputs().front());
    AttrValues attrs(*findOp("mopt.gemm"), op.getAttrs());
    bool transposed = *static_cast<const int64_t *>(attrs.attrs()[2].values); // alpha, beta, transA
    return a.dims.size() == 2 ? elements * a.dims[transposed ? 0 : 1] : elements;
  }
  if (name == "conv" || name == "conv_integer" || name == "qlinear_conv") {
    BufferView w = plan.view(op.getInputs()[name == "qlinear_conv" ? 3 : 1]);
    return w.dims.empty() ? elements : elements * DimExpr::product(ArrayRef(w.dims).drop_front(), context);
  }
  if (name == "conv_transpose") {
    BufferView x = plan.view(op.getInputs()[0]), w = plan.view(op.getInputs()[1]);
    return w.dims.empty() ? elements
                          : DimExpr::product(x.dims, context) * DimExpr::product(ArrayRef(w.dims).drop_front(), context);
  }
  if (name.contains("pool") || name.contains("reduce") || name.contains("norm") || name.contains("softmax"))
    return DimExpr::product(plan.view(op.getInputs().front()).dims, context);
  return elements;
}

} // namespace

FunctionEmitter::FunctionEmitter(ModuleOp code, PlanView &plan, const Schedule &schedule, ArrayRef<ScheduleVariant> variants)
    : code(code), plan(plan), schedule(schedule), variants(variants), builder(code.getContext()) {}

LLVM::LLVMFuncOp FunctionEmitter::shared(StringRef key, StringRef prefix, llvm::function_ref<void(LLVM::LLVMFuncOp)> build,
                                         Type type) {
  std::string &name = byKey[key];
  if (!name.empty())
    return code.lookupSymbol<LLVM::LLVMFuncOp>(name);
  name = (prefix + "_" + Twine(counters[prefix]++)).str();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(code.getBody());
  auto function = LLVM::LLVMFuncOp::create(builder, builder.getUnknownLoc(), name, cast<LLVM::LLVMFunctionType>(type),
                                           LLVM::Linkage::Internal);
  function.setPassthroughAttr(builder.getArrayAttr(builder.getStringAttr("noinline")));
  build(function);
  return function;
}

LLVM::LLVMFuncOp FunctionEmitter::declare(StringRef name, Type result, ArrayRef<Type> arguments) {
  if (auto found = code.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(code.getBody());
  return LLVM::LLVMFuncOp::create(builder, code.getLoc(), name, LLVM::LLVMFunctionType::get(result, arguments));
}

std::string FunctionEmitter::globalFor(Attribute elements, Type arrayType) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << elements;
  std::string &name = globals[key];
  if (name.empty()) {
    name = "constant_" + std::to_string(globals.size());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(code.getBody());
    LLVM::GlobalOp::create(builder, code.getLoc(), arrayType, /*isConstant=*/true, LLVM::Linkage::Internal, name, elements,
                           /*alignment=*/8);
  }
  return name;
}

std::string FunctionEmitter::share(LLVM::LLVMFuncOp function, StringRef prefix) {
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os, OpPrintingFlags().useLocalScope());
  std::string &name = byText[text];
  if (!name.empty()) {
    function.erase();
    return name;
  }
  name = (prefix + "_" + Twine(counters[prefix]++)).str();
  function.setName(name);
  return name;
}

FailureOr<std::unique_ptr<RootEmitter>> FunctionEmitter::rootEmitter(Operation *root, const Schedule &schedule) {
  std::unique_ptr<RootEmitter> own = makeRootEmitter(root, plan, schedule);
  if (!own && !isa<kernel::ReferenceOp, linalg::GenericOp>(root))
    return failure(); // reported
  return own;
}

FailureOr<StepCode> FunctionEmitter::emit(GroupOp group) {
  Operation *root = rootOf(group);
  if (!root)
    return failure();
  FailureOr<StepCode> step = emit(group, root, schedule);
  if (failed(step))
    return failure();
  for (const ScheduleVariant &variant : variants) {
    FailureOr<StepCode> other = emit(group, root, variant.schedule);
    if (failed(other))
      return failure();
    StepVariant code = other->variants.front();
    if (code.function == step->variants.front().function)
      continue; // the schedule does not matter here
    code.name = variant.name;
    step->variants.push_back(code);
  }
  return step;
}

FailureOr<StepCode> FunctionEmitter::emit(GroupOp group, Operation *root, const Schedule &schedule) {
  StepCode step;
  Location unknown = builder.getUnknownLoc(); // names of nodes are in the table; equal code must have equal text
  auto reference = dyn_cast<kernel::ReferenceOp>(root);
  auto loop = dyn_cast<linalg::GenericOp>(root);
  auto dps = cast<DestinationStyleOpInterface>(root);
  FailureOr<std::unique_ptr<RootEmitter>> emitter = rootEmitter(root, schedule);
  if (failed(emitter))
    return failure();
  std::unique_ptr<RootEmitter> &own = *emitter;
  listBuffers(root, plan, step);
  SmallVector<Value> bases(step.reads);
  llvm::append_range(bases, step.writes);

  // Work and chunks. Sizes of chunks follow from shapes only, never from threads.
  MLIRContext *context = builder.getContext();
  BufferView result = plan.view(dps.getDpsInits().front());
  DimExpr units, work, bytes = bytesOf(root, plan);
  if (own) {
    units = own->units;
    work = own->work;
    step.macs = own->macs;
    step.name = own->name.empty() ? root->getName().stripDialect().str() : own->name;
    if (auto fused = dyn_cast<kernel::RootOpInterface>(root))
      step.name += Epilogue(fused.getEpilogue()).name();
  } else if (reference) {
    const OpRow *row = findOp(("mopt." + reference.getOp()).str());
    units = unitsOf(reference, result, row);
    work = workOf(reference, result, plan);
    step.macs = StringRef(row->quantClass) == "weighted" ? work : DimExpr::constant(context, 0);
    step.name = reference.getOp().str();
  } else {
    units = KernelBody::loopUnits(loop, plan);
    work = DimExpr::product(result.dims, context);
    step.macs = DimExpr::constant(context, 0);
    for (auto scalar : loop.getBody()->getOps<kernel::ScalarOp>())
      step.name += (step.name.empty() ? "" : "+") + scalar.getOp().str();
    if (step.name.empty())
      step.name = "copy";
  }
  if (!units || !work || !bytes || (own && llvm::is_contained(own->sizes, DimExpr()))) {
    root->emitError("MOPT-C005: the size of its work overflows 64 bits");
    return failure();
  }
  int64_t perUnit = own && own->unitWork ? own->unitWork : guess(work) / std::max<int64_t>(1, guess(units));
  perUnit = std::max<int64_t>(1, perUnit);
  int64_t grain = std::max<int64_t>(1, chunkWork / perUnit);
  // Two chunks must not write one byte.
  if (llvm::any_of(dps.getDpsInits(), [&](Value out) { return storedBits(plan.view(out).element) < 8; }))
    grain = int64_t(1) << 40; // one chunk; an empty result still has none
  DimExpr chunks = units.ceilDiv(grain);
  // An empty result has no units, but the operands must still fit each other: the reference function runs once and checks.
  if (reference)
    chunks = DimExpr::max(chunks, DimExpr::constant(context, 1));
  step.bytes = bytes;

  step.generated = !reference;

  // The kernel function.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(code.getBody());
  KernelBody body(*this, builder, unknown);
  if (own)
    for (DimExpr dim : own->sizes)
      body.addSize(dim);
  else
    for (OpOperand &operand : root->getOpOperands())
      for (DimExpr dim : plan.view(operand.get()).dims)
        body.addSize(dim);
  SmallVector<DimAttr> sizes;
  for (auto &[dim, value] : body.sizes())
    sizes.push_back(dim);
  Type ptr = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type(), i32 = builder.getI32Type();
  SmallVector<Type> types(bases.size(), ptr);
  types.append(sizes.size() + 2, i64);
  types.push_back(ptr);
  auto kernelFunction =
      LLVM::LLVMFuncOp::create(builder, unknown, "kernel", LLVM::LLVMFunctionType::get(i32, types), LLVM::Linkage::Internal);
  for (unsigned i = 0; i < bases.size(); ++i) {
    kernelFunction.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    kernelFunction.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(MOPT_ALIGNMENT));
    if (i < step.reads.size())
      kernelFunction.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  kernelFunction.setArgAttr(types.size() - 1, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  kernelFunction.setPassthroughAttr(builder.getArrayAttr(builder.getStringAttr("noinline")));
  body.start(kernelFunction, bases);
  Value status;
  if (own) {
    own->emit(body);
    status = body.status ? body.status : body.i32(MOPT_STEP_OK);
  } else if (reference) {
    status = body.reference(reference, plan);
  } else {
    body.loop(loop, plan, /*whole=*/chunks.isConstant(1));
    status = body.i32(MOPT_STEP_OK);
  }
  LLVM::ReturnOp::create(body.builder, unknown, status);
  std::string callee = share(kernelFunction, (group.getRoot() == "none" ? "loop" : group.getRoot()).str() + "_kernel");
  kernelFunction = code.lookupSymbol<LLVM::LLVMFuncOp>(callee);

  // The step function: pointers and sizes out of the call, chunks into units.
  builder.setInsertionPointToEnd(code.getBody());
  auto stepFunction = LLVM::LLVMFuncOp::create(builder, unknown, "step", LLVM::LLVMFunctionType::get(i32, {ptr}));
  builder.setInsertionPointToStart(stepFunction.addEntryBlock(builder));
  Value call = stepFunction.getArgument(0);
  auto field = [&](Value base, Type type, int64_t offset) {
    Value address = LLVM::GEPOp::create(builder, unknown, ptr, builder.getI8Type(), base,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    return LLVM::LoadOp::create(builder, unknown, type, address).getResult();
  };
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, unknown, builder.getI64IntegerAttr(value)).getResult();
  };
  // As mopt_abi.h has them: two pointers, two numbers of 64 bits, a pointer.
  const int64_t pointer = pointerBytes(), chunkBegin = 2 * pointer, chunkEnd = chunkBegin + 8, fault = chunkEnd + 8;
  static_assert(offsetof(mopt_call, symbols) == sizeof(void *) && offsetof(mopt_call, chunk_begin) == 2 * sizeof(void *) &&
                offsetof(mopt_call, chunk_end) == 2 * sizeof(void *) + 8 &&
                offsetof(mopt_call, fault) == 2 * sizeof(void *) + 16);
  Value buffers = field(call, ptr, 0), symbols;
  if (!sizes.empty() || !units.asConstant())
    symbols = field(call, ptr, pointer);
  auto sizeValue = [&](DimExpr size) {
    return size.asConstant() ? constant(*size.asConstant()) : field(symbols, i64, 8 * plan.symbolOf(size));
  };
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < bases.size(); ++i)
    arguments.push_back(field(buffers, ptr, pointer * i));
  for (DimAttr size : sizes)
    arguments.push_back(sizeValue(DimExpr(size)));
  auto unit = [&](int64_t offset) {
    Value chunk = field(call, i64, offset);
    return grain == 1 ? chunk : arith::MulIOp::create(builder, unknown, chunk, constant(grain)).getResult();
  };
  arguments.push_back(unit(chunkBegin));
  arguments.push_back(arith::MinSIOp::create(builder, unknown, unit(chunkEnd), sizeValue(units)));
  arguments.push_back(field(call, ptr, fault));
  auto run = LLVM::CallOp::create(builder, unknown, kernelFunction, arguments);
  LLVM::ReturnOp::create(builder, unknown, run.getResult());
  step.variants.push_back({share(stepFunction, "step"), chunks});
  return step;
}

LogicalResult buildPlan(ModuleOp module, const Schedule &schedule, ArrayRef<ScheduleVariant> variants, Plan &plan,
                        OwningOpRef<ModuleOp> &code) {
  module.getContext()->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>();
  code = ModuleOp::create(module.getLoc());
  plan.serialMacs = schedule.serialMacs();
  plan.serialBytes = Schedule::serialBytes();
  auto make = [&](PlanView &view) { return std::make_unique<FunctionEmitter>(*code, view, schedule, variants); };
  return buildPlan(module, make, plan);
}

} // namespace mopt
