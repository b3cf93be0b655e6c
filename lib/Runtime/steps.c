/* The loop that runs a model: one step after the other, the chunks of a step on the pool. Profile, error location, cancel,
 * deadline, resume and variants are properties of this loop; compiled code knows nothing of them. */
#include "runtime.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Floating-point mode ----
 * A host may have set flush-to-zero or another rounding, and new threads inherit it: the bits of results would depend on who
 * calls. Reading the register costs a few ns, writing about ten, and it is written only where it differs. */
#if defined(__x86_64__)
typedef uint32_t fp_mode;
#define FP_DEFAULT 0x1f80u
#define FP_FLAGS 0x3fu /* sticky exception flags do not matter */
static fp_mode fp_read(void) { return __builtin_ia32_stmxcsr(); }
static void fp_write(fp_mode mode) { __builtin_ia32_ldmxcsr(mode); }
#elif defined(__aarch64__)
typedef uint64_t fp_mode;
#define FP_DEFAULT 0u
#define FP_FLAGS 0u
static fp_mode fp_read(void) {
  fp_mode mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static void fp_write(fp_mode mode) { __asm__ volatile("msr fpcr, %0" ::"r"(mode)); }
#else
typedef uint32_t fp_mode;
#define FP_DEFAULT 0u
#define FP_FLAGS 0u
static fp_mode fp_read(void) { return 0; }
static void fp_write(fp_mode mode) { (void)mode; }
#endif

/* ---- One step ---- */

typedef struct step_job {
  mopt_step_fn fn;
  void *const *operands;
  int64_t *symbols;
  int64_t chunks, grain;
  int64_t deadline;
  const int32_t *cancel;
  _Atomic int32_t stopped;   /* MOPT_E_CANCELLED or MOPT_E_DEADLINE */
  _Atomic int64_t failed_at; /* lowest first chunk of a failed group */
  atomic_flag fault_lock;
  int32_t status;
  mopt_fault fault;
} step_job;

static mopt_code must_stop(int64_t deadline, const int32_t *cancel) {
  if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
    return MOPT_E_CANCELLED;
  if (deadline && mopt_now_ns() >= deadline)
    return MOPT_E_DEADLINE;
  return MOPT_OK;
}

/* The fault of the lowest chunk is kept: only chunks above a failed one are left out, so the lowest one always runs and the
 * error is the same for every number of threads. */
static void record_fault(step_job *job, int64_t begin, int32_t status, const mopt_fault *fault) {
  while (atomic_flag_test_and_set_explicit(&job->fault_lock, memory_order_acquire))
    ;
  if (begin < atomic_load_explicit(&job->failed_at, memory_order_relaxed)) {
    atomic_store_explicit(&job->failed_at, begin, memory_order_relaxed);
    job->status = status;
    job->fault = *fault;
  }
  atomic_flag_clear_explicit(&job->fault_lock, memory_order_release);
}

static void run_group(void *arg, int64_t group) {
  step_job *job = arg;
  int64_t begin = group * job->grain, end = begin + job->grain < job->chunks ? begin + job->grain : job->chunks;
  if (atomic_load_explicit(&job->stopped, memory_order_relaxed) ||
      begin > atomic_load_explicit(&job->failed_at, memory_order_relaxed))
    return;
  if (group) { /* the loop has just looked before group 0 */
    mopt_code stop = must_stop(job->deadline, job->cancel);
    if (stop) {
      atomic_store_explicit(&job->stopped, (int32_t)stop, memory_order_relaxed);
      return;
    }
  }
  fp_mode mode = fp_read();
  bool change = (mode & ~(fp_mode)FP_FLAGS) != FP_DEFAULT;
  if (change)
    fp_write(FP_DEFAULT);
  mopt_fault fault = {0, 0, -1, 0};
  mopt_call call = {job->operands, job->symbols, begin, end, &fault, NULL};
  int32_t status = job->fn(&call);
  if (change)
    fp_write(mode);
  if (status != MOPT_STEP_OK)
    record_fault(job, begin, status, &fault);
}

/* "step 12 'conv+relu' (ONNX nodes: a, b)". Node names come one a line; mopt_fail turns line ends into commas. */
static void locate(const mopt_model *model, int32_t step, char *text, size_t room) {
  const char *name = mopt_follow(&model->steps[step].name), *nodes = mopt_follow(&model->steps[step].nodes);
  if (nodes && *nodes)
    snprintf(text, room, "step %d '%.60s' (ONNX nodes: %.300s)", step, name ? name : "?", nodes);
  else
    snprintf(text, room, "step %d '%.60s'", step, name ? name : "?");
}

static mopt_code report_fault(const mopt_model *model, int32_t step, int32_t status, const mopt_fault *fault,
                              mopt_error *error) {
  char where[440], operand[40] = "";
  locate(model, step, where, sizeof where);
  if (fault->operand >= 0)
    snprintf(operand, sizeof operand, " of operand %d", fault->operand);
  mopt_code code;
  switch (status) {
  case MOPT_STEP_INDEX:
    code = mopt_fail(error, MOPT_E_INDEX,
                     "%s: index %" PRId64 "%s is out of range for an axis of size %" PRId64 ": check the inputs", where,
                     fault->got, operand, fault->limit);
    break;
  case MOPT_STEP_SHAPE:
    code = mopt_fail(error, MOPT_E_SHAPE, "%s: size %" PRId64 "%s does not fit, expected %" PRId64, where, fault->got,
                     operand, fault->limit);
    break;
  case MOPT_STEP_VALUE:
    code = mopt_fail(error, MOPT_E_VALUE, "%s: value %" PRId64 "%s is not allowed here (limit %" PRId64 ")", where,
                     fault->got, operand, fault->limit);
    break;
  default:
    code = mopt_fail(error, MOPT_E_STEP,
                     "%s: failed with status %d (got %" PRId64 ", limit %" PRId64 "): compiler fault, please report", where,
                     status, fault->got, fault->limit);
  }
  if (error) {
    error->step = step;
    error->got = fault->got;
    error->limit = fault->limit;
  }
  return code;
}

static mopt_code report_stop(const mopt_model *model, int32_t step, mopt_code code, mopt_error *error) {
  char where[440];
  locate(model, step, where, sizeof where);
  mopt_fail(error, code, code == MOPT_E_CANCELLED ? "cancelled at %s" : "the deadline passed at %s", where);
  if (error)
    error->step = step;
  return code;
}

/* Pieces of work: several chunks a ticket, so that tickets cost little against them; enough tickets that a late worker
 * leaves no one waiting long and that cancel and deadline are seen. */
static int64_t grain_of(int64_t chunks, int32_t threads) {
  int64_t groups = threads > 1 ? (int64_t)threads * 8 : 32;
  return chunks / groups + (chunks % groups != 0);
}

/* Waking a worker costs about 5 us: work that is done by then is not worth it. Without the compiler's estimate (bytes 0 or
 * unknown) the pool decides by tickets alone. */
static bool is_small(const mopt_module *module, const mopt_step *step, const int64_t *values) {
  int64_t macs = mopt_size_value(step->macs, values), bytes = mopt_size_value(step->bytes, values);
  return bytes > 0 && bytes < module->serial_bytes && macs >= 0 && macs < module->serial_macs;
}

static mopt_code run_step(mopt_session *session, int32_t index, mopt_pool *pool, const mopt_run_options *options,
                          mopt_error *error) {
  const mopt_step *step = &session->model->steps[index];
  const mopt_variant *variant = (const mopt_variant *)mopt_follow(&step->variants) + session->variants[index];
  int64_t chunks = mopt_size_value(variant->chunks, session->values);
  session->counters[index].chunks = chunks;
  if (chunks <= 0)
    return MOPT_OK;
  const int32_t *numbers = mopt_follow(&step->operands);
  for (uint32_t i = 0; i < step->noperands; ++i)
    session->operands[i] = session->pointers[numbers[i]];
  step_job job = {.fn = mopt_variant_fn(variant),
                  .operands = session->operands,
                  .symbols = session->values,
                  .chunks = chunks,
                  .deadline = options->deadline_ns,
                  .cancel = options->cancel,
                  .fault_lock = ATOMIC_FLAG_INIT};
  atomic_init(&job.stopped, 0);
  atomic_init(&job.failed_at, INT64_MAX);
  /* A step that writes symbols runs in one piece on this thread: symbols are shared by all pieces. */
  bool whole = step->flags & MOPT_STEP_DEFINES_SYMBOLS || is_small(session->model->module, step, session->values);
  job.grain = whole ? chunks : grain_of(chunks, mopt_pool_threads(pool));
  int64_t begin = session->profile ? mopt_now_ns() : 0;
  mopt_pool_run(pool, chunks / job.grain + (chunks % job.grain != 0), run_group, &job);
  if (session->profile) {
    session->counters[index].ns += (uint64_t)(mopt_now_ns() - begin);
    ++session->counters[index].calls;
  }
  if (job.status)
    return report_fault(session->model, index, job.status, &job.fault, error);
  int32_t stopped = atomic_load_explicit(&job.stopped, memory_order_relaxed);
  return stopped ? report_stop(session->model, index, (mopt_code)stopped, error) : MOPT_OK;
}

/* ---- Resume ---- */

static bool writes(const mopt_step *step, uint32_t operand) { return operand >= step->noperands - step->nwritten; }

/* A run may start at `from` if everything that steps from there on read is still what the earlier run computed. Steps
 * [from, touched_to) have run since; they may have changed a value in place or have put another in its room. */
static mopt_code check_resume(mopt_session *session, int32_t from, mopt_error *error) {
  const mopt_model *model = session->model;
  if (!session->prepared || !session->offsets || from > session->ran_to)
    return mopt_fail(error, MOPT_E_RESUME, "cannot start at step %d: %d steps have run with these inputs and outputs", from,
                     session->ran_to);
  uint64_t *written_before = session->scratch_plan.bytes; /* free between plans */
  for (uint32_t b = 0; b < model->module->nbuffers; ++b)
    written_before[b] = 0;
  for (int32_t s = 0; s < session->touched_to; ++s) {
    const mopt_step *step = &model->steps[s];
    const int32_t *operands = mopt_follow(&step->operands);
    for (uint32_t i = 0; i < step->noperands; ++i) {
      const mopt_buffer *b = &model->buffers[operands[i]];
      if (!writes(step, i))
        continue;
      if (s < from)
        written_before[operands[i]] = 1;
      else if (written_before[operands[i]] && (b->kind == MOPT_BUF_OUTPUT || b->last_step >= from))
        return mopt_fail(error, MOPT_E_RESUME, "cannot start at step %d: step %d changed buffer %d in place", from, s,
                         operands[i]);
    }
  }
  for (uint32_t b = 0; b < model->module->nbuffers; ++b) {
    const mopt_buffer *live = &model->buffers[b];
    if ((live->kind != MOPT_BUF_ARENA && live->kind != MOPT_BUF_HEAP) || live->first_step >= from || live->last_step < from)
      continue;
    if (!session->pointers[b])
      return mopt_fail(error, MOPT_E_RESUME, "cannot start at step %d: buffer %u was given up (heap_limit)", from, b);
    if (live->kind == MOPT_BUF_HEAP)
      continue;
    for (uint32_t c = 0; c < model->module->nbuffers; ++c) {
      const mopt_buffer *later = &model->buffers[c];
      if (later->kind == MOPT_BUF_ARENA && later->first_step >= from && later->first_step < session->touched_to &&
          session->offsets[b] < session->offsets[c] + session->bytes[c] &&
          session->offsets[c] < session->offsets[b] + session->bytes[b])
        return mopt_fail(error, MOPT_E_RESUME,
                         "cannot start at step %d: buffer %u has taken the place of buffer %u; make the session"
                         " with keep_buffers, or stop the earlier run before step %d",
                         from, c, b, from);
    }
  }
  return MOPT_OK;
}

/* ---- The loop ---- */

mopt_code mopt_run_steps(mopt_session *session, int32_t from, int32_t to, const mopt_run_options *options,
                         mopt_error *error) {
  const mopt_model *model = session->model;
  mopt_pool *pool = options->pool ? options->pool : session->pool;
  mopt_code code = from ? check_resume(session, from, error) : MOPT_OK;
  if (code)
    return code;
  session->complete = false;
  uint32_t late = 0;
  while (late < model->nlate && model->buffers[model->late[late]].first_step < from)
    ++late;
  for (int32_t i = from; i < to && !code; ++i) {
    session->ran_to = session->touched_to = i;
    code = must_stop(options->deadline_ns, options->cancel);
    if (code)
      return report_stop(model, i, code, error);
    for (; late < model->nlate && model->buffers[model->late[late]].first_step == i && !code; ++late)
      code = mopt_place_late(session, late, error);
    if (code)
      break;
    session->touched_to = i + 1;
    code = run_step(session, i, pool, options, error);
    if (!code && model->steps[i].flags & MOPT_STEP_DEFINES_SYMBOLS)
      code = mopt_eval_symbols(model, i, session->values, error);
    if (code && error && error->step < 0)
      error->step = i;
  }
  if (!code)
    session->ran_to = session->touched_to = to;
  return code;
}
