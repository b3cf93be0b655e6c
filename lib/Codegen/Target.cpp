//===- Target.cpp - triples and CPUs ------------------------------------------------------------------------------===//
//
// A CPU is reduced to what mopt_cpu bits can express: code uses an instruction only if the loader can check for it. What an
// LLVM CPU name has beyond that (GFNI, VBMI, SVE, ...) is left out; its scheduling model is kept as `tune`.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mopt/Codegen/Target.h"
#include "mopt/Runtime/mopt_abi.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <memory>
#include <mutex>

using namespace llvm;

namespace mopt {
namespace {

struct Feature {
  uint64_t bit;
  Triple::ArchType arch;
  const char *name;     // as in lib/Runtime/cpu.c
  const char *features; // LLVM features that together make the bit
  const char *level;    // LLVM CPU name of exactly these features, for bits that are a whole level
  unsigned vectorBits;  // vectors the bit brings
};

// Levels ascend; a CPU gets the last level it has completely, and the other bits it has.
const Feature table[] = {
    {MOPT_CPU_X86_64_V2, Triple::x86_64, "x86-64-v2", "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2", "x86-64-v2", 128},
    {MOPT_CPU_X86_64_V3, Triple::x86_64, "x86-64-v3",
     "+cx16,+sahf,+popcnt,+sse4.2,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+xsave", "x86-64-v3", 256},
    {MOPT_CPU_X86_64_V4, Triple::x86_64, "x86-64-v4",
     "+cx16,+sahf,+popcnt,+sse4.2,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+xsave,+avx512f,+avx512cd,+avx512bw,+avx512dq,"
     "+avx512vl",
     "x86-64-v4", 512},
    {MOPT_CPU_AVX2, Triple::x86_64, "avx2", "+avx2", nullptr, 256},
    {MOPT_CPU_FMA, Triple::x86_64, "fma", "+fma", nullptr, 0},
    {MOPT_CPU_F16C, Triple::x86_64, "f16c", "+f16c", nullptr, 0},
    {MOPT_CPU_AVX_VNNI, Triple::x86_64, "avx_vnni", "+avx2,+avxvnni", nullptr, 0},
    {MOPT_CPU_AVX512_VNNI, Triple::x86_64, "avx512_vnni", "+avx512bw,+avx512vl,+avx512vnni", nullptr, 0},
    {MOPT_CPU_AVX512_BF16, Triple::x86_64, "avx512_bf16", "+avx512bw,+avx512vl,+avx512bf16", nullptr, 0},
    {MOPT_CPU_AMX, Triple::x86_64, "amx", "+amx-tile,+amx-int8", nullptr, 0},
    {MOPT_CPU_NEON, Triple::aarch64, "neon", "+fp-armv8,+neon", "generic", 128},
    {MOPT_CPU_DOTPROD, Triple::aarch64, "dotprod", "+dotprod", nullptr, 0},
    {MOPT_CPU_I8MM, Triple::aarch64, "i8mm", "+i8mm", nullptr, 0},
    {MOPT_CPU_ARM_BF16, Triple::aarch64, "arm_bf16", "+bf16", nullptr, 0},
    {MOPT_CPU_ARM_FP16, Triple::aarch64, "arm_fp16", "+fullfp16", nullptr, 0},
};

struct Machine {
  Triple::ArchType arch;
  const char *triple;
  const char *defaultCpu;
  uint16_t elf;
  unsigned pageBytes;
  const char *cpus; // for messages
};
const Machine machines[] = {
    {Triple::x86_64, "x86_64-unknown-linux-gnu", "x86-64-v3", ELF::EM_X86_64, 4096,
     "native, x86-64-v2, x86-64-v3, x86-64-v4, or the LLVM name of a CPU with SSE4.2, for example haswell, cascadelake or "
     "znver4"},
    {Triple::aarch64, "aarch64-unknown-linux-gnu", "generic", ELF::EM_AARCH64, 65536,
     "native, generic (Armv8-A with NEON), or the LLVM name of a CPU, for example cortex-a53, cortex-a76 or neoverse-v1"},
};

const char *const hexagonTriple = "hexagon-unknown-none-elf";

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeHexagonTargetInfo();
    LLVMInitializeHexagonTarget();
    LLVMInitializeHexagonTargetMC();
    LLVMInitializeHexagonAsmPrinter();
  });
}

/// The GPUs there is code for: all that Vulkan 1.1 can drive.
constexpr StringLiteral vulkanTriple = "spirv-unknown-vulkan1.1";

const Machine *findMachine(const Triple &triple) {
  bool abi = triple.getEnvironment() == Triple::UnknownEnvironment || triple.getEnvironment() == Triple::GNU ||
             triple.getEnvironment() == Triple::Musl; // not x32, not ILP32
  if (!abi || triple.getOS() != Triple::Linux || triple.getObjectFormat() != Triple::ELF)
    return nullptr;
  for (const Machine &machine : machines)
    if (machine.arch == triple.getArch())
      return &machine;
  return nullptr;
}

