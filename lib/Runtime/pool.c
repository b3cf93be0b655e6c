/* Threads that several sessions share.
 *
 * Work is handed out by tickets: whoever is free takes the next index, the caller included, so a caller never waits for a
 * worker that has not started. Each thread begins with a part of the indices that is its own in every job, the caller's
 * first, and helps with the parts of others when it is through: rows that a thread has written in one step it reads in the
 * next, from its own cache. (With one counter for all, a chain of products of 256 x 64 rows was no faster on two threads
 * than on one; docs/rationale/threads.md.)
 *
 * A job lives on its caller's stack; workers find it in a list under the lock and count themselves in, and the caller takes
 * it off the list and waits until they have counted themselves out.
 *
 * Idle workers spin for SPIN_NS (the next step of a model usually follows within microseconds, and a futex wake costs
 * about 5 us), then sleep. Where there are fewer processors than threads nobody spins.
 *
 * Process-wide state, all of it here: the list of pools (so that the child of a fork can forget threads it does not have)
 * and the default pool. */
#define _GNU_SOURCE
#include "runtime.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_NS 30000
#define MAX_THREADS 1024
#define STACK_BYTES (2u << 20)
#define MAX_PARTS 64 /* more threads share parts: a job is on the stack */

typedef struct part {
  _Alignas(64) _Atomic int64_t next; /* ticket */
  int64_t end;
} part;

typedef struct job {
  mopt_pool_body body;
  void *arg;
  int64_t count;
  int32_t nparts;
  _Atomic int32_t helpers; /* workers inside */
  struct job *older, *newer;
  part parts[MAX_PARTS]; /* [nparts] */
} job;

struct mopt_pool {
  _Atomic int32_t refs;
  mopt_host_pool host;     /* host.run NULL: our own threads */
  _Atomic int32_t workers; /* wanted, without the caller; fewer once the system has refused some */
  bool spin;
  pthread_mutex_t lock; /* jobs, started, threads */
  job *oldest, *newest;
  _Atomic int32_t started, numbered; /* numbered: workers that have taken their number */
  pthread_t *threads;
  _Atomic bool stop;
  _Atomic uint32_t posted, sleepers; /* futex: a job came */
  _Atomic uint32_t left, waiters;    /* futex: a worker left a job as the last */
  struct mopt_pool *next_pool, *previous_pool;
};

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static mopt_pool *pools, *default_pool;
static bool fork_handlers;

static void futex_wait(_Atomic uint32_t *word, uint32_t seen) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}
static void futex_wake(_Atomic uint32_t *word, int32_t count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int32_t wanted_workers(const mopt_pool *pool) {
  return atomic_load_explicit(&((mopt_pool *)(uintptr_t)pool)->workers, memory_order_relaxed);
}

/* The thread's own part, then the others. */
static void take_tickets(job *j, int32_t thread) {
  int32_t own = thread % j->nparts;
  for (int32_t k = 0; k < j->nparts; ++k) {
    part *p = &j->parts[(own + k) % j->nparts];
    for (int64_t i; atomic_load_explicit(&p->next, memory_order_relaxed) < p->end &&
                    (i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed)) < p->end;)
      j->body(j->arg, i);
  }
}

static bool has_tickets(job *j) {
  for (int32_t k = 0; k < j->nparts; ++k)
    if (atomic_load_explicit(&j->parts[k].next, memory_order_relaxed) < j->parts[k].end)
      return true;
  return false;
}

/* The oldest job with tickets left, entered; NULL if there is none. */
static job *enter_job(mopt_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  job *j = pool->oldest;
  while (j && !has_tickets(j))
    j = j->newer;
  if (j)
    atomic_fetch_add_explicit(&j->helpers, 1, memory_order_relaxed);
  pthread_mutex_unlock(&pool->lock);
  return j;
}

/* From the decrement on the job may be gone: only the pool is touched. */
static void leave_job(mopt_pool *pool, job *j) {
  if (atomic_fetch_sub_explicit(&j->helpers, 1, memory_order_acq_rel) != 1)
    return;
  atomic_fetch_add(&pool->left, 1);
  if (atomic_load(&pool->waiters))
    futex_wake(&pool->left, INT_MAX);
}

/* Waits a while for `word` to change from `seen`. The clock is read every 64 pauses only: it costs as much as a few. */
static bool spin_while_equal(_Atomic uint32_t *word, uint32_t seen) {
  int64_t end = mopt_now_ns() + SPIN_NS;
  do
    for (int i = 0; i < 64; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) != seen)
        return true;
      relax();
    }
  while (mopt_now_ns() < end);
  return false;
}

