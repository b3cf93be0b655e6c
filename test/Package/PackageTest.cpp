//===- PackageTest.cpp - the file an artifact is ------------------------------------------------------------------===//
#include "Fixture.h"
#include "mopt/Runtime/mopt.h"
#include "llvm/Object/ELFObjectFile.h"
#define XXH_INLINE_ALL
#include <csignal>
#include <dirent.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

using namespace llvm;
using namespace mopt;
using namespace mopt::test;
using object::ELF64LE;

namespace {

struct Case {
  const char *triple, *cpu;
  uint64_t weightBytes;
};

class Package : public ::testing::TestWithParam<Case> {};

std::string package(Model &model, const TargetSpec &spec, const std::string &path, PackageOptions options = {}) {
  std::string error;
  EXPECT_TRUE(packageSharedObject(*model.module, model.plan, spec, path, options, error)) << error;
  return readAll(path);
}

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *d = opendir(folder.c_str())) {
    while (dirent *e = readdir(d))
      if (StringRef(e->d_name) != "." && StringRef(e->d_name) != "..")
        names.push_back(e->d_name);
    closedir(d);
  }
  return names;
}

TEST_P(Package, FileIsWhatTheAbiSays) {
  Case c = GetParam();
  Folder folder;
  TargetSpec spec = target(c.triple, c.cpu);
  Model model(std::max<uint64_t>(c.weightBytes, 64));
  if (!c.weightBytes) {
    model.plan.weightBytes = 0;
    model.plan.weights.clear();
  }
  std::string bytes = package(model, spec, folder.path + "/m.mopt");
  EXPECT_EQ(filesIn(folder.path).size(), 1u);

  mopt_trailer t;
  ASSERT_GT(bytes.size(), sizeof t);
  memcpy(&t, bytes.data() + bytes.size() - sizeof t, sizeof t);
  EXPECT_EQ(t.magic, MOPT_TRAILER_MAGIC);
  EXPECT_EQ(t.file_bytes, bytes.size());
  EXPECT_EQ(t.weights_bytes, c.weightBytes);
  if (c.weightBytes)
    EXPECT_EQ(t.weights_offset % spec.pageBytes, 0u);
  XXH128_hash_t h = XXH3_128bits(bytes.data(), t.weights_offset);
  EXPECT_EQ(t.code_hash[0], h.low64);
  EXPECT_EQ(t.code_hash[1], h.high64);
  uint64_t chunks = (c.weightBytes + MOPT_WEIGHT_CHUNK - 1) / MOPT_WEIGHT_CHUNK;
  size_t hashesAt = bytes.size() - sizeof t - 16 * chunks;
  for (uint64_t i = 0; i < chunks; ++i) {
    uint64_t want[2], at = i * MOPT_WEIGHT_CHUNK;
    memcpy(want, bytes.data() + hashesAt + 16 * i, 16);
    h = XXH3_128bits(bytes.data() + t.weights_offset + at, std::min<uint64_t>(MOPT_WEIGHT_CHUNK, c.weightBytes - at));
    EXPECT_EQ(want[0], h.low64) << i;
    EXPECT_EQ(want[1], h.high64) << i;
  }
  h = XXH3_128bits(bytes.data() + hashesAt, 16 * chunks);
  EXPECT_EQ(t.hashes_hash[0], h.low64);
  EXPECT_EQ(t.hashes_hash[1], h.high64);
  // The weights themselves, zeros between the pieces.
  std::string expected(c.weightBytes, 0);
  for (const PlanWeight &w : model.plan.weights)
    memcpy(expected.data() + w.offset, w.bytes.data(), w.bytes.size());
  EXPECT_TRUE(bytes.substr(t.weights_offset, c.weightBytes) == expected);
}

