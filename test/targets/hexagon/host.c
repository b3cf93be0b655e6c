/* Runs a compiled model on Hexagon, as a runtime would: everything it knows of the model it reads from mopt_module.
 * host [--whole] INPUT... OUTPUT...: files with the bytes of each port. A line for each step goes to standard output.
 * Chunks run one by one, last first, as they may; with --whole, all of a step in one call. */
#include "machine.h"
#include "mopt/Runtime/mopt_abi.h"

enum { MAX_BUFFERS = 4096, MAX_OPERANDS = 64, EM_HEXAGON = 164 };

extern const struct mopt_module table __asm__("mopt_module"); /* in C the type has the name of the symbol */

static const void *follow(const mopt_rel *field) { return *field ? (const char *)field + *field : NULL; }

static uint32_t bits_of(uint32_t dtype) {
  switch (dtype) {
  case MOPT_U8:
  case MOPT_I8:
  case MOPT_BOOL:
    return 8;
  case MOPT_U16:
  case MOPT_I16:
  case MOPT_F16:
  case MOPT_BF16:
    return 16;
  case MOPT_F32:
  case MOPT_I32:
  case MOPT_U32:
    return 32;
  case MOPT_F64:
  case MOPT_I64:
  case MOPT_U64:
    return 64;
  default:
    die("a buffer has an element type that this host does not know", NULL);
  }
}

static size_t bytes_of(const mopt_buffer *buffer) {
  const mopt_size *dims = follow(&buffer->dims);
  uint64_t bits = bits_of(buffer->dtype);
  for (uint32_t i = 0; i < buffer->rank; ++i) {
    if (dims[i] < 0)
      die("a size is a symbol; this host runs models of known shapes", NULL);
    bits *= (uint64_t)dims[i];
  }
  return (size_t)((bits + 7) / 8);
}

static char *memory[MAX_BUFFERS];

static void run_step(const mopt_step *step, int whole) {
  const int32_t *operands = follow(&step->operands);
  const mopt_variant *variants = follow(&step->variants);
  mopt_step_fn function = (mopt_step_fn)(uintptr_t)follow(&variants[0].fn);
  void *buffers[MAX_OPERANDS];
  if (step->noperands > MAX_OPERANDS || variants[0].chunks < 0)
    die("a step has too many operands, or chunks that depend on a symbol", NULL);
  for (uint32_t i = 0; i < step->noperands; ++i)
    buffers[i] = memory[operands[i]];
  mopt_fault fault = {0};
  mopt_call call = {buffers, NULL, 0, variants[0].chunks, &fault, NULL};
  uint32_t packets = count_packets(), instructions = count_instructions(), hvx = count_hvx();
  for (int64_t chunk = variants[0].chunks; chunk > 0; chunk = whole ? 0 : chunk - 1) {
    call.chunk_begin = whole ? 0 : chunk - 1;
    call.chunk_end = chunk;
    if (function(&call) != MOPT_STEP_OK)
      die("step ", (const char *)follow(&step->name), " failed", NULL);
  }
  packets = count_packets() - packets;
  instructions = count_instructions() - instructions;
  hvx = count_hvx() - hvx;
  print(follow(&step->name));
  print(" chunks=");
  print_number((uint64_t)variants[0].chunks);
  print(" macs=");
  print_number((uint64_t)step->macs);
  print(" packets=");
  print_number(packets);
  print(" instructions=");
  print_number(instructions);
  print(" hvx=");
  print_number(hvx);
  print("\n");
}

int main(int argc, char **argv) {
  const mopt_module *m = &table;
  if (m->magic != MOPT_ABI_MAGIC || m->abi_version != MOPT_ABI_VERSION || m->size != sizeof *m || m->machine != EM_HEXAGON)
    die("mopt_module is not one of this version for Hexagon", NULL);
  int whole = argc > 1 && argv[1][0] == '-';
  char **files = argv + 1 + whole;
  if ((uint32_t)(argc - 1 - whole) != m->ninputs + m->noutputs)
    die("give a file for each input and each output", NULL);
  if (m->nsymbols || m->nchecks || m->nbuffers > MAX_BUFFERS)
    die("the model has symbols or too many buffers", NULL);
  const mopt_buffer *buffers = follow(&m->buffers);
  const mopt_step *steps = follow(&m->steps);
  char *weights = (char *)(uintptr_t)follow(&m->weights);
  for (uint32_t i = 0; i < m->nbuffers; ++i) {
    if (buffers[i].kind == MOPT_BUF_HEAP)
      die("a buffer has a size that depends on data", NULL);
    memory[i] =
        buffers[i].kind == MOPT_BUF_WEIGHT ? weights + buffers[i].offset : guarded(bytes_of(&buffers[i]), buffers[i].align);
    if (buffers[i].kind == MOPT_BUF_INPUT)
      read_file(files[buffers[i].index], memory[i], bytes_of(&buffers[i]));
  }
  for (uint32_t i = 0; i < m->nsteps; ++i)
    run_step(&steps[i], whole);
  for (uint32_t i = 0; i < m->nbuffers; ++i)
    if (buffers[i].kind == MOPT_BUF_OUTPUT)
      write_file(files[m->ninputs + buffers[i].index], memory[i], bytes_of(&buffers[i]));
  return 0;
}
