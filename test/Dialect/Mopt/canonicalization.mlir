// RUN: mopt-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func @same
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>> {
  %s = mopt.constant {value = dense<[-1, 4]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.identity %x : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %1 = mopt.reshape %0, %s : (tensor<?x4xf32, #mopt.dims<[b, 4]>>, tensor<2xi64>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %2 = mopt.cast %1 : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %3 = mopt.concat %2 {axis = 0 : i64} : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %4 = mopt.transpose %3 {perm = array<i64: 0, 1>} : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  return %4 : tensor<?x4xf32, #mopt.dims<[b, 4]>>
}

// -----

// A square stays to be turned, and sizes without names may differ.
// CHECK-LABEL: func @other
// CHECK: mopt.transpose
// CHECK: mopt.reshape
func.func @other(%x: tensor<4x4xf32>, %y: tensor<?x?xf32>, %s: tensor<2xi64>) -> (tensor<4x4xf32>, tensor<?x?xf32>) {
  %0 = mopt.transpose %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mopt.reshape %y, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = mopt.transpose %x {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = mopt.transpose %0 {perm = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func @composed
// CHECK: mopt.transpose %arg0 {perm = array<i64: 2, 0, 1>}
// CHECK-NOT: mopt.transpose
func.func @composed(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = mopt.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = mopt.transpose %0 {perm = array<i64: 1, 0, 2>} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// -----

// CHECK-LABEL: func @reshapes
// CHECK: mopt.reshape %arg0
// CHECK-NOT: mopt.reshape
func.func @reshapes(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %a = mopt.constant {value = dense<12> : tensor<1xi64>} : tensor<1xi64>
  %b = mopt.constant {value = dense<[4, 3]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.reshape %x, %a : (tensor<2x6xf32>, tensor<1xi64>) -> tensor<12xf32>
  %1 = mopt.reshape %0, %b : (tensor<12xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func @shape
// CHECK: mopt.constant {value = dense<[3, 4]> : tensor<2xi64>}
// CHECK: mopt.shape
func.func @shape(%x: tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>) -> (tensor<2xi64>, tensor<3xi64>) {
  %0 = mopt.shape %x {start = 1 : i64} : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>) -> tensor<2xi64>
  %1 = mopt.shape %x : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>) -> tensor<3xi64>
  return %0, %1 : tensor<2xi64>, tensor<3xi64>
}
