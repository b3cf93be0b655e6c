// Files: what loads, what must not, and with which error. The artifacts are built by CMake next to this program.
#include "TableBuilder.h"
#define XXH_INLINE_ALL
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

using namespace mopt::test;

static std::string artifact(const std::string &name) { return std::string(MOPT_TEST_ARTIFACTS) + "/" + name + ".so"; }
static std::vector<char> readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<char>((std::istreambuf_iterator<char>(in)), {});
}
static mopt_trailer &trailerOf(std::vector<char> &file) {
  return *reinterpret_cast<mopt_trailer *>(file.data() + file.size() - sizeof(mopt_trailer));
}
// Makes the hash right again after a change, as if the compiler had written it.
static void reseal(std::vector<char> &file) {
  mopt_trailer t;
  std::memcpy(&t, file.data() + file.size() - sizeof t, sizeof t);
  XXH128_hash_t h = XXH3_128bits(file.data(), t.weights_offset);
  t.code_hash[0] = h.low64, t.code_hash[1] = h.high64;
  std::memcpy(file.data() + file.size() - sizeof t, &t, sizeof t);
}

namespace {
// An anonymous file: no names, no clean-up.
struct File {
  int fd;
  explicit File(const std::vector<char> &bytes) : fd(memfd_create("artifact", MFD_CLOEXEC)) {
    EXPECT_EQ(static_cast<ssize_t>(bytes.size()), pwrite(fd, bytes.data(), bytes.size(), 0));
  }
  ~File() { close(fd); }
  mopt_code load(mopt_error *error) {
    mopt_model *model = nullptr;
    mopt_code code = mopt_model_load_fd(fd, &model, error);
    EXPECT_EQ(code == MOPT_OK, model != nullptr);
    mopt_model_free(model);
    return code;
  }
};
} // namespace

static void expectToyRuns(mopt_model *model) {
  Session session = makeSession(model);
  Aligned<float> x(40, 2);
  mopt_array in = tensor(MOPT_F32, {10, 4}, x.data), y = {};
  EXPECT_OK(mopt_session_set_input_by_name(session.get(), "x", &in, error));
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  EXPECT_OK(mopt_session_output(session.get(), 0, &y, error));
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(2 * (i % 4 + 1) + 1, static_cast<float *>(y.data)[i]);
}

TEST(Loader, LoadsVerifiesAndRuns) {
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_load(artifact("toy").c_str(), &raw, error));
  Model model(raw);
  EXPECT_OK(mopt_model_verify_weights(model.get(), error));
  mopt_model_info info;
  mopt_model_get_info(model.get(), &info);
  EXPECT_EQ(2u, info.nsteps);
  EXPECT_EQ("{}", std::string(info.manifest, info.manifest_bytes));
  EXPECT_EQ(0, mopt_model_find_input(model.get(), "x"));
  EXPECT_EQ(-1, mopt_model_find_output(model.get(), "x"));
  expectToyRuns(model.get());
}

TEST(Loader, TwoModelsOneAfterTheOtherAreTwoModels) { // descriptor numbers are reused: the second must not be the first
  for (int round = 0; round < 3; ++round)
    for (const char *name : {"toy", "toy_other"}) {
      mopt_model *model = nullptr;
      EXPECT_OK(mopt_model_load(artifact(name).c_str(), &model, error));
      ASSERT_NE(nullptr, model);
      Model owner(model);
      mopt_model_info info;
      mopt_model_get_info(model, &info);
      EXPECT_EQ(std::string(name) == "toy" ? "{}" : "[]", std::string(info.manifest, info.manifest_bytes));
    }
}

