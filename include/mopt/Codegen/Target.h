//===- Target.h - what code is generated for ----------------------------------------------------------------------===//
#ifndef MOPT_CODEGEN_TARGET_H
#define MOPT_CODEGEN_TARGET_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mopt {

/// Targets that code is generated for in the same way.
enum class TargetClass {
  cpu,    // SIMD, shared objects
  vulkan, // GPUs: compute shaders in a folder
  hvx     // Hexagon with HVX: relocatable objects that hold their weights
};

/// What to compile for, resolved from --triple and --cpu. `cpu` may be "native", an x86-64 level or an LLVM CPU name.
struct TargetSpec {
  TargetClass kind = TargetClass::cpu; // of a GPU only the triple is set
  std::string triple;                  // normalized, "x86_64-unknown-linux-gnu"
  std::string cpu; // LLVM name of the instruction set: only what cpuBits can name, so that the loader's check is complete
  std::string features; // LLVM features, "+avx2,+fma"
  uint64_t cpuBits = 0; // mopt_cpu bits the artifact needs
  uint16_t machine = 0; // ELF e_machine
  unsigned vectorBits = 128;
  unsigned pageBytes = 4096; // alignment of segments; 64 KiB on AArch64, where kernels with such pages exist
  unsigned pointerBits = 64;
  std::string tune; // LLVM name of the CPU to schedule for

  /// `triple` empty: this machine. `cpu` empty: native if the triple is this machine's, else x86-64-v3 or generic.
  /// Nothing, with a reason that says what is possible, when the triple or CPU is not supported.
  static std::optional<TargetSpec> resolve(llvm::StringRef triple, llvm::StringRef cpu, std::string &reason);
};

/// Name of one mopt_cpu bit, the same as the runtime's ("avx512_vnni"); empty if there is none.
llvm::StringRef cpuBitName(uint64_t bit);

} // namespace mopt
#endif
