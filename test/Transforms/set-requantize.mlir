// RUN: mopt-opt %s --mopt-set-requantize=mode=fixed | FileCheck %s --check-prefix=FIXED
// RUN: mopt-opt %s --mopt-set-requantize=mode=fixed | mopt-opt --mopt-set-requantize=mode=float | FileCheck %s --check-prefix=FLOAT
// RUN: not mopt-opt %s --mopt-set-requantize=mode=halves 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: sed 's/<0.25>/<0x00000001>/' %s | not mopt-opt --mopt-set-requantize=mode=fixed 2>&1 | FileCheck %s --check-prefix=SCALE

// Both ops that requantize have the mode, also inside of a group; sums of 8-bit floats are no integers and keep theirs.
// FIXED: mopt.qlinear_matmul {{.*}}requantize = "fixed"
// FIXED: mopt.qlinear_matmul
// FIXED-NOT: requantize
// FIXED: f8E4M3FN
// FIXED: mopt.group
// FIXED: mopt.qlinear_conv {{.*}}requantize = "fixed"
// FLOAT: mopt.qlinear_matmul
// FLOAT-NOT: "fixed"

// MODE: MOPT-C015: there is no way to requantize called 'halves', expected float or fixed
// SCALE: MOPT-C016: its products have to be scaled by {{.*}} compile with --requantize float
func.func @main(%x: tensor<2x4xui8>, %f: tensor<2x4xf8E4M3FN>, %z: tensor<1x3x8x8xui8>)
    -> (tensor<2x4xui8>, tensor<2x4xf8E4M3FN>, tensor<1x16x6x6xui8>) {
  %s = mopt.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %t = mopt.constant {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %c = mopt.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %n = mopt.constant {value = dense<0> : tensor<i8>} : tensor<i8>
  %w = mopt.constant {value = dense<2> : tensor<4x4xi8>} : tensor<4x4xi8>
  %v = mopt.constant {value = dense<-1> : tensor<16x3x3x3xi8>} : tensor<16x3x3x3xi8>
  %g = mopt.constant {value = dense<1.0> : tensor<4x4xf8E4M3FN>} : tensor<4x4xf8E4M3FN>
  %k = mopt.constant {value = dense<0.0> : tensor<f8E4M3FN>} : tensor<f8E4M3FN>
  %o = mopt.none : none
  %0 = mopt.qlinear_matmul %x, %s, %c, %w, %t, %n, %s, %c
    : (tensor<2x4xui8>, tensor<f32>, tensor<ui8>, tensor<4x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  %1 = mopt.qlinear_matmul %f, %s, %k, %g, %t, %k, %s, %k
    : (tensor<2x4xf8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>, tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>) -> tensor<2x4xf8E4M3FN>
  %2 = mopt.group "conv" {
    %3 = mopt.qlinear_conv %z, %s, %c, %v, %t, %n, %s, %c, %o
      : (tensor<1x3x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<16x3x3x3xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>, none) -> tensor<1x16x6x6xui8>
    mopt.yield %3 : tensor<1x16x6x6xui8>
  } -> tensor<1x16x6x6xui8>
  return %0, %1, %2 : tensor<2x4xui8>, tensor<2x4xf8E4M3FN>, tensor<1x16x6x6xui8>
}
