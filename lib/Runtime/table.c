/* The artifact's table is checked once, at load, so that runs can trust it: every reference inside the file's segments,
 * every number in range, every size known before it is used. A table that fails is damage or a compiler fault. */
#include "runtime.h"
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES (1u << 24)

#define BAD(...) mopt_fail(error, MOPT_E_TABLE, __VA_ARGS__)

/* What a reference may lead to. Nothing but the base of the weights leads to weights: they are not hashed at load. */
enum target { TABLE, CODE, WEIGHTS };
static bool leads_to(const mopt_segment *s, enum target target) {
  return target == WEIGHTS ? s->weights : !s->weights && (target != CODE || s->executable);
}

/* [p, p + bytes) lies in one segment. A linked-in module has no segments: the linker placed it, there is nothing to check.
 */
static bool within(const mopt_model *model, const void *p, uint64_t bytes, enum target target) {
  if (!p)
    return false;
  if (!model->nsegments)
    return true;
  uintptr_t at = (uintptr_t)p;
  for (uint32_t i = 0; i < model->nsegments; ++i) {
    const mopt_segment *s = &model->segments[i];
    if (at >= s->begin && at < s->end && bytes <= s->end - at && leads_to(s, target))
      return true;
  }
  return false;
}

static bool text_ok(const mopt_model *model, const mopt_rel *field, bool required) {
  const char *p = mopt_follow(field);
  if (!p)
    return !required;
  if (!model->nsegments)
    return true;
  for (uint32_t i = 0; i < model->nsegments; ++i) {
    const mopt_segment *s = &model->segments[i];
    if ((uintptr_t)p >= s->begin && (uintptr_t)p < s->end && leads_to(s, TABLE))
      return memchr(p, 0, s->end - (uintptr_t)p) != NULL;
  }
  return false;
}

static bool array_ok(const mopt_model *model, const void *p, uint64_t count, uint64_t size, uint64_t align) {
  if (count == 0)
    return true;
  return count <= MAX_ENTRIES && p && (uintptr_t)p % align == 0 && within(model, p, count * size, TABLE);
}

static bool size_ok(const mopt_model *model, mopt_size size) {
  return size >= 0 || (uint64_t)MOPT_SYMBOL_OF_SIZE(size) < model->module->nsymbols;
}

/* Step after which a size is known, -1: at entry. */
static int32_t ready(const mopt_model *model, mopt_size size) {
  return size >= 0 ? -1 : model->symbols[MOPT_SYMBOL_OF_SIZE(size)].ready_after;
}

static mopt_code check_dims(const mopt_model *model, const char *what, uint32_t index, uint32_t dtype, uint32_t rank,
                            const mopt_size *dims, mopt_error *error) {
  if (!mopt_dtype_bits(dtype))
    return BAD("%s %u has element type %s, which this runtime cannot hold", what, index, mopt_dtype_name(dtype));
  if (rank > MOPT_MAX_RANK)
    return BAD("%s %u has %u dimensions, at most %d are possible", what, index, rank, MOPT_MAX_RANK);
  if (!array_ok(model, dims, rank, sizeof(mopt_size), sizeof(mopt_size)))
    return BAD("%s %u: its dimensions lie outside the file", what, index);
  for (uint32_t d = 0; d < rank; ++d)
    if (!size_ok(model, dims[d]))
      return BAD("%s %u axis %u names a symbol that does not exist", what, index, d);
  return MOPT_OK;
}

static mopt_code check_expression(const mopt_model *model, uint32_t index, mopt_error *error) {
  const mopt_symbol *s = &model->symbols[index];
  const int64_t *code = mopt_follow(&s->code);
  if (!s->ncode || !array_ok(model, code, s->ncode, sizeof(int64_t), sizeof(int64_t)))
    return BAD("symbol %u: its code lies outside the file", index);
  uint32_t depth = 0;
  for (uint32_t pc = 0; pc < s->ncode; ++pc) {
    int64_t op = code[pc];
    if (op == MOPT_X_CONST || op == MOPT_X_SYM) {
      if (++pc >= s->ncode || ++depth > MOPT_MAX_EXPR_STACK)
        return BAD("symbol %u: its code is cut or too deep (at most %d values)", index, MOPT_MAX_EXPR_STACK);
      if (op == MOPT_X_SYM && (code[pc] < 0 || code[pc] >= index))
        return BAD("symbol %u reads symbol %lld, which is not defined before it", index, (long long)code[pc]);
      if (op == MOPT_X_SYM && model->symbols[code[pc]].ready_after > s->ready_after)
        return BAD("symbol %u reads symbol %lld, which is known only later", index, (long long)code[pc]);
    } else if (op < 0 || op > MOPT_X_BCAST || depth-- < 2) {
      return BAD("symbol %u: word %u of its code is wrong", index, pc);
    }
  }
  return depth == 1 ? MOPT_OK : BAD("symbol %u: its code leaves %u values", index, depth);
}

