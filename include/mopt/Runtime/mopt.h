/* mopt.h - load and run models that mopt compiled. C API of libmopt_rt, version 1.
 *
 * In one breath: load a model (mopt_model_load), make a session of it (mopt_session_create), give it inputs
 * (mopt_session_set_input), run (mopt_session_run), read outputs (mopt_session_output). See examples/c/minimal.c.
 *
 * Errors     Every function that can fail returns a mopt_code: MOPT_OK or the number nnn of MOPT-Rnnn. `error` may be
 *            NULL; otherwise it receives one line that says what, where, what was found, what was expected, what to do.
 *            A failed call changes nothing, except that after a failed run the outputs hold unspecified values.
 * Ownership  A function that returns an object through a pointer gives it to the caller, who frees it with the matching
 *            *_free. A session holds its model and its pool: the three may be freed in any order. Strings belong to the
 *            model and live as long as it does.
 * Threads    A model and a pool may be used from any number of threads. A session has one caller at a time (a second one
 *            gets MOPT_E_BUSY); sessions of one model are independent and share its weights.
 * Fork       Models, pools and sessions that were idle at the fork work in the child; the pool starts new threads there.
 * Shapes     Row-major, no strides, at most MOPT_MAX_RANK dimensions. Sizes of tensors are bytes; times are nanoseconds
 *            of CLOCK_MONOTONIC.
 * Elements   mopt_dtype of mopt_abi.h. Types below one byte are packed, low bits first.
 */
#ifndef MOPT_RUNTIME_MOPT_H
#define MOPT_RUNTIME_MOPT_H
#include "mopt/Runtime/mopt_abi.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOPT_API_VERSION 1u

#if defined(__GNUC__)
#define MOPT_API __attribute__((visibility("default")))
#else
#define MOPT_API
#endif

/* The numbers are stable. Below 100 the caller or a file is at fault; from 100 on mopt is (please report). */
typedef enum mopt_code {
  MOPT_OK = 0,
  MOPT_E_MEMORY = 1,        /* out of memory */
  MOPT_E_ARGUMENT = 2,      /* a null or impossible argument */
  MOPT_E_BUSY = 3,          /* the session is in use by another thread */
  MOPT_E_OPEN = 10,         /* the file cannot be opened or is not a regular file */
  MOPT_E_READ = 11,         /* reading failed */
  MOPT_E_NOT_ARTIFACT = 12, /* no mopt artifact */
  MOPT_E_CUT = 13,          /* the file is shorter or longer than when it was written */
  MOPT_E_DAMAGED = 14,      /* a hash does not fit the bytes */
  MOPT_E_ABI = 15,          /* written for another runtime version */
  MOPT_E_MACHINE = 16,      /* code for another kind of processor */
  MOPT_E_CPU = 17,          /* this processor lacks a feature the code needs */
  MOPT_E_DLOPEN = 18,       /* the system's loader refused the file */
  MOPT_E_NAME = 30,         /* no such input, output, step, variant or buffer */
  MOPT_E_DTYPE = 31,        /* wrong element type */
  MOPT_E_RANK = 32,         /* wrong number of dimensions */
  MOPT_E_DIM = 33,          /* a dimension is not what the model fixes */
  MOPT_E_SYMBOL = 34,       /* two dimensions that must be equal are not */
  MOPT_E_MISSING = 35,      /* an input was not set */
  MOPT_E_BYTES = 36,        /* byte count and shape disagree, or a buffer is too small */
  MOPT_E_TOO_LARGE = 37,    /* a shape whose tensors cannot exist */
  MOPT_E_ARITHMETIC = 38,   /* a size expression overflows, divides by zero or is negative */
  MOPT_E_BROADCAST = 39,    /* sizes that do not broadcast */
  MOPT_E_CHECK = 40,        /* a rule of an ONNX node does not hold for these shapes */
  MOPT_E_OVERLAP = 41,      /* an output buffer overlaps another buffer of the run */
  MOPT_E_HEAP_LIMIT = 42,   /* data-dependent results exceed the session's limit */
  MOPT_E_CANCELLED = 50,    /* the cancel flag was set */
  MOPT_E_DEADLINE = 51,     /* the deadline passed */
  MOPT_E_INDEX = 52,        /* an index in an input or intermediate value is out of range */
  MOPT_E_SHAPE = 53,        /* a shape computed while running does not fit */
  MOPT_E_VALUE = 54,        /* a value that the ONNX node does not allow */
  MOPT_E_RESUME = 55,       /* a run cannot start at this step */
  MOPT_E_NO_RESULT = 56,    /* nothing has been computed yet */
  MOPT_E_TABLE = 100,       /* the artifact's table is inconsistent: compiler fault */
  MOPT_E_STEP = 101         /* a step failed in a way it must not: compiler fault */
} mopt_code;

