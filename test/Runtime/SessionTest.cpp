// Binding, shapes, memory.
#include "TableBuilder.h"
#include <algorithm>
#include <cstring>

using namespace mopt::test;

static void setRows(mopt_session *session, Aligned<float> &x, int64_t rows) {
  mopt_array t = tensor(MOPT_F32, {rows, 4}, x.data);
  EXPECT_OK(mopt_session_set_input(session, 0, &t, error));
}
static mopt_array result(mopt_session *session, uint32_t index = 0) {
  mopt_array t = {};
  EXPECT_OK(mopt_session_output(session, index, &t, error));
  return t;
}

TEST(Session, RunsAChainForManyShapes) {
  TableBuilder table;
  chain(table, 5);
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  Aligned<float> x(400, 1);
  for (int round = 0; round < 3; ++round)
    for (int64_t rows : {1, 100, 7, 0, 33, 2, 3, 4, 5, 6, 8, 9}) { // more shapes than plan slots
      setRows(session.get(), x, rows);
      EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
      mopt_array y = result(session.get());
      EXPECT_EQ(rows, y.dims[0]);
      for (int64_t i = 0; i < rows * 4; ++i)
        ASSERT_EQ(((1 + 1) * 2 + 1) * 2 + 1, static_cast<float *>(y.data)[i]);
    }
}

TEST(Session, NamesWhatIsWrongWithAnInput) {
  TableBuilder table;
  chain(table, 2);
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  Aligned<float> x(64);
  mopt_array t = tensor(MOPT_F64, {2, 4}, x.data);
  EXPECT_FAIL(MOPT_E_DTYPE, "'x' has element type float64, the model takes float32",
              mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {2, 2, 2}, x.data);
  EXPECT_FAIL(MOPT_E_RANK, "[2,2,2], the model takes 2: [n,4]", mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {2, 5}, x.data);
  EXPECT_FAIL(MOPT_E_DIM, "axis 1 has size 5, the model takes 4", mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {-1, 4}, x.data);
  EXPECT_FAIL(MOPT_E_DIM, "negative", mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {int64_t(1) << 61, 4}, x.data);
  EXPECT_FAIL(MOPT_E_TOO_LARGE, "too large", mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {2, 4}, x.data);
  t.bytes = 31;
  EXPECT_FAIL(MOPT_E_BYTES, "31 bytes", mopt_session_set_input(session.get(), 0, &t, error));
  t = tensor(MOPT_F32, {2, 4}, nullptr);
  EXPECT_FAIL(MOPT_E_ARGUMENT, "null pointer", mopt_session_set_input(session.get(), 0, &t, error));
  EXPECT_FAIL(MOPT_E_NAME, "no input 'z'; its inputs are: x", mopt_session_set_input_by_name(session.get(), "z", &t, error));
  EXPECT_FAIL(MOPT_E_NAME, "1 inputs", mopt_session_set_input(session.get(), 1, &t, error));
  EXPECT_FAIL(MOPT_E_MISSING, "'x' was not set", mopt_session_run(session.get(), nullptr, error));
  EXPECT_FAIL(MOPT_E_NO_RESULT, "run the session first", mopt_session_output(session.get(), 0, &t, error));
}

TEST(Session, MessagesStayOneLine) {
  TableBuilder table;
  table.input("evil\n\x1b[31m\xff\xfe name", MOPT_F32, {1});
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  mopt_error error;
  EXPECT_EQ(MOPT_E_MISSING, mopt_session_run(session.get(), nullptr, &error));
  for (const char *p = error.message; *p; ++p)
    EXPECT_TRUE(*p >= 0x20 && *p < 0x7f) << error.message;
}