static mopt_code check_symbols(const mopt_model *model, mopt_error *error) {
  const mopt_module *m = model->module;
  for (uint32_t i = 0; i < m->nsymbols; ++i) {
    const mopt_symbol *s = &model->symbols[i];
    if (!text_ok(model, &s->name, false))
      return BAD("symbol %u: its name lies outside the file", i);
    if (s->kind > MOPT_SYM_STEP || s->ready_after < -1 || s->ready_after >= (int64_t)m->nsteps)
      return BAD("symbol %u: kind %u, ready after step %d of %u", i, s->kind, s->ready_after, m->nsteps);
    if (s->ready_after >= 0 && !(model->steps[s->ready_after].flags & MOPT_STEP_DEFINES_SYMBOLS))
      return BAD("symbol %u waits for step %d, which defines no symbols", i, s->ready_after);
    if ((s->kind == MOPT_SYM_INPUT && s->ready_after != -1) || (s->kind == MOPT_SYM_STEP && s->ready_after < 0))
      return BAD("symbol %u: kind %u cannot be ready after step %d", i, s->kind, s->ready_after);
    mopt_code code = s->kind == MOPT_SYM_EXPR ? check_expression(model, i, error) : MOPT_OK;
    if (code)
      return code;
    bool bound = s->kind != MOPT_SYM_INPUT;
    for (uint32_t p = 0; p < m->ninputs && !bound; ++p)
      for (uint32_t d = 0; d < model->inputs[p].rank; ++d)
        bound |= mopt_port_dims(&model->inputs[p])[d] == MOPT_SIZE_OF_SYMBOL(i);
    if (!bound)
      return BAD("symbol %u is to come from an input, but no input has it", i);
  }
  for (uint32_t i = 0; i < m->nchecks; ++i)
    if (!size_ok(model, model->checks[i].left) || !size_ok(model, model->checks[i].right) ||
        !text_ok(model, &model->checks[i].what, false))
      return BAD("check %u refers outside the file or to a missing symbol", i);
  return MOPT_OK;
}

static mopt_code check_ports(const mopt_model *model, bool input, mopt_error *error) {
  const mopt_module *m = model->module;
  const mopt_port *ports = input ? model->inputs : model->outputs;
  const char *what = input ? "input" : "output";
  for (uint32_t i = 0; i < (input ? m->ninputs : m->noutputs); ++i) {
    if (!text_ok(model, &ports[i].name, true))
      return BAD("%s %u: its name lies outside the file", what, i);
    mopt_code code = check_dims(model, what, i, ports[i].dtype, ports[i].rank, mopt_port_dims(&ports[i]), error);
    if (code)
      return code;
    if (ports[i].buffer >= m->nbuffers)
      return BAD("%s %u has buffer %u of %u", what, i, ports[i].buffer, m->nbuffers);
  }
  return MOPT_OK;
}

/* Ports and buffers say the same shape twice; a difference would let a step write past the end of an output. */
static mopt_code check_port_buffers(const mopt_model *model, bool input, mopt_error *error) {
  const mopt_port *ports = input ? model->inputs : model->outputs;
  const char *what = input ? "input" : "output";
  for (uint32_t i = 0; i < (input ? model->module->ninputs : model->module->noutputs); ++i) {
    const mopt_buffer *b = &model->buffers[ports[i].buffer];
    if (b->kind != (input ? MOPT_BUF_INPUT : MOPT_BUF_OUTPUT) || b->index != i || b->dtype != ports[i].dtype ||
        b->rank != ports[i].rank ||
        (b->rank && memcmp(mopt_buffer_dims(b), mopt_port_dims(&ports[i]), b->rank * sizeof(mopt_size)) != 0))
      return BAD("%s %u and its buffer %u disagree", what, i, ports[i].buffer);
    for (uint32_t d = 0; input && d < b->rank; ++d)
      if (ready(model, mopt_buffer_dims(b)[d]) != -1)
        return BAD("input %u axis %u depends on data", i, d);
  }
  return MOPT_OK;
}

