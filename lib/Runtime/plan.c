/* Memory plans: one for each shape tuple that a session has seen lately. Plans live in slots that are allocated with the
 * session, so that a new shape costs the planner's time but no allocation. */
#include "runtime.h"
#include <string.h>

/* Sizes of all buffers and offsets of arena buffers, from plan->values. */
static mopt_code lay_out(mopt_session *session, mopt_shape_plan *plan, mopt_error *error) {
  const mopt_model *model = session->model;
  const mopt_module *m = model->module;
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->nbuffers; ++i) {
    plan->bytes[i] = model->buffer_bytes[i];
    if (plan->bytes[i] == UINT64_MAX && model->buffer_ready[i] == -1) {
      mopt_code code = mopt_buffer_size(model, i, plan->values, &plan->bytes[i], error);
      if (code)
        return code;
    }
    const mopt_buffer *b = &model->buffers[i];
    if (b->kind != MOPT_BUF_ARENA)
      continue;
    int32_t last = session->keep_buffers ? (int32_t)m->nsteps : b->last_step;
    int32_t first = session->keep_buffers ? 0 : b->first_step;
    session->items[n++] = (mopt_plan_item){.bytes = plan->bytes[i], .first = first, .last = last, .align = b->align};
  }
  if (mopt_plan_arena(session->items, n, session->plan_scratch, &plan->arena) != 0)
    return mopt_fail(error, MOPT_E_TOO_LARGE, "the intermediate values do not fit into any memory: use smaller inputs");
  n = 0;
  for (uint32_t i = 0; i < m->nbuffers; ++i)
    plan->offsets[i] = model->buffers[i].kind == MOPT_BUF_ARENA ? session->items[n++].offset : 0;
  return MOPT_OK;
}

mopt_code mopt_make_plan(mopt_session *session, const mopt_array *shapes, mopt_shape_plan *plan, mopt_error *error) {
  mopt_code code = mopt_bind_inputs(session->model, shapes, plan->values, error);
  if (!code)
    code = mopt_eval_symbols(session->model, -1, plan->values, error);
  if (!code)
    code = mopt_check_expression_dims(session->model, shapes, plan->values, error);
  if (!code)
    code = lay_out(session, plan, error);
  return code;
}

static bool same_inputs(const mopt_model *model, const int64_t *a, const int64_t *b) {
  for (uint32_t i = 0; i < model->module->nsymbols; ++i)
    if (model->symbols[i].kind == MOPT_SYM_INPUT && a[i] != b[i])
      return false;
  return true;
}

/* Linear search: there are few slots, and the one of the last run is looked at first. */
mopt_code mopt_find_plan(mopt_session *session, const int64_t *values, const mopt_shape_plan **result, mopt_error *error) {
  const mopt_model *model = session->model;
  mopt_shape_plan *victim = &session->plans[0];
  if (session->plan && session->plan->used && same_inputs(model, session->plan->values, values)) {
    *result = session->plan;
    return MOPT_OK;
  }
  for (uint32_t i = 0; i < session->nplans; ++i) {
    mopt_shape_plan *plan = &session->plans[i];
    if (plan->used && same_inputs(model, plan->values, values)) {
      plan->used = ++session->clock;
      *result = plan;
      return MOPT_OK;
    }
    if (plan->used < victim->used)
      victim = plan;
  }
  if (victim == session->plan)
    session->plan = NULL;
  victim->used = 0; /* stays empty if the shapes are wrong */
  memcpy(victim->values, values, model->module->nsymbols * sizeof *values);
  mopt_code code = mopt_eval_symbols(model, -1, victim->values, error);
  if (!code)
    code = lay_out(session, victim, error);
  if (code)
    return code;
  victim->used = ++session->clock;
  *result = victim;
  return MOPT_OK;
}
