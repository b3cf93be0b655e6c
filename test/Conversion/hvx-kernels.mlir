// RUN: mopt-compiler compile %s --triple hexagon --to kernels -o %t.k.mlir && FileCheck %s --check-prefix=KERNELS < %t.k.mlir
// RUN: mopt-compiler compile %s --triple hexagon --emit mlir -o %t.mlir && FileCheck %s --check-prefix=STEPS < %t.mlir
// RUN: mopt-compiler compile %s --triple hexagon --emit asm -o %t.s && FileCheck %s --check-prefix=ASM < %t.s
// RUN: mopt-compiler compile %s --triple hexagon --emit obj -o %t.o && llvm-readelf -h -S -r %t.o | FileCheck %s --check-prefix=OBJECT

// Panels of 32 columns, a vector; of uint8 with zero point 128 (kind 3: made from int8). An NPU requantizes in integers.
// KERNELS: kernel.weight {panels = array<i64: 1, 40, 1, 22, 880, 1, 0, 40, 3, 32>, {{.*}} : tensor<2x6x32x4xi8>
// KERNELS: kernel.matmul ins({{.*}} : tensor<12x22xui8>, tensor<2x6x32x4xi8>)
// KERNELS: kernel.requantize {{.*}} shift

// Two panels, so tiles of up to eight rows: here twice six. What packs the rows adds up 128 times their bytes; a tile multiplies
// unsigned weights with words in scalar registers. Then, for each row, products of 64 bits and packing to bytes; 40 are stored.
// STEPS: llvm.call_intrinsic "llvm.hexagon.M5.vrmacbuu"
// STEPS: llvm.func internal @hvx_tile_6x2_0(
// STEPS-COUNT-12: llvm.call_intrinsic "llvm.hexagon.V6.vrmpyub.acc.128B"
// STEPS-NOT: llvm.call_intrinsic "llvm.hexagon.V6.vrmpyub.acc.128B"
// STEPS-COUNT-2: llvm.call_intrinsic "llvm.hexagon.V6.vmpyowh.64.acc.128B"
// STEPS: llvm.call_intrinsic "llvm.hexagon.V6.vpackwh.sat.128B"
// STEPS: llvm.call_intrinsic "llvm.hexagon.V6.vpackhub.sat.128B"
// STEPS: llvm.intr.masked.store

// ASM-LABEL: hvx_tile_6x2_0:
// ASM: vmem(r
// ASM: .uw += vrmpy(v{{[0-9]+}}.ub,r{{[0-9]+}}.ub)
// ASM: = vmpye(v
// ASM: = vpack(v{{.*}}.w,v{{.*}}.w):sat
// ASM-LABEL: mopt_module:
// ASM: .word 164

// The object holds the weights, aligned for vectors; references in the table are distances.
// OBJECT: Machine: Qualcomm Hexagon
// OBJECT: .rodata.mopt_weights PROGBITS {{.*}} A {{.*}} 128
// OBJECT-NOT: R_HEX_32 {{.*}}
func.func @main(%x: tensor<12x22xui8> {mopt.name = "x"}) -> (tensor<12x40xui8> {mopt.name = "y"}) {
  %s = mopt.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %t = mopt.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %a = mopt.constant {value = dense<3> : tensor<ui8>} : tensor<ui8>
  %c = mopt.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %n = mopt.constant {value = dense<0> : tensor<i8>} : tensor<i8>
  %w = mopt.constant {value = dense<2> : tensor<22x40xi8>} : tensor<22x40xi8>
  %0 = mopt.qlinear_matmul %x, %s, %a, %w, %t, %n, %s, %c
    : (tensor<12x22xui8>, tensor<f32>, tensor<ui8>, tensor<22x40xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<12x40xui8>
  return %0 : tensor<12x40xui8>
}
