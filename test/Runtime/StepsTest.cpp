// The step loop: faults, cancel, deadline, resume, profile, variants.
#include "TableBuilder.h"
#include <cstring>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace mopt::test;

namespace {
struct Fixture {
  TableBuilder table;
  Model model;
  Session session;
  Aligned<float> x{4000, 1};
  explicit Fixture(int length, bool keep = false, bool profile = false, int threads = 1) {
    chain(table, length);
    start(keep, profile, threads);
  }
  Fixture() = default;
  void start(bool keep = false, bool profile = false, int threads = 1) {
    model = makeModel(table);
    Pool pool = makePool(threads);
    session = makeSession(model.get(), pool.get(), keep, profile);
    mopt_array t = tensor(MOPT_F32, {1000, 4}, x.data);
    EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
  }
  mopt_code run(int from, int to, mopt_error *error) {
    mopt_run_options o = {};
    o.size = sizeof o, o.from_step = from, o.to_step = to;
    return mopt_session_run(session.get(), &o, error);
  }
  float first() {
    mopt_array y = {};
    EXPECT_OK(mopt_session_output(session.get(), 0, &y, error));
    return static_cast<float *>(y.data)[0];
  }
};
} // namespace

TEST(Steps, ResumesWhereTheEarlierRunStopped) {
  Fixture f(4);
  EXPECT_OK(f.run(0, 2, error));
  mopt_array t;
  EXPECT_FAIL(MOPT_E_RESUME, "cannot start at step 3: 2 steps have run", f.run(3, 0, error));
  EXPECT_OK(f.run(2, 0, error));
  EXPECT_EQ(10, f.first());
  EXPECT_FAIL(MOPT_E_RESUME, "has taken the place of buffer", f.run(1, 0, error));
  EXPECT_FAIL(MOPT_E_NO_RESULT, "no contents", mopt_session_buffer(makeSession(f.model.get()).get(), 2, &t, error));
  f.x[0] = 5; // the same memory with other contents is the caller's choice; other memory is not the earlier run
  EXPECT_OK(f.run(0, 1, error));
  Aligned<float> other(4000, 2);
  mopt_array in = tensor(MOPT_F32, {1000, 4}, other.data);
  EXPECT_OK(mopt_session_set_input(f.session.get(), 0, &in, error));
  EXPECT_FAIL(MOPT_E_RESUME, "0 steps have run", f.run(1, 0, error));
  EXPECT_FAIL(MOPT_E_RESUME, "the model has 4", f.run(5, 0, error));
  EXPECT_FAIL(MOPT_E_RESUME, "the model has 4", f.run(-1, 0, error));
}

TEST(Steps, KeptBuffersAllowAnyStartAndVariants) {
  Fixture f(4, true);
  EXPECT_OK(f.run(0, 0, error));
  EXPECT_EQ(10, f.first());                                          // ((1+1)*2+1)*2
  EXPECT_OK(mopt_session_set_variant(f.session.get(), 2, 1, error)); // *2 instead of +1
  EXPECT_OK(f.run(2, 0, error));
  EXPECT_EQ(16, f.first());
  EXPECT_OK(f.run(3, 0, error));
  EXPECT_EQ(16, f.first());
  EXPECT_OK(mopt_session_set_variant(f.session.get(), 2, 0, error));
  EXPECT_OK(f.run(1, 0, error));
  EXPECT_EQ(10, f.first());
  EXPECT_FAIL(MOPT_E_NAME, "step 2 variant 2", mopt_session_set_variant(f.session.get(), 2, 2, error));
  EXPECT_EQ(1, mopt_model_find_variant(f.model.get(), 2, "v1"));
  EXPECT_EQ(-1, mopt_model_find_variant(f.model.get(), 2, "int8"));
  const float want[] = {2, 4, 5}; // intermediate values by buffer: 2, 3, 4 are the arena's
  for (uint32_t b = 2; b < 5; ++b) {
    mopt_array t;
    EXPECT_OK(mopt_session_buffer(f.session.get(), b, &t, error));
    EXPECT_EQ(want[b - 2], static_cast<float *>(t.data)[0]);
    EXPECT_EQ(1000, t.dims[0]);
  }
}

TEST(Steps, RefusesToResumeOverAnInPlaceChange) {
  Fixture f;
  mopt_size n = symbolSize(f.table.symbol("n"));
  int x = f.table.input("x", MOPT_F32, {n, 4}), t = f.table.arena(MOPT_F32, {n, 4}, 0, 2);
  int y = f.table.output("y", MOPT_F32, {n, 4});
  f.table.step("a", {x, t}, 1, n, {addOne});
  f.table.step("b", {t}, 1, n, {addOneInPlace});
  f.table.step("c", {t, y}, 1, n, {timesTwo});
  f.start(true);
  EXPECT_OK(f.run(0, 0, error));
  EXPECT_EQ(6, f.first());
  EXPECT_FAIL(MOPT_E_RESUME, "step 1 changed buffer 1 in place", f.run(1, 0, error));
  EXPECT_OK(f.run(2, 0, error));
  EXPECT_EQ(6, f.first());
}

