/* The reference functions as bitcode, for artifacts: see mopt/Reference/Bitcode.h. */
#include "mopt/Reference/Bitcode.h"

#define EMBED(symbol, path)                                                                                                 \
  __asm__(".section .rodata\n.balign 16\n.globl " #symbol "\n.hidden " #symbol "\n" #symbol ":\n.incbin \"" path            \
          "\"\n" #symbol "End:\n.balign 8\n.globl " #symbol "Size\n.hidden " #symbol "Size\n" #symbol                       \
          "Size:\n.quad " #symbol "End - " #symbol "\n.previous\n");
EMBED(moptReferenceBitcode, MOPT_BITCODE)
EMBED(moptReferenceBitcode32, MOPT_BITCODE32)
