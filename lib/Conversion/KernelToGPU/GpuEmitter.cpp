//===- GpuEmitter.cpp - one group, one compute shader --------------------------------------------------------------===//
#include "GpuEmitter.h"
#include "../KernelToVector/Epilogue.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mopt {
namespace {

/// Workgroups as a dispatch: along y too where there are more than fit along x.
std::array<uint32_t, 3> gridOf(int64_t groups, int64_t most) {
  if (groups == 0)
    return {0, 0, 0};
  int64_t y = (groups + most - 1) / most;
  return {static_cast<uint32_t>((groups + y - 1) / y), static_cast<uint32_t>(y), 1};
}

} // namespace

static InFlightDiagnostic refuse(GroupOp group, Operation *root) {
  auto reference = dyn_cast<kernel::ReferenceOp>(root);
  auto why = group->getAttrOfType<StringAttr>("mopt.why");
  InFlightDiagnostic message = root->emitError();
  message << "MOPT-C021: '" << (reference ? reference.getOp() : root->getName().stripDialect()) << "' has no code for GPUs";
  if (why)
    message << " (" << why.getValue() << ")";
  message << "; compile the model for a CPU, or cut it before this node";
  return message;
}

/// What is not checked here, kernels take for granted; they check themselves whether operands of reference ops fit.
LogicalResult GpuEmitter::check(GroupOp group, Operation *root) {
  if (!isa<kernel::ConvOp, kernel::DepthwiseOp, kernel::MatMulOp, kernel::MoveOp, kernel::PackOp, kernel::ReduceOp,
           kernel::ReferenceOp, linalg::GenericOp>(root))
    return refuse(group, root);
  if (auto reference = dyn_cast<kernel::ReferenceOp>(root);
      reference && !llvm::is_contained({"conv", "gemm", "matmul"}, reference.getOp()))
    return refuse(group, root);
  bool known = true;
  for (Value operand : root->getOperands()) {
    BufferView view = plan.view(operand);
    for (DimExpr dim : view.dims)
      if (!dim || !dim.asConstant())
        return root->emitError() << "MOPT-C020: size '" << dim.str()
                                 << "' is known only when the model runs, where GPU code takes numbers; give the inputs "
                                    "sizes with --shape";
    if (!view.element.isF32())
      return root->emitError() << "MOPT-C021: has a tensor of type " << view.element
                               << ", where GPU code takes float32; compile the model for a CPU, or in float32";
    DimExpr bytes = DimExpr::product(view.dims, root->getContext()) * 4;
    if (!bytes || *bytes.asConstant() >= schedule.maxBufferBytes)
      return root->emitError() << "MOPT-C022: a tensor has " << (bytes ? bytes.str() : "too many")
                               << " bytes, where GPU code takes less than " << schedule.maxBufferBytes
                               << "; make the shapes smaller";
  }
  if (auto move = dyn_cast<kernel::MoveOp>(root))
    for (auto lists : move.getParts().getAsRange<ArrayAttr>())
      for (auto list : lists.getAsRange<DimsAttr>())
        known &= llvm::all_of(list.getDims(), [](DimAttr dim) { return DimExpr(dim).asConstant().has_value(); });
  if (!known)
    return root->emitError()
           << "MOPT-C020: where elements go is known only when the model runs; give the inputs sizes with --shape";
  if (auto loop = dyn_cast<linalg::GenericOp>(root))
    return checkElementwise(*loop.getBody());
  if (auto fused = dyn_cast<kernel::RootOpInterface>(root))
    return checkElementwise(fused.getEpilogue().front());
  return success();
}

