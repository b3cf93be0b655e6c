/* Where each buffer of a run lies: arena, staging copies, outputs, session heap. */
#include "runtime.h"
#include <inttypes.h>
#include <string.h>

/* Where buffers without bytes point: a step may form the address but reads nothing. */
static _Alignas(MOPT_ALIGNMENT) uint8_t nothing[MOPT_ALIGNMENT];

static bool aligned(const void *p) { return (uintptr_t)p % MOPT_ALIGNMENT == 0; }

static bool inside_reserve(const mopt_session *session) {
  const mopt_shape_plan *r = &session->reserved_plan;
  if (!r->used)
    return false;
  for (uint32_t i = 0; i < session->model->module->nbuffers; ++i)
    if (session->model->buffers[i].kind == MOPT_BUF_ARENA && session->plan->bytes[i] > r->bytes[i])
      return false;
  return true;
}

/* A smaller shape can have a larger arena: greedy placing is not monotone. Then the offsets of the reserved shape serve,
 * which are right for all sizes up to its own; so a run inside the reserve never allocates. */
static mopt_code place_arena(mopt_session *session, mopt_error *error) {
  const mopt_shape_plan *plan = session->plan;
  const uint64_t *offsets = plan->offsets;
  if (plan->arena > session->arena.capacity && session->arena.data && inside_reserve(session))
    offsets = session->reserved_plan.offsets;
  else if (!mopt_block_reserve(&session->arena, plan->arena))
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory: intermediate values need %" PRIu64 " bytes", plan->arena);
  if (session->offsets == offsets)
    return MOPT_OK;
  for (uint32_t i = 0; i < session->model->module->nbuffers; ++i)
    if (session->model->buffers[i].kind == MOPT_BUF_ARENA)
      session->pointers[i] = session->bytes[i] ? (uint8_t *)session->arena.data + offsets[i] : nothing;
    else if (session->model->buffers[i].kind == MOPT_BUF_WEIGHT)
      session->pointers[i] =
          session->bytes[i] ? (void *)(uintptr_t)(session->model->weights + session->model->buffers[i].offset) : nothing;
  session->offsets = offsets;
  return MOPT_OK;
}

static mopt_code place_input(mopt_session *session, uint32_t index, mopt_error *error) {
  const mopt_array *t = &session->inputs[index];
  void *data = t->bytes ? t->data : nothing;
  if (!aligned(data)) {
    mopt_block *staging = &session->input_staging[index];
    if (!mopt_block_reserve(staging, t->bytes))
      return mopt_fail(error, MOPT_E_MEMORY, "out of memory: %" PRIu64 " bytes for a copy of input %u", t->bytes, index);
    memcpy(staging->data, data, t->bytes);
    data = staging->data;
  }
  session->pointers[session->model->inputs[index].buffer] = data;
  return MOPT_OK;
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a && b && a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

static mopt_code place_output(mopt_session *session, uint32_t index, mopt_error *error) {
  mopt_output_slot *out = &session->outputs[index];
  const mopt_port *port = &session->model->outputs[index];
  uint64_t bytes = session->bytes[port->buffer];
  if (out->user && out->capacity < bytes)
    return mopt_fail(error, MOPT_E_BYTES, "the buffer of output '%.100s' has %" PRIu64 " bytes, the result has %" PRIu64,
                     mopt_port_name(port), out->capacity, bytes);
  if (out->user) { /* in place is the compiler's business: a step may read an input after it wrote an output */
    for (uint32_t i = 0; i < session->model->module->ninputs; ++i)
      if (overlap(out->user, bytes, session->inputs[i].data, session->inputs[i].bytes))
        return mopt_fail(error, MOPT_E_OVERLAP, "the buffer of output '%.100s' overlaps input '%.100s'",
                         mopt_port_name(port), mopt_port_name(&session->model->inputs[i]));
    for (uint32_t i = 0; i < session->model->module->noutputs; ++i)
      if (i != index && overlap(out->user, bytes, session->outputs[i].user, session->outputs[i].capacity))
        return mopt_fail(error, MOPT_E_OVERLAP, "the buffers of outputs '%.100s' and '%.100s' overlap", mopt_port_name(port),
                         mopt_port_name(&session->model->outputs[i]));
  }
  if (!bytes) {
    session->pointers[port->buffer] = nothing;
  } else if (out->user && aligned(out->user)) {
    session->pointers[port->buffer] = out->user;
  } else {
    if (!mopt_block_reserve(&out->block, bytes))
      return mopt_fail(error, MOPT_E_MEMORY, "out of memory: output '%.100s' needs %" PRIu64 " bytes", mopt_port_name(port),
                       bytes);
    session->pointers[port->buffer] = out->block.data;
  }
  return MOPT_OK;
}

mopt_code mopt_place_buffers(mopt_session *session, mopt_error *error) {
  const mopt_model *model = session->model;
  mopt_code code = place_arena(session, error);
  for (uint32_t i = 0; i < model->module->ninputs && !code; ++i)
    code = place_input(session, i, error);
  for (uint32_t i = 0; i < model->module->noutputs && !code; ++i)
    if (model->buffer_ready[model->outputs[i].buffer] == -1)
      code = place_output(session, i, error);
  return code;
}

static uint64_t other_heap_bytes(const mopt_session *session, uint32_t slot) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < session->model->nlate; ++i) {
    const mopt_buffer *b = &session->model->buffers[session->model->late[i]];
    if (i != slot)
      sum += b->kind == MOPT_BUF_HEAP ? session->heap[i].capacity : session->outputs[b->index].block.capacity;
  }
  return sum;
}

