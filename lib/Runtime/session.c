/* Sessions: what a caller binds, runs and reads. */
#include "runtime.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool acquire(mopt_session *session) {
  int32_t idle = 0;
  return atomic_compare_exchange_strong_explicit(&session->busy, &idle, 1, memory_order_acquire, memory_order_relaxed);
}
static mopt_code release(mopt_session *session, mopt_code code) {
  atomic_store_explicit(&session->busy, 0, memory_order_release);
  return code;
}
#define ACQUIRE(session)                                                                                                    \
  do {                                                                                                                      \
    mopt_error_clear(error);                                                                                                \
    if (!(session))                                                                                                         \
      return mopt_fail(error, MOPT_E_ARGUMENT, "no session (null pointer)");                                                \
    if (!acquire(session))                                                                                                  \
      return mopt_fail(error, MOPT_E_BUSY, "the session is in use by another thread: make one session for each");           \
  } while (0)

/* ---- Life ---- */

/* calloc of at least one element, counted. */
static void *table(mopt_session *session, uint64_t count, uint64_t size, bool *ok) {
  uint64_t bytes = (count ? count : 1) * size;
  void *p = calloc(1, bytes);
  *ok &= p != NULL;
  session->table_bytes += bytes;
  return p;
}

static void make_slot(mopt_session *session, mopt_shape_plan *plan, bool *ok) {
  plan->values = table(session, session->model->module->nsymbols, sizeof *plan->values, ok);
  plan->bytes = table(session, session->model->module->nbuffers, sizeof *plan->bytes, ok);
  plan->offsets = table(session, session->model->module->nbuffers, sizeof *plan->offsets, ok);
}

static bool make_tables(mopt_session *session) {
  const mopt_model *model = session->model;
  const mopt_module *m = model->module;
  bool ok = true;
  session->inputs = table(session, m->ninputs, sizeof *session->inputs, &ok);
  session->input_set = table(session, m->ninputs, sizeof *session->input_set, &ok);
  session->input_staging = table(session, m->ninputs, sizeof *session->input_staging, &ok);
  session->outputs = table(session, m->noutputs, sizeof *session->outputs, &ok);
  session->heap = table(session, model->nlate, sizeof *session->heap, &ok);
  session->plans = table(session, session->nplans, sizeof *session->plans, &ok);
  for (uint32_t i = 0; session->plans && i < session->nplans; ++i)
    make_slot(session, &session->plans[i], &ok);
  make_slot(session, &session->reserved_plan, &ok);
  make_slot(session, &session->scratch_plan, &ok);
  session->items = table(session, model->narena, sizeof *session->items, &ok);
  session->plan_scratch = table(session, mopt_plan_scratch_bytes(model->narena), 1, &ok);
  session->values = table(session, m->nsymbols, sizeof *session->values, &ok);
  session->bytes = table(session, m->nbuffers, sizeof *session->bytes, &ok);
  session->pointers = table(session, m->nbuffers, sizeof *session->pointers, &ok);
  session->operands = table(session, model->max_operands, sizeof *session->operands, &ok);
  session->variants = table(session, m->nsteps, sizeof *session->variants, &ok);
  session->counters = table(session, m->nsteps, sizeof *session->counters, &ok);
  for (uint32_t i = 0; ok && i < m->nsymbols; ++i)
    session->values[i] = MOPT_NO_VALUE;
  return ok;
}