/// The features of this machine as LLVM writes them. Sorted: the order of a StringMap is not the same everywhere.
std::string hostFeatures() {
  std::vector<std::string> list;
  for (const auto &entry : sys::getHostCPUFeatures())
    list.push_back((entry.second ? "+" : "-") + entry.first().str());
  llvm::sort(list);
  return join(list, ",");
}

} // namespace

StringRef cpuBitName(uint64_t bit) {
  for (const Feature &feature : table)
    if (feature.bit == bit)
      return feature.name;
  return {};
}

/// Hexagon is no CPU that a loader looks at: the ELF header of the object says the version, and mopt_cpu has no bits for it.
/// Every version from 66 on has what kernels use, HVX with vectors of 128 bytes.
static std::optional<TargetSpec> resolveHexagon(StringRef name, std::string &reason) {
  const StringRef versions[] = {"66", "67", "68", "69", "71", "73", "75"};
  if (name.empty())
    name = "hexagonv66";
  StringRef version = name;
  if (!version.consume_front("hexagonv") || !is_contained(versions, version)) {
    reason = "unknown CPU '" + name.str() + "' for " + hexagonTriple + "; possible are";
    for (StringRef v : versions)
      reason += " hexagonv" + v.str();
    return std::nullopt;
  }
  TargetSpec spec;
  spec.triple = hexagonTriple;
  spec.cpu = spec.tune = name.str();
  spec.features = "+hvxv" + version.str() + ",+hvx-length128b";
  spec.machine = ELF::EM_HEXAGON;
  spec.vectorBits = 1024;
  spec.pageBytes = 65536;
  spec.kind = TargetClass::hvx;
  spec.pointerBits = 32;
  return spec;
}

std::optional<TargetSpec> TargetSpec::resolve(StringRef tripleName, StringRef cpuName, std::string &reason) {
  initializeTargets();
  Triple host(sys::getProcessTriple());
  Triple triple(tripleName.empty() ? host.str() : Triple::normalize(tripleName));
  if (triple.getArch() == Triple::hexagon && triple.getOS() == Triple::UnknownOS)
    return resolveHexagon(cpuName, reason);
  if (triple.str() == Triple::normalize(vulkanTriple)) {
    if (!cpuName.empty()) {
      reason = "'" + vulkanTriple.str() + "' takes no --cpu, found '" + cpuName.str() + "'; leave it out";
      return std::nullopt;
    }
    TargetSpec spec;
    spec.kind = TargetClass::vulkan;
    spec.triple = vulkanTriple.str();
    return spec;
  }
  const Machine *machine = findMachine(triple);
  if (!machine) {
    reason = "cannot compile for '" + (tripleName.empty() ? host.str() : tripleName.str()) + "'; possible are";
    for (const Machine &m : machines)
      reason += std::string(&m == machines ? " " : ", ") + m.triple;
    reason += std::string(", ") + hexagonTriple;
    reason += ", " + vulkanTriple.str();
    return std::nullopt;
  }
  bool isHost = host.getArch() == triple.getArch() && host.getOS() == triple.getOS();
  if (cpuName.empty())
    cpuName = isHost ? "native" : machine->defaultCpu;
  std::string full, name = cpuName.str();
  if (cpuName == "native") {
    if (!isHost) {
      reason = std::string("CPU 'native' means this machine, which is not a ") + machine->triple + "; possible are " +
               machine->cpus;
      return std::nullopt;
    }
    name = sys::getHostCPUName().str();
    full = hostFeatures();
  }

  std::string error;
  Triple canonical(machine->triple);
  const Target *target = TargetRegistry::lookupTarget(canonical, error);
  auto subtarget = [&](StringRef cpu, StringRef features) {
    return std::unique_ptr<MCSubtargetInfo>(target->createMCSubtargetInfo(canonical, cpu, features));
  };
  // Asked first, because a wrong name makes LLVM write to stderr.
  std::unique_ptr<MCSubtargetInfo> any = target ? subtarget("", "") : nullptr;
  if (!any || !any->isCPUStringValid(name)) {
    reason = "unknown CPU '" + name + "' for " + machine->triple + "; possible are " + machine->cpus;
    return std::nullopt;
  }
  std::unique_ptr<MCSubtargetInfo> has = subtarget(name, full);

  TargetSpec spec;
  spec.triple = machine->triple;
  spec.tune = name;
  spec.machine = machine->elf;
  spec.pageBytes = machine->pageBytes;
  for (const Feature &f : table) {
    if (f.arch != machine->arch || !has->checkFeatures(f.features))
      continue;
    spec.cpuBits |= f.bit;
    spec.vectorBits = std::max(spec.vectorBits, f.vectorBits);
    if (f.level)
      spec.cpu = f.level;
  }
  if (spec.cpu.empty()) {
    reason = "CPU '" + name + "' lacks what compiled models need at least; possible are " + machine->cpus;
    return std::nullopt;
  }
  // Only what the level does not have: equal code gets equal text, and thus equal artifacts.
  std::unique_ptr<MCSubtargetInfo> level = subtarget(spec.cpu, "");
  for (const Feature &f : table)
    if (!f.level && (spec.cpuBits & f.bit) && !level->checkFeatures(f.features))
      spec.features += (spec.features.empty() ? "" : ",") + std::string(f.features);
  return spec;
}

} // namespace mopt