TEST(Session, SymbolsMustAgree) {
  TableBuilder table;
  int b = table.symbol("batch"), s = table.symbol("seq");
  int sum = table.symbol("b+s", MOPT_SYM_EXPR, {MOPT_X_SYM, b, MOPT_X_SYM, s, MOPT_X_ADD});
  int half =
      table.symbol("half", MOPT_SYM_EXPR, {MOPT_X_SYM, s, MOPT_X_CONST, 2, MOPT_X_FLOORDIV, MOPT_X_CONST, 1, MOPT_X_SUB});
  int cast = table.symbol("wide", MOPT_SYM_EXPR, {MOPT_X_SYM, b, MOPT_X_SYM, s, MOPT_X_BCAST});
  table.input("a", MOPT_F32, {symbolSize(b), symbolSize(s)});
  table.input("c", MOPT_F32, {symbolSize(b), symbolSize(sum)});
  table.output("y", MOPT_U8, {symbolSize(half), symbolSize(cast)});
  table.check(symbolSize(b), 4, "node 'reshape_7': batch");
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  Aligned<float> x(1000);
  auto run = [&](int64_t b1, int64_t s1, int64_t b2, int64_t t2, mopt_error *error) {
    mopt_array a = tensor(MOPT_F32, {b1, s1}, x.data), c = tensor(MOPT_F32, {b2, t2}, x.data);
    EXPECT_EQ(MOPT_OK, mopt_session_set_input(session.get(), 0, &a, error));
    EXPECT_EQ(MOPT_OK, mopt_session_set_input(session.get(), 1, &c, error));
    return mopt_session_run(session.get(), nullptr, error);
  };
  EXPECT_OK(run(4, 4, 4, 8, error));
  EXPECT_EQ(1, result(session.get()).dims[0]);
  EXPECT_EQ(4, result(session.get()).dims[1]);
  EXPECT_EQ(8, mopt_session_symbol(session.get(), static_cast<uint32_t>(sum)));
  EXPECT_FAIL(MOPT_E_SYMBOL, "'c' axis 0 has size 3, but 'batch' is 4 from input 'a' axis 0", run(4, 4, 3, 8, error));
  EXPECT_FAIL(MOPT_E_SYMBOL, "'c' axis 1 has size 9, expected 8 ('b+s'", run(4, 4, 4, 9, error));
  EXPECT_FAIL(MOPT_E_BROADCAST, "'wide': cannot broadcast (4 and 5)", run(4, 5, 4, 9, error));
  EXPECT_FAIL(MOPT_E_CHECK, "node 'reshape_7': batch: 1 and 4 must be equal", run(1, 4, 1, 5, error));
  EXPECT_FAIL(MOPT_E_ARITHMETIC, "'half' would be -1", run(4, 1, 4, 5, error));
  EXPECT_OK(run(4, 4, 4, 8, error)); // an error leaves the session usable
  EXPECT_OK(mopt_session_prepare(session.get(), error));
  EXPECT_EQ(nullptr, result(session.get()).data);
}

TEST(Session, ArithmeticIsChecked) {
  struct Case {
    std::vector<int64_t> code;
    int64_t value; // -1: error
  } cases[] = {
      {{MOPT_X_CONST, INT64_MAX, MOPT_X_CONST, 1, MOPT_X_ADD}, -1},
      {{MOPT_X_CONST, INT64_MIN, MOPT_X_CONST, 1, MOPT_X_SUB}, -1},
      {{MOPT_X_CONST, INT64_MAX, MOPT_X_CONST, 2, MOPT_X_MUL}, -1},
      {{MOPT_X_CONST, 7, MOPT_X_CONST, 0, MOPT_X_FLOORDIV}, -1},
      {{MOPT_X_CONST, 7, MOPT_X_CONST, 0, MOPT_X_MOD}, -1},
      {{MOPT_X_CONST, INT64_MIN, MOPT_X_CONST, -1, MOPT_X_CEILDIV}, -1},
      {{MOPT_X_CONST, INT64_MIN, MOPT_X_CONST, -1, MOPT_X_MOD}, -1},
      {{MOPT_X_CONST, -7, MOPT_X_CONST, 2, MOPT_X_MOD}, 1},
      {{MOPT_X_CONST, -7, MOPT_X_CONST, -2, MOPT_X_FLOORDIV}, 3},
      {{MOPT_X_CONST, -7, MOPT_X_CONST, -2, MOPT_X_CEILDIV}, 4},
      {{MOPT_X_CONST, 7, MOPT_X_CONST, 2, MOPT_X_CEILDIV}, 4},
      {{MOPT_X_CONST, 9, MOPT_X_CONST, -7, MOPT_X_CONST, 2, MOPT_X_FLOORDIV, MOPT_X_ADD}, 5},
      {{MOPT_X_CONST, 3, MOPT_X_CONST, 5, MOPT_X_MIN}, 3},
      {{MOPT_X_CONST, 3, MOPT_X_CONST, 5, MOPT_X_MAX}, 5},
      {{MOPT_X_CONST, 0, MOPT_X_CONST, 1, MOPT_X_BCAST}, 0},
      {{MOPT_X_CONST, 0, MOPT_X_CONST, 2, MOPT_X_BCAST}, -1},
  };
  for (auto &c : cases) {
    TableBuilder table;
    table.symbol("e", MOPT_SYM_EXPR, c.code);
    Model model = makeModel(table);
    Session session = makeSession(model.get());
    mopt_error error;
    EXPECT_EQ(c.value < 0, mopt_session_run(session.get(), nullptr, &error) != MOPT_OK) << error.message;
    if (c.value >= 0)
      EXPECT_EQ(c.value, mopt_session_symbol(session.get(), 0));
  }
}