static void *worker(void *arg) {
  mopt_pool *pool = arg;
  int32_t number = atomic_fetch_add_explicit(&pool->numbered, 1, memory_order_relaxed) + 1;
  for (;;) {
    uint32_t seen = atomic_load(&pool->posted); /* before looking: a job posted later changes it */
    job *j;
    while ((j = enter_job(pool))) {
      take_tickets(j, number);
      leave_job(pool, j);
    }
    if (atomic_load(&pool->stop))
      return NULL;
    if (pool->spin && spin_while_equal(&pool->posted, seen))
      continue;
    atomic_fetch_add(&pool->sleepers, 1);
    futex_wait(&pool->posted, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
  }
}

/* Starts what is missing: at the first work, and anew in the child of a fork. Signals stay with the host's threads. */
static void start_workers(mopt_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) == 0) {
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int32_t n = atomic_load_explicit(&pool->started, memory_order_relaxed);
    int32_t wanted = wanted_workers(pool);
    while (n < wanted && pthread_create(&pool->threads[n], &attr, worker, pool) == 0)
      ++n;
    atomic_store_explicit(&pool->workers, n, memory_order_relaxed); /* the system gave no more: do not ask in each step */
    atomic_store_explicit(&pool->started, n, memory_order_release);
    pthread_attr_destroy(&attr);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_mutex_unlock(&pool->lock);
}

static void post(mopt_pool *pool, job *j) {
  pthread_mutex_lock(&pool->lock);
  j->older = pool->newest;
  j->newer = NULL;
  *(pool->newest ? &pool->newest->newer : &pool->oldest) = j;
  pool->newest = j;
  pthread_mutex_unlock(&pool->lock);
  atomic_fetch_add(&pool->posted, 1);
  if (atomic_load(&pool->sleepers))
    futex_wake(&pool->posted, (int32_t)(j->count - 1 < wanted_workers(pool) ? j->count - 1 : wanted_workers(pool)));
}

static void withdraw(mopt_pool *pool, job *j) {
  pthread_mutex_lock(&pool->lock);
  *(j->older ? &j->older->newer : &pool->oldest) = j->newer;
  *(j->newer ? &j->newer->older : &pool->newest) = j->older;
  pthread_mutex_unlock(&pool->lock);
}

static void wait_for_helpers(mopt_pool *pool, job *j) {
  for (int i = 0; i < 200 && pool->spin; ++i) {
    if (atomic_load_explicit(&j->helpers, memory_order_acquire) == 0)
      return;
    relax();
  }
  while (atomic_load_explicit(&j->helpers, memory_order_acquire)) {
    uint32_t seen = atomic_load(&pool->left);
    if (pool->spin && atomic_load(&j->helpers) && spin_while_equal(&pool->left, seen))
      continue;
    atomic_fetch_add(&pool->waiters, 1);
    if (atomic_load(&j->helpers))
      futex_wait(&pool->left, seen);
    atomic_fetch_sub(&pool->waiters, 1);
  }
}

void mopt_pool_run(mopt_pool *pool, int64_t count, mopt_pool_body body, void *arg) {
  if (count > 1 && pool && pool->host.run) {
    pool->host.run(pool->host.context, count, body, arg);
    return;
  }
  if (count > 1 && pool && atomic_load_explicit(&pool->started, memory_order_acquire) < wanted_workers(pool))
    start_workers(pool);
  if (count <= 1 || !pool || atomic_load_explicit(&pool->started, memory_order_acquire) == 0) {
    for (int64_t i = 0; i < count; ++i)
      body(arg, i);
    return;
  }
  job j; /* not all of it is written: most pools have few parts */
  j.body = body;
  j.arg = arg;
  j.count = count;
  int32_t threads = wanted_workers(pool) + 1, most = threads < MAX_PARTS ? threads : MAX_PARTS;
  j.nparts = count < most ? (int32_t)count : most;
  int64_t share = count / j.nparts, larger = count % j.nparts, at = 0;
  for (int32_t k = 0; k < j.nparts; ++k) {
    atomic_init(&j.parts[k].next, at);
    at += share + (k < larger);
    j.parts[k].end = at;
  }
  atomic_init(&j.helpers, 0);
  post(pool, &j);
  take_tickets(&j, 0);
  withdraw(pool, &j);
  wait_for_helpers(pool, &j);
}

/* ---- Life of pools ---- */