TEST(Loader, AHandleThatWentFirstLeavesNoNameBehind) {
  // Two handles of one file are one library under the first one's name. When that handle goes, its descriptor number is
  // free for another file, which must not be taken for the library that is still there.
  mopt_error error;
  mopt_model *first = nullptr, *second = nullptr, *other = nullptr;
  ASSERT_EQ(MOPT_OK, mopt_model_load(artifact("toy").c_str(), &first, &error)) << error.message;
  ASSERT_EQ(MOPT_OK, mopt_model_load(artifact("toy").c_str(), &second, &error)) << error.message;
  mopt_model_free(first);
  ASSERT_EQ(MOPT_OK, mopt_model_load(artifact("toy_other").c_str(), &other, &error)) << error.message;
  mopt_model_info info;
  mopt_model_get_info(other, &info);
  EXPECT_EQ("[]", std::string(info.manifest, info.manifest_bytes));
  expectToyRuns(second);
  mopt_model_free(other);
  mopt_model_free(second);
}
TEST(Loader, ManyAtTheSameTimeShareWeights) {
  mopt_model *a = nullptr, *b = nullptr;
  EXPECT_OK(mopt_model_load(artifact("toy").c_str(), &a, error));
  EXPECT_OK(mopt_model_load(artifact("toy").c_str(), &b, error));
  Model first(a), second(b);
  mopt_model_info one, two;
  mopt_model_get_info(a, &one);
  mopt_model_get_info(b, &two);
  EXPECT_EQ(one.manifest, two.manifest); // mapped once
  first.reset();
  expectToyRuns(b);
}

TEST(Loader, NoSuchFileNoRegularFile) {
  mopt_model *model = nullptr;
  EXPECT_FAIL(MOPT_E_OPEN, "'/nonexistent/m.so': No such file", mopt_model_load("/nonexistent/m.so", &model, error));
  EXPECT_FAIL(MOPT_E_OPEN, "not a regular file but a folder", mopt_model_load("/", &model, error));
  EXPECT_FAIL(MOPT_E_OPEN, "not a regular file", mopt_model_load("/dev/zero", &model, error));
  std::string fifo = std::string(MOPT_TEST_ARTIFACTS) + "/fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(0, mkfifo(fifo.c_str(), 0600));
  EXPECT_FAIL(MOPT_E_OPEN, "not a regular file", mopt_model_load(fifo.c_str(), &model, error)); // and does not hang
  unlink(fifo.c_str());
  EXPECT_FAIL(MOPT_E_NOT_ARTIFACT, "too few", File({}).load(error));
  EXPECT_FAIL(MOPT_E_NOT_ARTIFACT, "not a mopt artifact", File(std::vector<char>(5000, 'x')).load(error));
}

TEST(Loader, RefusesOtherVersionsProcessorsAndFeatures) {
  mopt_model *model = nullptr;
  EXPECT_FAIL(MOPT_E_ABI, "has ABI 1", mopt_model_load(artifact("toy_abi").c_str(), &model, error));
  EXPECT_FAIL(MOPT_E_CPU, "(unknown)", mopt_model_load(artifact("toy_cpu").c_str(), &model, error));
  EXPECT_FAIL(MOPT_E_MACHINE, "is for riscv", mopt_model_load(artifact("toy_machine").c_str(), &model, error));
  EXPECT_FAIL(MOPT_E_TABLE, "lies outside the file", mopt_model_load(artifact("toy_steps").c_str(), &model, error));
  std::vector<char> file = readFile(artifact("toy"));
  reinterpret_cast<Elf64_Ehdr *>(file.data())->e_machine = EM_RISCV;
  reseal(file);
  EXPECT_FAIL(MOPT_E_MACHINE, "riscv", File(file).load(error));
  file = readFile(artifact("toy"));
  file[EI_CLASS] = ELFCLASS32;
  reseal(file);
  EXPECT_FAIL(MOPT_E_NOT_ARTIFACT, "64-bit", File(file).load(error));
  file = readFile(artifact("toy"));
  trailerOf(file).abi_version = 7;
  EXPECT_FAIL(MOPT_E_ABI, "ABI 7", File(file).load(error));
}

// A description has all that a loaded model says, and refuses to run.
static void expectToyIsDescribed(const mopt_model *model) {
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  EXPECT_EQ(2u, info.nsteps);
  EXPECT_EQ("{}", std::string(info.manifest, info.manifest_bytes));
  EXPECT_EQ(0, mopt_model_find_input(model, "x"));
  mopt_step_info step;
  ASSERT_EQ(MOPT_OK, mopt_model_step(model, 1, &step));
  EXPECT_STREQ("add+relu", step.name);
  EXPECT_STREQ("add_1\nrelu_2", step.nodes);
  EXPECT_OK(mopt_model_verify_weights(model, error));
}

