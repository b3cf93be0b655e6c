/* From a file to a checked model. Everything is verified on one descriptor before the system's loader sees the file, and
 * that same descriptor is handed to dlopen: dlopen alone opens damaged files and crashes, and a path could name another
 * file by then. The name is /proc/<pid>/fd/N, spelled differently for each load: glibc compares names before files, and
 * keeps a library under the name of its first load. When a file was loaded twice and the first handle is gone, the number
 * of its descriptor is free, but the library is still there under it. */
#define _GNU_SOURCE
#include "runtime.h"
#define XXH_INLINE_ALL
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define READ_PIECE (256u << 10)

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#elif defined(__riscv)
#define HOST_MACHINE EM_RISCV
#else
#error "add the ELF machine of this processor"
#endif

const char *mopt_machine_name(uint32_t machine) {
  return machine == EM_X86_64 ? "x86-64" : machine == EM_AARCH64 ? "aarch64" : machine == EM_RISCV ? "riscv" : "unknown";
}

mopt_code mopt_read_at(int fd, void *to, size_t bytes, uint64_t offset, mopt_error *error) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return mopt_fail(error, MOPT_E_READ, "reading the artifact failed: %s", strerror(errno));
    if (n == 0)
      return mopt_fail(error, MOPT_E_CUT, "the artifact became shorter while it was read");
    done += (size_t)n;
  }
  return MOPT_OK;
}

/* Reads instead of mapping: a file that is cut meanwhile gives an error, not SIGBUS, and the pages do not count as ours. */
static mopt_code hash_range(int fd, uint64_t offset, uint64_t bytes, uint64_t hash[2], mopt_error *error) {
  XXH3_state_t *state = NULL;
  mopt_block block = {0};
  if (posix_memalign((void **)&state, 64, sizeof *state) ||
      !mopt_block_reserve(&block, bytes < READ_PIECE ? bytes : READ_PIECE)) {
    free(state);
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory to check the artifact");
  }
  XXH3_128bits_reset(state);
  mopt_code code = MOPT_OK;
  while (bytes && !code) {
    size_t piece = bytes < READ_PIECE ? (size_t)bytes : READ_PIECE;
    code = mopt_read_at(fd, block.data, piece, offset, error);
    if (!code)
      XXH3_128bits_update(state, block.data, piece);
    offset += piece;
    bytes -= piece;
  }
  XXH128_hash_t h = XXH3_128bits_digest(state);
  hash[0] = h.low64;
  hash[1] = h.high64;
  mopt_block_free(&block);
  free(state);
  return code;
}

static uint64_t chunk_count(uint64_t weights_bytes) {
  return weights_bytes / MOPT_WEIGHT_CHUNK + (weights_bytes % MOPT_WEIGHT_CHUNK != 0);
}

/* Sizes and hashes. After this, every byte before the weights and every weight hash is what the compiler wrote. */
static mopt_code check_trailer(mopt_model *model, uint64_t *weights_bytes, mopt_error *error) {
  mopt_trailer t;
  if (model->file_bytes < sizeof t + sizeof(Elf64_Ehdr))
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "not a mopt artifact: %" PRIu64 " bytes are too few", model->file_bytes);
  mopt_code code = mopt_read_at(model->fd, &t, sizeof t, model->file_bytes - sizeof t, error);
  if (code)
    return code;
  if (t.magic != MOPT_TRAILER_MAGIC)
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT,
                     "not a mopt artifact, or cut: the trailer is missing (mopt compile makes artifacts)");
  if (t.abi_version != MOPT_ABI_VERSION)
    return mopt_fail(error, MOPT_E_ABI, "the artifact has ABI %u, this runtime has %u: compile the model again",
                     t.abi_version, MOPT_ABI_VERSION);
  if (t.file_bytes != model->file_bytes)
    return mopt_fail(error, MOPT_E_CUT, "the file has %" PRIu64 " bytes, %" PRIu64 " were written", model->file_bytes,
                     t.file_bytes);
  uint64_t body = model->file_bytes - sizeof t, hashes = chunk_count(t.weights_bytes) * 16;
  if (t.reserved || t.weights_bytes > body || hashes > body || t.weights_offset > body - hashes ||
      t.weights_bytes > body - hashes - t.weights_offset || body - hashes - t.weights_offset - t.weights_bytes >= 64)
    return mopt_fail(error, MOPT_E_DAMAGED,
                     "the trailer is damaged: weights at %" PRIu64 ", %" PRIu64 " bytes in a file of %" PRIu64,
                     t.weights_offset, t.weights_bytes, model->file_bytes);
  uint64_t end = t.weights_offset + t.weights_bytes, gap = body - hashes - end;
  char padding[64] = {0}, zero[64] = {0};
  code = mopt_read_at(model->fd, padding, gap, end, error);
  if (!code && memcmp(padding, zero, gap) != 0)
    code = mopt_fail(error, MOPT_E_DAMAGED, "the artifact is damaged behind the weights");
  uint64_t hash[2];
  if (!code)
    code = hash_range(model->fd, 0, t.weights_offset, hash, error);
  if (!code && memcmp(hash, t.code_hash, sizeof hash) != 0)
    code = mopt_fail(error, MOPT_E_DAMAGED,
                     "the artifact is damaged: the hash of its code and tables is wrong; compile or copy it again");
  if (!code)
    code = hash_range(model->fd, body - hashes, hashes, hash, error);
  if (!code && memcmp(hash, t.hashes_hash, sizeof hash) != 0)
    code = mopt_fail(error, MOPT_E_DAMAGED,
                     "the artifact is damaged: the list of weight hashes is wrong; compile or copy it again");
  model->weights_offset = t.weights_offset;
  memcpy(model->code_hash, t.code_hash, sizeof t.code_hash);
  memcpy(model->hashes_hash, t.hashes_hash, sizeof t.hashes_hash);
  *weights_bytes = t.weights_bytes;
  return code;
}

