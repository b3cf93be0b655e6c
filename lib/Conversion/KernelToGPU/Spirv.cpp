//===- Spirv.cpp - shaders as SPIR-V -------------------------------------------------------------------------------===//
//
// All through MLIR's conversions, in process. What is added is the numeric contract: products and sums are marked so that no
// driver makes one operation of them, or takes them in another order; a fused multiply-add stands where one was written.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "GpuEmitter.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "llvm/ADT/MapVector.h"

namespace mopt {
namespace {

/// Entry points use the same workgroup memory where they take arrays of one size: only one runs at a time in a workgroup. By
/// the standard what counts is each entry point, but there are drivers and layers that add up what a module declares.
void shareWorkgroupMemory(spirv::ModuleOp module) {
  SymbolTable symbols(module);
  llvm::MapVector<std::pair<Type, unsigned>, StringAttr> shared; // the n-th array of a type in a function
  llvm::SmallPtrSet<Operation *, 8> used;
  for (auto function : module.getOps<spirv::FuncOp>()) {
    llvm::DenseMap<Type, unsigned> counts;
    llvm::DenseMap<StringAttr, StringAttr> names;
    function.walk([&](spirv::AddressOfOp address) {
      auto variable = symbols.lookup<spirv::GlobalVariableOp>(address.getVariable());
      auto type = dyn_cast<spirv::PointerType>(variable.getType());
      if (!type || type.getStorageClass() != spirv::StorageClass::Workgroup)
        return;
      StringAttr &name = names[variable.getSymNameAttr()];
      if (!name)
        name = shared.insert({{type, counts[type]++}, variable.getSymNameAttr()}).first->second;
      address.setVariable(name);
      used.insert(symbols.lookup(name));
    });
  }
  for (auto variable : llvm::make_early_inc_range(module.getOps<spirv::GlobalVariableOp>()))
    if (cast<spirv::PointerType>(variable.getType()).getStorageClass() == spirv::StorageClass::Workgroup &&
        !used.contains(variable))
      variable.erase();
}

} // namespace

LogicalResult serializeSpirv(ModuleOp code, GpuModule &shaders) {
  PassManager pm(code.getContext());
  pm.addNestedPass<gpu::GPUModuleOp>(createConvertMathToSPIRVPass());
  pm.addPass(createConvertGPUToSPIRVPass());
  OpPassManager &inner = pm.nest<spirv::ModuleOp>();
  inner.addPass(spirv::createSPIRVLowerABIAttributesPass());
  inner.addPass(spirv::createSPIRVUpdateVCEPass());
  if (failed(pm.run(code)))
    return code.emitError("MOPT-C023: shaders have ops that have no form in SPIR-V");
  auto modules = code.getOps<spirv::ModuleOp>();
  if (!llvm::hasSingleElement(modules))
    return code.emitError("MOPT-C023: shaders did not become one SPIR-V module");
  spirv::ModuleOp module = *modules.begin();
  shareWorkgroupMemory(module);
  module.walk([](Operation *op) {
    if (isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::GLFmaOp>(op))
      op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
  });
  SmallVector<uint32_t> words;
  if (failed(spirv::serialize(module, words)))
    return code.emitError("MOPT-C023: shaders cannot be written as SPIR-V");
  shaders.spirv.assign(words.begin(), words.end());
  return success();
}

} // namespace mopt