typedef struct mopt_error {
  int32_t code;       /* mopt_code */
  int32_t step;       /* step that failed, -1 if none */
  int64_t got, limit; /* of a failed step: the offending value and what it was held against */
  char message[960];  /* "MOPT-R034: ...", one line, printable UTF-8, NUL-terminated */
} mopt_error;

typedef struct mopt_model mopt_model;
typedef struct mopt_session mopt_session;
typedef struct mopt_pool mopt_pool;

/* Version of the loaded library: compare with MOPT_API_VERSION; and as text. */
MOPT_API uint32_t mopt_api_version(void);
MOPT_API const char *mopt_version(void);
/* "float32", "int8", ... as numpy spells it, "?" for numbers that are no type. Bits per element, 0 for strings and unknown.
 */
MOPT_API const char *mopt_dtype_name(uint32_t dtype);
MOPT_API uint32_t mopt_dtype_bits(uint32_t dtype);
/* Processors this process may use: affinity mask and cgroup quota, at least 1. */
MOPT_API int32_t mopt_cpu_count(void);
/* mopt_cpu bits this machine has. */
MOPT_API uint64_t mopt_cpu_features(void);
/* Name of one mopt_cpu bit ("avx512_vnni"), NULL if unknown. */
MOPT_API const char *mopt_cpu_feature_name(uint64_t bit);
/* Name of an ELF e_machine ("aarch64"), "unknown" if mopt does not compile for it. */
MOPT_API const char *mopt_machine_name(uint32_t machine);

/* ---- Models ---- */

/* Loads an artifact. The file is checked first (size, hash of everything but the weights, ABI, processor); weights are
 * mapped, not read. An artifact is native code: the checks are against damage, not against attackers.
 * The file may be replaced (rename) but not overwritten while the model lives. Keeps one descriptor open. */
MOPT_API mopt_code mopt_model_load(const char *path, mopt_model **model, mopt_error *error);
/* The same from an open descriptor, which stays the caller's. */
MOPT_API mopt_code mopt_model_load_fd(int fd, mopt_model **model, mopt_error *error);
/* The same checks, but no code is loaded: a description, also of an artifact for another machine. Sessions of it plan, and
 * refuse to run. */
MOPT_API mopt_code mopt_model_describe(const char *path, mopt_model **model, mopt_error *error);
MOPT_API mopt_code mopt_model_describe_fd(int fd, mopt_model **model, mopt_error *error);
/* MOPT_OK, or the reason why this machine cannot run the model. */
MOPT_API mopt_code mopt_model_can_run(const mopt_model *model, mopt_error *error);
/* A model that is linked into this program. `module` must outlive the model. Ranges cannot be checked here. */
MOPT_API mopt_code mopt_model_from_module(const mopt_module *module, mopt_model **model, mopt_error *error);
MOPT_API void mopt_model_free(mopt_model *model);
/* Reads all weights and compares their hashes. Costs one pass over the file. */
MOPT_API mopt_code mopt_model_verify_weights(const mopt_model *model, mopt_error *error);

typedef struct mopt_tensor_info {
  const char *name;
  uint32_t dtype, rank;
  const mopt_size *dims; /* fixed size, or MOPT_SYMBOL_OF_SIZE(dim) is the number of a symbol */
} mopt_tensor_info;

typedef struct mopt_step_info {
  const char *name;  /* what runs */
  const char *nodes; /* ONNX node names, one a line */
  uint32_t noperands, nwritten, nvariants, flags;
  const int32_t *operands; /* buffer numbers, written ones last */
  mopt_size chunks, macs, bytes; /* chunks: of the default variant */
} mopt_step_info;

