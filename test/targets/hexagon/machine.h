/* What a program needs of Linux on Hexagon without a C library, and QEMU's counters. */
#ifndef MOPT_TEST_TARGETS_HEXAGON_MACHINE_H
#define MOPT_TEST_TARGETS_HEXAGON_MACHINE_H
#include <stddef.h>
#include <stdint.h>

_Noreturn void quit(int status);
void print(const char *text);
void print_number(uint64_t value);
/* Prints the texts, up to a null, and ends the program with status 2. */
_Noreturn void die(const char *text, ...);

/* `bytes` of zeroed memory that begin at a multiple of `align` and end, but for the rest of that, before a page that cannot
 * be touched. */
void *guarded(size_t bytes, size_t align);
/* Reads exactly `bytes` from a file, and writes them. */
void read_file(const char *path, void *to, size_t bytes);
void write_file(const char *path, const void *from, size_t bytes);

/* Packets, instructions and HVX instructions so far. QEMU keeps them in reserved control registers 20 to 22, which no
 * assembler names: the words are `r0 = c20` and so on. On silicon they mean nothing. */
#define MACHINE_COUNTER(name, word)                                                                                         \
  static inline uint32_t name(void) {                                                                                       \
    register uint32_t r0 __asm__("r0");                                                                                     \
    __asm__ volatile(".word " word : "=r"(r0)::"memory");                                                                   \
    return r0;                                                                                                              \
  }
MACHINE_COUNTER(count_packets, "0x6a14c000")
MACHINE_COUNTER(count_instructions, "0x6a15c000")
MACHINE_COUNTER(count_hvx, "0x6a16c000")

#endif