TEST(Session, IntermediateTooLarge) {
  TableBuilder table;
  int n = table.symbol("n");
  int big = table.symbol("n^4", MOPT_SYM_EXPR,
                         {MOPT_X_SYM, n, MOPT_X_SYM, n, MOPT_X_MUL, MOPT_X_SYM, n, MOPT_X_MUL, MOPT_X_SYM, n, MOPT_X_MUL});
  table.input("x", MOPT_U8, {symbolSize(n)});
  int a = table.arena(MOPT_F32, {symbolSize(big)}, 0, 0);
  table.step("s", {0, a}, 1, 1, {addOne});
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  Aligned<uint8_t> x(1 << 16);
  mopt_array t = tensor(MOPT_U8, {1 << 12}, x.data);
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
  EXPECT_FAIL(MOPT_E_TOO_LARGE, "too large", mopt_session_run(session.get(), nullptr, error));
  t = tensor(MOPT_U8, {1 << 16}, x.data);
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
  EXPECT_FAIL(MOPT_E_ARITHMETIC, "overflows", mopt_session_run(session.get(), nullptr, error));
}

TEST(Session, ReserveThenNoAllocation) {
  TableBuilder table;
  chain(table, 6);
  Model model = makeModel(table);
  Pool pool = makePool(2);
  Session session = makeSession(model.get(), pool.get());
  mopt_array most = tensor(MOPT_F32, {20000, 4});
  EXPECT_OK(mopt_session_reserve(session.get(), &most, 1, error));
  Aligned<float> x(80008, 1);
  setRows(session.get(), x, 20000);
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error)); // starts the pool's workers
  long before = allocationCount;
  for (int64_t rows : {20000, 1, 19999, 300, 0, 77, 5000, 5001, 5002, 5003, 5004, 5005, 20000}) {
    mopt_array t = tensor(MOPT_F32, {rows, 4}, x.data + rows % 2); // unaligned every other time: staging is reserved too
    EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
    EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  }
  EXPECT_EQ(before, allocationCount.load());
}

// A smaller shape whose greedy plan is larger must still fit: then the reserved offsets are used.
TEST(Session, ReserveHoldsWherePlansAreNotMonotone) {
  TableBuilder table;
  std::vector<mopt_size> sizes;
  std::vector<int64_t> most;
  for (int i = 0; i < 8; ++i) {
    sizes.push_back(symbolSize(table.symbol("s" + std::to_string(i))));
    table.input("x" + std::to_string(i), MOPT_U8, {sizes.back()});
  }
  for (int i = 0; i < 24; ++i)
    table.arena(MOPT_U8, {sizes[static_cast<size_t>(i) % 8]}, i, i + 1 + i * 7 % 5);
  for (int i = 0; i < 32; ++i)
    table.step("s", {}, 0, 1, {[](const mopt_call *) -> int32_t { return 0; }});
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  std::vector<mopt_array> shapes;
  for (int i = 0; i < 8; ++i)
    shapes.push_back(tensor(MOPT_U8, {5000 + 1000 * i}));
  EXPECT_OK(mopt_session_reserve(session.get(), shapes.data(), 8, error));
  Aligned<uint8_t> data(20000);
  long before = allocationCount;
  unsigned seed = 1;
  for (int round = 0; round < 500; ++round) {
    for (uint32_t i = 0; i < 8; ++i) {
      seed = seed * 1664525 + 1013904223;
      mopt_array t =
          tensor(MOPT_U8, {static_cast<int64_t>((seed >> 8) % static_cast<unsigned>(shapes[i].dims[0] + 1))}, data.data);
      EXPECT_OK(mopt_session_set_input(session.get(), i, &t, error));
    }
    EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  }
  EXPECT_EQ(before, allocationCount.load());
}