static mopt_code check_buffer(mopt_model *model, uint32_t i, mopt_error *error) {
  const mopt_module *m = model->module;
  const mopt_buffer *b = &model->buffers[i];
  mopt_code code = check_dims(model, "buffer", i, b->dtype, b->rank, mopt_buffer_dims(b), error);
  if (code)
    return code;
  int32_t known = -1;
  bool is_static = true;
  for (uint32_t d = 0; d < b->rank; ++d) {
    int32_t r = ready(model, mopt_buffer_dims(b)[d]);
    known = r > known ? r : known;
    is_static &= mopt_buffer_dims(b)[d] >= 0;
  }
  model->buffer_ready[i] = known;
  model->buffer_bytes[i] = UINT64_MAX;
  if (is_static && !mopt_tensor_bytes(b->dtype, b->rank, mopt_buffer_dims(b), &model->buffer_bytes[i]))
    return BAD("buffer %u is too large for any memory", i);
  switch (b->kind) {
  case MOPT_BUF_INPUT:
    return b->index < m->ninputs && model->inputs[b->index].buffer == i ? MOPT_OK : BAD("buffer %u is no input's", i);
  case MOPT_BUF_WEIGHT:
    if (!is_static || b->offset % MOPT_ALIGNMENT || b->offset > m->weights_bytes ||
        model->buffer_bytes[i] > m->weights_bytes - b->offset)
      return BAD("buffer %u lies outside the weights (offset %llu, %llu bytes of %llu) or is not aligned", i,
                 (unsigned long long)b->offset, (unsigned long long)model->buffer_bytes[i],
                 (unsigned long long)m->weights_bytes);
    return MOPT_OK;
  case MOPT_BUF_OUTPUT:
    if (b->index >= m->noutputs || model->outputs[b->index].buffer != i)
      return BAD("buffer %u is no output's", i);
    break;
  case MOPT_BUF_ARENA:
  case MOPT_BUF_HEAP:
    if (b->align < MOPT_ALIGNMENT || (b->align & (b->align - 1)) || b->align > 4096)
      return BAD("buffer %u has alignment %u", i, b->align);
    if (b->first_step < 0 || b->first_step > b->last_step || b->last_step >= (int64_t)m->nsteps)
      return BAD("buffer %u lives from step %d to %d of %u", i, b->first_step, b->last_step, m->nsteps);
    if (b->kind == MOPT_BUF_ARENA && known != -1)
      return BAD("buffer %u has a size that depends on data but lies in the arena", i);
    model->narena += b->kind == MOPT_BUF_ARENA;
    break;
  default:
    return BAD("buffer %u has kind %u", i, b->kind);
  }
  if (known >= 0 && (b->first_step <= known || b->first_step >= (int64_t)m->nsteps))
    return BAD("buffer %u is used in step %d, its size is known after step %d", i, b->first_step, known);
  return MOPT_OK;
}

static mopt_code check_step(mopt_model *model, uint32_t i, mopt_error *error) {
  const mopt_module *m = model->module;
  const mopt_step *s = &model->steps[i];
  if (!text_ok(model, &s->name, false) || !text_ok(model, &s->nodes, false))
    return BAD("step %u: its names lie outside the file", i);
  if (s->subtable)
    return BAD("step %u has a table of its own: this runtime is too old for it", i);
  const int32_t *operands = mopt_follow(&s->operands);
  if (!array_ok(model, operands, s->noperands, sizeof(int32_t), sizeof(int32_t)) || s->nwritten > s->noperands)
    return BAD("step %u: its operands lie outside the file", i);
  for (uint32_t k = 0; k < s->noperands; ++k) {
    if (operands[k] < 0 || operands[k] >= (int64_t)m->nbuffers)
      return BAD("step %u operand %u is buffer %d of %u", i, k, operands[k], m->nbuffers);
    const mopt_buffer *b = &model->buffers[operands[k]];
    bool placed = b->kind == MOPT_BUF_ARENA || b->kind == MOPT_BUF_HEAP;
    if (placed && ((int64_t)i < b->first_step || (int64_t)i > b->last_step))
      return BAD("step %u uses buffer %d, which lives from step %d to %d", i, operands[k], b->first_step, b->last_step);
    if (model->buffer_ready[operands[k]] >= (int64_t)i)
      return BAD("step %u uses buffer %d, whose size is known only after step %d", i, operands[k],
                 model->buffer_ready[operands[k]]);
    if (k >= s->noperands - s->nwritten && (b->kind == MOPT_BUF_INPUT || b->kind == MOPT_BUF_WEIGHT))
      return BAD("step %u writes buffer %d, which is read-only", i, operands[k]);
  }
  const mopt_variant *variants = mopt_follow(&s->variants);
  if (!s->nvariants || !array_ok(model, variants, s->nvariants, sizeof(mopt_variant), _Alignof(mopt_variant)))
    return BAD("step %u has no code", i);
  for (uint32_t v = 0; v < s->nvariants; ++v)
    if (!variants[v].fn || !within(model, (const void *)mopt_variant_fn(&variants[v]), 1, CODE) ||
        !text_ok(model, &variants[v].name, false))
      return BAD("step %u: the code of variant %u lies outside the file", i, v);
  bool sizes_ok = size_ok(model, s->macs) && size_ok(model, s->bytes);
  for (uint32_t v = 0; v < s->nvariants; ++v)
    sizes_ok = sizes_ok && size_ok(model, variants[v].chunks);
  if (!sizes_ok)
    return BAD("step %u names a symbol that does not exist", i);
  for (uint32_t v = 0; v < s->nvariants; ++v)
    if (ready(model, variants[v].chunks) >= (int64_t)i)
      return BAD("step %u: its number of chunks is known only after step %d", i, ready(model, variants[v].chunks));
  model->max_operands = s->noperands > model->max_operands ? s->noperands : model->max_operands;
  return MOPT_OK;
}