/* Class, machine and segments; the segments become addresses later. */
static mopt_code check_elf(mopt_model *model, mopt_error *error) {
  Elf64_Ehdr e;
  mopt_code code = mopt_read_at(model->fd, &e, sizeof e, 0, error);
  if (code)
    return code;
  if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
      e.e_type != ET_DYN || e.e_phentsize != sizeof(Elf64_Phdr))
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "not a 64-bit little-endian shared object");
  model->machine = e.e_machine;
  for (uint32_t i = 0; i < e.e_phnum; ++i) {
    Elf64_Phdr p;
    code = mopt_read_at(model->fd, &p, sizeof p, e.e_phoff + (uint64_t)i * sizeof p, error);
    if (code)
      return code;
    if (p.p_type != PT_LOAD)
      continue;
    if (p.p_offset > model->file_bytes || p.p_filesz > model->file_bytes - p.p_offset || p.p_filesz > p.p_memsz ||
        p.p_vaddr + p.p_memsz < p.p_vaddr || model->nsegments == MOPT_MAX_SEGMENTS)
      return mopt_fail(error, MOPT_E_DAMAGED, "segment %u lies outside the file", i);
    bool weights = p.p_filesz && p.p_offset >= model->weights_offset;
    if (!weights && p.p_filesz && p.p_filesz > model->weights_offset - p.p_offset)
      return mopt_fail(error, MOPT_E_DAMAGED, "segment %u reaches into the weights", i);
    model->segments[model->nsegments++] =
        (mopt_segment){(uintptr_t)p.p_vaddr, (uintptr_t)(p.p_vaddr + p.p_memsz), (p.p_flags & PF_X) != 0, weights};
  }
  return MOPT_OK;
}

static mopt_code check_machine(uint32_t machine, mopt_error *error) {
  return machine == HOST_MACHINE
             ? MOPT_OK
             : mopt_fail(error, MOPT_E_MACHINE,
                         "the artifact is for %s (machine %u), this is %s: compile with --triple for this machine",
                         mopt_machine_name(machine), machine, mopt_machine_name(HOST_MACHINE));
}

static mopt_code check_cpu(uint64_t needed, mopt_error *error) {
  uint64_t missing = needed & ~mopt_cpu_features();
  if (!missing)
    return MOPT_OK;
  char text[200];
  size_t n = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < 64 && n < sizeof text; ++i)
    if (missing >> i & 1) {
      const char *name = mopt_cpu_feature_name(1ull << i);
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", name ? name : "(unknown)");
    }
  return mopt_fail(error, MOPT_E_CPU,
                   "the artifact needs %s, which this processor does not have: compile with a lower --cpu", text);
}

