//===- Object.cpp - link reference functions, optimize, emit ------------------------------------------------------===//
//
// Artifacts call nothing by name. Three things hold that up: the optimizer knows no library functions, so it makes no call
// of them; memory functions that instruction selection insists on are defined in the module; and the object is read back.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Codegen/Object.h"
#include "Memory.h"
#include "Specialize.h"
#include "mopt/Reference/Bitcode.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <chrono>

using namespace llvm;

namespace mopt {

ArrayRef<uint8_t> referenceBitcode() { return {moptReferenceBitcode, moptReferenceBitcodeSize}; }

namespace {

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Collects what LLVM reports. Without a handler, an error of a back end would end the process.
struct Collector final : DiagnosticHandler {
  explicit Collector(std::string &text) : text(text) {}
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() == DS_Error && text.empty()) {
      raw_string_ostream os(text);
      DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
    }
    return true;
  }
  std::string &text;
};

class Emitter {
public:
  Emitter(Module &module, const TargetSpec &spec, const ObjectOptions &options, ObjectStats &stats, std::string &error)
      : module(module), spec(spec), options(options), stats(stats), error(error) {}
  bool run(EmitKind kind, SmallVectorImpl<char> &out);

private:
  bool fail(const char *code, const Twine &text) {
    error = (Twine(code) + ": internal error: " + text).str();
    return false;
  }
  bool createMachine();
  bool linkReference();
  void markInline();
  void setAttributes();
  bool verify(const char *when);
  void optimize();
  bool noDeclarations();
  bool emit(EmitKind kind, SmallVectorImpl<char> &out);
  bool noUndefined(StringRef object);
  void progress(StringRef stage, uint64_t done, uint64_t total) const {
    if (options.progress)
      options.progress(stage, std::min(done, total), total);
  }

  Module &module;
  const TargetSpec &spec;
  const ObjectOptions &options;
  ObjectStats &stats;
  std::string &error;
  std::string reported; // by LLVM
  std::unique_ptr<TargetMachine> machine;
  SmallVector<Function *> own; // what the module defined before linking
};

bool Emitter::createMachine() {
  Triple triple(spec.triple);
  std::string why;
  const Target *target = TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return fail("MOPT-P100", why);
  // fmuladd is fused where the CPU can; mul and add that are written apart stay apart.
  TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = FPOpFusion::Standard;
  CodeGenOptLevel level = options.optLevel == 0   ? CodeGenOptLevel::None
                          : options.optLevel == 1 ? CodeGenOptLevel::Less
                                                  : CodeGenOptLevel::Default;
  machine.reset(
      target->createTargetMachine(triple, spec.cpu, spec.features, targetOptions, Reloc::PIC_, CodeModel::Small, level));
  if (!machine)
    return fail("MOPT-P100", "no code generator for " + spec.triple);
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  return true;
}

/// Reads only the bodies that are called. What is linked in is inlined down to the module's own functions.
bool Emitter::linkReference() {
  for (Function &f : module)
    if (!f.isDeclaration())
      own.push_back(&f);
  if (!options.reference.empty()) {
    StringRef bytes(reinterpret_cast<const char *>(options.reference.data()), options.reference.size());
    auto library =
        getOwningLazyBitcodeModule(MemoryBuffer::getMemBuffer(bytes, "mopt.reference", false), module.getContext());
    if (!library)
      return fail("MOPT-P101", "the reference functions cannot be read: " + toString(library.takeError()));
    (*library)->setDataLayout(module.getDataLayout());
    (*library)->setTargetTriple(module.getTargetTriple());
    if (Linker::linkModules(module, std::move(*library), Linker::LinkOnlyNeeded))
      return fail("MOPT-P101", "the reference functions cannot be linked: " + reported);
  }
  // Texts about the compiler and flags that say nothing about this target.
  for (StringRef name : {"llvm.ident", "llvm.commandline", "llvm.module.flags"})
    if (NamedMDNode *node = module.getNamedMetadata(name))
      module.eraseNamedMetadata(node);
  module.setPICLevel(PICLevel::BigPIC);
  markInline();
  return true;
}

