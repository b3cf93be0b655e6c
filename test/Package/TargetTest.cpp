//===- TargetTest.cpp - triples and CPUs --------------------------------------------------------------------------===//
#include "mopt/Codegen/Target.h"
#include "mopt/Runtime/mopt.h"
#include "llvm/BinaryFormat/ELF.h"
#include <gtest/gtest.h>

using namespace mopt;

namespace {

TargetSpec resolve(llvm::StringRef triple, llvm::StringRef cpu) {
  std::string reason;
  auto spec = TargetSpec::resolve(triple, cpu, reason);
  EXPECT_TRUE(spec) << reason;
  return spec.value_or(TargetSpec{});
}
std::string refusal(llvm::StringRef triple, llvm::StringRef cpu) {
  std::string reason;
  EXPECT_FALSE(TargetSpec::resolve(triple, cpu, reason)) << triple.str() << " " << cpu.str();
  return reason;
}

TEST(Target, Levels) {
  TargetSpec v2 = resolve("x86_64-linux-gnu", "x86-64-v2");
  EXPECT_EQ(v2.triple, "x86_64-unknown-linux-gnu");
  EXPECT_EQ(v2.cpu, "x86-64-v2");
  EXPECT_EQ(v2.features, "");
  EXPECT_EQ(v2.cpuBits, uint64_t(MOPT_CPU_X86_64_V2));
  EXPECT_EQ(v2.machine, llvm::ELF::EM_X86_64);
  EXPECT_EQ(v2.vectorBits, 128u);
  TargetSpec v3 = resolve("x86_64-unknown-linux-gnu", "x86-64-v3");
  EXPECT_EQ(v3.cpuBits, uint64_t(MOPT_CPU_X86_64_V2 | MOPT_CPU_X86_64_V3 | MOPT_CPU_AVX2 | MOPT_CPU_FMA | MOPT_CPU_F16C));
  EXPECT_EQ(v3.vectorBits, 256u);
  TargetSpec v4 = resolve("x86_64-unknown-linux-musl", "x86-64-v4");
  EXPECT_TRUE(v4.cpuBits & MOPT_CPU_X86_64_V4);
  EXPECT_FALSE(v4.cpuBits & MOPT_CPU_AVX512_VNNI);
  EXPECT_EQ(v4.vectorBits, 512u);
  EXPECT_EQ(v4.pageBytes, 4096u);
}

TEST(Target, CpuIsReducedToWhatTheLoaderChecks) {
  TargetSpec zen = resolve("x86_64-unknown-linux-gnu", "znver4");
  EXPECT_EQ(zen.cpu, "x86-64-v4");
  EXPECT_EQ(zen.tune, "znver4");
  EXPECT_TRUE(zen.cpuBits & MOPT_CPU_AVX512_VNNI);
  EXPECT_TRUE(zen.cpuBits & MOPT_CPU_AVX512_BF16);
  EXPECT_FALSE(zen.cpuBits & MOPT_CPU_AMX);
  EXPECT_EQ(zen.features.find("gfni"), std::string::npos);
  EXPECT_TRUE(resolve("x86_64-unknown-linux-gnu", "sapphirerapids").cpuBits & MOPT_CPU_AMX);
  EXPECT_EQ(resolve("x86_64-unknown-linux-gnu", "sandybridge").cpu, "x86-64-v2");
  TargetSpec alder = resolve("x86_64-unknown-linux-gnu", "alderlake");
  EXPECT_EQ(alder.cpu, "x86-64-v3");
  EXPECT_TRUE(alder.cpuBits & MOPT_CPU_AVX_VNNI);
}

TEST(Target, AArch64) {
  TargetSpec generic = resolve("aarch64-linux-gnu", "");
  EXPECT_EQ(generic.triple, "aarch64-unknown-linux-gnu");
  EXPECT_EQ(generic.cpu, "generic");
  EXPECT_EQ(generic.cpuBits, uint64_t(MOPT_CPU_NEON));
  EXPECT_EQ(generic.machine, llvm::ELF::EM_AARCH64);
  EXPECT_EQ(generic.pageBytes, 65536u);
  TargetSpec a76 = resolve("aarch64-linux-gnu", "cortex-a76");
  EXPECT_EQ(a76.cpuBits, uint64_t(MOPT_CPU_NEON | MOPT_CPU_DOTPROD | MOPT_CPU_ARM_FP16));
  TargetSpec v1 = resolve("aarch64-linux-gnu", "neoverse-v1");
  EXPECT_TRUE(v1.cpuBits & MOPT_CPU_I8MM);
  EXPECT_TRUE(v1.cpuBits & MOPT_CPU_ARM_BF16);
}

// What the compiler says this machine can do must be what the loader finds.
TEST(Target, NativeIsWhatTheRuntimeSees) {
  TargetSpec native = resolve("", "native");
  EXPECT_EQ(native.cpuBits, mopt_cpu_features());
  EXPECT_EQ(resolve("", "").cpuBits, native.cpuBits);
}

TEST(Target, NamesAreTheRuntimes) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const char *name = mopt_cpu_feature_name(1ull << bit);
    EXPECT_EQ(cpuBitName(1ull << bit).str(), name ? name : "") << bit;
  }
}