static int32_t failAtChunk700(const mopt_call *call) {
  for (int64_t i = call->chunk_begin; i < call->chunk_end; ++i)
    if (i >= 700) {
      *call->fault = {i, 42, 1, 0};
      return MOPT_STEP_INDEX;
    }
  return MOPT_STEP_OK;
}

TEST(Steps, FaultsAreLocatedAndTheSameForAllThreadCounts) {
  for (int threads : {1, 2, 4}) {
    Fixture f;
    mopt_size n = symbolSize(f.table.symbol("n"));
    int x = f.table.input("x", MOPT_F32, {n, 4}), y = f.table.output("y", MOPT_F32, {n, 4});
    f.table.step("copy", {x, y}, 1, n, {addOne});
    f.table.step("gather", {y}, 0, n, {failAtChunk700}, 0, "emb/Gather\nemb/Add");
    f.start(false, false, threads);
    for (int round = 0; round < 20; ++round) {
      mopt_error error;
      EXPECT_EQ(MOPT_E_INDEX, f.run(0, 0, &error));
      EXPECT_STREQ(
          "MOPT-R052: step 1 'gather' (ONNX nodes: emb/Gather,emb/Add): index 700 of operand 1 is out of range for an "
          "axis of size 42: check the inputs",
          error.message);
      EXPECT_EQ(1, error.step);
      EXPECT_EQ(700, error.got);
      EXPECT_EQ(42, error.limit);
    }
  }
}

TEST(Steps, StatusBecomesCode) {
  static int32_t status;
  for (auto [s, code] : {std::pair<int32_t, mopt_code>{MOPT_STEP_SHAPE, MOPT_E_SHAPE},
                         {MOPT_STEP_VALUE, MOPT_E_VALUE},
                         {MOPT_STEP_TYPE, MOPT_E_STEP},
                         {-7, MOPT_E_STEP}}) {
    status = s;
    Fixture f;
    f.table.input("x", MOPT_F32, {1000, 4});
    f.table.step("s", {}, 0, 1, {[](const mopt_call *) { return status; }});
    f.start();
    mopt_error error;
    EXPECT_EQ(code, f.run(0, 0, &error)) << error.message;
  }
}

static std::atomic<int> calls{0};
static int32_t slow(const mopt_call *call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(call->chunk_end - call->chunk_begin));
  ++calls;
  return MOPT_STEP_OK;
}
static void slowModel(Fixture &f, int threads) {
  mopt_size n = symbolSize(f.table.symbol("n"));
  f.table.input("x", MOPT_F32, {n, 4});
  for (int i = 0; i < 3; ++i)
    f.table.step("slow", {}, 0, n, {slow});
  f.start(false, false, threads);
}

TEST(Steps, DeadlineStopsBetweenChunks) {
  for (int threads : {1, 2}) {
    Fixture f;
    slowModel(f, threads);
    mopt_run_options o = {};
    o.size = sizeof o;
    int64_t begin = mopt_now_ns();
    o.deadline_ns = begin + 50000000;
    EXPECT_FAIL(MOPT_E_DEADLINE, "step 0 'slow'", mopt_session_run(f.session.get(), &o, error));
    EXPECT_LT(mopt_now_ns() - begin, 900000000); // a whole step would take a second
    o.deadline_ns = mopt_now_ns() - 1;
    calls = 0;
    EXPECT_FAIL(MOPT_E_DEADLINE, "deadline", mopt_session_run(f.session.get(), &o, error));
    EXPECT_EQ(0, calls.load());
  }
}

TEST(Steps, CancelFromAnotherThread) {
  for (int threads : {1, 2}) {
    Fixture f;
    slowModel(f, threads);
    int32_t flag = 0;
    mopt_run_options o = {};
    o.size = sizeof o, o.cancel = &flag;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      mopt_cancel(&flag);
    });
    EXPECT_FAIL(MOPT_E_CANCELLED, "cancelled at step 0", mopt_session_run(f.session.get(), &o, error));
    other.join();
    flag = 0;
    mopt_array t = tensor(MOPT_F32, {1, 4}, f.x.data);
    EXPECT_OK(mopt_session_set_input(f.session.get(), 0, &t, error));
    EXPECT_OK(mopt_session_run(f.session.get(), &o, error));
  }
}

TEST(Steps, BusySessionRefusesASecondCaller) {
  Fixture f;
  slowModel(f, 1);
  mopt_array t = tensor(MOPT_F32, {60, 4}, f.x.data);
  EXPECT_OK(mopt_session_set_input(f.session.get(), 0, &t, error));
  calls = 0;
  std::thread other([&] { EXPECT_OK(mopt_session_run(f.session.get(), nullptr, error)); });
  while (calls == 0)
    std::this_thread::yield();
  EXPECT_FAIL(MOPT_E_BUSY, "in use by another thread", mopt_session_run(f.session.get(), nullptr, error));
  other.join();
}