/// A reference function is a switch over types and ranks until it meets the constant descriptors of its caller. LLVM's
/// inliner would judge it too large. Its helpers say themselves what is to be inlined. A recursion or noinline stays.
void Emitter::markInline() {
  SmallPtrSet<Function *, 32> ours(own.begin(), own.end());
  CallGraph graph(module);
  for (auto it = scc_begin(&graph); !it.isAtEnd(); ++it) {
    bool recursive = it.hasCycle();
    for (CallGraphNode *node : *it) {
      Function *f = node->getFunction();
      if (!f || f->isDeclaration() || ours.contains(f))
        continue;
      if (recursive || f->hasFnAttribute(Attribute::NoInline) || f->hasFnAttribute(Attribute::OptimizeNone))
        f->removeFnAttr(Attribute::AlwaysInline);
      else if (f->getName().starts_with("mopt_"))
        f->addFnAttr(Attribute::AlwaysInline);
    }
  }
}

void Emitter::setAttributes() {
  for (Function &f : module) {
    if (f.isDeclaration())
      continue;
    for (const char *name : {"target-cpu", "target-features", "tune-cpu", "prefer-vector-width", "min-legal-vector-width",
                             "frame-pointer", "stack-protector-buffer-size", "probe-stack", "no-trapping-math"})
      f.removeFnAttr(name);
    for (Attribute::AttrKind kind : {Attribute::UWTable, Attribute::StackProtect, Attribute::StackProtectStrong,
                                     Attribute::StackProtectReq, Attribute::SanitizeAddress, Attribute::Builtin})
      f.removeFnAttr(kind);
    f.addFnAttr("target-cpu", spec.cpu);
    if (!spec.tune.empty())
      f.addFnAttr("tune-cpu", spec.tune);
    if (!spec.features.empty())
      f.addFnAttr("target-features", spec.features);
    // LLVM prefers 256-bit vectors on most CPUs that have 512.
    if (spec.vectorBits >= 512)
      f.addFnAttr("prefer-vector-width", std::to_string(spec.vectorBits));
    f.addFnAttr("no-builtins");
    f.addFnAttr("no-trapping-math", "true");
    f.addFnAttr(Attribute::NoUnwind);
  }
}

bool Emitter::verify(const char *when) {
  std::string text;
  raw_string_ostream os(text);
  if (!verifyModule(module, &os))
    return true;
  return fail("MOPT-P102", Twine("invalid LLVM IR ") + when + ": " + StringRef(text).take_front(2000).rtrim());
}

OptimizationLevel levelOf(unsigned level) {
  switch (level) {
  case 0:
    return OptimizationLevel::O0;
  case 1:
    return OptimizationLevel::O1;
  case 2:
    return OptimizationLevel::O2;
  default:
    return OptimizationLevel::O3;
  }
}

void Emitter::optimize() {
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cam;
  ModuleAnalysisManager mam;
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopInterleaving = options.unroll;
  // Two passes that a function meets once each: in its first half, simplification, and in its second.
  PassInstrumentationCallbacks callbacks;
  uint64_t passed = 0, functions = count_if(module, [](const Function &f) { return !f.isDeclaration(); });
  callbacks.registerAfterPassCallback([&](StringRef pass, Any ir, const PreservedAnalyses &) {
    if (any_cast<const Function *>(&ir) && (pass == "TailCallElimPass" || pass == "LoopVectorizePass"))
      progress("optimize", ++passed / 2, functions);
  });
  PassBuilder builder(machine.get(), tuning, std::nullopt, &callbacks);
  // First registration wins: no function of the C library is known, so no loop becomes a call of memset.
  TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  fam.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cam, mam);
  ModulePassManager passes = options.optLevel == 0 ? builder.buildO0DefaultPipeline(OptimizationLevel::O0)
                                                   : builder.buildPerModuleDefaultPipeline(levelOf(options.optLevel));
  passes.run(module, mam);
}