mopt_code mopt_session_create(mopt_model *model, const mopt_session_options *given, mopt_session **result,
                              mopt_error *error) {
  mopt_error_clear(error);
  if (!model || !result)
    return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_session_create needs a model and a place for the session");
  *result = NULL;
  mopt_session_options options = {0};
  if (given) {
    if (given->size < sizeof given->size || given->size > 4096)
      return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_session_options.size is %u, expected %zu", given->size, sizeof options);
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
  }
  mopt_session *session = calloc(1, sizeof *session);
  if (!session)
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory for a session");
  mopt_model_retain(model);
  session->model = model;
  session->profile = options.profile != 0;
  session->keep_buffers = options.keep_buffers != 0;
  session->heap_limit = options.heap_limit ? options.heap_limit : 1ull << 30;
  session->nplans = options.plans ? options.plans : 8;
  bool dynamic = false; /* without free sizes there is one plan for ever */
  for (uint32_t i = 0; i < model->module->nsymbols; ++i)
    dynamic |= model->symbols[i].kind == MOPT_SYM_INPUT;
  if (!dynamic)
    session->nplans = 1;
  mopt_code code = MOPT_OK;
  if (session->nplans > 4096)
    code = mopt_fail(error, MOPT_E_ARGUMENT, "%u plans: at most 4096 are possible", session->nplans);
  else if (!make_tables(session))
    code = mopt_fail(error, MOPT_E_MEMORY, "out of memory for the tables of a session");
  else if (options.pool)
    mopt_pool_retain(session->pool = options.pool);
  else
    code = mopt_pool_default(&session->pool, error);
  if (code) {
    mopt_session_free(session);
    return code;
  }
  *result = session;
  return MOPT_OK;
}

static void free_slot(mopt_shape_plan *plan) {
  free(plan->values);
  free(plan->bytes);
  free(plan->offsets);
}

void mopt_session_free(mopt_session *session) {
  if (!session)
    return;
  const mopt_module *m = session->model->module;
  for (uint32_t i = 0; session->input_staging && i < m->ninputs; ++i)
    mopt_block_free(&session->input_staging[i]);
  for (uint32_t i = 0; session->outputs && i < m->noutputs; ++i)
    mopt_block_free(&session->outputs[i].block);
  for (uint32_t i = 0; session->heap && i < session->model->nlate; ++i)
    mopt_block_free(&session->heap[i]);
  mopt_block_free(&session->arena);
  for (uint32_t i = 0; session->plans && i < session->nplans; ++i)
    free_slot(&session->plans[i]);
  free_slot(&session->reserved_plan);
  free_slot(&session->scratch_plan);
  void *tables[] = {session->inputs,   session->input_set, session->input_staging, session->outputs, session->heap,
                    session->plans,    session->items,     session->plan_scratch,  session->values,  session->bytes,
                    session->pointers, session->operands,  session->variants,      session->counters};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; ++i)
    free(tables[i]);
  mopt_pool_free(session->pool);
  mopt_model_free(session->model);
  free(session);
}

/* ---- Binding ---- */

mopt_code mopt_session_set_input(mopt_session *session, uint32_t index, const mopt_array *tensor, mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  if (index >= model->module->ninputs || !tensor)
    return release(session, mopt_fail(error, tensor ? MOPT_E_NAME : MOPT_E_ARGUMENT,
                                      "input %u: the model has %u inputs (or the tensor is a null pointer)", index,
                                      model->module->ninputs));
  mopt_code code = mopt_check_input(model, index, tensor, true, error);
  if (!code) {
    if (memcmp(&session->inputs[index], tensor, sizeof *tensor) != 0)
      session->ran_to = session->touched_to = 0; /* a run cannot resume on other inputs */
    session->inputs[index] = *tensor;
    session->input_set[index] = 1;
  }
  return release(session, code);
}

mopt_code mopt_session_set_input_by_name(mopt_session *session, const char *name, const mopt_array *tensor,
                                         mopt_error *error) {
  mopt_error_clear(error);
  if (!session || !name)
    return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_session_set_input_by_name needs a session and a name");
  int32_t index = mopt_model_find_input(session->model, name);
  if (index >= 0)
    return mopt_session_set_input(session, (uint32_t)index, tensor, error);
  char known[500] = "";
  size_t n = 0;
  for (uint32_t i = 0; i < session->model->module->ninputs && n + 70 < sizeof known; ++i) {
    const char *input = mopt_port_name(&session->model->inputs[i]);
    size_t length = strlen(input) < 60 ? strlen(input) : 60;
    known[n] = ' ';
    memcpy(known + n + 1, input, length);
    n += length + 1;
    known[n] = 0;
  }
  return mopt_fail(error, MOPT_E_NAME, "the model has no input '%.200s'; its inputs are:%s", name, known);
}