/* Blocks are kept from run to run, so that steady state allocates nothing; under pressure those of values that are dead or
 * not yet computed at `step` go. */
static void free_dead_heap(mopt_session *session, int32_t step) {
  for (uint32_t i = 0; i < session->model->nlate; ++i) {
    uint32_t index = session->model->late[i];
    const mopt_buffer *b = &session->model->buffers[index];
    if (b->kind == MOPT_BUF_HEAP && (b->last_step < step || b->first_step > step)) {
      mopt_block_free(&session->heap[i]);
      session->pointers[index] = NULL;
    }
  }
}

mopt_code mopt_place_late(mopt_session *session, uint32_t slot, mopt_error *error) {
  const mopt_model *model = session->model;
  uint32_t index = model->late[slot];
  const mopt_buffer *b = &model->buffers[index];
  mopt_code code = mopt_buffer_size(model, index, session->values, &session->bytes[index], error);
  if (code)
    return code;
  uint64_t bytes = session->bytes[index];
  mopt_block *block = b->kind == MOPT_BUF_OUTPUT ? &session->outputs[b->index].block : &session->heap[slot];
  bool owned = b->kind == MOPT_BUF_HEAP || !session->outputs[b->index].user;
  if (owned && bytes > session->heap_limit) /* each alone, before the sum, which then cannot wrap */
    return mopt_fail(error, MOPT_E_HEAP_LIMIT,
                     "a data-dependent result needs %" PRIu64 " bytes, the session's limit is %" PRIu64 " (heap_limit)",
                     bytes, session->heap_limit);
  if (owned && block->capacity < bytes) {
    uint64_t sum = bytes + other_heap_bytes(session, slot);
    if (sum > session->heap_limit && !session->keep_buffers) {
      free_dead_heap(session, b->first_step);
      sum = bytes + other_heap_bytes(session, slot);
    }
    if (sum > session->heap_limit)
      return mopt_fail(error, MOPT_E_HEAP_LIMIT,
                       "data-dependent results need %" PRIu64 " bytes, the session's limit is %" PRIu64 " (heap_limit)", sum,
                       session->heap_limit);
  }
  if (b->kind == MOPT_BUF_OUTPUT)
    return place_output(session, b->index, error);
  if (bytes && b->align > MOPT_ALIGNMENT) { /* rare: a block is MOPT_ALIGNMENT aligned */
    if (!mopt_block_reserve(block, bytes + b->align))
      return mopt_fail(error, MOPT_E_MEMORY, "out of memory: a data-dependent result needs %" PRIu64 " bytes", bytes);
    session->pointers[index] = (void *)(((uintptr_t)block->data + b->align - 1) & ~(uintptr_t)(b->align - 1));
    return MOPT_OK;
  }
  if (bytes && !mopt_block_reserve(block, bytes))
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory: a data-dependent result needs %" PRIu64 " bytes", bytes);
  session->pointers[index] = bytes ? block->data : nothing;
  return MOPT_OK;
}
