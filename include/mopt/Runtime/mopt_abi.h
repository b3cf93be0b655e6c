/* The contract between a compiled artifact and the runtime. Versioned; see docs/rationale/artifact-abi.md.
 *
 * An artifact is an ELF shared object that exports one constant, `mopt_module`. Every reference in it is a 32-bit distance
 * from the field that holds it (`mopt_rel`), so that loading needs no relocation. The artifact calls nothing by name.
 *
 * Layout of the file:  [ELF: tables, manifest, code] [weights, page aligned, the last LOAD segment] [trailer]
 */
#ifndef MOPT_RUNTIME_MOPT_ABI_H
#define MOPT_RUNTIME_MOPT_ABI_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOPT_ABI_MAGIC 0x54504f4du /* "MOPT" */
#define MOPT_ABI_VERSION 2u
#define MOPT_MAX_RANK 8
#define MOPT_ALIGNMENT 64 /* of every buffer a step sees, bytes */

/* Distance in bytes from the address of this field to its target; 0 means "nothing". */
typedef int32_t mopt_rel;

/* A size that is known (>= 0), or the value of symbol -(v + 1) (< 0). */
typedef int64_t mopt_size;
#define MOPT_SIZE_OF_SYMBOL(i) (-(int64_t)(i) - 1)
#define MOPT_SYMBOL_OF_SIZE(v) (-((v) + 1))

/* Element types carry the numbers of ONNX's TensorProto.DataType. */
enum mopt_dtype {
  MOPT_UNDEFINED = 0,
  MOPT_F32 = 1,
  MOPT_U8 = 2,
  MOPT_I8 = 3,
  MOPT_U16 = 4,
  MOPT_I16 = 5,
  MOPT_I32 = 6,
  MOPT_I64 = 7,
  MOPT_STRING = 8,
  MOPT_BOOL = 9,
  MOPT_F16 = 10,
  MOPT_F64 = 11,
  MOPT_U32 = 12,
  MOPT_U64 = 13,
  MOPT_C64 = 14,
  MOPT_C128 = 15,
  MOPT_BF16 = 16,
  MOPT_F8E4M3FN = 17,
  MOPT_F8E4M3FNUZ = 18,
  MOPT_F8E5M2 = 19,
  MOPT_F8E5M2FNUZ = 20,
  MOPT_U4 = 21,
  MOPT_I4 = 22,
  MOPT_F4E2M1 = 23,
  MOPT_F8E8M0 = 24,
  MOPT_U2 = 25,
  MOPT_I2 = 26
};

/* ---- Symbols: sizes that are known only when a model runs ----
 * Table order is evaluation order. A definition reads only earlier symbols. */
enum mopt_symbol_kind {
  MOPT_SYM_INPUT = 0, /* bound from the shape of an input; the first input that has it decides, the others must agree */
  MOPT_SYM_EXPR = 1,  /* code over earlier symbols */
  MOPT_SYM_STEP = 2   /* written by a step into mopt_call.symbols (data-dependent shapes) */
};
typedef struct mopt_symbol {
  mopt_rel name; /* NUL-terminated */
  uint32_t kind;
  mopt_rel code; /* int64_t[ncode], for MOPT_SYM_EXPR */
  uint32_t ncode;
  int32_t ready_after; /* step that must have run before this symbol has a value; -1: known at entry */
  uint32_t reserved;
} mopt_symbol;

/* Postfix code of an expression. CONST and SYM are followed by one word. All arithmetic is checked: overflow, division by
 * zero and a negative result are errors of the run. FLOORDIV and MOD round towards minus infinity.
 * BCAST(a, b): a if b == 1, b if a == 1, a if a == b, else an error ("cannot broadcast"). */
enum mopt_op {
  MOPT_X_CONST = 0,
  MOPT_X_SYM = 1,
  MOPT_X_ADD = 2,
  MOPT_X_SUB = 3,
  MOPT_X_MUL = 4,
  MOPT_X_FLOORDIV = 5,
  MOPT_X_CEILDIV = 6,
  MOPT_X_MOD = 7,
  MOPT_X_MIN = 8,
  MOPT_X_MAX = 9,
  MOPT_X_BCAST = 10
};

/* Conditions on symbols that hold in every run, checked once per shape tuple: `left == right`, as mopt_size. */
typedef struct mopt_check {
  mopt_size left, right;
  mopt_rel what; /* text: the ONNX node and the rule, for the error */
  uint32_t reserved;
} mopt_check;

/* ---- Buffers ---- */
enum mopt_buffer_kind {
  MOPT_BUF_INPUT = 0,  /* index = input number */
  MOPT_BUF_OUTPUT = 1, /* index = output number */
  MOPT_BUF_WEIGHT = 2, /* offset = byte offset in the weights */
  MOPT_BUF_ARENA = 3,  /* placed by the planner; lives from first_step to last_step, both included */
  MOPT_BUF_HEAP = 4    /* size depends on a MOPT_SYM_STEP symbol: allocated in the session heap before first_step */
};
typedef struct mopt_buffer {
  uint32_t kind;
  uint32_t dtype;
  uint32_t rank;
  uint32_t index;
  mopt_rel dims; /* mopt_size[rank]; bytes = ceil(product * bits of dtype / 8) */
  int32_t first_step, last_step;
  uint32_t align; /* bytes, a power of two, at least MOPT_ALIGNMENT for ARENA and HEAP */
  uint64_t offset;
} mopt_buffer;

/* ---- Steps ---- */
struct mopt_call;
/* Runs chunks [chunk_begin, chunk_end). Returns 0, or a mopt_step_status; details go to call->error. */
typedef int32_t (*mopt_step_fn)(const struct mopt_call *call);

