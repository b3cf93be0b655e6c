/* Sizes that are known only when a model runs: binding them from the shapes of inputs, evaluating expressions with checked
 * arithmetic, and the rules that shapes must obey. Everything here works on the values of one shape tuple. */
#include "runtime.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *symbol_name(const mopt_model *model, uint32_t symbol) {
  const char *name = mopt_follow(&model->symbols[symbol].name);
  return name && *name ? name : "?";
}

bool mopt_tensor_bytes(uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes) {
  uint64_t bits = mopt_dtype_bits(dtype);
  if (!bits || rank > MOPT_MAX_RANK)
    return false;
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return false;
    if (dims[i] == 0) { /* empty, whatever the other sizes: they still must not be negative */
      for (uint32_t j = i + 1; j < rank; ++j)
        if (dims[j] < 0)
          return false;
      *bytes = 0;
      return true;
    }
    if (__builtin_mul_overflow(count, (uint64_t)dims[i], &count))
      return false;
  }
  if (__builtin_mul_overflow(count, bits, &count))
    return false;
  *bytes = count / 8 + (count % 8 != 0);
  return *bytes <= MOPT_MAX_TENSOR_BYTES;
}

/* "[2,3,4]" for messages. */
static const char *shape_text(uint32_t rank, const int64_t *dims, char *text, size_t room) {
  size_t n = (size_t)snprintf(text, room, "[");
  for (uint32_t i = 0; i < rank && i < MOPT_MAX_RANK && n < room; ++i)
    n += (size_t)snprintf(text + n, room - n, "%s%" PRId64, i ? "," : "", dims[i]);
  if (n < room)
    snprintf(text + n, room - n, "]");
  return text;
}
/* "[batch,3,224]": what the model declares. */
static const char *declared_text(const mopt_model *model, const mopt_port *port, char *text, size_t room) {
  const mopt_size *dims = mopt_port_dims(port);
  size_t n = (size_t)snprintf(text, room, "[");
  for (uint32_t i = 0; i < port->rank && n < room; ++i)
    n += dims[i] >= 0 ? (size_t)snprintf(text + n, room - n, "%s%" PRId64, i ? "," : "", dims[i])
                      : (size_t)snprintf(text + n, room - n, "%s%.40s", i ? "," : "",
                                         symbol_name(model, (uint32_t)MOPT_SYMBOL_OF_SIZE(dims[i])));
  if (n < room)
    snprintf(text + n, room - n, "]");
  return text;
}

mopt_code mopt_check_input(const mopt_model *model, uint32_t index, const mopt_array *tensor, bool with_data,
                           mopt_error *error) {
  const mopt_port *port = &model->inputs[index];
  const char *name = mopt_port_name(port);
  const mopt_size *dims = mopt_port_dims(port);
  char got[200], want[400];
  if (tensor->dtype != port->dtype)
    return mopt_fail(error, MOPT_E_DTYPE, "input '%.100s' has element type %s, the model takes %s: convert the array", name,
                     mopt_dtype_name(tensor->dtype), mopt_dtype_name(port->dtype));
  if (tensor->rank != port->rank)
    return mopt_fail(error, MOPT_E_RANK, "input '%.100s' has %u dimensions %s, the model takes %u: %s", name, tensor->rank,
                     shape_text(tensor->rank, tensor->dims, got, sizeof got), port->rank,
                     declared_text(model, port, want, sizeof want));
  for (uint32_t i = 0; i < port->rank; ++i) {
    if (tensor->dims[i] < 0)
      return mopt_fail(error, MOPT_E_DIM, "input '%.100s' axis %u is negative: %s", name, i,
                       shape_text(tensor->rank, tensor->dims, got, sizeof got));
    if (dims[i] >= 0 && tensor->dims[i] != dims[i])
      return mopt_fail(error, MOPT_E_DIM,
                       "input '%.100s' axis %u has size %" PRId64 ", the model takes %" PRId64 ": got %s, expected %s", name,
                       i, tensor->dims[i], dims[i], shape_text(tensor->rank, tensor->dims, got, sizeof got),
                       declared_text(model, port, want, sizeof want));
  }
  uint64_t bytes;
  if (!mopt_tensor_bytes(tensor->dtype, tensor->rank, tensor->dims, &bytes))
    return mopt_fail(error, MOPT_E_TOO_LARGE, "input '%.100s' of shape %s is too large for any memory", name,
                     shape_text(tensor->rank, tensor->dims, got, sizeof got));
  if (!with_data)
    return MOPT_OK;
  if (tensor->bytes != bytes)
    return mopt_fail(error, MOPT_E_BYTES, "input '%.100s' comes with %" PRIu64 " bytes, %s of shape %s has %" PRIu64, name,
                     tensor->bytes, mopt_dtype_name(tensor->dtype), shape_text(tensor->rank, tensor->dims, got, sizeof got),
                     bytes);
  if (!tensor->data && bytes)
    return mopt_fail(error, MOPT_E_ARGUMENT, "input '%.100s' has no data (null pointer) but %" PRIu64 " bytes", name, bytes);
  return MOPT_OK;
}