mopt_code mopt_model_can_run(const mopt_model *model, mopt_error *error) {
  mopt_error_clear(error);
  if (!model)
    return mopt_fail(error, MOPT_E_ARGUMENT, "no model");
  mopt_code code = model->machine ? check_machine(model->machine, error) : MOPT_OK;
  if (!code)
    code = check_machine(model->module->machine, error);
  return code ? code : check_cpu(model->module->cpu, error);
}

static mopt_code check_module(mopt_model *model, mopt_error *error) {
  const mopt_module *m = model->module;
  if (m->magic != MOPT_ABI_MAGIC)
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "mopt_module does not start with the right number");
  if (m->abi_version != MOPT_ABI_VERSION || m->size < sizeof *m)
    return mopt_fail(error, MOPT_E_ABI,
                     "the artifact has ABI %u (table of %u bytes), this runtime has %u (%zu): compile the model again",
                     m->abi_version, m->size, MOPT_ABI_VERSION, sizeof *m);
  mopt_code code = model->image ? MOPT_OK : mopt_model_can_run(model, error);
  return code ? code : mopt_table_check(model, error);
}

/* A spelling of the path of descriptor `fd` that no other load in this process has: the bits of a counter between the
 * folder and the number, "/." for 1 and "//" for 0. The counter is the one variable of this file that loads share. */
static void unique_name(char *name, size_t size, int fd) {
  static atomic_uint_least32_t loads;
  uint_least32_t number = atomic_fetch_add_explicit(&loads, 1, memory_order_relaxed);
  char spelling[2 * 32 + 1];
  for (int bit = 0; bit < 32; ++bit)
    memcpy(spelling + 2 * bit, number >> bit & 1 ? "/." : "//", 2);
  spelling[2 * 32] = 0;
  snprintf(name, size, "/proc/%ld/fd%s/%d", (long)getpid(), spelling, fd);
}

static mopt_code open_library(mopt_model *model, mopt_error *error) {
  char name[160];
  unique_name(name, sizeof name, model->fd);
  model->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!model->handle) {
    const char *why = dlerror();
    return mopt_fail(error, MOPT_E_DLOPEN, "the system's loader refuses the artifact: %.400s (is /proc mounted?)",
                     why ? why : "?");
  }
  model->module = dlsym(model->handle, "mopt_module");
  struct link_map *map = NULL; /* l_addr is what was added to the addresses in the file, wherever the first segment begins */
  if (!model->module || dlinfo(model->handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "the file has no mopt_module");
  uintptr_t base = (uintptr_t)map->l_addr, at = (uintptr_t)model->module;
  bool inside = false;
  for (uint32_t i = 0; i < model->nsegments; ++i) {
    mopt_segment *s = &model->segments[i];
    s->begin += base;
    s->end += base;
    inside |= at >= s->begin && at < s->end && s->end - at >= sizeof *model->module;
  }
  return inside && at % 8 == 0 ? MOPT_OK : mopt_fail(error, MOPT_E_TABLE, "mopt_module lies outside the file");
}

static mopt_code load(mopt_model *model, bool to_run, mopt_error *error) {
  struct stat st;
  if (fstat(model->fd, &st) != 0)
    return mopt_fail(error, MOPT_E_OPEN, "its size cannot be asked for");
  if (S_ISDIR(st.st_mode))
    return mopt_fail(error, MOPT_E_OPEN,
                     "not a regular file but a folder: what is compiled for a GPU is one, and a Vulkan host"
                     " runs it; see its plan.json");
  if (!S_ISREG(st.st_mode))
    return mopt_fail(error, MOPT_E_OPEN, "not a regular file");
  model->file_bytes = (uint64_t)st.st_size;
  uint64_t weights_bytes = 0;
  mopt_code code = check_trailer(model, &weights_bytes, error);
  if (!code)
    code = check_elf(model, error);
  if (!code && to_run)
    code = check_machine(model->machine, error); /* before the system's loader says it in its own words */
  if (!code)
    code = to_run ? open_library(model, error) : mopt_copy_tables(model, error);
  if (!code)
    code = check_module(model, error);
  if (!code && model->module->weights_bytes != weights_bytes)
    code = mopt_fail(error, MOPT_E_DAMAGED, "table and trailer disagree on the size of the weights");
  return code;
}