typedef struct mopt_model_info {
  uint32_t machine; /* ELF e_machine */
  uint32_t abi_version;
  uint64_t cpu; /* mopt_cpu bits needed */
  uint32_t ninputs, noutputs, nsymbols, nchecks, nbuffers, nsteps;
  uint64_t file_bytes, code_bytes, weights_bytes; /* file_bytes, code_bytes: 0 for mopt_model_from_module */
  uint64_t code_hash[2], weights_hash[2];         /* XXH3-128, low and high, of code and of the chunk hashes */
  const char *manifest;                           /* JSON, manifest_bytes long, not NUL-terminated */
  uint64_t manifest_bytes;
  uint64_t load_ns;
} mopt_model_info;

MOPT_API void mopt_model_get_info(const mopt_model *model, mopt_model_info *info);
MOPT_API mopt_code mopt_model_input(const mopt_model *model, uint32_t index, mopt_tensor_info *info);
MOPT_API mopt_code mopt_model_output(const mopt_model *model, uint32_t index, mopt_tensor_info *info);
/* Number of the input or output with this name, -1 if there is none. */
MOPT_API int32_t mopt_model_find_input(const mopt_model *model, const char *name);
MOPT_API int32_t mopt_model_find_output(const mopt_model *model, const char *name);
MOPT_API const char *mopt_model_symbol_name(const mopt_model *model, uint32_t symbol);
MOPT_API mopt_code mopt_model_step(const mopt_model *model, uint32_t step, mopt_step_info *info);
MOPT_API const char *mopt_model_variant_name(const mopt_model *model, uint32_t step, uint32_t variant);
/* Number of the variant of a step with this name, -1 if there is none. */
MOPT_API int32_t mopt_model_find_variant(const mopt_model *model, uint32_t step, const char *name);

/* ---- Pools ---- */

typedef void (*mopt_pool_body)(void *arg, int64_t index);
/* Threads of the host: `run` calls body(arg, i) once for each i in [0, count), on any threads, in any order, and returns
 * when all have returned. `run` is called from every thread that runs a session, possibly at the same time. */
typedef struct mopt_host_pool {
  void *context;
  int32_t threads; /* how many calls may run at the same time; a hint for the grain of the work */
  void (*run)(void *context, int64_t count, mopt_pool_body body, void *arg);
} mopt_host_pool;

/* `threads` counts the calling thread; 0 means mopt_cpu_count(). Workers start with the first work that needs them. If the
 * system refuses threads, the pool works with fewer: results never depend on their number. */
MOPT_API mopt_code mopt_pool_create(int32_t threads, mopt_pool **pool, mopt_error *error);
MOPT_API mopt_code mopt_pool_create_host(const mopt_host_pool *host, mopt_pool **pool, mopt_error *error);
MOPT_API int32_t mopt_pool_threads(const mopt_pool *pool);
/* Runs body(arg, 0..count-1) on the pool and the calling thread. */
MOPT_API void mopt_pool_run(mopt_pool *pool, int64_t count, mopt_pool_body body, void *arg);
MOPT_API void mopt_pool_free(mopt_pool *pool);

/* ---- Sessions ---- */

typedef struct mopt_session_options {
  uint32_t size;         /* sizeof(mopt_session_options) */
  uint32_t profile;      /* not 0: measure each step (two clock reads a step) */
  mopt_pool *pool;       /* NULL: the process-wide pool of mopt_cpu_count() threads, which lives while a session uses it */
  uint64_t heap_limit;   /* bytes of data-dependent results at one time; 0: 1 GiB */
  uint32_t plans;        /* shape tuples whose memory plan is kept; 0: 8 */
  uint32_t keep_buffers; /* not 0: every intermediate value has memory of its own, so that all can be read after a run and
                          * a run can start at any step that changes nothing in place. Costs the sum, not the peak. */
} mopt_session_options;

/* `options` may be NULL. Allocates tables only; memory for tensors comes with reserve or the first run. */
MOPT_API mopt_code mopt_session_create(mopt_model *model, const mopt_session_options *options, mopt_session **session,
                                       mopt_error *error);
MOPT_API void mopt_session_free(mopt_session *session);

typedef struct mopt_array {
  void *data;
  uint64_t bytes; /* of data; must be what dtype and dims say */
  uint32_t dtype, rank;
  int64_t dims[MOPT_MAX_RANK];
} mopt_array;

/* Uses the caller's memory until it is replaced: no copy if data is MOPT_ALIGNMENT bytes aligned, else one copy a run.
 * Only read. data may be NULL if the tensor is empty. The memory must live as long as the session may run with it. */