/* The input and axis that gave a symbol its value: for messages only. */
static void first_use(const mopt_model *model, uint32_t symbol, const char **name, uint32_t *axis) {
  *name = "?";
  *axis = 0;
  for (uint32_t i = 0; i < model->module->ninputs; ++i)
    for (uint32_t d = 0; d < model->inputs[i].rank; ++d)
      if (mopt_port_dims(&model->inputs[i])[d] == MOPT_SIZE_OF_SYMBOL(symbol)) {
        *name = mopt_port_name(&model->inputs[i]);
        *axis = d;
        return;
      }
}

mopt_code mopt_bind_inputs(const mopt_model *model, const mopt_array *inputs, int64_t *values, mopt_error *error) {
  for (uint32_t i = 0; i < model->module->nsymbols; ++i)
    values[i] = MOPT_NO_VALUE;
  for (uint32_t i = 0; i < model->module->ninputs; ++i) {
    const mopt_port *port = &model->inputs[i];
    const mopt_size *dims = mopt_port_dims(port);
    for (uint32_t d = 0; d < port->rank; ++d) {
      if (dims[d] >= 0)
        continue; /* checked when the input was set */
      uint32_t symbol = (uint32_t)MOPT_SYMBOL_OF_SIZE(dims[d]);
      if (model->symbols[symbol].kind != MOPT_SYM_INPUT)
        continue;
      int64_t got = inputs[i].dims[d];
      if (values[symbol] == MOPT_NO_VALUE) {
        values[symbol] = got;
      } else if (values[symbol] != got) {
        const char *first;
        uint32_t axis;
        first_use(model, symbol, &first, &axis);
        return mopt_fail(error, MOPT_E_SYMBOL,
                         "input '%.100s' axis %u has size %" PRId64 ", but '%.60s' is %" PRId64
                         " from input '%.100s' axis %u: both must be equal",
                         mopt_port_name(port), d, got, symbol_name(model, symbol), values[symbol], first, axis);
      }
    }
  }
  return MOPT_OK;
}