TEST(Target, Vulkan) {
  TargetSpec vulkan = resolve("spirv-unknown-vulkan1.1", "");
  EXPECT_EQ(vulkan.kind, TargetClass::vulkan);
  EXPECT_EQ(vulkan.triple, "spirv-unknown-vulkan1.1");
  EXPECT_EQ(resolve("x86_64-unknown-linux-gnu", "").kind, TargetClass::cpu);
  EXPECT_NE(refusal("spirv-unknown-vulkan1.1", "native").find("no --cpu"), std::string::npos);
  for (const char *triple : {"spirv-unknown-vulkan1.3", "spirv64-unknown-unknown", "spirv-unknown-unknown"})
    EXPECT_NE(refusal(triple, "").find("spirv-unknown-vulkan1.1"), std::string::npos) << triple;
}

TEST(Target, Refusals) {
  EXPECT_NE(refusal("riscv64-linux-gnu", "").find("aarch64-unknown-linux-gnu"), std::string::npos);
  for (const char *triple : {"x86_64-pc-windows-msvc", "x86_64-apple-darwin", "x86_64-linux-gnux32", "aarch64_be-linux-gnu",
                             "aarch64-linux-gnu_ilp32", "i686-linux-gnu", "-", "x86_64", "\xff\xfe", "nvptx64-nvidia-cuda"})
    EXPECT_NE(refusal(triple, "").find("possible are"), std::string::npos) << triple;
  for (const char *cpu : {"x86-64", "core2", "pentium4", "zen4", "NATIVE", "x86-64-v5", " ", "generic", "help"})
    EXPECT_NE(refusal("x86_64-unknown-linux-gnu", cpu).find("x86-64-v3"), std::string::npos) << cpu;
  EXPECT_NE(refusal("aarch64-linux-gnu", "haswell").find("cortex-a76"), std::string::npos);
#if defined(__x86_64__)
  EXPECT_NE(refusal("aarch64-linux-gnu", "native").find("this machine"), std::string::npos);
#endif
}

TEST(Target, Hexagon) {
  for (const char *triple : {"hexagon", "hexagon-unknown-none-elf"}) {
    TargetSpec spec = resolve(triple, "");
    EXPECT_EQ(spec.triple, "hexagon-unknown-none-elf");
    EXPECT_EQ(spec.cpu, "hexagonv66");
    EXPECT_EQ(spec.features, "+hvxv66,+hvx-length128b");
    EXPECT_EQ(spec.kind, TargetClass::hvx);
    EXPECT_EQ(spec.pointerBits, 32u);
    EXPECT_EQ(spec.machine, 164); // EM_HEXAGON
  }
  EXPECT_EQ(resolve("hexagon", "hexagonv73").features, "+hvxv73,+hvx-length128b");
  // Without the HVX that kernels use, not a version, and a CPU of another machine.
  for (const char *cpu : {"hexagonv60", "hexagonv65", "hexagonv", "hexagonv660", "v66", "native", "x86-64-v3"})
    EXPECT_NE(refusal("hexagon", cpu).find("hexagonv66"), std::string::npos) << cpu;
  EXPECT_NE(refusal("hexagon-unknown-linux-musl", "").find("hexagon-unknown-none-elf"), std::string::npos);
}

} // namespace