mopt_code mopt_session_set_output(mopt_session *session, uint32_t index, void *data, uint64_t capacity, mopt_error *error) {
  ACQUIRE(session);
  if (index >= session->model->module->noutputs)
    return release(session, mopt_fail(error, MOPT_E_NAME, "output %u: the model has %u outputs", index,
                                      session->model->module->noutputs));
  if (session->outputs[index].user != data)
    session->ran_to = session->touched_to = 0;
  session->outputs[index].user = data;
  session->outputs[index].capacity = data ? capacity : 0;
  return release(session, MOPT_OK);
}

mopt_code mopt_session_set_variant(mopt_session *session, uint32_t step, uint32_t variant, mopt_error *error) {
  ACQUIRE(session);
  const mopt_module *m = session->model->module;
  if (step >= m->nsteps || variant >= session->model->steps[step].nvariants)
    return release(session,
                   mopt_fail(error, MOPT_E_NAME, "step %u variant %u: the model has %u steps, this one %u variants", step,
                             variant, m->nsteps, step < m->nsteps ? session->model->steps[step].nvariants : 0));
  session->variants[step] = variant;
  return release(session, MOPT_OK);
}

/* ---- Prepare, reserve, plan ---- */

mopt_code mopt_prepare(mopt_session *session, mopt_error *error) {
  const mopt_model *model = session->model;
  for (uint32_t i = 0; i < model->module->ninputs; ++i)
    if (!session->input_set[i])
      return mopt_fail(error, MOPT_E_MISSING, "input '%.100s' was not set", mopt_port_name(&model->inputs[i]));
  session->prepared = session->complete = false;
  session->ran_to = session->touched_to = 0;
  mopt_code code = mopt_bind_inputs(model, session->inputs, session->values, error);
  if (code)
    return code;
  const mopt_shape_plan *plan;
  code = mopt_find_plan(session, session->values, &plan, error);
  if (code)
    return code;
  memcpy(session->values, plan->values, model->module->nsymbols * sizeof *session->values);
  code = mopt_check_expression_dims(model, session->inputs, session->values, error);
  if (code)
    return code;
  /* A step that defines symbols and is skipped (no chunks) defines them as 0. */
  for (uint32_t i = 0; i < model->module->nsymbols; ++i)
    if (model->symbols[i].kind == MOPT_SYM_STEP)
      session->values[i] = 0;
  if (plan != session->plan) {
    session->plan = plan;
    session->offsets = NULL; /* pointers are stale */
  }
  memcpy(session->bytes, plan->bytes, model->module->nbuffers * sizeof *session->bytes);
  session->prepared = true;
  return MOPT_OK;
}

static mopt_code check_shapes(mopt_session *session, const mopt_array *shapes, uint32_t nshapes, mopt_error *error) {
  const mopt_model *model = session->model;
  if (nshapes != model->module->ninputs || (nshapes && !shapes))
    return mopt_fail(error, MOPT_E_ARGUMENT, "%u shapes given, the model has %u inputs", nshapes, model->module->ninputs);
  for (uint32_t i = 0; i < nshapes; ++i) {
    mopt_code code = mopt_check_input(model, i, &shapes[i], false, error);
    if (code)
      return code;
  }
  return MOPT_OK;
}

mopt_code mopt_session_reserve(mopt_session *session, const mopt_array *shapes, uint32_t nshapes, mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  mopt_shape_plan *plan = &session->reserved_plan;
  mopt_code code = check_shapes(session, shapes, nshapes, error);
  plan->used = 0;
  session->offsets = NULL;
  session->complete = false;
  session->ran_to = session->touched_to = 0;
  if (!code)
    code = mopt_make_plan(session, shapes, plan, error);
  if (code)
    return release(session, code);
  bool ok = mopt_block_reserve(&session->arena, plan->arena);
  for (uint32_t i = 0; i < model->module->ninputs; ++i)
    ok = ok && mopt_block_reserve(&session->input_staging[i], plan->bytes[model->inputs[i].buffer]);
  for (uint32_t i = 0; i < model->module->noutputs; ++i)
    if (model->buffer_ready[model->outputs[i].buffer] == -1)
      ok = ok && mopt_block_reserve(&session->outputs[i].block, plan->bytes[model->outputs[i].buffer]);
  if (!ok)
    return release(session, mopt_fail(error, MOPT_E_MEMORY, "out of memory: the reserve needs %" PRIu64 " bytes of arena",
                                      plan->arena));
  plan->used = 1;
  return release(session, MOPT_OK);
}

