/* The reference functions as LLVM bitcode without triple, data layout and target attributes: the reader sets its own. */
#ifndef MOPT_REFERENCE_BITCODE_H
#define MOPT_REFERENCE_BITCODE_H
#ifdef __cplusplus
extern "C" {
#endif
extern const unsigned char moptReferenceBitcode[];
extern const unsigned long moptReferenceBitcodeSize;
/* The same for machines with 32-bit pointers. */
extern const unsigned char moptReferenceBitcode32[];
extern const unsigned long moptReferenceBitcode32Size;
#ifdef __cplusplus
}
#endif
#endif
