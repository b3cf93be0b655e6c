/* Private to lib/Runtime: the structs behind mopt.h and the functions that files share. */
#ifndef MOPT_LIB_RUNTIME_RUNTIME_H
#define MOPT_LIB_RUNTIME_RUNTIME_H
#include "mopt/Runtime/mopt.h"
#include "mopt/Runtime/planner.h"
#include <stdatomic.h>
#include <stdbool.h>

#define MOPT_MAX_SEGMENTS 16
#define MOPT_MAX_EXPR_STACK 64
#define MOPT_MAX_TENSOR_BYTES (1ull << 46)
#define MOPT_NO_VALUE INT64_MIN /* of a symbol that is not known yet */

/* ---- status.c ---- */
/* Writes "MOPT-Rnnn: ..." and returns the code, so that `return mopt_fail(...)` reads well. Never allocates. */
mopt_code mopt_fail(mopt_error *error, mopt_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void mopt_error_clear(mopt_error *error);

/* ---- memory.c ---- */
typedef struct mopt_block {
  void *data; /* MOPT_ALIGNMENT aligned */
  uint64_t capacity;
  uint64_t mapped; /* bytes of the mapping, 0 if from malloc */
} mopt_block;
/* Makes room for `bytes`; contents are lost when it has to grow. */
bool mopt_block_reserve(mopt_block *block, uint64_t bytes);
void mopt_block_free(mopt_block *block);

/* ---- Targets of relative references ---- */
static inline const void *mopt_follow(const mopt_rel *field) { return *field ? (const char *)field + *field : NULL; }
static inline mopt_step_fn mopt_variant_fn(const mopt_variant *variant) {
  return (mopt_step_fn)((uintptr_t)&variant->fn + (uintptr_t)(intptr_t)variant->fn);
}

/* ---- loader.c, table.c ---- */
typedef struct mopt_segment {
  uintptr_t begin, end; /* in memory */
  bool executable, weights;
} mopt_segment;

struct mopt_model {
  _Atomic int32_t refs;
  int fd;       /* -1 for a linked-in module */
  void *handle; /* of dlopen */
  const mopt_module *module;
  const mopt_symbol *symbols;
  const mopt_check *checks;
  const mopt_port *inputs, *outputs;
  const mopt_buffer *buffers;
  const mopt_step *steps;
  const uint8_t *weights;
  mopt_segment segments[MOPT_MAX_SEGMENTS];
  uint32_t nsegments;
  uint64_t file_bytes, weights_offset;
  uint64_t code_hash[2], hashes_hash[2];
  uint64_t load_ns;
  uint32_t machine; /* of the ELF header, 0 for a linked-in module */
  void *image;      /* of mopt_model_describe: the tables without code that could run; else NULL */
  uint64_t image_bytes;
  /* Derived once by table.c. */
  int32_t *buffer_ready;  /* [nbuffers] step after which the size is known, -1: at entry */
  uint64_t *buffer_bytes; /* [nbuffers] size if static, UINT64_MAX otherwise */
  uint32_t *late;         /* [nlate] buffers that get memory just before their first step, by first step */
  uint32_t nlate;
  uint32_t narena;
  uint32_t max_operands;
  uint32_t max_expr_stack;
};
mopt_code mopt_table_check(mopt_model *model, mopt_error *error);
void mopt_model_retain(mopt_model *model);
mopt_code mopt_read_at(int fd, void *to, size_t bytes, uint64_t offset, mopt_error *error);

/* ---- describe.c ---- */
/* Makes the tables of an artifact readable without the system's loader; `segments` become addresses. */
mopt_code mopt_copy_tables(mopt_model *model, mopt_error *error);
void mopt_free_tables(mopt_model *model);

static inline const char *mopt_port_name(const mopt_port *port) { return mopt_follow(&port->name); }
static inline const mopt_size *mopt_port_dims(const mopt_port *port) { return mopt_follow(&port->dims); }
static inline const mopt_size *mopt_buffer_dims(const mopt_buffer *buffer) { return mopt_follow(&buffer->dims); }

/* ---- symbols.c ---- */
static inline int64_t mopt_size_value(mopt_size size, const int64_t *values) {
  return size >= 0 ? size : values[MOPT_SYMBOL_OF_SIZE(size)];
}
/* dtype, rank, fixed dims, negative dims, and (if with_data) byte count and pointer of one input. */
mopt_code mopt_check_input(const mopt_model *model, uint32_t index, const mopt_array *tensor, bool with_data,
                           mopt_error *error);
/* Values of the MOPT_SYM_INPUT symbols; all others become MOPT_NO_VALUE. */
mopt_code mopt_bind_inputs(const mopt_model *model, const mopt_array *inputs, int64_t *values, mopt_error *error);
/* Evaluates the expressions that are ready after `step` (-1: at entry), then the checks that became decidable. */
mopt_code mopt_eval_symbols(const mopt_model *model, int32_t step, int64_t *values, mopt_error *error);
/* Dimensions of inputs that are expressions must have their values. */
mopt_code mopt_check_expression_dims(const mopt_model *model, const mopt_array *inputs, const int64_t *values,
                                     mopt_error *error);
/* ceil(product * bits / 8); fails on negative dims and above MOPT_MAX_TENSOR_BYTES. */
bool mopt_tensor_bytes(uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes);
mopt_code mopt_buffer_size(const mopt_model *model, uint32_t buffer, const int64_t *values, uint64_t *bytes,
                           mopt_error *error);

/* ---- pool.c ---- */
void mopt_pool_retain(mopt_pool *pool);
mopt_code mopt_pool_default(mopt_pool **pool, mopt_error *error);

/* ---- session.c, plan.c, place.c, steps.c ---- */
typedef struct mopt_shape_plan {
  uint64_t used;     /* clock of the last use, 0: empty slot */
  uint64_t arena;    /* bytes */
  int64_t *values;   /* [nsymbols] as known at entry */
  uint64_t *bytes;   /* [nbuffers], UINT64_MAX where not known at entry */
  uint64_t *offsets; /* [nbuffers] of arena buffers */
} mopt_shape_plan;

typedef struct mopt_output_slot {
  void *user; /* of set_output, NULL: session-owned */
  uint64_t capacity;
  void *result;     /* of the last complete run */
  mopt_block block; /* owned memory, or staging where the user's is not aligned */
} mopt_output_slot;

typedef struct mopt_step_counter {
  uint64_t calls, ns;
  int64_t chunks;
} mopt_step_counter;

struct mopt_session {
  mopt_model *model;
  mopt_pool *pool;
  _Atomic int32_t busy;
  bool profile, keep_buffers;
  uint64_t heap_limit;
  uint64_t clock; /* of plan use */

  mopt_array *inputs; /* [ninputs] */
  uint8_t *input_set;
  mopt_block *input_staging;
  mopt_output_slot *outputs; /* [noutputs] */
  mopt_block *heap;          /* [nlate], memory of model->late[i] where it is a HEAP buffer */

  mopt_shape_plan *plans; /* [nplans] */
  uint32_t nplans;
  mopt_shape_plan reserved_plan; /* of mopt_session_reserve: its offsets serve every smaller shape */
  mopt_shape_plan scratch_plan;  /* of mopt_session_plan; its bytes[] also serve check_resume */
  mopt_plan_item *items;         /* [narena] */
  void *plan_scratch;
  mopt_block arena;

  /* State of the last run. */
  const mopt_shape_plan *plan; /* whose offsets `pointers` has */
  const uint64_t *offsets;
  int64_t *values;             /* [nsymbols] */
  uint64_t *bytes;             /* [nbuffers] */
  void **pointers;             /* [nbuffers] */
  void **operands;             /* [max_operands] */
  uint32_t *variants;          /* [nsteps] */
  mopt_step_counter *counters; /* [nsteps] */
  int32_t ran_to;              /* steps [0, ran_to) have run with the present inputs and outputs */
  int32_t touched_to;          /* step ran_to may have run in part: then this is one more */
  bool prepared, complete;
  uint64_t table_bytes;
};
/* Plan for the bound values: from the cache or computed. */
mopt_code mopt_find_plan(mopt_session *session, const int64_t *values, const mopt_shape_plan **plan, mopt_error *error);
mopt_code mopt_make_plan(mopt_session *session, const mopt_array *shapes, mopt_shape_plan *plan, mopt_error *error);
/* Binds inputs, finds the plan. */
mopt_code mopt_prepare(mopt_session *session, mopt_error *error);
/* Memory for the plan: arena, outputs, staging; fills in `pointers`. */
mopt_code mopt_place_buffers(mopt_session *session, mopt_error *error);
/* Memory for late buffer number `slot` of model->late. */
mopt_code mopt_place_late(mopt_session *session, uint32_t slot, mopt_error *error);
mopt_code mopt_run_steps(mopt_session *session, int32_t from, int32_t to, const mopt_run_options *options,
                         mopt_error *error);
#endif