static void before_fork(void) { pthread_mutex_lock(&pools_lock); }
static void after_fork_parent(void) { pthread_mutex_unlock(&pools_lock); }

/* The child has one thread, this one. Whatever state the lock and the lists had, nobody else is in them. */
static void after_fork_child(void) {
  for (mopt_pool *p = pools; p; p = p->next_pool) {
    pthread_mutex_init(&p->lock, NULL);
    p->oldest = p->newest = NULL;
    atomic_store(&p->started, 0);
    atomic_store(&p->numbered, 0);
    atomic_store(&p->sleepers, 0);
    atomic_store(&p->waiters, 0);
  }
  pthread_mutex_init(&pools_lock, NULL);
}

static mopt_code create(int32_t threads, const mopt_host_pool *host, mopt_pool **result, mopt_error *error) {
  if (threads < 1 || threads > MAX_THREADS)
    return mopt_fail(error, MOPT_E_ARGUMENT, "a pool of %d threads: 1 to %d are possible", threads, MAX_THREADS);
  mopt_pool *pool = calloc(1, sizeof *pool);
  pthread_t *ids = calloc((size_t)threads, sizeof *ids);
  if (!pool || !ids || pthread_mutex_init(&pool->lock, NULL) != 0) {
    free(pool);
    free(ids);
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory for a pool");
  }
  pool->threads = ids;
  atomic_init(&pool->workers, threads - 1);
  pool->spin = threads <= mopt_cpu_count();
  if (host)
    pool->host = *host;
  atomic_init(&pool->refs, 1);
  pthread_mutex_lock(&pools_lock);
  if (!fork_handlers)
    fork_handlers = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
  pool->next_pool = pools;
  if (pools)
    pools->previous_pool = pool;
  pools = pool;
  pthread_mutex_unlock(&pools_lock);
  *result = pool;
  return MOPT_OK;
}

mopt_code mopt_pool_create(int32_t threads, mopt_pool **pool, mopt_error *error) {
  mopt_error_clear(error);
  if (!pool)
    return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_pool_create needs a place for the pool");
  *pool = NULL;
  int32_t count = threads ? threads : mopt_cpu_count();
  return create(!threads && count > MAX_THREADS ? MAX_THREADS : count, NULL, pool, error);
}

mopt_code mopt_pool_create_host(const mopt_host_pool *host, mopt_pool **pool, mopt_error *error) {
  mopt_error_clear(error);
  if (!pool || !host || !host->run)
    return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_pool_create_host needs a run function and a place for the pool");
  *pool = NULL;
  return create(host->threads, host, pool, error);
}

int32_t mopt_pool_threads(const mopt_pool *pool) {
  return !pool ? 1 : pool->host.run ? pool->host.threads : wanted_workers(pool) + 1;
}

void mopt_pool_retain(mopt_pool *pool) { atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed); }

void mopt_pool_free(mopt_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pools_lock); /* the default pool must not be handed out while its last reference goes */
  if (atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1) {
    pthread_mutex_unlock(&pools_lock);
    return;
  }
  if (pool == default_pool)
    default_pool = NULL;
  *(pool->previous_pool ? &pool->previous_pool->next_pool : &pools) = pool->next_pool;
  if (pool->next_pool)
    pool->next_pool->previous_pool = pool->previous_pool;
  pthread_mutex_unlock(&pools_lock);
  atomic_store(&pool->stop, true);
  atomic_fetch_add(&pool->posted, 1);
  futex_wake(&pool->posted, INT_MAX);
  for (int32_t i = 0; i < atomic_load(&pool->started); ++i)
    pthread_join(pool->threads[i], NULL);
  pthread_mutex_destroy(&pool->lock);
  free(pool->threads);
  free(pool);
}

mopt_code mopt_pool_default(mopt_pool **pool, mopt_error *error) {
  pthread_mutex_lock(&pools_lock);
  *pool = default_pool;
  if (*pool)
    mopt_pool_retain(*pool);
  pthread_mutex_unlock(&pools_lock);
  if (*pool)
    return MOPT_OK;
  mopt_code code = mopt_pool_create(0, pool, error); /* outside the lock, which it takes itself */
  if (code)
    return code;
  pthread_mutex_lock(&pools_lock);
  mopt_pool *mine = *pool;
  if (default_pool) { /* another thread was faster */
    *pool = default_pool;
    mopt_pool_retain(*pool);
  } else {
    default_pool = mine;
    mine = NULL;
  }
  pthread_mutex_unlock(&pools_lock);
  mopt_pool_free(mine);
  return MOPT_OK;
}
