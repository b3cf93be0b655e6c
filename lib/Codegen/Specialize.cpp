//===- Specialize.cpp - reference functions for the descriptors of one step ---------------------------------------===//
//
// A reference function is a switch over types at each of many levels of helpers. LLVM inlines from the bottom: it would
// optimize the code of every type before it sees that a step needs one. From the top, a step meets only what its constant
// descriptors leave. CPU time of a step, estimated from models of one op: add 0.36 -> 0.13 s for the first and 0.03 for each
// further one, matmul 0.42 -> 0.21 and 0.33 -> 0.19. The size of the code was not compared step by step; bench/counts.py
// watches it for whole models.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Specialize.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mopt {
namespace {

const unsigned maxLevels = 64;

/// Inlines the present calls of `root`; returns whether there were any.
bool inlineLevel(Function &root) {
  SmallVector<CallBase *> calls;
  for (BasicBlock &block : root)
    for (Instruction &i : block)
      if (auto *call = dyn_cast<CallBase>(&i))
        if (Function *f = call->getCalledFunction();
            f && f != &root && !f->isDeclaration() && f->hasFnAttribute(Attribute::AlwaysInline))
          calls.push_back(call);
  bool any = false;
  for (CallBase *call : calls) {
    InlineFunctionInfo info;
    any |= InlineFunction(*call, info).isSuccess();
  }
  return any;
}

} // namespace

void specialize(Module &module, ArrayRef<Function *> roots, TargetMachine &machine,
                function_ref<void(uint64_t done)> progress) {
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cam;
  ModuleAnalysisManager mam;
  PassBuilder builder(&machine);
  TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  fam.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cam, mam);
  // Enough to see which arguments are only read: a descriptor survives a call that has not been inlined yet.
  ModulePassManager first;
  FunctionPassManager promote;
  promote.addPass(SROAPass(SROAOptions::ModifyCFG));
  promote.addPass(EarlyCSEPass());
  promote.addPass(SimplifyCFGPass());
  first.addPass(createModuleToFunctionPassAdaptor(std::move(promote)));
  first.addPass(createModuleToPostOrderCGSCCPassAdaptor(PostOrderFunctionAttrsPass()));
  FunctionPassManager fold;
  fold.addPass(SROAPass(SROAOptions::ModifyCFG));
  fold.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  fold.addPass(SimplifyCFGPass());
  first.run(module, mam);
  for (auto [i, root] : enumerate(roots)) {
    for (unsigned level = 0; level < maxLevels && inlineLevel(*root); ++level) {
      fam.clear(*root, root->getName());
      fam.invalidate(*root, fold.run(*root, fam));
    }
    progress(i + 1);
  }
  GlobalDCEPass().run(module, mam);
}

} // namespace mopt