mopt_code mopt_check_expression_dims(const mopt_model *model, const mopt_array *inputs, const int64_t *values,
                                     mopt_error *error) {
  for (uint32_t i = 0; i < model->module->ninputs; ++i) {
    const mopt_port *port = &model->inputs[i];
    const mopt_size *dims = mopt_port_dims(port);
    for (uint32_t d = 0; d < port->rank; ++d) {
      if (dims[d] >= 0)
        continue;
      uint32_t symbol = (uint32_t)MOPT_SYMBOL_OF_SIZE(dims[d]);
      if (inputs[i].dims[d] != values[symbol])
        return mopt_fail(error, MOPT_E_SYMBOL,
                         "input '%.100s' axis %u has size %" PRId64 ", expected %" PRId64
                         " ('%.60s', which follows from the other inputs)",
                         mopt_port_name(port), d, inputs[i].dims[d], values[symbol], symbol_name(model, symbol));
    }
  }
  return MOPT_OK;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

enum outcome { FINE, OVERFLOWS, DIVIDES_BY_ZERO, NO_BROADCAST };

static enum outcome apply(int64_t op, int64_t a, int64_t b, int64_t *result) {
  switch (op) {
  case MOPT_X_ADD:
    return __builtin_add_overflow(a, b, result) ? OVERFLOWS : FINE;
  case MOPT_X_SUB:
    return __builtin_sub_overflow(a, b, result) ? OVERFLOWS : FINE;
  case MOPT_X_MUL:
    return __builtin_mul_overflow(a, b, result) ? OVERFLOWS : FINE;
  case MOPT_X_FLOORDIV:
  case MOPT_X_CEILDIV:
  case MOPT_X_MOD:
    if (b == 0)
      return DIVIDES_BY_ZERO;
    if (b == -1 && a == INT64_MIN)
      return OVERFLOWS; /* also for the remainder: the division traps */
    *result = floor_div(a, b);
    if (op == MOPT_X_CEILDIV)
      *result += a % b != 0;
    else if (op == MOPT_X_MOD)
      *result = a - *result * b;
    return FINE;
  case MOPT_X_MIN:
    *result = a < b ? a : b;
    return FINE;
  case MOPT_X_MAX:
    *result = a > b ? a : b;
    return FINE;
  default: /* MOPT_X_BCAST: table.c admits no other */
    if (a != b && a != 1 && b != 1)
      return NO_BROADCAST;
    *result = b == 1 ? a : b;
    return FINE;
  }
}

/* table.c has checked the code: words in range, stack depth at most MOPT_MAX_EXPR_STACK, one result. */
static mopt_code evaluate(const mopt_model *model, uint32_t symbol, int64_t *values, mopt_error *error) {
  const mopt_symbol *s = &model->symbols[symbol];
  const int64_t *code = mopt_follow(&s->code);
  int64_t stack[MOPT_MAX_EXPR_STACK];
  uint32_t depth = 0;
  for (uint32_t pc = 0; pc < s->ncode; ++pc) {
    int64_t op = code[pc];
    if (op == MOPT_X_CONST) {
      stack[depth++] = code[++pc];
    } else if (op == MOPT_X_SYM) {
      stack[depth++] = values[code[++pc]];
    } else {
      int64_t b = stack[--depth], a = stack[depth - 1];
      static const char *const what[] = {"", "the result overflows", "division by zero", "cannot broadcast"};
      enum outcome outcome = apply(op, a, b, &stack[depth - 1]);
      if (outcome != FINE)
        return mopt_fail(error, outcome == NO_BROADCAST ? MOPT_E_BROADCAST : MOPT_E_ARITHMETIC,
                         "size '%.60s': %s (%" PRId64 " and %" PRId64 "): the shapes of the inputs do not fit each other",
                         symbol_name(model, symbol), what[outcome], a, b);
    }
  }
  if (stack[0] < 0)
    return mopt_fail(error, MOPT_E_ARITHMETIC, "size '%.60s' would be %" PRId64 ": the inputs are too small for this model",
                     symbol_name(model, symbol), stack[0]);
  values[symbol] = stack[0];
  return MOPT_OK;
}

static int32_t ready(const mopt_model *model, mopt_size size) {
  return size >= 0 ? -1 : model->symbols[MOPT_SYMBOL_OF_SIZE(size)].ready_after;
}

mopt_code mopt_eval_symbols(const mopt_model *model, int32_t step, int64_t *values, mopt_error *error) {
  const mopt_module *module = model->module;
  for (uint32_t i = 0; i < module->nsymbols; ++i) {
    if (model->symbols[i].ready_after != step)
      continue;
    if (model->symbols[i].kind == MOPT_SYM_EXPR) {
      mopt_code code = evaluate(model, i, values, error);
      if (code)
        return code;
    } else if (values[i] < 0) { /* an input symbol is never negative here: a step wrote this */
      return mopt_fail(error, MOPT_E_STEP, "size '%.60s' became %" PRId64 " in step %d: compiler fault",
                       symbol_name(model, i), values[i], step);
    }
  }
  for (uint32_t i = 0; i < module->nchecks; ++i) {
    const mopt_check *check = &model->checks[i];
    int32_t l = ready(model, check->left), r = ready(model, check->right);
    if ((l > r ? l : r) != step)
      continue;
    int64_t left = mopt_size_value(check->left, values), right = mopt_size_value(check->right, values);
    if (left != right) {
      const char *what = mopt_follow(&check->what);
      return mopt_fail(error, MOPT_E_CHECK, "%.400s: %" PRId64 " and %" PRId64 " must be equal", what ? what : "shape rule",
                       left, right);
    }
  }
  return MOPT_OK;
}

mopt_code mopt_buffer_size(const mopt_model *model, uint32_t index, const int64_t *values, uint64_t *bytes,
                           mopt_error *error) {
  const mopt_buffer *buffer = &model->buffers[index];
  const mopt_size *dims = mopt_buffer_dims(buffer);
  int64_t sizes[MOPT_MAX_RANK];
  for (uint32_t i = 0; i < buffer->rank; ++i)
    sizes[i] = mopt_size_value(dims[i], values);
  if (mopt_tensor_bytes(buffer->dtype, buffer->rank, sizes, bytes))
    return MOPT_OK;
  char text[200];
  return mopt_fail(error, MOPT_E_TOO_LARGE, "intermediate value %u (%s of shape %s, step %d) is too large for any memory",
                   index, mopt_dtype_name(buffer->dtype), shape_text(buffer->rank, sizes, text, sizeof text),
                   buffer->first_step);
}