static void expectPlansButDoesNotRun(mopt_model *model, mopt_code code, const char *text) {
  Session session = makeSession(model);
  mopt_array shape = tensor(MOPT_F32, {16, 4});
  mopt_memory memory;
  EXPECT_OK(mopt_session_plan(session.get(), &shape, 1, &memory, error));
  EXPECT_EQ(256u, memory.arena);
  Aligned<float> x(64, 2);
  mopt_array in = tensor(MOPT_F32, {16, 4}, x.data), y = {};
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &in, error));
  EXPECT_OK(mopt_session_prepare(session.get(), error));
  EXPECT_OK(mopt_session_output(session.get(), 0, &y, error));
  EXPECT_EQ(16, y.dims[0]);
  EXPECT_FAIL(code, text, mopt_session_run(session.get(), nullptr, error));
  for (uint32_t buffer = 0; buffer < 4; ++buffer)
    EXPECT_EQ(MOPT_E_NO_RESULT, mopt_session_buffer(session.get(), buffer, &y, nullptr));
}

TEST(Describe, SaysWhatALoadedModelSays) {
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_describe(artifact("toy").c_str(), &raw, error));
  Model model(raw);
  expectToyIsDescribed(model.get());
  EXPECT_OK(mopt_model_can_run(model.get(), error));
  expectPlansButDoesNotRun(model.get(), MOPT_E_ARGUMENT, "only described");
}

TEST(Describe, ReadsArtifactsOfOtherProcessors) {
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_describe(artifact("toy_cpu").c_str(), &raw, error));
  Model cpu(raw);
  expectToyIsDescribed(cpu.get());
  EXPECT_FAIL(MOPT_E_CPU, "needs (unknown)", mopt_model_can_run(cpu.get(), error));
  expectPlansButDoesNotRun(cpu.get(), MOPT_E_CPU, "needs (unknown)");
  EXPECT_OK(mopt_model_describe(artifact("toy_machine").c_str(), &raw, error));
  Model machine(raw);
  EXPECT_FAIL(MOPT_E_MACHINE, "is for riscv", mopt_model_can_run(machine.get(), error));
  std::vector<char> file = readFile(artifact("toy"));
  reinterpret_cast<Elf64_Ehdr *>(file.data())->e_machine = EM_S390;
  reseal(file);
  File f(file);
  EXPECT_OK(mopt_model_describe_fd(f.fd, &raw, error));
  Model other(raw);
  expectToyIsDescribed(other.get());
  EXPECT_FAIL(MOPT_E_MACHINE, "is for unknown (machine 22)", mopt_model_can_run(other.get(), error));
  expectPlansButDoesNotRun(other.get(), MOPT_E_MACHINE, "is for unknown (machine 22)");
}

TEST(Describe, ALoadedModelCanRun) {
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_load(artifact("toy").c_str(), &raw, error));
  Model model(raw);
  EXPECT_OK(mopt_model_can_run(model.get(), error));
  EXPECT_FAIL(MOPT_E_ARGUMENT, "no model", mopt_model_can_run(nullptr, error));
}

TEST(Describe, RefusesWhatLoadingRefuses) {
  mopt_model *model = nullptr;
  EXPECT_FAIL(MOPT_E_OPEN, "'/nonexistent/m.so': No such file", mopt_model_describe("/nonexistent/m.so", &model, error));
  EXPECT_FAIL(MOPT_E_OPEN, "not a regular file", mopt_model_describe("/dev/zero", &model, error));
  EXPECT_FAIL(MOPT_E_ABI, "has ABI 1", mopt_model_describe(artifact("toy_abi").c_str(), &model, error));
  EXPECT_FAIL(MOPT_E_TABLE, "lies outside the file", mopt_model_describe(artifact("toy_steps").c_str(), &model, error));
  EXPECT_FAIL(MOPT_E_ARGUMENT, "needed", mopt_model_describe(nullptr, &model, error));
  EXPECT_FAIL(MOPT_E_ARGUMENT, "needed", mopt_model_describe_fd(0, nullptr, error));
  std::vector<char> file = readFile(artifact("toy"));
  file[200] ^= 1;
  EXPECT_FAIL(MOPT_E_DAMAGED, "the hash of its code", mopt_model_describe_fd(File(file).fd, &model, error));
}

