// One pool, many callers. Run under TSan as well.
#include "TableBuilder.h"
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mopt::test;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

TEST(Pool, EveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Pool pool = makePool(threads);
    EXPECT_EQ(threads, mopt_pool_threads(pool.get()));
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      for (int round = 0; round < 50; ++round) {
        std::vector<int> seen(static_cast<size_t>(count), 0); // plain: a race would show
        mopt_pool_run(
            pool.get(), count,
            [](void *arg, int64_t i) { ++(*static_cast<std::vector<int> *>(arg))[static_cast<size_t>(i)]; }, &seen);
        for (int s : seen)
          ASSERT_EQ(1, s);
      }
    }
  }
}

TEST(Pool, ManyCallersAtTheSameTime) {
  Pool pool = makePool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        int64_t mine[64] = {};
        mopt_pool_run(pool.get(), 64, [](void *arg, int64_t i) { static_cast<int64_t *>(arg)[i] = i; }, mine);
        for (int64_t v : mine)
          sum += v;
      }
    });
  for (std::thread &t : callers)
    t.join();
  EXPECT_EQ(8 * 300 * (63 * 64 / 2), sum.load());
}

TEST(Pool, WorkersThatSleepWakeUp) {
  Pool pool = makePool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> n{0};
    mopt_pool_run(
        pool.get(), 16,
        [](void *arg, int64_t) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          ++*static_cast<std::atomic<int> *>(arg);
        },
        &n);
    EXPECT_EQ(16, n.load());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(Pool, RefusesImpossibleSizes) {
  mopt_pool *pool = nullptr;
  EXPECT_FAIL(MOPT_E_ARGUMENT, "1 to 1024", mopt_pool_create(-1, &pool, error));
  EXPECT_FAIL(MOPT_E_ARGUMENT, "1 to 1024", mopt_pool_create(1025, &pool, error));
  EXPECT_GE(mopt_cpu_count(), 1);
}

// 8 threads, three models, four sessions of one of them, one pool of two: answers as in serial.
TEST(Pool, SessionsOfSeveralModels) {
  Pool pool = makePool(2);
  TableBuilder tables[3];
  Model models[3];
  float want[3];
  for (int m = 0; m < 3; ++m) {
    chain(tables[m], 3 + m);
    models[m] = makeModel(tables[m]);
    want[m] = 1;
    for (int s = 0; s < 3 + m; ++s)
      want[m] = s % 2 ? want[m] * 2 : want[m] + 1;
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      int m = t < 4 ? 0 : t % 3;
      Session session = makeSession(models[m].get(), pool.get());
      Aligned<float> x(2000, 1);
      for (int round = 0; round < 60; ++round) {
        int64_t rows = 1 + (round * 37 + t) % 500;
        mopt_array in = tensor(MOPT_F32, {rows, 4}, x.data), y = {};
        EXPECT_OK(mopt_session_set_input(session.get(), 0, &in, error));
        EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
        EXPECT_OK(mopt_session_output(session.get(), 0, &y, error));
        for (int64_t i = 0; i < rows * 4; ++i)
          ASSERT_EQ(want[m], static_cast<float *>(y.data)[i]);
      }
    });
  for (std::thread &t : threads)
    t.join();
}

TEST(Pool, DefaultPoolIsSharedAndGoesWithItsLastSession) {
  TableBuilder table;
  chain(table, 3);
  Model model = makeModel(table);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        Session session = makeSession(model.get());
        Aligned<float> x(400, 1);
        mopt_array in = tensor(MOPT_F32, {100, 4}, x.data);
        EXPECT_OK(mopt_session_set_input(session.get(), 0, &in, error));
        EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
      });
    for (std::thread &t : threads)
      t.join();
  }
}

TEST(Pool, HostThreads) {
  static std::atomic<int64_t> given{0};
  mopt_host_pool host = {nullptr, 3, [](void *, int64_t count, mopt_pool_body body, void *arg) {
                           given += count;
                           std::thread odd([&] {
                             for (int64_t i = count - 1; i >= 0; i -= 2)
                               body(arg, i);
                           });
                           for (int64_t i = count - 2; i >= 0; i -= 2)
                             body(arg, i);
                           odd.join();
                         }};
  mopt_pool *raw = nullptr;
  EXPECT_OK(mopt_pool_create_host(&host, &raw, error));
  Pool pool(raw);
  TableBuilder table;
  chain(table, 4);
  Model model = makeModel(table);
  Session session = makeSession(model.get(), pool.get());
  Aligned<float> x(4000, 1);
  mopt_array in = tensor(MOPT_F32, {1000, 4}, x.data), y = {};
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &in, error));
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  EXPECT_OK(mopt_session_output(session.get(), 0, &y, error));
  EXPECT_EQ(10, static_cast<float *>(y.data)[3999]);
  EXPECT_GT(given.load(), 0);
}

#ifndef UNDER_TSAN // it does not follow threads into a child
TEST(Pool, SessionsWorkAfterFork) {
  Pool pool = makePool(3);
  TableBuilder table;
  chain(table, 4);
  Model model = makeModel(table);
  Session session = makeSession(model.get(), pool.get());
  Aligned<float> x(40000, 1);
  mopt_array in = tensor(MOPT_F32, {10000, 4}, x.data), y = {};
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &in, error));
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
  std::atomic<bool> stop{false};
  std::thread busy([&] { // the pool's lock may be held by another thread at the moment of the fork
    while (!stop) {
      int64_t sink[8];
      mopt_pool_run(pool.get(), 8, [](void *arg, int64_t i) { static_cast<int64_t *>(arg)[i] = i; }, sink);
    }
  });
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool ok = true;
      for (int i = 0; i < 10; ++i) {
        ok = ok && mopt_session_run(session.get(), nullptr, nullptr) == MOPT_OK;
        ok =
            ok && mopt_session_output(session.get(), 0, &y, nullptr) == MOPT_OK && static_cast<float *>(y.data)[39999] == 10;
      }
      _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
  }
  stop = true;
  busy.join();
  EXPECT_OK(mopt_session_run(session.get(), nullptr, error));
}
#endif