/* Takes the descriptor. */
static mopt_code load_owned(int fd, bool to_run, mopt_model **result, mopt_error *error) {
  int64_t begin = mopt_now_ns();
  mopt_model *model = calloc(1, sizeof *model);
  if (!model) {
    close(fd);
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory");
  }
  model->fd = fd;
  atomic_init(&model->refs, 1);
  mopt_code code = load(model, to_run, error);
  if (code) {
    mopt_model_free(model);
    return code;
  }
  model->load_ns = (uint64_t)(mopt_now_ns() - begin);
  *result = model;
  return MOPT_OK;
}

static mopt_code load_path(const char *path, bool to_run, mopt_model **result, mopt_error *error) {
  mopt_error_clear(error);
  if (!path || !result)
    return mopt_fail(error, MOPT_E_ARGUMENT, "a path and a place for the model are needed");
  *result = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* NONBLOCK: a FIFO must not hang us */
  if (fd < 0)
    return mopt_fail(error, MOPT_E_OPEN, "cannot open '%.300s': %s", path, strerror(errno));
  mopt_code code = load_owned(fd, to_run, result, error);
  if (code && error) { /* say which file; the code stands at the front already */
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    const char *text = strstr(message, ": ");
    mopt_fail(error, code, "'%.300s': %.600s", path, text ? text + 2 : message);
  }
  return code;
}

static mopt_code load_fd(int fd, bool to_run, mopt_model **result, mopt_error *error) {
  mopt_error_clear(error);
  if (!result)
    return mopt_fail(error, MOPT_E_ARGUMENT, "a place for the model is needed");
  *result = NULL;
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0)
    return mopt_fail(error, MOPT_E_OPEN, "cannot duplicate descriptor %d: %s", fd, strerror(errno));
  return load_owned(own, to_run, result, error);
}

mopt_code mopt_model_load(const char *path, mopt_model **result, mopt_error *error) {
  return load_path(path, true, result, error);
}
mopt_code mopt_model_load_fd(int fd, mopt_model **result, mopt_error *error) { return load_fd(fd, true, result, error); }
mopt_code mopt_model_describe(const char *path, mopt_model **result, mopt_error *error) {
  return load_path(path, false, result, error);
}
mopt_code mopt_model_describe_fd(int fd, mopt_model **result, mopt_error *error) {
  return load_fd(fd, false, result, error);
}

mopt_code mopt_model_from_module(const mopt_module *module, mopt_model **result, mopt_error *error) {
  mopt_error_clear(error);
  if (!module || !result)
    return mopt_fail(error, MOPT_E_ARGUMENT, "mopt_model_from_module needs a module and a place for the model");
  *result = NULL;
  mopt_model *model = calloc(1, sizeof *model);
  if (!model)
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory");
  model->fd = -1;
  model->module = module;
  atomic_init(&model->refs, 1);
  mopt_code code = check_module(model, error);
  if (code) {
    mopt_model_free(model);
    return code;
  }
  *result = model;
  return MOPT_OK;
}

void mopt_model_retain(mopt_model *model) { atomic_fetch_add_explicit(&model->refs, 1, memory_order_relaxed); }

