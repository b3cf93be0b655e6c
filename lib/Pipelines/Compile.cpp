//===- Compile.cpp - from a module to an artifact -----------------------------------------------------------------===//
#include "mopt/Pipelines/Compile.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "mopt/Codegen/Target.h"
#include "mopt/Conversion/Conversion.h"
#include "mopt/Package/Package.h"
#include "mopt/Pipelines/Pipelines.h"
#include "mopt/Runtime/planner.h"
#include "mopt/Support/Checked.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace mopt {
namespace {

class Clock {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - last).count();
    last = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

class Compilation {
public:
  Compilation(ModuleOp module, const CompileOptions &options, CompileReport &report)
      : module(module), options(options), report(report) {}

  CompileStatus run() {
    std::optional<unsigned> last = findPhase(options.toPhase);
    if (!last)
      return refuse("MOPT-C010: there is no phase '" + options.toPhase + "'; phases are " + phaseNames());
    static constexpr llvm::StringLiteral kinds[] = {"so", "obj", "llvm", "asm", "mlir", "plan"};
    if (!llvm::is_contained(kinds, options.emit))
      return refuse("MOPT-C011: cannot emit '" + options.emit + "'; possible are so, obj, llvm, asm, mlir");
    std::string reason;
    std::optional<TargetSpec> target = TargetSpec::resolve(options.triple, options.cpu, reason);
    if (!target)
      return refuse("MOPT-C012: " + reason);
    if (target->kind == TargetClass::vulkan && !llvm::is_contained({"so", "mlir", "plan"}, options.emit))
      return refuse("MOPT-C011: cannot emit '" + options.emit + "' for " + target->triple +
                    "; possible are so (the folder with shaders, weights and plan) and mlir");
    if (target->kind == TargetClass::vulkan && options.descriptor >= 0 && options.emit == "so")
      return refuse("MOPT-C011: code for " + target->triple + " is a folder, which cannot be written to an open file");
    report.triple = target->triple;
    report.cpu = target->cpu;
    auto functions = module.getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions) || (*functions.begin()).isExternal())
      return refuse("MOPT-C006: the module has " + std::to_string(std::distance(functions.begin(), functions.end())) +
                    " functions, expected one with a body: the model");
    const bool isHvx = target->kind == TargetClass::hvx;
    if (isHvx && *last == phases().size() && options.emit == "so")
      return refuse("MOPT-C011: cannot emit 'so' for " + target->triple +
                    ", whose loader is not known; use --emit obj, which holds the weights, and link it (docs/targets.md); "
                    "possible are also llvm, asm, mlir");
    if (target->kind != TargetClass::cpu && !options.tiles.empty())
      return refuse("MOPT-C033: --tiles makes variants for CPUs, code for " + target->triple +
                    " has none; leave the option out, or compile for a CPU");
    for (auto [rows, panels] : options.tiles)
      if (rows < 1 || rows > 8 || panels < 1 || panels > 4)
        return refuse("MOPT-T031: tile " + std::to_string(rows) + "x" + std::to_string(panels) +
                      ": expected 1 to 8 rows and 1 to 4 panels of 16 columns, for example 4x1");
    std::string requantize = options.requantize.empty() && isHvx ? "fixed" : options.requantize;
    if (!requantize.empty() && failed(setRequantize(module, requantize)))
      return CompileStatus::badInput;
    PhaseOptions phaseOptions;
    if (isHvx) {
      phaseOptions.int8Width = 32;
      phaseOptions.int8Unsigned = true;
    }
    for (unsigned i = phaseOf(module) + 1; i <= *last && i < phases().size(); ++i) {
      PassManager pm(module.getContext());
      pm.enableVerifier(options.verifyEach);
      phases()[i].build(pm, phaseOptions);
      // A phase up to `grouped` refuses what a model asks for; below, a failure is ours.
      if (failed(pm.run(module)))
        return i <= *findPhase("grouped") ? CompileStatus::badInput : CompileStatus::internalFault;
      finish(phases()[i].name);
    }
    if (*last < phases().size())
      return CompileStatus::ok; // the caller writes the module: its weights are the importer's business
    return target->kind == TargetClass::vulkan ? generateGpu(*target) : generate(*target);
  }