FailureOr<std::string> GpuEmitter::function(Operation *root, GpuKernel &kernel, ArrayRef<Value> bases) {
  MLIRContext *context = builder.getContext();
  Location loc = builder.getUnknownLoc(); // equal code must have equal text
  GpuEntry entry;
  entry.threads = schedule.threads;
  entry.groups = gridOf(kernel.groups, schedule.maxGroups);
  if (entry.groups[1] > schedule.maxGroups)
    return root->emitError() << "MOPT-C022: takes " << kernel.groups << " workgroups, where GPUs take "
                             << schedule.maxGroups * schedule.maxGroups << "; make the shapes smaller";
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(code.getBody());
  auto space = spirv::StorageClassAttr::get(context, spirv::StorageClass::StorageBuffer);
  Type buffer = MemRefType::get({ShapedType::kDynamic}, builder.getF32Type(), MemRefLayoutAttrInterface(), space);
  auto type = builder.getFunctionType(SmallVector<Type>(bases.size(), buffer), {});
  auto function = gpu::GPUFuncOp::create(builder, loc, "kernel", type);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(spirv::getEntryPointABIAttrName(),
                    spirv::getEntryPointABIAttr(context, {static_cast<int32_t>(entry.threads), 1, 1}));
  SmallVector<int32_t> grid(entry.groups.begin(), entry.groups.end());
  function->setAttr("mopt.workgroups", builder.getDenseI32ArrayAttr(grid)); // one entry point has one dispatch
  builder.setInsertionPointToStart(&function.getBody().front());
  ThreadCode thread(builder, loc, plan);
  for (auto [base, argument] : llvm::zip_equal(bases, function.getArguments()))
    thread.buffers[base] = argument;
  thread.thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  thread.group = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value exists;
  if (entry.groups[1] > 1) {
    Value y = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::y);
    thread.group = thread.add(thread.mul(y, entry.groups[0]), thread.group);
    exists = thread.below(thread.group, kernel.groups); // the same for all threads: barriers inside are allowed
  }
  if (kernel.groups)
    thread.when(exists, [&] { kernel.emit(thread); });
  gpu::ReturnOp::create(builder, loc);
  entry.sharedBytes = thread.sharedBytes;

  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os);
  std::string &name = byText[text];
  if (!name.empty()) {
    function.erase();
    return name;
  }
  auto reference = dyn_cast<kernel::ReferenceOp>(root);
  StringRef prefix = reference                      ? reference.getOp()
                     : isa<linalg::GenericOp>(root) ? StringRef("loop")
                                                    : root->getName().stripDialect();
  name = prefix.str() + "_" + std::to_string(entries.size());
  function.setName(name);
  entry.name = name;
  entries.push_back(entry);
  return name;
}

FailureOr<StepCode> GpuEmitter::emit(GroupOp group) {
  StepCode step;
  Operation *root = rootOf(group);
  if (!root || failed(check(group, root)))
    return failure();
  listBuffers(root, plan, step);
  SmallVector<Value> bases(step.reads);
  llvm::append_range(bases, step.writes);
  std::unique_ptr<GpuKernel> kernel = makeGpuKernel(root, plan, schedule);
  if (!kernel)
    return refuse(group, root);
  FailureOr<std::string> name = function(root, *kernel, bases);
  if (failed(name))
    return failure();
  MLIRContext *context = builder.getContext();
  step.generated = true;
  step.variants.push_back({*name, DimExpr::constant(context, kernel->groups)});
  step.macs = DimExpr::constant(context, kernel->macs);
  step.bytes = bytesOf(root, plan);
  if (!step.bytes)
    return root->emitError("MOPT-C005: the size of its work overflows 64 bits");
  if (auto reference = dyn_cast<kernel::ReferenceOp>(root))
    step.name = reference.getOp().str();
  else if (!isa<linalg::GenericOp>(root))
    step.name = root->getName().stripDialect().str();
  if (auto fused = dyn_cast<kernel::RootOpInterface>(root))
    step.name += Epilogue(fused.getEpilogue()).name();
  if (auto loop = dyn_cast<linalg::GenericOp>(root))
    for (auto scalar : loop.getBody()->getOps<kernel::ScalarOp>())
      step.name += (step.name.empty() ? "" : "+") + scalar.getOp().str();
  if (step.name.empty())
    step.name = "copy";
  return step;
}

LogicalResult buildGpuPlan(ModuleOp module, const GpuSchedule &schedule, Plan &plan, OwningOpRef<ModuleOp> &code,
                           GpuModule &shaders) {
  MLIRContext *context = module.getContext();
  context->loadDialect<gpu::GPUDialect, spirv::SPIRVDialect, scf::SCFDialect, arith::ArithDialect, math::MathDialect,
                       memref::MemRefDialect>();
  code = ModuleOp::create(module.getLoc());
  // SPIR-V 1.3 is what Vulkan 1.1 takes; nothing but its basic shader features.
  auto needs = spirv::VerCapExtAttr::get(spirv::Version::V_1_3, {spirv::Capability::Shader},
                                         {spirv::Extension::SPV_KHR_storage_buffer_storage_class}, context);
  (*code)->setAttr(spirv::getTargetEnvAttrName(),
                   spirv::TargetEnvAttr::get(needs, spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan));
  OpBuilder builder(context);
  builder.setInsertionPointToStart(code->getBody());
  auto kernels = gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  auto make = [&](PlanView &view) { return std::make_unique<GpuEmitter>(kernels, view, schedule, shaders.entries); };
  if (failed(buildPlan(module, make, plan)))
    return failure();
  if (!plan.symbols.empty() || !plan.checks.empty()) {
    std::string name = plan.symbols.empty() ? plan.checks.front().what : plan.symbols.front().name;
    return module.emitError() << "MOPT-C020: size '" << name
                              << "' is known only when the model runs, where GPU code takes numbers; give the inputs sizes "
                                 "with --shape";
  }
  PassManager pm(context);
  pm.addNestedPass<gpu::GPUModuleOp>(createCanonicalizerPass());
  pm.addNestedPass<gpu::GPUModuleOp>(createCSEPass());
  return pm.run(*code);
}

} // namespace mopt