void mopt_model_free(mopt_model *model) {
  if (!model || atomic_fetch_sub_explicit(&model->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (model->handle)
    dlclose(model->handle);
  mopt_free_tables(model);
  if (model->fd >= 0)
    close(model->fd);
  free(model->buffer_ready);
  free(model->buffer_bytes);
  free(model->late);
  free(model);
}

mopt_code mopt_model_verify_weights(const mopt_model *model, mopt_error *error) {
  mopt_error_clear(error);
  if (!model)
    return mopt_fail(error, MOPT_E_ARGUMENT, "no model");
  if (model->fd < 0)
    return MOPT_OK; /* linked in: no hashes, no file */
  uint64_t bytes = model->module->weights_bytes, chunks = chunk_count(bytes);
  uint64_t hashes = model->file_bytes - sizeof(mopt_trailer) - chunks * 16;
  for (uint64_t i = 0; i < chunks; ++i) {
    uint64_t at = i * MOPT_WEIGHT_CHUNK, want[2], got[2];
    mopt_code code = mopt_read_at(model->fd, want, sizeof want, hashes + i * 16, error);
    if (!code)
      code = hash_range(model->fd, model->weights_offset + at,
                        bytes - at < MOPT_WEIGHT_CHUNK ? bytes - at : MOPT_WEIGHT_CHUNK, got, error);
    if (code)
      return code;
    if (memcmp(want, got, sizeof got) != 0)
      return mopt_fail(error, MOPT_E_DAMAGED,
                       "the weights are damaged near byte %" PRIu64 " of %" PRIu64 ": compile or copy the artifact again",
                       at, bytes);
  }
  return MOPT_OK;
}

/* ---- What a model says about itself ---- */

void mopt_model_get_info(const mopt_model *model, mopt_model_info *info) {
  const mopt_module *m = model->module;
  *info = (mopt_model_info){.machine = m->machine,
                            .abi_version = m->abi_version,
                            .cpu = m->cpu,
                            .ninputs = m->ninputs,
                            .noutputs = m->noutputs,
                            .nsymbols = m->nsymbols,
                            .nchecks = m->nchecks,
                            .nbuffers = m->nbuffers,
                            .nsteps = m->nsteps,
                            .file_bytes = model->file_bytes,
                            .code_bytes = model->weights_offset,
                            .weights_bytes = m->weights_bytes,
                            .code_hash = {model->code_hash[0], model->code_hash[1]},
                            .weights_hash = {model->hashes_hash[0], model->hashes_hash[1]},
                            .manifest = mopt_follow(&m->manifest),
                            .manifest_bytes = m->manifest_bytes,
                            .load_ns = model->load_ns};
}

static mopt_code port_info(const mopt_port *ports, uint32_t count, uint32_t index, mopt_tensor_info *info,
                           mopt_error *error) {
  if (index >= count)
    return mopt_fail(error, MOPT_E_NAME, "no input or output %u", index);
  *info = (mopt_tensor_info){mopt_port_name(&ports[index]), ports[index].dtype, ports[index].rank,
                             mopt_port_dims(&ports[index])};
  return MOPT_OK;
}

mopt_code mopt_model_input(const mopt_model *model, uint32_t index, mopt_tensor_info *info) {
  return port_info(model->inputs, model->module->ninputs, index, info, NULL);
}
mopt_code mopt_model_output(const mopt_model *model, uint32_t index, mopt_tensor_info *info) {
  return port_info(model->outputs, model->module->noutputs, index, info, NULL);
}

static int32_t find_port(const mopt_port *ports, uint32_t count, const char *name) {
  for (uint32_t i = 0; name && i < count; ++i)
    if (strcmp(mopt_port_name(&ports[i]), name) == 0)
      return (int32_t)i;
  return -1;
}
int32_t mopt_model_find_input(const mopt_model *model, const char *name) {
  return find_port(model->inputs, model->module->ninputs, name);
}
int32_t mopt_model_find_output(const mopt_model *model, const char *name) {
  return find_port(model->outputs, model->module->noutputs, name);
}

const char *mopt_model_symbol_name(const mopt_model *model, uint32_t symbol) {
  return symbol < model->module->nsymbols ? mopt_follow(&model->symbols[symbol].name) : NULL;
}

mopt_code mopt_model_step(const mopt_model *model, uint32_t step, mopt_step_info *info) {
  if (step >= model->module->nsteps)
    return MOPT_E_NAME;
  const mopt_step *s = &model->steps[step];
  const char *name = mopt_follow(&s->name), *nodes = mopt_follow(&s->nodes);
  *info = (mopt_step_info){.name = name ? name : "",
                           .nodes = nodes ? nodes : "",
                           .noperands = s->noperands,
                           .nwritten = s->nwritten,
                           .nvariants = s->nvariants,
                           .flags = s->flags,
                           .operands = mopt_follow(&s->operands),
                           .chunks = ((const mopt_variant *)mopt_follow(&s->variants))[0].chunks,
                           .macs = s->macs,
                           .bytes = s->bytes};
  return MOPT_OK;
}

const char *mopt_model_variant_name(const mopt_model *model, uint32_t step, uint32_t variant) {
  if (step >= model->module->nsteps || variant >= model->steps[step].nvariants)
    return NULL;
  const char *name = mopt_follow(&((const mopt_variant *)mopt_follow(&model->steps[step].variants))[variant].name);
  return name ? name : "";
}

int32_t mopt_model_find_variant(const mopt_model *model, uint32_t step, const char *name) {
  for (uint32_t i = 0; name && step < model->module->nsteps && i < model->steps[step].nvariants; ++i)
    if (strcmp(mopt_model_variant_name(model, step, i), name) == 0)
      return (int32_t)i;
  return -1;
}