TEST_P(Package, ElfNeedsNothing) {
  Case c = GetParam();
  Folder folder;
  TargetSpec spec = target(c.triple, c.cpu);
  Model model(std::max<uint64_t>(c.weightBytes, 64));
  if (!c.weightBytes) {
    model.plan.weightBytes = 0;
    model.plan.weights.clear();
  }
  std::string bytes = package(model, spec, folder.path + "/m.mopt");
  auto elf = cantFail(object::ELFFile<ELF64LE>::create(bytes));
  EXPECT_EQ(elf.getHeader().e_machine, spec.machine);
  for (const auto &d : cantFail(elf.dynamicEntries()))
    for (uint64_t bad : {ELF::DT_NEEDED, ELF::DT_RELA, ELF::DT_REL, ELF::DT_JMPREL, ELF::DT_RELR, ELF::DT_INIT, ELF::DT_FINI,
                         ELF::DT_INIT_ARRAY, ELF::DT_FINI_ARRAY, ELF::DT_TEXTREL, ELF::DT_RUNPATH})
      EXPECT_NE(uint64_t(d.d_tag), bad);
  unsigned loads = 0, writable = 0;
  for (const auto &p : cantFail(elf.program_headers())) {
    if (p.p_type == ELF::PT_GNU_STACK)
      EXPECT_EQ(p.p_flags & ELF::PF_X, 0u);
    if (p.p_type != ELF::PT_LOAD)
      continue;
    ++loads;
    writable += (p.p_flags & ELF::PF_W) != 0;
    EXPECT_NE(p.p_flags & (ELF::PF_W | ELF::PF_X), unsigned(ELF::PF_W | ELF::PF_X));
    EXPECT_EQ(p.p_align, spec.pageBytes);
    EXPECT_EQ(p.p_offset % spec.pageBytes, p.p_vaddr % spec.pageBytes);
    EXPECT_LE(p.p_offset + p.p_filesz, bytes.size());
  }
  EXPECT_EQ(loads, c.weightBytes ? 4u : 3u);
  EXPECT_EQ(writable, 1u);
  for (const auto &s : cantFail(elf.sections()))
    if (s.sh_type == ELF::SHT_DYNSYM) {
      auto symbols = cantFail(elf.symbols(&s));
      ASSERT_EQ(symbols.size(), 2u);
      EXPECT_EQ(cantFail(symbols[1].getName(cantFail(elf.getStringTableForSymtab(s)))), "mopt_module");
    }
}

TEST_P(Package, SameInputSameBytes) {
  Case c = GetParam();
  if (!c.weightBytes)
    return;
  Folder one, other;
  TargetSpec spec = target(c.triple, c.cpu);
  Model a(c.weightBytes), b(c.weightBytes);
  EXPECT_TRUE(package(a, spec, one.path + "/m.mopt") == package(b, spec, other.path + "/another-name.mopt"));
}

INSTANTIATE_TEST_SUITE_P(Targets, Package,
                         ::testing::Values(Case{"x86_64-unknown-linux-gnu", "x86-64-v2", 64},
                                           Case{"x86_64-unknown-linux-gnu", "x86-64-v3", 3 * MOPT_WEIGHT_CHUNK + 4711},
                                           Case{"x86_64-unknown-linux-gnu", "x86-64-v4", MOPT_WEIGHT_CHUNK},
                                           Case{"x86_64-unknown-linux-gnu", "x86-64-v3", 0},
                                           Case{"aarch64-unknown-linux-gnu", "generic", 2 * MOPT_WEIGHT_CHUNK + 1},
                                           Case{"aarch64-unknown-linux-gnu", "cortex-a76", 0}));