mopt_code mopt_session_plan(mopt_session *session, const mopt_array *shapes, uint32_t nshapes, mopt_memory *memory,
                            mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  mopt_code code = memory ? check_shapes(session, shapes, nshapes, error)
                          : mopt_fail(error, MOPT_E_ARGUMENT, "mopt_session_plan needs a place for its result");
  if (!code)
    code = mopt_make_plan(session, shapes, &session->scratch_plan, error);
  if (code)
    return release(session, code);
  *memory = (mopt_memory){.arena = session->scratch_plan.arena, .tables = session->table_bytes};
  for (uint32_t i = 0; i < model->module->noutputs; ++i)
    if (model->buffer_ready[model->outputs[i].buffer] == -1)
      memory->outputs += session->scratch_plan.bytes[model->outputs[i].buffer];
  return release(session, MOPT_OK);
}

mopt_code mopt_session_prepare(mopt_session *session, mopt_error *error) {
  ACQUIRE(session);
  return release(session, mopt_prepare(session, error));
}

void mopt_session_memory(const mopt_session *session, mopt_memory *memory) {
  const mopt_module *m = session->model->module;
  *memory = (mopt_memory){.arena = session->arena.capacity, .tables = session->table_bytes};
  for (uint32_t i = 0; i < m->ninputs; ++i)
    memory->staging += session->input_staging[i].capacity;
  for (uint32_t i = 0; i < m->noutputs; ++i)
    *(session->outputs[i].user ? &memory->staging : &memory->outputs) += session->outputs[i].block.capacity;
  for (uint32_t i = 0; i < session->model->nlate; ++i)
    memory->heap += session->heap[i].capacity;
}

int64_t mopt_session_symbol(const mopt_session *session, uint32_t symbol) {
  if (symbol >= session->model->module->nsymbols || session->values[symbol] == MOPT_NO_VALUE)
    return -1;
  return session->values[symbol];
}

/* ---- Results ---- */

static void describe(const mopt_session *session, uint32_t index, mopt_array *tensor) {
  const mopt_buffer *b = &session->model->buffers[index];
  const mopt_size *dims = mopt_buffer_dims(b);
  *tensor = (mopt_array){.bytes = session->bytes[index], .dtype = b->dtype, .rank = b->rank};
  for (uint32_t d = 0; d < b->rank; ++d) {
    int64_t v = mopt_size_value(dims[d], session->values);
    tensor->dims[d] = v == MOPT_NO_VALUE ? -1 : v;
  }
}

mopt_code mopt_session_output(mopt_session *session, uint32_t index, mopt_array *tensor, mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  if (index >= model->module->noutputs || !tensor)
    return release(session,
                   mopt_fail(error, MOPT_E_NAME, "output %u: the model has %u outputs", index, model->module->noutputs));
  if (!session->prepared)
    return release(session, mopt_fail(error, MOPT_E_NO_RESULT, "output '%.100s' has no shape yet: run the session first",
                                      mopt_port_name(&model->outputs[index])));
  uint32_t buffer = model->outputs[index].buffer;
  describe(session, buffer, tensor);
  if (session->complete) {
    tensor->data = session->outputs[index].result;
  } else if (model->buffer_ready[buffer] >= 0) { /* its size depends on data that no run has computed */
    const mopt_size *dims = mopt_buffer_dims(&model->buffers[buffer]);
    tensor->bytes = 0;
    for (uint32_t d = 0; d < tensor->rank; ++d)
      if (dims[d] < 0 && model->symbols[MOPT_SYMBOL_OF_SIZE(dims[d])].ready_after >= 0)
        tensor->dims[d] = -1;
  }
  return release(session, MOPT_OK);
}