typedef struct mopt_fault {
  int64_t got, limit; /* the offending value and what it was held against */
  int32_t operand;    /* operand of the ONNX node, -1 if none */
  int32_t reserved;
} mopt_fault;

typedef struct mopt_call {
  void *const *buffers; /* one pointer per operand of the step, in order */
  int64_t *symbols;     /* all symbols; a step writes only the MOPT_SYM_STEP ones it defines */
  int64_t chunk_begin, chunk_end;
  mopt_fault *fault; /* written on failure; one per thread */
  void *reserved;
} mopt_call;

enum mopt_step_status {
  MOPT_STEP_OK = 0,
  MOPT_STEP_INDEX = 1, /* an index is outside the axis: got, limit = size of the axis */
  MOPT_STEP_SHAPE = 2, /* a run-time shape does not fit: got, limit = what was expected */
  MOPT_STEP_VALUE = 3, /* an operand's value is not allowed (zero stride, zero divisor, repeated axis, ...) */
  MOPT_STEP_TYPE = 4   /* element type not supported by this function: compiler fault */
};

enum mopt_step_flags { MOPT_STEP_DEFINES_SYMBOLS = 1 };

typedef struct mopt_variant {
  mopt_rel fn;      /* mopt_step_fn; takes the operands of the step and writes all that the step writes */
  mopt_rel name;    /* "fp32", "int8_static", ...; variant 0 is the default */
  mopt_size chunks; /* how many independent pieces; 0 when the result is empty: the step is skipped */
} mopt_variant;

typedef struct mopt_step {
  mopt_rel name;     /* what runs: "conv+relu" */
  mopt_rel nodes;    /* ONNX node names, one a line */
  mopt_rel operands; /* int32_t[noperands]: buffer numbers; written operands come last */
  uint32_t noperands;
  uint32_t nwritten;
  uint32_t flags;
  mopt_rel variants; /* mopt_variant[nvariants] */
  uint32_t nvariants;
  mopt_size macs;    /* multiply-adds, an estimate for reports */
  mopt_size bytes;   /* bytes read and written, an estimate for reports */
  mopt_rel subtable; /* reserved for control flow: a mopt_module-like table; 0 now */
  uint32_t reserved;
} mopt_step;

/* ---- Inputs and outputs ---- */
typedef struct mopt_port {
  mopt_rel name;
  uint32_t dtype;
  uint32_t rank;
  mopt_rel dims;   /* mopt_size[rank] */
  uint32_t buffer; /* its MOPT_BUF_INPUT or MOPT_BUF_OUTPUT buffer */
  uint32_t reserved;
} mopt_port;

/* CPU features an artifact may need; the loader refuses when one is missing. */
enum mopt_cpu {
  MOPT_CPU_X86_64_V2 = 1u << 0,
  MOPT_CPU_X86_64_V3 = 1u << 1,
  MOPT_CPU_X86_64_V4 = 1u << 2,
  MOPT_CPU_AVX512_VNNI = 1u << 3,
  MOPT_CPU_AVX512_BF16 = 1u << 4,
  MOPT_CPU_AMX = 1u << 5,
  MOPT_CPU_FMA = 1u << 6,
  MOPT_CPU_F16C = 1u << 7,
  MOPT_CPU_AVX2 = 1u << 8,
  MOPT_CPU_AVX_VNNI = 1u << 9,
  MOPT_CPU_NEON = 1u << 16,
  MOPT_CPU_DOTPROD = 1u << 17,
  MOPT_CPU_I8MM = 1u << 18,
  MOPT_CPU_ARM_BF16 = 1u << 19,
  MOPT_CPU_ARM_FP16 = 1u << 20
};

typedef struct mopt_module {
  uint32_t magic, abi_version;
  uint32_t size;     /* of this struct, for additions at the end */
  uint32_t machine;  /* ELF e_machine the code is for */
  uint64_t cpu;      /* mopt_cpu bits */
  mopt_rel manifest; /* JSON text, not NUL-terminated; see docs/manifest.md */
  uint32_t manifest_bytes;
  mopt_rel symbols;
  uint32_t nsymbols;
  mopt_rel checks;
  uint32_t nchecks;
  mopt_rel inputs;
  uint32_t ninputs;
  mopt_rel outputs;
  uint32_t noutputs;
  mopt_rel buffers;
  uint32_t nbuffers;
  mopt_rel steps;
  uint32_t nsteps;
  mopt_rel weights; /* first byte of the weights */
  uint32_t serial_macs; /* a step with fewer multiply-adds and fewer bytes than these runs on the thread that called: */
  uint64_t weights_bytes;
  uint32_t serial_bytes; /* waking another would take longer */
  uint32_t reserved;
} mopt_module;

/* ---- Trailer: the last bytes of the file ----
 * [uint64_t[2] XXH3-128 (low, high) of each chunk of the weights][mopt_trailer] */
#define MOPT_TRAILER_MAGIC 0x31524c52544d504full
#define MOPT_WEIGHT_CHUNK (1ull << 20) /* bytes of weights per hash */
typedef struct mopt_trailer {
  uint64_t magic;
  uint64_t file_bytes;     /* size of the whole file, trailer included */
  uint64_t weights_offset; /* file offset of the weights: everything before is covered by code_hash */
  uint64_t weights_bytes;
  uint64_t code_hash[2];   /* XXH3-128 (low, high) of bytes [0, weights_offset) */
  uint64_t hashes_hash[2]; /* XXH3-128 (low, high) of the chunk hashes */
  uint32_t abi_version;
  uint32_t reserved;
} mopt_trailer;

#ifdef __cplusplus
}
#endif
#endif
