//===- Package.cpp - from a module and a plan to a file -----------------------------------------------------------===//
#include "mopt/Package/Package.h"
#include "llvm/IR/Module.h"
#include <chrono>

using namespace llvm;

namespace mopt {
namespace {

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool generate(Module &module, const Plan &plan, const TargetSpec &target, EmitKind kind, const PackageOptions &options,
              SmallVectorImpl<char> &out, PackageStats &stats, std::string &error) {
  double start = now();
  if (target.kind == TargetClass::hvx && kind == EmitKind::object && plan.weightBytes &&
      !embedWeights(module, plan, target.vectorBits / 8, error))
    return false;
  if (!addTable(module, plan, target, makeManifest(plan, target, options), error))
    return false;
  stats.tableMs = now() - start;
  return optimizeAndEmit(module, target, kind, options.object, out, &stats.object, error);
}

} // namespace

bool packageSharedObject(Module &module, const Plan &plan, const TargetSpec &target, StringRef path,
                         const PackageOptions &options, std::string &error, PackageStats *stats) {
  PackageStats own;
  PackageStats &s = stats ? *stats : own;
  SmallVector<char, 0> object, code;
  if (!generate(module, plan, target, EmitKind::object, options, object, s, error))
    return false;
  double start = now();
  if (!linkCode(object, target, plan.weightBytes, options.symbols, code, error))
    return false;
  s.linkMs = now() - start;
  s.codeBytes = code.size();
  start = now();
  PackageOptions writing = options;
  writing.beforeCommit = [&](std::string &why) {
    s.writeMs = now() - start;
    return !options.beforeCommit || options.beforeCommit(why);
  };
  return writeArtifact(code, plan, path, writing, s.fileBytes, error);
}

bool packageText(Module &module, const Plan &plan, const TargetSpec &target, EmitKind kind, StringRef path,
                 const PackageOptions &options, std::string &error, PackageStats *stats) {
  PackageStats own;
  SmallVector<char, 0> out;
  return generate(module, plan, target, kind, options, out, stats ? *stats : own, error) &&
         writeFile(out, path, options, error);
}

} // namespace mopt