TEST(PackageRun, LoadsAndRuns) {
  Folder folder;
  TargetSpec spec = target("", "native");
  Model model(2 * MOPT_WEIGHT_CHUNK + 100);
  std::string path = folder.path + "/m.mopt";
  package(model, spec, path);
  mopt_model *m = nullptr;
  mopt_error e;
  ASSERT_EQ(mopt_model_load(path.c_str(), &m, &e), MOPT_OK) << e.message;
  EXPECT_EQ(mopt_model_verify_weights(m, &e), MOPT_OK) << e.message;
  mopt_model_info info;
  mopt_model_get_info(m, &info);
  auto manifest = json::parse(StringRef(info.manifest, info.manifest_bytes));
  ASSERT_TRUE(bool(manifest));
  EXPECT_EQ(*manifest->getAsObject()->getInteger("format"), 1);
  mopt_step_info step;
  ASSERT_EQ(mopt_model_step(m, 0, &step), MOPT_OK);
  EXPECT_STREQ(step.name, "mul+relu");
  EXPECT_STREQ(step.nodes, "/a/Mul\n/a/Relu");
  EXPECT_STREQ(mopt_model_symbol_name(m, 1), "n2");

  mopt_session *s = nullptr;
  ASSERT_EQ(mopt_session_create(m, nullptr, &s, &e), MOPT_OK) << e.message;
  float x[6] = {1, 2, 3, 4, -5, -6};
  mopt_array in{x, sizeof x, MOPT_F32, 1, {6}}, y, z;
  ASSERT_EQ(mopt_session_set_input(s, 0, &in, &e), MOPT_OK) << e.message;
  ASSERT_EQ(mopt_session_run(s, nullptr, &e), MOPT_OK) << e.message;
  ASSERT_EQ(mopt_session_output(s, 0, &y, &e), MOPT_OK) << e.message;
  ASSERT_EQ(mopt_session_output(s, 1, &z, &e), MOPT_OK) << e.message;
  const float want[6] = {1, 0, 6, 2, 0, 6};
  ASSERT_EQ(y.bytes, sizeof want);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(static_cast<float *>(y.data)[i], want[i]) << i;
  EXPECT_EQ(*static_cast<float *>(z.data), 15.0f);
  mopt_session_free(s);
  mopt_model_free(m);
}

// Mapping the segments is all that loading is. Exit statuses: bare_loader.c.
void runBare(const char *triple, const char *cpu, const std::string &loader) {
  Folder folder;
  Model model(MOPT_WEIGHT_CHUNK + 5);
  std::string path = folder.path + "/m.mopt";
  package(model, target(triple, cpu), path);
  int status = std::system((loader + " " + path).c_str());
  ASSERT_TRUE(WIFEXITED(status)) << "signal";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PackageRun, WithoutALoader) {
#if defined(__x86_64__)
  runBare("x86_64-unknown-linux-gnu", "x86-64-v2", BARE_LOADER "x86_64");
  runBare("x86_64-unknown-linux-gnu", "native", BARE_LOADER "x86_64");
#endif
}

TEST(PackageRun, AArch64) {
#if defined(__aarch64__)
  std::string loader = BARE_LOADER "aarch64";
#else
  if (StringRef(QEMU_AARCH64).empty())
    GTEST_SKIP() << "qemu-aarch64 is not installed";
  std::string loader = QEMU_AARCH64 " " BARE_LOADER "aarch64";
#endif
  runBare("aarch64-unknown-linux-gnu", "generic", loader);
  runBare("aarch64-unknown-linux-gnu", "cortex-a76", loader);
}

TEST(PackageErrors, PlacesThatCannotBeWritten) {
  Folder folder;
  TargetSpec spec = target("x86_64-unknown-linux-gnu", "x86-64-v2");
  auto code = [&](const std::string &path) {
    Model model;
    std::string error;
    EXPECT_FALSE(packageSharedObject(*model.module, model.plan, spec, path, {}, error)) << path;
    return error.substr(0, 9);
  };
  EXPECT_EQ(code(folder.path + "/none/m.mopt"), "MOPT-P001");
  EXPECT_EQ(code(""), "MOPT-P001");
  EXPECT_EQ(code(folder.path + "/" + std::string(300, 'a')), "MOPT-P001");
  EXPECT_EQ(code(folder.path), "MOPT-P003");
  EXPECT_EQ(code("/dev/null"), "MOPT-P003");
  EXPECT_TRUE(filesIn(folder.path).empty());
}

