/* Runs the fixture's artifact with nothing but open, mmap and exit: what an artifact needs to be loaded. Without libc, so
 * that it also runs AArch64 code under qemu-user without a foreign system. Exit status 0, or the number of the check. */
#include "mopt/Runtime/mopt_abi.h"
#include <elf.h>

static long syscall6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#define NR_OPENAT 257
#define NR_MMAP 9
#define NR_EXIT 231
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#define NR_OPENAT 56
#define NR_MMAP 222
#define NR_EXIT 94
#endif
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call start_c\n");
#else
__asm__(".globl _start\n_start: mov x0, sp\n bl start_c\n");
#endif

static _Noreturn void leave(int status) {
  for (;;)
    syscall6(NR_EXIT, status, 0, 0, 0, 0, 0);
}

static void *map(void *at, unsigned long bytes, int protection, int flags, int fd, unsigned long offset) {
  long result = syscall6(NR_MMAP, (long)at, (long)bytes, protection, flags, fd, (long)offset);
  return result < 0 && result > -4096 ? 0 : (void *)result;
}

static const void *follow(const mopt_rel *field) { return (const char *)field + *field; }

static const mopt_module *load(int fd) {
  enum { PAGE = 65536, READ = 1, WRITE = 2, EXEC = 4, PRIVATE = 2, FIXED = 16, ANONYMOUS = 32 };
  const Elf64_Ehdr *e = map(0, PAGE, READ, PRIVATE, fd, 0);
  if (!e)
    leave(11);
  const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)e + e->e_phoff);
  unsigned long end = 0;
  for (int i = 0; i < e->e_phnum; ++i)
    if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
      end = p[i].p_vaddr + p[i].p_memsz;
  char *space = map(0, end + PAGE, 0, PRIVATE | ANONYMOUS, -1, 0);
  if (!space)
    leave(12);
  char *base = (char *)(((unsigned long)space + PAGE - 1) & ~(unsigned long)(PAGE - 1));
  const Elf64_Dyn *dynamic = 0;
  for (int i = 0; i < e->e_phnum; ++i) {
    if (p[i].p_type == PT_DYNAMIC)
      dynamic = (const Elf64_Dyn *)(base + p[i].p_vaddr);
    if (p[i].p_type != PT_LOAD || !p[i].p_filesz)
      continue;
    unsigned long skip = p[i].p_vaddr % 4096;
    int protection = (p[i].p_flags & PF_R ? READ : 0) | (p[i].p_flags & PF_W ? WRITE : 0) | (p[i].p_flags & PF_X ? EXEC : 0);
    if (!map(base + p[i].p_vaddr - skip, p[i].p_filesz + skip, protection, PRIVATE | FIXED, fd, p[i].p_offset - skip))
      leave(13);
  }
  const Elf64_Sym *symbols = 0;
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB)
      symbols = (const Elf64_Sym *)(base + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_NEEDED || dynamic->d_tag == DT_RELA || dynamic->d_tag == DT_REL)
      leave(14);
  }
  if (!symbols)
    leave(15);
  return (const mopt_module *)(base + symbols[1].st_value); /* the only exported name */
}

__attribute__((used)) void start_c(const long *stack) {
  const char *path = stack[0] > 1 ? (const char *)stack[2] : 0;
  long fd = path ? syscall6(NR_OPENAT, -100, (long)path, 0, 0, 0, 0) : -1;
  if (fd < 0)
    leave(10);
  const mopt_module *m = load((int)fd);
  if (m->magic != MOPT_ABI_MAGIC || m->abi_version != MOPT_ABI_VERSION || m->size != sizeof *m || m->nsteps != 2)
    leave(20);
  const mopt_step *steps = follow(&m->steps);
  _Alignas(64) float x[8] = {1, 2, 3, 4, -5, -6}, y[8], z[16];
  void *buffers[4] = {x, (void *)follow(&m->weights), y, z};
  const float want[6] = {1, 0, 6, 2, 0, 6};
  int64_t symbols[2] = {6, 12};
  mopt_fault fault;
  for (unsigned i = 0; i < m->nsteps; ++i) {
    void *pointers[4];
    const int32_t *operands = follow(&steps[i].operands);
    for (unsigned k = 0; k < steps[i].noperands; ++k)
      pointers[k] = buffers[operands[k]];
    mopt_call call = {pointers, symbols, 0, 1, &fault, 0};
    const mopt_variant *variants = follow(&steps[i].variants);
    if (((mopt_step_fn)follow(&variants[0].fn))(&call) != MOPT_STEP_OK)
      leave(30 + (int)i);
  }
  for (int i = 0; i < 6; ++i)
    if (y[i] != want[i])
      leave(40 + i);
  leave(z[0] == 15.0f ? 0 : 50);
}