// Headers, dynamic section and symbols that are wrong but have the right hash, as only somebody who means it writes them.
TEST(Describe, WrongHeadersAreRefusedNotFollowed) {
  const std::vector<char> file = readFile(artifact("toy"));
  const auto *e = reinterpret_cast<const Elf64_Ehdr *>(file.data());
  const auto *p = reinterpret_cast<const Elf64_Phdr *>(file.data() + e->e_phoff);
  std::vector<std::pair<uint64_t, uint64_t>> places{{24, sizeof *e + e->e_phnum * sizeof *p}}; // but for the magic number
  for (int i = 0; i < e->e_phnum; ++i)
    if (p[i].p_type == PT_DYNAMIC)
      places.push_back({p[i].p_offset, p[i].p_offset + p[i].p_filesz});
  places.push_back({e->e_phoff + e->e_phnum * sizeof *p, e->e_phoff + e->e_phnum * sizeof *p + 256}); // symbols, hashes
  std::mt19937_64 random(11);
  int refused = 0;
  File f(file);
  for (int round = 0; round < 3000; ++round) {
    std::vector<char> copy = file;
    for (int k = 0; k < 1 + round % 3; ++k) {
      auto [begin, end] = places[random() % places.size()];
      uint64_t at = begin + random() % (end - begin - 8);
      int64_t values[] = {static_cast<int64_t>(random()), 0, 1, -1, INT64_MAX, INT64_MIN, 64, 1 << 20};
      std::memcpy(&copy[at], &values[random() % 8], 1 + random() % 8);
    }
    reseal(copy);
    uint64_t weights = trailerOf(copy).weights_offset, tail = copy.size() - sizeof(mopt_trailer);
    ASSERT_EQ(static_cast<ssize_t>(weights), pwrite(f.fd, copy.data(), weights, 0));
    ASSERT_EQ(static_cast<ssize_t>(sizeof(mopt_trailer)),
              pwrite(f.fd, &copy[tail], sizeof(mopt_trailer), static_cast<off_t>(tail)));
    mopt_model *model = nullptr;
    mopt_error error;
    if (mopt_model_describe_fd(f.fd, &model, &error) == MOPT_OK)
      mopt_model_free(model);
    else
      ++refused;
  }
  EXPECT_GT(refused, 500);
}

TEST(Loader, EveryFlippedByteOutsideTheWeightsIsSeen) {
  std::vector<char> file = readFile(artifact("toy"));
  ASSERT_FALSE(file.empty());
  mopt_trailer t = trailerOf(file);
  File f(file);
  for (uint64_t at = 0; at < file.size(); ++at) {
    if (at == t.weights_offset)
      at += t.weights_bytes;
    char bad = static_cast<char>(file[at] ^ (1 << at % 8));
    ASSERT_EQ(1, pwrite(f.fd, &bad, 1, static_cast<off_t>(at)));
    mopt_error error;
    ASSERT_NE(MOPT_OK, f.load(&error)) << "byte " << at;
    ASSERT_NE(MOPT_E_TABLE, error.code) << "seen too late: " << at;
    ASSERT_NE(MOPT_E_DLOPEN, error.code) << "seen too late: " << at;
    ASSERT_EQ(1, pwrite(f.fd, &file[at], 1, static_cast<off_t>(at)));
  }
  EXPECT_OK(f.load(error));
}

TEST(Loader, EveryCutIsSeen) {
  std::vector<char> file = readFile(artifact("toy"));
  File f(file);
  for (size_t size = file.size(); size-- > 0;) {
    if (size > 16000 && size < file.size() - 4000 && size % 251)
      continue;
    ASSERT_EQ(0, ftruncate(f.fd, static_cast<off_t>(size)));
    ASSERT_NE(MOPT_OK, f.load(nullptr)) << size;
  }
  file.push_back(0);
  EXPECT_NE(MOPT_OK, File(file).load(nullptr));
}

