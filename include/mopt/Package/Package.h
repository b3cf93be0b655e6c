//===- Package.h - from a module and a plan to a file -------------------------------------------------------------===//
//
// Errors begin with a code. MOPT-P0nn: the file system or the request is at fault. MOPT-P1nn: a fault of the compiler.
//   P001 folder missing or not writable   P002 disk full   P003 the output is not a regular file   P004 writing failed
//   P005 the output is a folder with other files
//   P100-P105 code generation (Object.h)  P110 the plan and the module disagree  P111 link failed  P112 wrong ELF
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_PACKAGE_PACKAGE_H
#define MOPT_PACKAGE_PACKAGE_H

#include "mopt/Codegen/Object.h"
#include "mopt/Package/GpuModule.h"
#include "mopt/Package/Plan.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mopt {
class OutputFile;

struct PackageOptions {
  std::string compilerVersion = "0.1.0";
  std::vector<std::pair<std::string, std::string>> options; // what the user asked for, for the manifest; no paths
  /// Members for the manifest: "lineage", "precision", "sensitivity", "calibration", "tuning", "report"; see
  /// docs/manifest.md.
  llvm::json::Object manifest;
  ObjectOptions object;
  bool symbols = true;  // keep step names in .symtab, for debuggers and profilers; a few KB
  unsigned mode = 0644; // of the file, less the umask
  int descriptor = -1;  // not -1: an open file that is written instead of `path`; it stays the caller's
  /// Called when all bytes are written, before the file gets its name. False drops the file; `error` then says why.
  std::function<bool(std::string &error)> beforeCommit;
  /// Called with bytes of weights that are in the file and will not be read again.
  std::function<void(llvm::ArrayRef<uint8_t>)> copied;
};

struct PackageStats {
  ObjectStats object;
  double tableMs = 0, linkMs = 0, writeMs = 0;
  uint64_t codeBytes = 0; // of the file before the weights
  uint64_t fileBytes = 0;
};

/// Adds mopt_module and its tables to the module, generates code, links, and writes `path` with the weights. The file
/// appears complete or not at all. Memory beyond the module: the object and the linked code, not the weights.
bool packageSharedObject(llvm::Module &module, const Plan &plan, const TargetSpec &target, llvm::StringRef path,
                         const PackageOptions &options, std::string &error, PackageStats *stats = nullptr);

/// The same up to a relocatable object, assembly or LLVM IR: for reading, without weights. Only objects for machines that
/// have no shared objects of ours (TargetClass::hvx) hold their weights.
bool packageText(llvm::Module &module, const Plan &plan, const TargetSpec &target, EmitKind kind, llvm::StringRef path,
                 const PackageOptions &options, std::string &error, PackageStats *stats = nullptr);

/// For GPUs: a folder with the shaders, the weights and the plan as JSON (docs/targets.md), whole or not at all. An old folder
/// of that kind is replaced.
bool packageGpuFolder(const GpuModule &shaders, const Plan &plan, const TargetSpec &target, llvm::StringRef path,
                      const PackageOptions &options, std::string &error, PackageStats *stats = nullptr);

// ---- The parts, for tests and other packagings ----

/// The manifest: JSON with sorted keys.
std::string makeManifest(const Plan &plan, const TargetSpec &target, const PackageOptions &options);

/// Adds the constant `mopt_module` with all that it refers to. References are distances: no relocations.
bool addTable(llvm::Module &module, const Plan &plan, const TargetSpec &target, llvm::StringRef manifest,
              std::string &error);

/// Defines the weights in the module, for objects that something else links. Memory: three times the weights.
bool embedWeights(llvm::Module &module, const Plan &plan, uint64_t alignment, std::string &error);

/// Links an object to the code part of an artifact: a shared object whose header says that `weightBytes` of weights follow
/// at its end, which is page aligned if there are any.
bool linkCode(llvm::ArrayRef<char> object, const TargetSpec &target, uint64_t weightBytes, bool symbols,
              llvm::SmallVectorImpl<char> &code, std::string &error);

/// Writes code, weights and trailer, whole or not at all.
bool writeArtifact(llvm::ArrayRef<char> code, const Plan &plan, llvm::StringRef path, const PackageOptions &options,
                   uint64_t &fileBytes, std::string &error);

/// The error of a file, with its code.
std::string outputError(const OutputFile &file);

/// Writes bytes, whole or not at all.
bool writeFile(llvm::ArrayRef<char> bytes, llvm::StringRef path, const PackageOptions &options, std::string &error);

} // namespace mopt
#endif
