// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @quant
// CHECK: mopt.quantize_linear {{.*}} -> tensor<?x8xi8, #mopt.dims<[b, 8]>>
// CHECK: mopt.quantize_linear {{.*}} -> tensor<?x8xui8, #mopt.dims<[b, 8]>>
// CHECK: mopt.dequantize_linear {{.*}} -> tensor<?x8xf32, #mopt.dims<[b, 8]>>
// CHECK: mopt.dynamic_quantize_linear {{.*}} -> (tensor<?x8xui8, #mopt.dims<[b, 8]>>, tensor<f32>, tensor<ui8>)
func.func @quant(%x: tensor<?x8xf32, #mopt.dims<[b, 8]>>, %s: tensor<8xf32>, %z: tensor<8xi8>, %one: tensor<f32>) {
  %n = mopt.none : none
  %0 = mopt.quantize_linear %x, %s, %z : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x?xi8>
  %1 = mopt.quantize_linear %x, %one, %n : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<f32>, none) -> tensor<?x?xui8>
  %2 = mopt.dequantize_linear %0, %s, %z : (tensor<?x?xi8>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x?xf32>
  %3:3 = mopt.dynamic_quantize_linear %x : (tensor<?x8xf32, #mopt.dims<[b, 8]>>) -> (tensor<?x?xui8>, tensor<f32>, tensor<ui8>)
  return
}

// -----

func.func @scales(%x: tensor<2x8xf32>, %s: tensor<4xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S010: mopt.quantize_linear: the number of scales and axis 1 of the input have to be equal, found 4 and 8}}
  %0 = mopt.quantize_linear %x, %s, %n : (tensor<2x8xf32>, tensor<4xf32>, none) -> tensor<2x8xi8>
  return
}

// -----

func.func @blocks(%x: tensor<2x8xf32>, %s: tensor<2x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S010: mopt.quantize_linear: axis 1 of the scales and the blocks of the input have to be equal, found 3 and 2}}
  %0 = mopt.quantize_linear %x, %s, %n {block_size = 4 : i64} : (tensor<2x8xf32>, tensor<2x3xf32>, none) -> tensor<2x8xi8>
  return
}