TEST(PackageErrors, FailedWriteLeavesTheOldFile) {
  Folder folder;
  std::string path = folder.path + "/m.mopt", error;
  std::ofstream(path) << "old";
  TargetSpec spec = target("x86_64-unknown-linux-gnu", "x86-64-v2");
  Model model(4 * MOPT_WEIGHT_CHUNK);
  rlimit before, small{1 << 20, 0};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  bool ok = packageSharedObject(*model.module, model.plan, spec, path, {}, error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(ok);
  EXPECT_EQ(error.substr(0, 9), "MOPT-P004") << error;
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(filesIn(folder.path).size(), 1u);
}

TEST(PackageErrors, FullDisk) {
  Folder folder;
  if (mount("tmpfs", folder.path.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "cannot mount here";
  Model model(MOPT_WEIGHT_CHUNK);
  std::string error;
  EXPECT_FALSE(packageSharedObject(*model.module, model.plan, target("", "native"), folder.path + "/m", {}, error));
  EXPECT_EQ(error.substr(0, 9), "MOPT-P002") << error;
  EXPECT_TRUE(filesIn(folder.path).empty());
  umount(folder.path.c_str());
}

TEST(PackageErrors, PlanThatDoesNotFit) {
  TargetSpec spec = target("x86_64-unknown-linux-gnu", "x86-64-v2");
  auto code = [&](auto change) {
    Folder folder;
    Model model(256);
    change(model.plan);
    std::string error;
    EXPECT_FALSE(packageSharedObject(*model.module, model.plan, spec, folder.path + "/m", {}, error));
    EXPECT_TRUE(filesIn(folder.path).empty());
    return error.substr(0, 9);
  };
  EXPECT_EQ(code([](Plan &p) { p.steps[0].variants[0].function = "missing"; }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.steps[0].variants[0].function = "llvm.maximum.f32"; }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.steps[1].operands.push_back(99); }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.steps[1].written = 9; }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.weights[1].offset = 8; }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.weightBytes = 100; }), "MOPT-P110");
  EXPECT_EQ(code([](Plan &p) { p.outputs[0].buffer = 17; }), "MOPT-P110");
}

TEST(PackageFile, LinkStaysALinkAndModeIsKept) {
  Folder folder;
  std::string real = folder.path + "/real", link = folder.path + "/link";
  std::ofstream(real) << "old";
  ASSERT_EQ(symlink("real", link.c_str()), 0);
  Model model;
  package(model, target("x86_64-unknown-linux-gnu", "x86-64-v2"), link);
  struct stat st;
  ASSERT_EQ(lstat(link.c_str(), &st), 0);
  EXPECT_TRUE(S_ISLNK(st.st_mode));
  ASSERT_EQ(stat(real.c_str(), &st), 0);
  EXPECT_GT(st.st_size, 4096);
  EXPECT_EQ(st.st_mode & 07133, 0u);
}

TEST(PackageText, AssemblyAndIr) {
  Folder folder;
  std::string path = folder.path + "/m.s", error;
  Model a, b;
  TargetSpec spec = target("x86_64-unknown-linux-gnu", "x86-64-v3");
  ASSERT_TRUE(packageText(*a.module, a.plan, spec, EmitKind::assembly, path, {}, error)) << error;
  EXPECT_NE(readAll(path).find("mopt_module:"), std::string::npos);
  ASSERT_TRUE(packageText(*b.module, b.plan, spec, EmitKind::llvmIr, path, {}, error)) << error;
  EXPECT_NE(readAll(path).find("@mopt_module"), std::string::npos);
}

TEST(Manifest, SurvivesNamesOfAnyBytes) {
  Model model;
  model.plan.inputs[0].name = "x\"\xff\n\\";
  model.plan.symbols[0].name = std::string("a\0b", 3);
  TargetSpec spec = target("x86_64-unknown-linux-gnu", "x86-64-v3");
  auto parsed = json::parse(makeManifest(model.plan, spec, {}));
  ASSERT_TRUE(bool(parsed));
  json::Object *all = parsed->getAsObject();
  for (const char *key : {"lineage", "precision", "sensitivity", "calibration", "tuning", "report"})
    EXPECT_TRUE(all->get(key)) << key;
  EXPECT_EQ(all->getArray("inputs")->size(), 1u);
  EXPECT_EQ(*(*all->getArray("outputs"))[1].getAsObject()->getArray("dims"), json::Array());
}

} // namespace