private:
  CompileStatus refuse(const Twine &message) {
    emitError(UnknownLoc::get(module.getContext())) << message;
    return CompileStatus::badInput;
  }
  CompileStatus fault(const Twine &message) {
    emitError(UnknownLoc::get(module.getContext())) << message;
    return CompileStatus::internalFault;
  }
  static std::string phaseNames() {
    std::string names;
    for (const Phase &phase : phases())
      names += std::string(phase.name) + ", ";
    return names + llvmPhase.str();
  }
  void finish(StringRef phase) {
    double ms = clock.lap();
    report.phases.push_back({phase.str(), ms});
    if (options.onPhase)
      options.onPhase(phase, ms);
  }

  CompileStatus writeText(ModuleOp what) {
    std::string text, error;
    llvm::raw_string_ostream os(text);
    what.print(os, OpPrintingFlags().enableDebugInfo(true, false));
    PackageOptions package;
    package.descriptor = options.descriptor;
    package.beforeCommit = [&](std::string &why) { return !options.beforeCommit || options.beforeCommit(report, why); };
    return writeFile(ArrayRef<char>(text.data(), text.size()), options.output, package, error) ? CompileStatus::ok
                                                                                               : refuse(error);
  }

  CompileStatus generate(const TargetSpec &target) {
    Plan plan;
    OwningOpRef<ModuleOp> code;
    const bool isHvx = target.kind == TargetClass::hvx;
    const Schedule &schedule = isHvx ? hvxSchedule() : scheduleFor(target.cpuBits);
    SmallVector<ScheduleVariant> variants;
    for (auto [rows, panels] : options.tiles)
      variants.push_back({llvm::formatv("tile_{0}x{1}", rows, panels).str(), withTile(schedule, rows, panels)});
    bool refused = false;
    if (failed(isHvx ? buildHvxPlan(module, plan, code, refused) : buildPlan(module, schedule, variants, plan, code)))
      return refused ? CompileStatus::badInput : CompileStatus::internalFault;
    explain(plan,
            [&](const PlanStep &step) { return estimateNs(schedule, step.assumedMacs, step.assumedBytes, step.generated); });
    if (options.emit == "plan")
      return CompileStatus::ok;
    PassManager pm(module.getContext());
    pm.enableVerifier(options.verifyEach);
    pm.addPass(createSCFToControlFlowPass());
    pm.addPass(createArithToLLVMConversionPass());
    pm.addPass(createConvertControlFlowToLLVMPass());
    pm.addPass(createReconcileUnrealizedCastsPass());
    if (failed(pm.run(*code)))
      return CompileStatus::internalFault;
    describe(plan);
    finish(llvmPhase);
    if (options.emit == "mlir")
      return writeText(*code);
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*code, context, "model");
    if (!llvmModule)
      return fault("MOPT-C013: step functions cannot be translated to LLVM IR");
    code = {};
    PackageOptions package;
    package.options = options.recorded;
    if (isHvx && options.requantize.empty())
      package.options.push_back({"requantize", "fixed"}); // what nobody asked for, but got
    if (!isHvx)                                           // they are for 64-bit machines; no step needs one
      package.object.reference = referenceBitcode();
    package.object.progress = options.onProgress;
    package.descriptor = options.descriptor;
    package.copied = options.copied;
    PackageStats stats;
    package.beforeCommit = [&](std::string &why) {
      note(stats);
      return !options.beforeCommit || options.beforeCommit(report, why);
    };
    std::string error;
    bool ok = options.emit == "so" ? packageSharedObject(*llvmModule, plan, target, options.output, package, error, &stats)
                                   : packageText(*llvmModule, plan, target,
                                                 options.emit == "obj"   ? EmitKind::object
                                                 : options.emit == "asm" ? EmitKind::assembly
                                                                         : EmitKind::llvmIr,
                                                 options.output, package, error, &stats);
    if (!ok)
      return StringRef(error).starts_with("MOPT-P1") ? fault(error) : refuse(error);
    return CompileStatus::ok;
  }

  /// Shaders: what a group lacks for GPUs is the model's, not a fault of ours.
  CompileStatus generateGpu(const TargetSpec &target) {
    Plan plan;
    GpuModule shaders;
    OwningOpRef<ModuleOp> code;
    const GpuSchedule &schedule = vulkanSchedule();
    if (failed(buildGpuPlan(module, schedule, plan, code, shaders)))
      return CompileStatus::badInput;
    explain(plan, [&](const PlanStep &step) {
      return std::max(step.assumedMacs / schedule.macsPerNs, step.assumedBytes / schedule.bytesPerNs) + 1;
    });
    if (options.emit == "plan")
      return CompileStatus::ok;
    describe(plan);
    if (options.emit == "mlir") {
      finish("gpu");
      return writeText(*code);
    }
    if (failed(serializeSpirv(*code, shaders)))
      return CompileStatus::internalFault;
    finish("gpu");
    PackageOptions package;
    package.options = options.recorded;
    package.copied = options.copied;
    PackageStats stats;
    package.beforeCommit = [&](std::string &why) {
      note(stats);
      return !options.beforeCommit || options.beforeCommit(report, why);
    };
    std::string error;
    if (!packageGpuFolder(shaders, plan, target, options.output, package, error, &stats))
      return StringRef(error).starts_with("MOPT-P1") ? fault(error) : refuse(error);
    return CompileStatus::ok;
  }

  void note(const PackageStats &stats) {
    report.functions = stats.object.functions;
    report.codeBytes = stats.codeBytes;
    report.fileBytes = stats.fileBytes;
    for (auto [name, ms] : std::initializer_list<std::pair<const char *, double>>{{"reference", stats.object.linkMs},
                                                                                  {"optimize", stats.object.optimizeMs},
                                                                                  {"emit", stats.object.emitMs},
                                                                                  {"link", stats.linkMs},
                                                                                  {"write", stats.writeMs}})
      report.phases.push_back({std::string("package: ") + name, ms});
    finish("package");
  }

  void explain(const Plan &plan, llvm::function_ref<double(const PlanStep &)> estimate) {
    double total = 0;
    for (const PlanStep &from : plan.steps) {
      CompileReport::Step step{from.name, from.root,        from.nodes,        from.generated,
                               from.why,  from.assumedMacs, from.assumedBytes, estimate(from)};
      total += step.share;
      report.plan.push_back(std::move(step));
    }
    for (CompileReport::Step &step : report.plan)
      step.share /= total;
  }

  void describe(const Plan &plan) {
    report.steps = plan.steps.size();
    report.buffers = plan.buffers.size();
    report.symbols = plan.symbols.size();
    report.weightBytes = plan.weightBytes;
    report.arenaBytes = arenaOf(plan);
  }

  /// Peak of the arena of a plan without symbols, by the planner that the runtime uses; -1 for others.
  int64_t arenaOf(const Plan &plan) {
    std::vector<mopt_plan_item> items;
    for (const PlanBuffer &buffer : plan.buffers) {
      if (buffer.kind != MOPT_BUF_ARENA)
        continue;
      int64_t elements = 1;
      for (mopt_size dim : buffer.dims) {
        auto product = dim < 0 ? std::nullopt : checked::mul<int64_t>(elements, dim);
        if (!product)
          return -1;
        elements = *product;
      }
      auto bits = checked::mul<int64_t>(elements, storedBits(elementType(module.getContext(), buffer.dtype)));
      if (!bits)
        return -1;
      mopt_plan_item item = {};
      item.bytes = (*bits + 7) / 8;
      item.first = buffer.firstStep;
      item.last = buffer.lastStep;
      item.align = MOPT_ALIGNMENT;
      items.push_back(item);
    }
    std::vector<uint64_t> scratch(mopt_plan_scratch_bytes(items.size()) / sizeof(uint64_t) + 1);
    uint64_t bytes = 0;
    return mopt_plan_arena(items.data(), items.size(), scratch.data(), &bytes) == 0 ? static_cast<int64_t>(bytes) : -1;
  }

  ModuleOp module;
  const CompileOptions &options;
  CompileReport &report;
  Clock clock;
};

} // namespace

