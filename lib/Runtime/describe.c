/* An artifact as data: its tables in memory, without code that could run. Tables need no relocation, so reading is all there
 * is to it, on any machine and for any. The weights are not read: in their place lie pages of zeros that cost nothing. */
#define _GNU_SOURCE
#include "runtime.h"
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGEST_PAGE 65536u /* of all targets: artifacts are laid out for it or a divisor */
#define MOST_ENTRIES 4096u  /* of the dynamic section and its symbols; artifacts have about ten and one */

typedef struct image {
  mopt_model *model;
  uintptr_t base; /* what to add to an address of the file */
} image;

/* Where [address, address + bytes) of the file is, NULL if it is not in one segment. */
static const void *place(const image *image, uint64_t address, uint64_t bytes) {
  for (uint32_t i = 0; i < image->model->nsegments; ++i) {
    const mopt_segment *s = &image->model->segments[i];
    if (address >= s->begin && address <= s->end && bytes <= s->end - address)
      return (const void *)(uintptr_t)(image->base + address);
  }
  return NULL;
}

static mopt_code read_segment(const image *image, const Elf64_Phdr *p, mopt_error *error) {
  uint64_t bytes = p->p_filesz;
  if (p->p_offset >= image->model->weights_offset || !bytes)
    return MOPT_OK;
  uintptr_t at = (uintptr_t)place(image, p->p_vaddr, bytes), page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = at / page * page;
  if (!at)
    return mopt_fail(error, MOPT_E_DAMAGED, "the artifact changed while it was read");
  if (mprotect((void *)begin, at + bytes - begin, PROT_READ | PROT_WRITE) != 0)
    return mopt_fail(error, MOPT_E_MEMORY, "out of memory for the tables of the artifact");
  return mopt_read_at(image->model->fd, (void *)at, bytes, p->p_offset, error);
}

/* The exported table, by the dynamic section that the system's loader would use. */
static const mopt_module *find_module(const image *image, uint64_t dynamic, uint64_t dynamic_bytes) {
  static const char name[] = "mopt_module";
  uint64_t symbols = 0, strings = 0, string_bytes = 0, hash = 0;
  for (uint64_t i = 0; i < dynamic_bytes / sizeof(Elf64_Dyn) && i < MOST_ENTRIES; ++i) {
    Elf64_Dyn entry;
    const void *at = place(image, dynamic + i * sizeof entry, sizeof entry);
    if (!at)
      return NULL;
    memcpy(&entry, at, sizeof entry);
    if (entry.d_tag == DT_NULL)
      break;
    uint64_t *wanted = entry.d_tag == DT_SYMTAB   ? &symbols
                       : entry.d_tag == DT_STRTAB ? &strings
                       : entry.d_tag == DT_STRSZ  ? &string_bytes
                       : entry.d_tag == DT_HASH   ? &hash
                                                  : NULL;
    if (wanted)
      *wanted = entry.d_un.d_val;
  }
  uint32_t sizes[2]; /* buckets, and chains: one a symbol */
  const void *head = place(image, hash, sizeof sizes), *texts = place(image, strings, string_bytes);
  if (!head || !texts)
    return NULL;
  memcpy(sizes, head, sizeof sizes);
  for (uint64_t i = 0; i < sizes[1] && i < MOST_ENTRIES; ++i) {
    Elf64_Sym symbol;
    const void *at = place(image, symbols + i * sizeof symbol, sizeof symbol);
    if (!at)
      return NULL;
    memcpy(&symbol, at, sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name > string_bytes || sizeof name > string_bytes - symbol.st_name ||
        memcmp((const char *)texts + symbol.st_name, name, sizeof name) != 0)
      continue;
    const mopt_module *module = place(image, symbol.st_value, sizeof *module);
    return (uintptr_t)module % 8 == 0 ? module : NULL;
  }
  return NULL;
}

mopt_code mopt_copy_tables(mopt_model *model, mopt_error *error) {
  Elf64_Ehdr e;
  mopt_code code = mopt_read_at(model->fd, &e, sizeof e, 0, error);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (uint32_t i = 0; i < model->nsegments; ++i) {
    begin = model->segments[i].begin < begin ? model->segments[i].begin : begin;
    end = model->segments[i].end > end ? model->segments[i].end : end;
  }
  if (code)
    return code;
  if (begin >= end)
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "the file has no segments");
  begin = begin / LARGEST_PAGE * LARGEST_PAGE; /* what is aligned in the file is aligned here */
  void *memory = mmap(NULL, end - begin, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return mopt_fail(error, MOPT_E_MEMORY, "out of address space for an artifact of %llu bytes",
                     (unsigned long long)(end - begin));
  model->image = memory;
  model->image_bytes = end - begin;
  image image = {model, (uintptr_t)memory - begin};
  uint64_t dynamic = 0, dynamic_bytes = 0;
  for (uint32_t i = 0; i < e.e_phnum; ++i) {
    Elf64_Phdr p;
    code = mopt_read_at(model->fd, &p, sizeof p, e.e_phoff + (uint64_t)i * sizeof p, error);
    if (!code && p.p_type == PT_LOAD)
      code = read_segment(&image, &p, error);
    if (code)
      return code;
    if (p.p_type == PT_DYNAMIC)
      dynamic = p.p_vaddr, dynamic_bytes = p.p_memsz;
  }
  model->module = find_module(&image, dynamic, dynamic_bytes);
  if (!model->module)
    return mopt_fail(error, MOPT_E_NOT_ARTIFACT, "the file has no mopt_module");
  for (uint32_t i = 0; i < model->nsegments; ++i) {
    model->segments[i].begin += image.base;
    model->segments[i].end += image.base;
  }
  return mprotect(memory, model->image_bytes, PROT_READ) == 0
             ? MOPT_OK
             : mopt_fail(error, MOPT_E_MEMORY, "out of memory for the tables of the artifact");
}

void mopt_free_tables(mopt_model *model) {
  if (model->image)
    munmap(model->image, model->image_bytes);
}