TEST(Session, CallersOutputMemory) {
  TableBuilder table;
  chain(table, 2);
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  Aligned<float> x(40, 3), y(48, -1);
  setRows(session.get(), x, 10);
  for (int shift : {0, 1}) { // aligned: written in place; shifted: copied
    EXPECT_OK(mopt_session_set_output(session.get(), 0, y.data + shift, 160, error));
    EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
    EXPECT_EQ(y.data + shift, result(session.get()).data);
    EXPECT_EQ(8, y[static_cast<size_t>(39 + shift)]);
    EXPECT_EQ(-1, y[41]);
  }
  EXPECT_OK(mopt_session_set_output(session.get(), 0, y.data, 159, error));
  EXPECT_FAIL(MOPT_E_BYTES, "'y' has 159 bytes, the result has 160", mopt_session_run(session.get(), nullptr, error));
  EXPECT_OK(mopt_session_set_output(session.get(), 0, x.data + 8, 160, error));
  EXPECT_FAIL(MOPT_E_OVERLAP, "overlaps input 'x'", mopt_session_run(session.get(), nullptr, error));
  EXPECT_OK(mopt_session_set_output(session.get(), 0, nullptr, 0, error));
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  EXPECT_EQ(8, static_cast<float *>(result(session.get()).data)[0]);
}

// Data-dependent size: step 0 counts positive values, step 1 collects them.
static int32_t countPositive(const mopt_call *call) {
  const float *x = static_cast<const float *>(call->buffers[0]);
  call->symbols[1] = 0;
  for (int64_t i = 0; i < call->symbols[0]; ++i)
    call->symbols[1] += x[i] > 0;
  return 0;
}
static int32_t collect(const mopt_call *call) {
  const float *x = static_cast<const float *>(call->buffers[0]);
  float *y = static_cast<float *>(call->buffers[1]);
  for (int64_t i = 0; i < call->symbols[0]; ++i)
    if (x[i] > 0)
      *y++ = x[i];
  return 0;
}
static int32_t copyLate(const mopt_call *call) {
  const float *x = static_cast<const float *>(call->buffers[0]);
  std::copy(x + call->chunk_begin, x + call->chunk_end, static_cast<float *>(call->buffers[1]) + call->chunk_begin);
  return 0;
}
static Model collector() {
  TableBuilder table;
  mopt_size n = symbolSize(table.symbol("n")), k = symbolSize(table.symbol("k", MOPT_SYM_STEP, {}, 0));
  int x = table.input("x", MOPT_F32, {n});
  int h = table.heap(MOPT_F32, {k}, 1, 2);
  int y = table.output("y", MOPT_F32, {k}, 2);
  table.step("count", {x}, 0, 1, {countPositive}, MOPT_STEP_DEFINES_SYMBOLS);
  table.step("collect", {x, h}, 1, 1, {collect});
  table.step("copy", {h, y}, 1, k, {copyLate});
  return makeModel(table);
}