mopt_code mopt_session_buffer(mopt_session *session, uint32_t buffer, mopt_array *tensor, mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  if (buffer >= model->module->nbuffers || !tensor)
    return release(session, mopt_fail(error, MOPT_E_NAME, "buffer %u: the model has %u", buffer, model->module->nbuffers));
  const mopt_buffer *b = &model->buffers[buffer];
  bool placed = b->kind == MOPT_BUF_ARENA || b->kind == MOPT_BUF_HEAP || model->buffer_ready[buffer] >= 0;
  if (!session->prepared || !session->offsets || (placed && session->ran_to <= b->first_step) || !session->pointers[buffer])
    return release(session, mopt_fail(error, MOPT_E_NO_RESULT, "buffer %u has no contents yet: run past step %d", buffer,
                                      b->first_step));
  describe(session, buffer, tensor);
  tensor->data = session->pointers[buffer];
  return release(session, MOPT_OK);
}

/* ---- Running ---- */

mopt_code mopt_session_run(mopt_session *session, const mopt_run_options *given, mopt_error *error) {
  ACQUIRE(session);
  const mopt_model *model = session->model;
  if (model->image) { /* no code is there; say why, if there is a reason */
    mopt_code why = mopt_model_can_run(model, error);
    return release(session,
                   why ? why : mopt_fail(error, MOPT_E_ARGUMENT, "the model was only described: load it to run it"));
  }
  mopt_run_options options = {0};
  if (given) {
    if (given->size < sizeof given->size || given->size > 4096)
      return release(session, mopt_fail(error, MOPT_E_ARGUMENT, "mopt_run_options.size is %u, expected %zu", given->size,
                                        sizeof options));
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
  }
  int32_t nsteps = (int32_t)model->module->nsteps;
  int32_t from = options.from_step, to = options.to_step ? options.to_step : nsteps;
  if (from < 0 || from > nsteps || to < from || to > nsteps)
    return release(session, mopt_fail(error, MOPT_E_RESUME, "steps %d to %d: the model has %d", from, to, nsteps));
  mopt_code code = MOPT_OK;
  if (from == 0) {
    code = mopt_prepare(session, error);
    if (!code)
      code = mopt_place_buffers(session, error);
  }
  if (!code)
    code = mopt_run_steps(session, from, to, &options, error);
  if (!code && to == nsteps) {
    for (uint32_t i = 0; i < model->module->noutputs; ++i) { /* unaligned memory of the caller */
      uint32_t buffer = model->outputs[i].buffer;
      void *user = session->outputs[i].user;
      if (user && session->bytes[buffer] && user != session->pointers[buffer])
        memcpy(user, session->pointers[buffer], session->bytes[buffer]);
      session->outputs[i].result = user ? user : session->pointers[buffer];
    }
    session->complete = true;
  }
  return release(session, code);
}

mopt_code mopt_session_profile(const mopt_session *session, uint32_t step, mopt_step_profile *profile, mopt_error *error) {
  mopt_error_clear(error);
  if (!session || !profile || step >= session->model->module->nsteps)
    return mopt_fail(error, MOPT_E_NAME, "step %u: no such step, or a null pointer", step);
  const mopt_step *s = &session->model->steps[step];
  const mopt_step_counter *c = &session->counters[step];
  int64_t macs = mopt_size_value(s->macs, session->values), bytes = mopt_size_value(s->bytes, session->values);
  *profile = (mopt_step_profile){c->calls, c->ns, c->chunks, macs < 0 ? -1 : macs, bytes < 0 ? -1 : bytes};
  return MOPT_OK;
}

void mopt_session_reset_profile(mopt_session *session) {
  memset(session->counters, 0, session->model->module->nsteps * sizeof *session->counters);
}