/// Counts the functions that have been emitted.
struct Counter final : FunctionPass {
  static char ID;
  explicit Counter(std::function<void()> count) : FunctionPass(ID), count(std::move(count)) {}
  StringRef getPassName() const override { return "progress"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  bool runOnFunction(Function &) override {
    count();
    return false;
  }
  std::function<void()> count;
};
char Counter::ID = 0;

bool Emitter::noDeclarations() {
  std::string names;
  for (Function &f : module)
    if (f.isDeclaration() && !f.isIntrinsic() && !f.use_empty())
      names += (names.empty() ? "" : ", ") + f.getName().str();
  for (GlobalVariable &g : module.globals())
    if (g.isDeclaration() && g.getName() != "mopt_weights" && !g.use_empty())
      names += (names.empty() ? "" : ", ") + g.getName().str();
  return names.empty() || fail("MOPT-P103", "nothing defines " + names);
}

bool Emitter::emit(EmitKind kind, SmallVectorImpl<char> &out) {
  raw_svector_ostream os(out);
  if (kind == EmitKind::llvmIr) {
    module.print(os, nullptr);
    return true;
  }
  legacy::PassManager passes;
  TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new TargetLibraryInfoWrapperPass(library));
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   kind == EmitKind::object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile))
    return fail("MOPT-P104", "no object emission for " + spec.triple);
  uint64_t emitted = 0;
  passes.add(new Counter([&] { progress("emit", ++emitted, stats.functions); }));
  passes.run(module);
  if (!reported.empty())
    return fail("MOPT-P104", reported);
  return kind != EmitKind::object || noUndefined({out.data(), out.size()});
}

/// Instruction selection calls functions that no IR names: fmaf for fma without FMA, __extendhfsf2 for half without F16C.
bool Emitter::noUndefined(StringRef bytes) {
  auto object = object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "object"));
  if (!object)
    return fail("MOPT-P104", "the object cannot be read back: " + toString(object.takeError()));
  std::string names;
  for (const object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      consumeError(flags.takeError());
      consumeError(name.takeError());
      return fail("MOPT-P104", "the object's symbols cannot be read back");
    }
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() && *name != "mopt_weights")
      names += (names.empty() ? "" : ", ") + name->str();
  }
  return names.empty() ||
         fail("MOPT-P105", "code for " + spec.cpu + " calls " + names + ", which an artifact does not have");
}

bool Emitter::run(EmitKind kind, SmallVectorImpl<char> &out) {
  LLVMContext &context = module.getContext();
  std::unique_ptr<DiagnosticHandler> previous = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<Collector>(reported));
  scope_exit restore([&] { context.setDiagnosticHandler(std::move(previous)); });

  double start = now();
  if (!createMachine() || !linkReference())
    return false;
  stats.linkMs = now() - start;
  if (!addMemoryFunctions(module, error))
    return fail("MOPT-P101", error);
  internalizeModule(module,
                    [](const GlobalValue &g) { return g.getName() == "mopt_module" || isMemoryFunction(g.getName()); });
  setAttributes();
  stats.instructionsBefore = module.getInstructionCount();
  if (!verify("before optimization"))
    return false;

  start = now();
  if (options.optLevel)
    specialize(module, own, *machine, [&](uint64_t done) { progress("specialize", done, own.size()); });
  stats.specializeMs = now() - start;
  optimize();
  dropUnusedMemoryFunctions(module);
  stats.optimizeMs = now() - start;
  for (Function &f : module)
    stats.functions += !f.isDeclaration();
  stats.instructions = module.getInstructionCount();
  if (!reported.empty())
    return fail("MOPT-P104", reported);
  if (!noDeclarations())
    return false;

  start = now();
  bool ok = emit(kind, out);
  stats.emitMs = now() - start;
  return ok;
}

} // namespace

bool optimizeAndEmit(Module &module, const TargetSpec &target, EmitKind kind, const ObjectOptions &options,
                     SmallVectorImpl<char> &out, ObjectStats *stats, std::string &error) {
  ObjectStats own;
  out.clear();
  bool ok = Emitter(module, target, options, stats ? *stats : own, error).run(kind, out);
  if (!ok)
    out.clear();
  return ok;
}

} // namespace mopt
