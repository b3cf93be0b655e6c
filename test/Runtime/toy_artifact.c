/* A whole artifact by hand: y = max(x * w + 1, 0) with x, y float32 [n, 4], w float32 [4], in two steps. C cannot express the
 * distance between two symbols as a constant, so the table is assembler. Compiled with -DTOY_... it becomes artifacts that
 * the loader must refuse. Linked with toy.ld, sealed with seal_artifact. */
#include "mopt/Runtime/mopt_abi.h"

#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN int32_t toy_scale(const mopt_call *call) {
  const float *x = call->buffers[0], *w = call->buffers[1];
  float *t = call->buffers[2];
  for (int64_t row = call->chunk_begin; row < call->chunk_end; ++row)
    for (int c = 0; c < 4; ++c)
      t[row * 4 + c] = x[row * 4 + c] * w[c];
  return MOPT_STEP_OK;
}

HIDDEN int32_t toy_relu(const mopt_call *call) {
  const float *t = call->buffers[0];
  float *y = call->buffers[1];
  for (int64_t i = call->chunk_begin * 4; i < call->chunk_end * 4; ++i)
    y[i] = t[i] + 1.0f > 0.0f ? t[i] + 1.0f : 0.0f;
  return MOPT_STEP_OK;
}

/* The table has one entry a line. */
/* clang-format off */
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#define LONG(x) ".long " TEXT(x) "\n"
#define QUAD(x) ".quad " TEXT(x) "\n"
#define REL(label) ".long " #label " - .\n"

#ifndef TOY_ABI
#define TOY_ABI 2
#endif
#ifndef TOY_CPU
#define TOY_CPU 0
#endif
#ifndef TOY_MACHINE
#if defined(__x86_64__)
#define TOY_MACHINE 62
#else
#define TOY_MACHINE 183
#endif
#endif
#ifndef TOY_STEP_COUNT
#define TOY_STEP_COUNT 2
#endif
#ifndef TOY_MANIFEST
#define TOY_MANIFEST {}
#endif
#define TOY_WEIGHT_BYTES 1052672 /* two hash chunks: 1 MiB and a page */

__asm__(".section .rodata.toy,\"a\"\n"
        ".globl mopt_module\n.type mopt_module, @object\n.size mopt_module, 104\n.balign 8\nmopt_module:\n"
        LONG(0x54504f4d) LONG(TOY_ABI) LONG(104) LONG(TOY_MACHINE) QUAD(TOY_CPU)
        REL(.Lmanifest) LONG(2)
        REL(.Lsymbols) LONG(1)
        LONG(0) LONG(0)
        REL(.Linputs) LONG(1)
        REL(.Loutputs) LONG(1)
        REL(.Lbuffers) LONG(4)
        REL(.Lsteps) LONG(TOY_STEP_COUNT)
        REL(toy_weights) LONG(0) QUAD(TOY_WEIGHT_BYTES) LONG(0) LONG(0)
        ".balign 8\n.Lshape:\n" QUAD(-1) QUAD(4)
        ".Lwshape:\n" QUAD(4)
        ".Lsymbols:\n" REL(.Ln) LONG(0) LONG(0) LONG(0) LONG(-1) LONG(0)
        ".Linputs:\n" REL(.Lx) LONG(1) LONG(2) REL(.Lshape) LONG(0) LONG(0)
        ".Loutputs:\n" REL(.Ly) LONG(1) LONG(2) REL(.Lshape) LONG(1) LONG(0)
        ".balign 8\n.Lbuffers:\n"
        LONG(0) LONG(1) LONG(2) LONG(0) REL(.Lshape) LONG(0) LONG(1) LONG(64) QUAD(0)
        LONG(1) LONG(1) LONG(2) LONG(0) REL(.Lshape) LONG(0) LONG(1) LONG(64) QUAD(0)
        LONG(2) LONG(1) LONG(1) LONG(0) REL(.Lwshape) LONG(0) LONG(1) LONG(64) QUAD(0)
        LONG(3) LONG(1) LONG(2) LONG(0) REL(.Lshape) LONG(0) LONG(1) LONG(64) QUAD(0)
        ".balign 8\n.Lsteps:\n"
        REL(.Lscale) REL(.Lscale_node) REL(.Lscale_operands) LONG(3) LONG(1) LONG(0) REL(.Lscale_variants) LONG(1)
        QUAD(-1) QUAD(-1) LONG(0) LONG(0)
        REL(.Lrelu) REL(.Lrelu_node) REL(.Lrelu_operands) LONG(2) LONG(1) LONG(0) REL(.Lrelu_variants) LONG(1)
        QUAD(-1) QUAD(-1) LONG(0) LONG(0)
        ".Lscale_operands:\n" LONG(0) LONG(2) LONG(3)
        ".Lrelu_operands:\n" LONG(3) LONG(1)
        ".balign 8\n.Lscale_variants:\n" REL(toy_scale) REL(.Lfp32) QUAD(-1)
        ".Lrelu_variants:\n" REL(toy_relu) REL(.Lfp32) QUAD(-1)
        ".Lmanifest: .ascii \"" TEXT(TOY_MANIFEST) "\"\n"
        ".Ln: .asciz \"n\"\n.Lx: .asciz \"x\"\n.Ly: .asciz \"y\"\n.Lfp32: .asciz \"fp32\"\n"
        ".Lscale: .asciz \"scale\"\n.Lscale_node: .asciz \"mul_0\"\n.Lrelu: .asciz \"add+relu\"\n.Lrelu_node: .asciz \"add_1\\nrelu_2\"\n"
        ".section .weights,\"a\"\n.hidden toy_weights\n.globl toy_weights\n.balign 4096\ntoy_weights:\n"
        ".float 1.0, 2.0, 3.0, 4.0\n.fill 263164, 4, 0x3f800000\n"
        ".previous\n");
/* clang-format on */