TEST(Loader, DamagedWeightsAreFoundOnRequest) {
  std::vector<char> file = readFile(artifact("toy"));
  uint64_t at = trailerOf(file).weights_offset + (1 << 20) + 17;
  file[at] ^= 4;
  File f(file);
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_load_fd(f.fd, &raw, error));
  Model model(raw);
  EXPECT_FAIL(MOPT_E_DAMAGED, "near byte 1048576", mopt_model_verify_weights(model.get(), error));
}

// Tables with wrong contents but right hashes: compiler faults. Any outcome but a crash or an accepted bad range is fine;
// what loads is not run, because a wrong function address inside the code cannot be told from a right one.
TEST(Loader, WrongTablesAreRefusedNotFollowed) {
  const std::vector<char> file = readFile(artifact("toy"));
  std::vector<char> copy = file;
  uint64_t end = trailerOf(copy).weights_offset; // tables lie in the first segment
  const auto *e = reinterpret_cast<const Elf64_Ehdr *>(file.data());
  const auto *p = reinterpret_cast<const Elf64_Phdr *>(file.data() + e->e_phoff);
  end = std::min<uint64_t>(end, p[0].p_filesz);
  uint64_t begin = 0;
  for (uint64_t i = 0; i + 4 < end; ++i)
    if (std::memcmp(&file[i], "MOPT\2\0\0\0", 8) == 0)
      begin = i;
  ASSERT_GT(begin, 0u);
  std::mt19937_64 random(7);
  int refused = 0;
  File f(file); // the weights stay; only what precedes them and the trailer are written anew
  for (int round = 0; round < 2000; ++round) {
    copy = file;
    for (int k = 0; k < 1 + round % 3; ++k) {
      uint64_t at = begin + random() % (end - begin - 8);
      at -= at % 4;
      int32_t values[] = {static_cast<int32_t>(random()), 0, 1, -1, INT32_MAX, INT32_MIN, 64, 1 << 20};
      std::memcpy(&copy[at], &values[random() % 8], 4);
    }
    reseal(copy);
    uint64_t weights = trailerOf(copy).weights_offset, tail = copy.size() - sizeof(mopt_trailer);
    ASSERT_EQ(static_cast<ssize_t>(weights), pwrite(f.fd, copy.data(), weights, 0));
    ASSERT_EQ(static_cast<ssize_t>(sizeof(mopt_trailer)),
              pwrite(f.fd, &copy[tail], sizeof(mopt_trailer), static_cast<off_t>(tail)));
    mopt_model *model = nullptr, *described = nullptr;
    mopt_error error, other;
    mopt_code code = mopt_model_load_fd(f.fd, &model, &error), same = mopt_model_describe_fd(f.fd, &described, &other);
    EXPECT_TRUE(same == code || code == MOPT_E_MACHINE || code == MOPT_E_CPU) << error.message << "\n" << other.message;
    mopt_model_free(described);
    if (code == MOPT_OK) {
      mopt_session *session = nullptr; // sizes come from the table: this must be safe too
      mopt_array shape = tensor(MOPT_F32, {10, 4});
      mopt_memory memory;
      if (mopt_session_create(model, nullptr, &session, nullptr) == MOPT_OK)
        mopt_session_plan(session, &shape, 1, &memory, nullptr);
      mopt_session_free(session);
      mopt_model_free(model);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Loader, WorksInAChild) {
  mopt_model *raw = nullptr;
  EXPECT_OK(mopt_model_load(artifact("toy").c_str(), &raw, error));
  Model model(raw);
  pid_t child = fork();
  if (child == 0) {
    mopt_model *again = nullptr;
    bool ok = mopt_model_verify_weights(model.get(), nullptr) == MOPT_OK &&
              mopt_model_load(artifact("toy_other").c_str(), &again, nullptr) == MOPT_OK;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}
