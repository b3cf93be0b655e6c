#include "machine.h"
#include <stdarg.h>

enum {
  SYS_OPENAT = 56,
  SYS_CLOSE = 57,
  SYS_READ = 63,
  SYS_WRITE = 64,
  SYS_EXIT_GROUP = 94,
  SYS_MMAP2 = 222,
  SYS_MPROTECT = 226
};
enum { AT_FDCWD = -100, O_WRONLY = 1, O_CREAT = 0100, O_TRUNC = 01000, PAGE = 65536 };

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e;
  register long r5 __asm__("r5") = f;
  register long r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6) : "memory");
  return r0;
}

/* The compiler makes calls of these. The barriers keep it from making them out of these loops. */
void *memcpy(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    ((char *)to)[i] = ((const char *)from)[i];
    __asm__ volatile("" ::: "memory");
  }
  return to;
}
void *memset(void *to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    ((char *)to)[i] = (char)value;
    __asm__ volatile("" ::: "memory");
  }
  return to;
}

void quit(int status) {
  for (;;)
    system_call(SYS_EXIT_GROUP, status, 0, 0, 0, 0, 0);
}

void print(const char *text) {
  size_t n = 0;
  while (text[n])
    ++n;
  system_call(SYS_WRITE, 1, (long)text, (long)n, 0, 0, 0);
}

/* By subtraction: there is no division without a library. */
void print_number(uint64_t value) {
  static const uint64_t powers[] = {10000000000000000000u,
                                    1000000000000000000u,
                                    100000000000000000u,
                                    10000000000000000u,
                                    1000000000000000u,
                                    100000000000000u,
                                    10000000000000u,
                                    1000000000000u,
                                    100000000000u,
                                    10000000000u,
                                    1000000000u,
                                    100000000u,
                                    10000000u,
                                    1000000u,
                                    100000u,
                                    10000u,
                                    1000u,
                                    100u,
                                    10u,
                                    1u};
  char text[21];
  size_t n = 0;
  for (size_t i = 0; i < sizeof powers / sizeof *powers; ++i) {
    char digit = '0';
    for (; value >= powers[i]; value -= powers[i])
      ++digit;
    if (digit != '0' || n || powers[i] == 1)
      text[n++] = digit;
  }
  text[n] = 0;
  print(text);
}

void die(const char *text, ...) {
  va_list more;
  va_start(more, text);
  print("host: ");
  for (; text; text = va_arg(more, const char *))
    print(text);
  print("\n");
  va_end(more);
  quit(2);
}

void *guarded(size_t bytes, size_t align) {
  size_t used = (bytes + align - 1) & ~(align - 1), room = (used + PAGE - 1) & ~(size_t)(PAGE - 1);
  enum { READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22 };
  unsigned long start = (unsigned long)system_call(SYS_MMAP2, 0, (long)(room + PAGE), READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
  if (start > -4096ul)
    die("out of memory", NULL);
  if (system_call(SYS_MPROTECT, (long)(start + room), PAGE, 0, 0, 0, 0))
    die("cannot protect a page", NULL);
  return (void *)(start + room - used);
}

static int open_file(const char *path, int flags) {
  long file = system_call(SYS_OPENAT, AT_FDCWD, (long)path, flags, 0644, 0, 0);
  if (file < 0)
    die("cannot open ", path, NULL);
  return (int)file;
}

void read_file(const char *path, void *to, size_t bytes) {
  int file = open_file(path, 0);
  for (size_t done = 0; done < bytes;) {
    long n = system_call(SYS_READ, file, (long)((char *)to + done), (long)(bytes - done), 0, 0, 0);
    if (n <= 0)
      die(path, " is too short", NULL);
    done += (size_t)n;
  }
  char more;
  if (system_call(SYS_READ, file, (long)&more, 1, 0, 0, 0))
    die(path, " is too long", NULL);
  system_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
}

void write_file(const char *path, const void *from, size_t bytes) {
  int file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  for (size_t done = 0; done < bytes;) {
    long n = system_call(SYS_WRITE, file, (long)((const char *)from + done), (long)(bytes - done), 0, 0, 0);
    if (n <= 0)
      die("cannot write ", path, NULL);
    done += (size_t)n;
  }
  system_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv);

_Noreturn void begin(long *stack) { quit(main((int)stack[0], (char **)(stack + 1))); }

/* The kernel leaves argc and argv where the stack begins; the stack itself has to be aligned for vectors. */
__asm__(".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        "  { r0 = r29\n"
        "    r29 = and(r29, #-128) }\n"
        "  call begin\n");