MOPT_API mopt_code mopt_session_set_input(mopt_session *session, uint32_t index, const mopt_array *tensor,
                                          mopt_error *error);
MOPT_API mopt_code mopt_session_set_input_by_name(mopt_session *session, const char *name, const mopt_array *tensor,
                                                  mopt_error *error);
/* Lets the run write output `index` to the caller's memory of `capacity` bytes (no copy if aligned as above).
 * data NULL, the default: the session owns the memory, which the next run overwrites. */
MOPT_API mopt_code mopt_session_set_output(mopt_session *session, uint32_t index, void *data, uint64_t capacity,
                                           mopt_error *error);

/* Allocates everything that runs with inputs up to these shapes need: afterwards they allocate nothing. `shapes` has one
 * entry an input; data and bytes are ignored. Sizes that depend on data are not known here and stay out. */
MOPT_API mopt_code mopt_session_reserve(mopt_session *session, const mopt_array *shapes, uint32_t nshapes,
                                        mopt_error *error);

typedef struct mopt_run_options {
  uint32_t size;     /* sizeof(mopt_run_options) */
  int32_t from_step; /* 0: the whole model; n: from step n on, with all values as the earlier run left them */
  int32_t to_step;   /* 0: to the end; n: stop before step n */
  int32_t reserved;
  int64_t deadline_ns;   /* CLOCK_MONOTONIC, 0: none; looked at between pieces of work, so a run ends a little later */
  const int32_t *cancel; /* NULL, or a flag that any thread may set with mopt_cancel */
  mopt_pool *pool;       /* NULL: the session's */
} mopt_run_options;

/* `options` may be NULL. A run that is cut by deadline, cancel or to_step leaves the session usable. */
MOPT_API mopt_code mopt_session_run(mopt_session *session, const mopt_run_options *options, mopt_error *error);
MOPT_API void mopt_cancel(int32_t *flag);
MOPT_API int64_t mopt_now_ns(void); /* the clock of deadline_ns */

/* Output `index` of the last successful run. The data is the caller's of set_output, or the session's until its next run.
 * After mopt_session_prepare alone: dtype and shape, data NULL; a size that depends on data is -1. */
MOPT_API mopt_code mopt_session_output(mopt_session *session, uint32_t index, mopt_array *tensor, mopt_error *error);
/* Checks the inputs against each other and plans, without running: afterwards output shapes are known. */
MOPT_API mopt_code mopt_session_prepare(mopt_session *session, mopt_error *error);
/* For debugging: what a buffer of the table holds now. Without keep_buffers it may hold a later value's bytes. */
MOPT_API mopt_code mopt_session_buffer(mopt_session *session, uint32_t buffer, mopt_array *tensor, mopt_error *error);
/* Chooses the variant with which this session runs a step. 0 is the default. */
MOPT_API mopt_code mopt_session_set_variant(mopt_session *session, uint32_t step, uint32_t variant, mopt_error *error);

typedef struct mopt_step_profile {
  uint64_t calls, ns;  /* since creation or reset; ns is wall time */
  int64_t chunks;      /* of the last run */
  int64_t macs, bytes; /* of the last run, estimates of the compiler; -1 if unknown */
} mopt_step_profile;
MOPT_API mopt_code mopt_session_profile(const mopt_session *session, uint32_t step, mopt_step_profile *profile,
                                        mopt_error *error);
MOPT_API void mopt_session_reset_profile(mopt_session *session);

typedef struct mopt_memory { /* bytes of one session */
  uint64_t arena;            /* intermediate values */
  uint64_t staging;          /* copies of inputs and outputs that are not aligned */
  uint64_t outputs;          /* outputs that the session owns */
  uint64_t heap;             /* data-dependent values */
  uint64_t tables;
} mopt_memory;
/* What the session holds now. Large blocks cost nothing until they are touched. */
MOPT_API void mopt_session_memory(const mopt_session *session, mopt_memory *memory);
/* What a run with these shapes would need, allocating nothing: arena and owned outputs (heap: unknown, 0). */
MOPT_API mopt_code mopt_session_plan(mopt_session *session, const mopt_array *shapes, uint32_t nshapes, mopt_memory *memory,
                                     mopt_error *error);
/* Value of a symbol in the last prepared shapes or run, -1 if it has none. */
MOPT_API int64_t mopt_session_symbol(const mopt_session *session, uint32_t symbol);

#ifdef __cplusplus
}
#endif
#endif