TEST(Steps, ProfileCountsRuns) {
  Fixture f(3, false, true);
  for (int i = 0; i < 5; ++i)
    EXPECT_OK(f.run(0, 0, error));
  for (uint32_t i = 0; i < 3; ++i) {
    mopt_step_profile p;
    EXPECT_OK(mopt_session_profile(f.session.get(), i, &p, error));
    EXPECT_EQ(5u, p.calls);
    EXPECT_GT(p.ns, 0u);
    EXPECT_EQ(1000, p.chunks);
  }
  mopt_session_reset_profile(f.session.get());
  mopt_step_profile p;
  EXPECT_OK(mopt_session_profile(f.session.get(), 0, &p, error));
  EXPECT_EQ(0u, p.calls);
  EXPECT_FAIL(MOPT_E_NAME, "step 3", mopt_session_profile(f.session.get(), 3, &p, error));
}

static std::atomic<int64_t> lastChunk, pieces;
static int32_t noteChunks(const mopt_call *call) {
  ++pieces;
  for (int64_t seen = lastChunk; seen < call->chunk_end && !lastChunk.compare_exchange_weak(seen, call->chunk_end);)
    ;
  return 0;
}

// A variant may cut its work otherwise than the default does.
TEST(Steps, VariantsHaveTheirOwnChunks) {
  Fixture f;
  mopt_size n = symbolSize(f.table.symbol("n"));
  int x = f.table.input("x", MOPT_F32, {n, 4}), y = f.table.output("y", MOPT_F32, {n, 4});
  f.table.step("s", {x, y}, 1, n, {addOne, noteChunks});
  f.table.variantChunks[{0, 1}] = 3;
  f.start(false, true, 1);
  EXPECT_OK(f.run(0, 0, error));
  mopt_step_profile p;
  EXPECT_OK(mopt_session_profile(f.session.get(), 0, &p, error));
  EXPECT_EQ(1000, p.chunks);
  EXPECT_OK(mopt_session_set_variant(f.session.get(), 0, 1, error));
  lastChunk = 0;
  EXPECT_OK(f.run(0, 0, error));
  EXPECT_OK(mopt_session_profile(f.session.get(), 0, &p, error));
  EXPECT_EQ(3, p.chunks);
  EXPECT_EQ(3, lastChunk.load());
}

// Below the artifact's break-even a step is one piece on the caller's thread; at it, pieces are handed out.
TEST(Steps, SmallStepsRunInOnePiece) {
  for (uint32_t limit : {101u, 100u}) {
    Fixture f;
    mopt_size n = symbolSize(f.table.symbol("n"));
    int x = f.table.input("x", MOPT_F32, {n, 4}), y = f.table.output("y", MOPT_F32, {n, 4});
    f.table.step("s", {x, y}, 1, n, {noteChunks});
    f.table.steps[0].macs = 100, f.table.steps[0].bytes = 100;
    f.table.serialMacs = limit, f.table.serialBytes = 1000;
    f.start(false, false, 2);
    pieces = 0;
    EXPECT_OK(f.run(0, 0, error));
    if (limit > 100)
      EXPECT_EQ(1, pieces.load());
    else
      EXPECT_LT(1, pieces.load());
  }
}

TEST(Steps, EmptyTensorsSkipSteps) {
  Fixture f;
  slowModel(f, 1);
  mopt_array t = tensor(MOPT_F32, {0, 4});
  EXPECT_OK(mopt_session_set_input(f.session.get(), 0, &t, error));
  calls = 0;
  EXPECT_OK(f.run(0, 0, error));
  EXPECT_EQ(0, calls.load());
}

#if defined(__x86_64__)
// A host that flushes denormals must not change results, on any thread.
static int32_t halveDenormal(const mopt_call *call) {
  for (int64_t i = call->chunk_begin * 4; i < call->chunk_end * 4; ++i) {
    volatile float v = 1e-39f;
    static_cast<float *>(call->buffers[1])[i] = v * 0.5f;
  }
  return 0;
}
TEST(Steps, FloatingPointModeOfTheHostDoesNotMatter) {
  for (int threads : {1, 4}) {
    Fixture f;
    mopt_size n = symbolSize(f.table.symbol("n"));
    int x = f.table.input("x", MOPT_F32, {n, 4}), y = f.table.output("y", MOPT_F32, {n, 4});
    f.table.step("d", {x, y}, 1, n, {halveDenormal});
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // flush to zero, denormals are zero
    f.start(false, false, threads);
    EXPECT_OK(f.run(0, 0, error));
    EXPECT_EQ((before | 0x8040) & ~0x3fu, _mm_getcsr() & ~0x3fu); // sticky flags aside
    _mm_setcsr(before);
    mopt_array t = {};
    EXPECT_OK(mopt_session_output(f.session.get(), 0, &t, error));
    for (int i = 0; i < 4000; ++i)
      ASSERT_NE(0, static_cast<float *>(t.data)[i]);
  }
}
#endif