CompileStatus compile(ModuleOp module, const CompileOptions &options, CompileReport &report) {
  return Compilation(module, options, report).run();
}

std::string toJson(const CompileReport &report) {
  llvm::json::Array phaseTimes;
  for (const CompileReport::PhaseTime &phase : report.phases)
    phaseTimes.push_back(llvm::json::Object{{"name", phase.name}, {"ms", phase.milliseconds}});
  llvm::json::Object object{{"format", 1},
                            {"triple", report.triple},
                            {"cpu", report.cpu},
                            {"phases", std::move(phaseTimes)},
                            {"steps", static_cast<int64_t>(report.steps)},
                            {"functions", static_cast<int64_t>(report.functions)},
                            {"buffers", static_cast<int64_t>(report.buffers)},
                            {"symbols", static_cast<int64_t>(report.symbols)},
                            {"weight_bytes", static_cast<int64_t>(report.weightBytes)},
                            {"code_bytes", static_cast<int64_t>(report.codeBytes)},
                            {"file_bytes", static_cast<int64_t>(report.fileBytes)},
                            {"arena_bytes", report.arenaBytes}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
  return text;
}

std::string explanationJson(const CompileReport &report) {
  llvm::json::Array steps;
  for (const CompileReport::Step &step : report.plan)
    steps.push_back(llvm::json::Object{{"name", step.name},
                                       {"root", step.root},
                                       {"nodes", llvm::json::Array(step.nodes)},
                                       {"code", step.generated ? "generated" : "reference"},
                                       {"why", step.why},
                                       {"macs", step.macs},
                                       {"bytes", step.bytes},
                                       {"estimated_share", step.share}});
  llvm::json::Object object{{"format", 1}, {"triple", report.triple}, {"cpu", report.cpu}, {"steps", std::move(steps)}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
  return text;
}

} // namespace mopt
