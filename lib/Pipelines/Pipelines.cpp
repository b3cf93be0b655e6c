//===- Pipelines.cpp - the table of phases ------------------------------------------------------------------------===//
#include "mopt/Pipelines/Pipelines.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "mopt/Conversion/Conversion.h"
#include "mopt/Dialect/Kernel/Kernel.h"
#include "mopt/Transforms/Grouping/Grouping.h"
#include "mopt/Transforms/Passes.h"

namespace mopt {
namespace {

void buildNothing(OpPassManager &, const PhaseOptions &) {}

/// One spelling for what exporters write in many ways; sizes that follow from the model are numbers afterwards.
void buildNormalized(OpPassManager &pm, const PhaseOptions &) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createFoldConstants());
  pm.addPass(createCSEPass());
  pm.addPass(createFoldScale()); // what it folds are constants only now
  pm.addPass(createCanonicalizerPass());
}

void buildGrouped(OpPassManager &pm, const PhaseOptions &) {
  pm.addNestedPass<func::FuncOp>(createSliceSplits()); // patterns before it look for splits
  pm.addPass(createChooseLayout());                    // last of the graph: patterns before it read images as ONNX has them
  pm.addPass(createCanonicalizerPass());               // transposes that move no element become views
  pm.addNestedPass<func::FuncOp>(createFormGroups());
  pm.addNestedPass<func::FuncOp>(createVerifyGrouped());
}

// No CSE here: it merges the destinations (tensor.empty is pure), and values that live at once would share one.
void buildKernels(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(createConvertMoptToKernel({options.int8Width}));
}

void buildBuffers(OpPassManager &pm, const PhaseOptions &) {
  // Destinations that end in an output become that output, before buffers are made for them.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createGroupCopies());
  pm.addPass(createCanonicalizerPass()); // buffers nobody reads
}

constexpr Phase table[] = {
    {"imported", "as the model file says", buildNothing},
    {"normalized", "one spelling per meaning, constants folded", buildNormalized},
    {"pruned", "channels and heads removed", buildNothing},
    {"quantized", "arithmetic in integers where it is accurate enough", buildNothing},
    {"fused", "operators merged by patterns", buildNothing},
    {"grouped", "one group per step", buildGrouped},
    {"kernels", "destination-passing ops with sizes as values", buildKernels},
    {"buffers", "memory instead of values", buildBuffers},
};

} // namespace

ArrayRef<Phase> phases() { return table; }

std::optional<unsigned> findPhase(StringRef name) {
  for (auto [i, phase] : llvm::enumerate(table))
    if (name == phase.name)
      return i;
  if (name == llvmPhase)
    return std::size(table);
  return std::nullopt;
}

unsigned phaseOf(ModuleOp module) {
  unsigned phase = 0;
  module.walk([&](Operation *op) {
    if (isa<memref::AllocOp>(op))
      phase = std::max(phase, *findPhase("buffers"));
    else if (isa<kernel::KernelDialect>(op->getDialect()))
      phase = std::max(phase, llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>) ? *findPhase("buffers")
                                                                                             : *findPhase("kernels"));
    else if (isa<GroupOp>(op))
      phase = std::max(phase, *findPhase("grouped"));
  });
  return phase;
}

LogicalResult setRequantize(ModuleOp module, StringRef mode) {
  PassManager pm(module.getContext());
  pm.addPass(createSetRequantize({mode.str()}));
  return pm.run(module);
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<MoptDialect, kernel::KernelDialect, func::FuncDialect, arith::ArithDialect, tensor::TensorDialect,
                  memref::MemRefDialect, linalg::LinalgDialect, bufferization::BufferizationDialect, scf::SCFDialect,
                  cf::ControlFlowDialect, LLVM::LLVMDialect>();
  kernel::registerBufferization(registry);
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void registerPasses() {
  registerMoptTransformsPasses();
  registerMoptGroupingPasses();
  registerMoptConversionPasses();
  for (unsigned last = 0; last < std::size(table); ++last)
    PassPipelineRegistration<>((Twine("mopt-to-") + table[last].name).str(),
                               (Twine("All phases up to: ") + table[last].text).str(), [last](OpPassManager &pm) {
                                 for (unsigned i = 0; i <= last; ++i)
                                   table[i].build(pm, PhaseOptions());
                               });
}

} // namespace mopt