TEST(Session, DataDependentSizes) {
  Model model = collector();
  Session session = makeSession(model.get());
  Aligned<float> x(100, -1);
  for (int positives : {5, 0, 60, 2}) {
    for (int i = 0; i < 100; ++i)
      x[static_cast<size_t>(i)] = i < positives ? static_cast<float>(i + 1) : -1;
    mopt_array t = tensor(MOPT_F32, {100}, x.data);
    EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
    EXPECT_OK(mopt_session_prepare(session.get(), error));
    EXPECT_EQ(-1, result(session.get()).dims[0]);
    EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
    mopt_array y = result(session.get());
    EXPECT_EQ(positives, y.dims[0]);
    for (int i = 0; i < positives; ++i)
      EXPECT_EQ(i + 1, static_cast<float *>(y.data)[i]);
  }
  float small[4];
  EXPECT_OK(mopt_session_set_output(session.get(), 0, small, sizeof small, error));
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  x[2] = x[3] = x[4] = 1;
  EXPECT_FAIL(MOPT_E_BYTES, "16 bytes, the result has 20", mopt_session_run(session.get(), nullptr, error));
}

TEST(Session, HeapLimit) {
  Model model = collector();
  mopt_session_options options = {};
  options.size = sizeof options, options.heap_limit = 1024;
  mopt_session *raw = nullptr;
  EXPECT_OK(mopt_session_create(model.get(), &options, &raw, error));
  Session session(raw);
  Aligned<float> x(10000, 1);
  for (auto [rows, code] :
       {std::pair<int64_t, mopt_code>{100, MOPT_OK}, {200, MOPT_E_HEAP_LIMIT}, {9999, MOPT_E_HEAP_LIMIT}, {50, MOPT_OK}}) {
    mopt_array t = tensor(MOPT_F32, {rows}, x.data);
    EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
    mopt_error error;
    EXPECT_EQ(code, mopt_session_run(session.get(), nullptr, &error)) << error.message;
  }
}

TEST(Session, OutOfMemoryIsAStatus) {
  TableBuilder table;
  chain(table, 4);
  const mopt_module *module = table.build();
  Aligned<float> x(400000, 1);
  bool done = false;
  for (long n = 1; !done && n < 200; ++n) {
    allocationCount = 0;
    failAllocation = n;
    mopt_model *model = nullptr;
    mopt_session *session = nullptr;
    mopt_pool *pool = nullptr;
    mopt_error error = {};
    mopt_array t = tensor(MOPT_F32, {90000, 4}, x.data + 1), y = {};
    mopt_session_options options = {};
    options.size = sizeof options;
    mopt_code code = mopt_pool_create(1, &pool, &error);
    options.pool = pool;
    code = code ? code : mopt_model_from_module(module, &model, &error);
    code = code ? code : mopt_session_create(model, &options, &session, &error);
    code = code ? code : mopt_session_set_input(session, 0, &t, &error);
    code = code ? code : mopt_session_run(session, nullptr, &error);
    code = code ? code : mopt_session_output(session, 0, &y, &error);
    done = allocationCount < n;
    EXPECT_EQ(done ? MOPT_OK : MOPT_E_MEMORY, code) << n << ": " << error.message;
    failAllocation = 0;
    mopt_session_free(session);
    mopt_model_free(model);
    mopt_pool_free(pool);
  }
  EXPECT_TRUE(done);
}

TEST(Session, LivesLongerThanModelAndPoolHandles) {
  TableBuilder table;
  chain(table, 3);
  Model model = makeModel(table);
  Pool pool = makePool(2);
  Session session = makeSession(model.get(), pool.get());
  model.reset();
  pool.reset();
  Aligned<float> x(4000, 1);
  setRows(session.get(), x, 1000);
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  EXPECT_EQ(5, static_cast<float *>(result(session.get()).data)[3999]);
}

TEST(Session, PlanSaysWhatARunNeeds) {
  TableBuilder table;
  chain(table, 5);
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  mopt_array shape = tensor(MOPT_F32, {1000, 4});
  mopt_memory planned, held;
  EXPECT_OK(mopt_session_plan(session.get(), &shape, 1, &planned, error));
  EXPECT_EQ(2u * 16000, planned.arena);
  EXPECT_EQ(16000u, planned.outputs);
  mopt_session_memory(session.get(), &held);
  EXPECT_EQ(0u, held.arena);
  Aligned<float> x(4000);
  setRows(session.get(), x, 1000);
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  mopt_session_memory(session.get(), &held);
  EXPECT_EQ(planned.arena, held.arena);
}
