// RUN: mopt-compiler compile %s --to kernels -o %t.k.mlir && FileCheck %s --check-prefix=FLOAT < %t.k.mlir
// RUN: mopt-compiler compile %s --to kernels --requantize fixed -o %t.f.mlir && FileCheck %s --check-prefix=FIXED < %t.f.mlir
// RUN: mopt-opt %s --pass-pipeline='builtin.module(mopt-to-grouped,mopt-convert-to-kernel{int8-width=32})' \
// RUN:   | FileCheck %s --check-prefix=WIDE
// RUN: mopt-compiler compile %s --cpu x86-64-v3 --emit asm -o %t.3.s && FileCheck %s --check-prefix=AVX2 < %t.3.s
// RUN: mopt-compiler compile %s --cpu cascadelake --emit asm -o %t.4.s && FileCheck %s --check-prefix=VNNI < %t.4.s
// RUN: mopt-compiler compile %s --triple aarch64-linux-gnu --cpu cortex-a76 --emit asm -o %t.a.s \
// RUN:   && FileCheck %s --check-prefix=DOT < %t.a.s

// 10 rows of four bytes, 20 columns: two panels of 16. The zero point of the left operand, 3, is in the bias: 40 weights of 2
// are 80 a column, 0 - 3 * 80. Scale 0.5 * 0.25 / 0.5.
// FLOAT: kernel.weight {panels = array<i64: 1, 20, 1, 40, 800, 1, 0, 20, 1, 16>, {{.*}} : tensor<2x10x16x4xi8>
// FLOAT: kernel.weight {value = dense<-240> : tensor<20xi32>}
// FLOAT: kernel.weight {value = dense<2.500000e-01> : tensor<1xf32>}
// FLOAT: kernel.matmul ins({{.*}} : tensor<12x40xui8>, tensor<2x10x16x4xi8>)
// FLOAT: %[[SUM:.*]] = kernel.scalar "add"
// FLOAT: kernel.requantize %[[SUM]] by %{{.*}} {high = 255 : i64, low = 0 : i64, zero_point = 7 : i64} : f32 -> ui8

// The convolution pads with its zero point. Three channels are padded to four in each of nine taps.
// FLOAT: kernel.conv {{.*}} : tensor<1x8x8x3xui8>, tensor<1x1x9x16x4xi8>)
// FLOAT-SAME: zero_point = 5 : i64

// 0.25 = 2^30 / 2^32.
// FIXED: kernel.weight {value = dense<1073741824> : tensor<1xi32>}
// FIXED: kernel.weight {value = dense<32> : tensor<1xi32>}
// FIXED: kernel.requantize %{{.*}} by %{{.*}} shift %{{.*}} : i32 -> ui8

// The width of a panel is the target's.
// WIDE: kernel.weight {panels = array<i64: 1, 20, 1, 40, 800, 1, 0, 20, 1, 32>, {{.*}} : tensor<1x10x32x4xi8>

// AVX2: vpmaddwd
// AVX2-NOT: vpmaddubsw
// VNNI: vpdpbusd {{.*}}%zmm
// DOT: sdot v{{[0-9]+}}.4s
func.func @main(%x: tensor<12x40xui8> {mopt.name = "x"}, %z: tensor<1x3x8x8xui8> {mopt.name = "z"})
    -> (tensor<12x20xui8> {mopt.name = "y"}, tensor<1x16x8x8xui8> {mopt.name = "q"}) {
  %s = mopt.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %t = mopt.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %a = mopt.constant {value = dense<3> : tensor<ui8>} : tensor<ui8>
  %b = mopt.constant {value = dense<5> : tensor<ui8>} : tensor<ui8>
  %c = mopt.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %n = mopt.constant {value = dense<0> : tensor<i8>} : tensor<i8>
  %w = mopt.constant {value = dense<2> : tensor<40x20xi8>} : tensor<40x20xi8>
  %v = mopt.constant {value = dense<-1> : tensor<16x3x3x3xi8>} : tensor<16x3x3x3xi8>
  %o = mopt.none : none
  %0 = mopt.qlinear_matmul %x, %s, %a, %w, %t, %n, %s, %c
    : (tensor<12x40xui8>, tensor<f32>, tensor<ui8>, tensor<40x20xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<12x20xui8>
  %1 = mopt.qlinear_conv %z, %s, %b, %v, %t, %n, %s, %c, %o {pads = array<i64: 1, 1, 1, 1>}
    : (tensor<1x3x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<16x3x3x3xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>, none) -> tensor<1x16x8x8xui8>
  return %0, %1 : tensor<12x20xui8>, tensor<1x16x8x8xui8>
}
