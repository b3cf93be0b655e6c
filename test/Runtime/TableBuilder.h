// Builds an artifact's table in this process's memory, so that tests can give the runtime any model, right or wrong.
#pragma once
#include "mopt/Runtime/mopt.h"
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mopt::test {

using Dims = std::vector<mopt_size>;
inline mopt_size symbolSize(int i) { return MOPT_SIZE_OF_SYMBOL(i); }

class TableBuilder {
public:
  int symbol(const std::string &name, uint32_t kind = MOPT_SYM_INPUT, std::vector<int64_t> code = {}, int readyAfter = -1);
  int input(const std::string &name, uint32_t dtype, Dims dims); // returns the buffer
  int output(const std::string &name, uint32_t dtype, Dims dims, int firstStep = 0);
  int arena(uint32_t dtype, Dims dims, int first, int last);
  int heap(uint32_t dtype, Dims dims, int first, int last);
  int weight(uint32_t dtype, Dims dims, uint64_t offset);
  void check(mopt_size left, mopt_size right, const std::string &what);
  int step(const std::string &name, std::vector<int32_t> operands, uint32_t nwritten, mopt_size chunks,
           std::vector<mopt_step_fn> variants, uint32_t flags = 0, const std::string &nodes = "");
  void weights(const void *data, uint64_t bytes);
  const mopt_module *build();

  std::vector<mopt_buffer> buffers; // open to damage before build()
  std::vector<mopt_step> steps;
  std::map<std::pair<int, int>, mopt_size> variantChunks; // of {step, variant}, where they differ from the step's
  uint32_t serialMacs = 0, serialBytes = 0;

private:
  struct PortSpec {
    std::string name;
    uint32_t dtype;
    Dims dims;
    int buffer;
  };
  struct SymbolSpec {
    std::string name;
    uint32_t kind;
    std::vector<int64_t> code;
    int readyAfter;
  };
  struct StepSpec {
    std::string name, nodes;
    std::vector<int32_t> operands;
    std::vector<mopt_step_fn> variants;
    mopt_size chunks; // of every variant
  };
  struct CheckSpec {
    mopt_size left, right;
    std::string what;
  };
  int buffer(uint32_t kind, uint32_t dtype, Dims dims, uint32_t index, int first, int last, uint64_t offset);
  std::vector<PortSpec> inputs, outputs;
  std::vector<SymbolSpec> symbols;
  std::vector<StepSpec> stepSpecs;
  std::vector<CheckSpec> checks;
  std::vector<Dims> bufferDims;
  const void *weightData = nullptr;
  uint64_t weightBytes = 0;
};

struct Free {
  void operator()(mopt_model *m) const { mopt_model_free(m); }
  void operator()(mopt_session *s) const { mopt_session_free(s); }
  void operator()(mopt_pool *p) const { mopt_pool_free(p); }
};
using Model = std::unique_ptr<mopt_model, Free>;
using Session = std::unique_ptr<mopt_session, Free>;
using Pool = std::unique_ptr<mopt_pool, Free>;

Model makeModel(TableBuilder &table);
Pool makePool(int threads);
Session makeSession(mopt_model *model, mopt_pool *pool = nullptr, bool keep = false, bool profile = false);
mopt_array tensor(uint32_t dtype, std::vector<int64_t> dims, void *data = nullptr);

// 64-byte aligned array.
template <typename T> struct Aligned {
  explicit Aligned(size_t n, T value = T())
      : size(n), data(static_cast<T *>(std::aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64))) {
    std::fill(data, data + n, value);
  }
  ~Aligned() { std::free(data); }
  Aligned(const Aligned &) = delete;
  T &operator[](size_t i) { return data[i]; }
  size_t size;
  T *data;
};

// Step functions on float [rows, 4]; operands (in, out).
int32_t addOne(const mopt_call *call);
int32_t timesTwo(const mopt_call *call);
int32_t addOneInPlace(const mopt_call *call); // operands (in-out)

// y = timesTwo(addOne(...)) in `length` steps over [n,4], through arena buffers.
void chain(TableBuilder &table, int length);

// Counting and failing allocations of the runtime; see Allocations.cpp.
extern std::atomic<long> allocationCount, failAllocation; // fail when the counter reaches this number; 0: never

#define EXPECT_OK(call)                                                                                                     \
  do {                                                                                                                      \
    mopt_error e_ = {};                                                                                                     \
    mopt_error *error = &e_;                                                                                                \
    EXPECT_EQ(MOPT_OK, (call)) << e_.message;                                                                               \
  } while (0)
#define EXPECT_FAIL(expected, text, call)                                                                                   \
  do {                                                                                                                      \
    mopt_error e_ = {};                                                                                                     \
    mopt_error *error = &e_;                                                                                                \
    EXPECT_EQ(expected, (call)) << e_.message;                                                                              \
    EXPECT_NE(std::string(e_.message).find(text), std::string::npos) << e_.message;                                         \
    EXPECT_EQ(static_cast<int>(expected), e_.code);                                                                         \
  } while (0)

} // namespace mopt::test
