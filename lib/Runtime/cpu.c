/* What this machine's processor can do, and how many of them we may use. */
#define _GNU_SOURCE
#include "runtime.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const char *const names[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "avx512_vnni", "avx512_bf16", "amx",
                                    "fma",       "f16c",      "avx2",      "avx_vnni",    NULL,          NULL,
                                    NULL,        NULL,        NULL,        NULL,          "neon",        "dotprod",
                                    "i8mm",      "arm_bf16",  "arm_fp16"};

const char *mopt_cpu_feature_name(uint64_t bit) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (bit == 1ull << i)
      return names[i];
  return NULL;
}

#if defined(__x86_64__)
#define HAS(reg, bit) (((reg) >> (bit)) & 1u)

/* A feature counts only if the system also saves its registers: XCR0 says so. */
static uint64_t detect(void) {
  uint32_t a, b, c, d, b7 = 0, c7 = 0, d7 = 0, a71 = 0, c81 = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return 0;
  uint32_t c1 = c;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) && a >= 1)
    __get_cpuid_count(7, 1, &a71, &b, &c, &d);
  __get_cpuid(0x80000001u, &a, &b, &c81, &d);
  uint64_t xcr0 = 0;
  if (HAS(c1, 27)) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    xcr0 = lo | (uint64_t)hi << 32;
  }
  bool ymm = (xcr0 & 0x6) == 0x6, zmm = (xcr0 & 0xe6) == 0xe6, tiles = (xcr0 & 0x60000) == 0x60000;
  bool sse42 = HAS(c1, 0) && HAS(c1, 9) && HAS(c1, 13) && HAS(c1, 19) && HAS(c1, 20) && HAS(c1, 23) && HAS(c81, 0);
  bool fma = ymm && HAS(c1, 12), f16c = ymm && HAS(c1, 29), avx2 = ymm && HAS(c1, 28) && HAS(b7, 5);
  bool v3 = sse42 && fma && f16c && avx2 && HAS(b7, 3) && HAS(b7, 8) && HAS(c81, 5) && HAS(c1, 22);
  bool v4 = v3 && zmm && HAS(b7, 16) && HAS(b7, 17) && HAS(b7, 28) && HAS(b7, 30) && HAS(b7, 31);
  uint64_t bits = 0;
  bits |= sse42 ? MOPT_CPU_X86_64_V2 : 0;
  bits |= v3 ? MOPT_CPU_X86_64_V3 : 0;
  bits |= v4 ? MOPT_CPU_X86_64_V4 : 0;
  bits |= v4 && HAS(c7, 11) ? MOPT_CPU_AVX512_VNNI : 0;
  bits |= v4 && HAS(a71, 5) ? MOPT_CPU_AVX512_BF16 : 0;
  bits |= avx2 && HAS(a71, 4) ? MOPT_CPU_AVX_VNNI : 0;
  bits |= fma ? MOPT_CPU_FMA : 0;
  bits |= f16c ? MOPT_CPU_F16C : 0;
  bits |= avx2 ? MOPT_CPU_AVX2 : 0;
  bits |= tiles && HAS(d7, 24) && HAS(d7, 25) ? MOPT_CPU_AMX : 0;
  return bits;
}
#elif defined(__aarch64__)
#ifndef AT_HWCAP2
#define AT_HWCAP2 26
#endif
static uint64_t detect(void) {
  unsigned long h = getauxval(AT_HWCAP), h2 = getauxval(AT_HWCAP2);
  uint64_t bits = 0;
  bits |= h & (1ul << 1) ? MOPT_CPU_NEON : 0;      /* ASIMD */
  bits |= h & (1ul << 10) ? MOPT_CPU_ARM_FP16 : 0; /* ASIMDHP */
  bits |= h & (1ul << 20) ? MOPT_CPU_DOTPROD : 0;  /* ASIMDDP */
  bits |= h2 & (1ul << 13) ? MOPT_CPU_I8MM : 0;
  bits |= h2 & (1ul << 14) ? MOPT_CPU_ARM_BF16 : 0;
  return bits;
}
#else
static uint64_t detect(void) { return 0; }
#endif

uint64_t mopt_cpu_features(void) { return detect(); }

/* ---- Number of processors ---- */

/* "quota period" of one cgroup as processors, rounded up; 0 if unlimited or unreadable. */
static int32_t quota(const char *quota_file, const char *period_file) {
  FILE *f = fopen(quota_file, "re");
  if (!f)
    return 0;
  long long q = 0, p = 0;
  char text[64] = "";
  if (fgets(text, sizeof text, f))
    q = strtoll(text, NULL, 10); /* "max" reads as 0 */
  const char *space = strchr(text, ' ');
  if (space)
    p = strtoll(space, NULL, 10);
  fclose(f);
  if (period_file && (f = fopen(period_file, "re"))) {
    if (fgets(text, sizeof text, f))
      p = strtoll(text, NULL, 10);
    fclose(f);
  }
  if (q <= 0 || p <= 0)
    return 0;
  long long n = (q + p - 1) / p;
  return n > 1 << 16 ? 0 : (int32_t)n;
}

static int32_t smaller(int32_t a, int32_t b) { return b > 0 && b < a ? b : a; }

/* The limit of a process is the smallest on the way from its cgroup to the root. */
static int32_t cgroup_limit(int32_t count) {
  FILE *f = fopen("/proc/self/cgroup", "re");
  char line[1024], name[1400], period[1400];
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
      continue;
    *path++ = 0;
    ++controllers;
    bool unified = !*controllers;
    if (!unified && !strstr(controllers, "cpu"))
      continue;
    for (;;) {
      if (unified) {
        snprintf(name, sizeof name, "/sys/fs/cgroup%s/cpu.max", path);
        count = smaller(count, quota(name, NULL));
      } else {
        snprintf(name, sizeof name, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", path);
        snprintf(period, sizeof period, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", path);
        count = smaller(count, quota(name, period));
      }
      char *slash = strrchr(path, '/');
      if (!slash)
        break;
      *slash = 0;
    }
  }
  if (f)
    fclose(f);
  return count;
}

int32_t mopt_cpu_count(void) {
  int32_t count = 0;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    count = CPU_COUNT(&set);
  if (count < 1)
    count = (int32_t)sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 processors */
  if (count < 1)
    count = 1;
  return cgroup_limit(count);
}