/* HEAP buffers and data-dependent outputs, by first step. Insertion sort: there are few. */
static void collect_late(mopt_model *model) {
  for (uint32_t i = 0; i < model->module->nbuffers; ++i) {
    const mopt_buffer *b = &model->buffers[i];
    if (b->kind != MOPT_BUF_HEAP && !(b->kind == MOPT_BUF_OUTPUT && model->buffer_ready[i] >= 0))
      continue;
    uint32_t j = model->nlate++;
    for (; j > 0 && model->buffers[model->late[j - 1]].first_step > b->first_step; --j)
      model->late[j] = model->late[j - 1];
    model->late[j] = i;
  }
}

mopt_code mopt_table_check(mopt_model *model, mopt_error *error) {
  const mopt_module *m = model->module;
  model->symbols = mopt_follow(&m->symbols);
  model->checks = mopt_follow(&m->checks);
  model->inputs = mopt_follow(&m->inputs);
  model->outputs = mopt_follow(&m->outputs);
  model->buffers = mopt_follow(&m->buffers);
  model->steps = mopt_follow(&m->steps);
  model->weights = mopt_follow(&m->weights);
  if (!array_ok(model, model->symbols, m->nsymbols, sizeof(mopt_symbol), 4) ||
      !array_ok(model, model->checks, m->nchecks, sizeof(mopt_check), 8) ||
      !array_ok(model, model->inputs, m->ninputs, sizeof(mopt_port), 4) ||
      !array_ok(model, model->outputs, m->noutputs, sizeof(mopt_port), 4) ||
      !array_ok(model, model->buffers, m->nbuffers, sizeof(mopt_buffer), 8) ||
      !array_ok(model, model->steps, m->nsteps, sizeof(mopt_step), 8))
    return BAD("a table lies outside the file");
  if (m->manifest_bytes && !within(model, mopt_follow(&m->manifest), m->manifest_bytes, TABLE))
    return BAD("the manifest lies outside the file");
  if (m->weights_bytes &&
      (!within(model, model->weights, m->weights_bytes, WEIGHTS) || (uintptr_t)model->weights % MOPT_ALIGNMENT))
    return BAD("the weights lie outside the file or are not aligned");
  size_t n = m->nbuffers ? m->nbuffers : 1;
  model->buffer_ready = calloc(n, sizeof *model->buffer_ready);
  model->buffer_bytes = calloc(n, sizeof *model->buffer_bytes);
  model->late = calloc(n, sizeof *model->late);
  if (!model->buffer_ready || !model->buffer_bytes || !model->late)
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory for the tables of a model with %u buffers", m->nbuffers);
  mopt_code code = check_ports(model, true, error);
  if (!code)
    code = check_ports(model, false, error);
  if (!code)
    code = check_symbols(model, error);
  for (uint32_t i = 0; i < m->nbuffers && !code; ++i)
    code = check_buffer(model, i, error);
  if (!code)
    code = check_port_buffers(model, true, error);
  if (!code)
    code = check_port_buffers(model, false, error);
  for (uint32_t i = 0; i < m->nsteps && !code; ++i)
    code = check_step(model, i, error);
  if (!code)
    collect_late(model);
  return code;
}
