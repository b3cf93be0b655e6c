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

// -----

// A transpose that moves only axes of size 1 moves no element: one reshape, with the batch copied and one size left open.
// CHECK-LABEL: func @unit_axes
// CHECK-DAG: %[[A:.*]] = mopt.constant {value = dense<[0, 8, 1, 1]> : tensor<4xi64>}
// CHECK-DAG: %[[B:.*]] = mopt.constant {value = dense<[0, -1, 3, 1]> : tensor<4xi64>}
// CHECK-DAG: mopt.reshape %arg0, %[[A]]
// CHECK-DAG: mopt.reshape %arg1, %[[B]]
// CHECK-NOT: mopt.transpose
func.func @unit_axes(%x: tensor<?x1x1x8xf32, #mopt.dims<[n, 1, 1, 8]>>, %y: tensor<?x1x?x3xf32, #mopt.dims<[n, 1, h, 3]>>) -> (tensor<?x8x1x1xf32, #mopt.dims<[n, 8, 1, 1]>>, tensor<?x?x3x1xf32, #mopt.dims<[n, h, 3, 1]>>) {
  %0 = mopt.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<?x1x1x8xf32, #mopt.dims<[n, 1, 1, 8]>>) -> tensor<?x8x1x1xf32, #mopt.dims<[n, 8, 1, 1]>>
  %1 = mopt.transpose %y {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x1x?x3xf32, #mopt.dims<[n, 1, h, 3]>>) -> tensor<?x?x3x1xf32, #mopt.dims<[n, h, 3, 1]>>
  return %0, %1 : tensor<?x8x1x1xf32, #mopt.dims<[n, 8, 1, 1]>>, tensor<?x?x3x1xf32, #mopt.dims<[n, h, 3, 1]>>
}

// -----

// Two sizes are open, or one is 0, which a reshape would read as "copy": the axis is dropped and put in again.
// CHECK-LABEL: func @unit_axes_among_symbols
// CHECK: mopt.squeeze %arg0, {{.*}} -> tensor<?x?x?xf32, #mopt.dims<[n, h, w]>>
// CHECK: mopt.unsqueeze {{.*}} -> tensor<?x?x?x1xf32, #mopt.dims<[n, h, w, 1]>>
// CHECK: mopt.squeeze %arg1, {{.*}} -> tensor<0x3xf32>
// CHECK: mopt.unsqueeze {{.*}} -> tensor<0x3x1xf32>
func.func @unit_axes_among_symbols(%x: tensor<?x1x?x?xf32, #mopt.dims<[n, 1, h, w]>>, %y: tensor<1x0x3xf32>) -> (tensor<?x?x?x1xf32, #mopt.dims<[n, h, w, 1]>>, tensor<0x3x1xf32>) {
  %0 = mopt.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x1x?x?xf32, #mopt.dims<[n, 1, h, w]>>) -> tensor<?x?x?x1xf32, #mopt.dims<[n, h, w, 1]>>
  %1 = mopt.transpose %y {perm = array<i64: 1, 2, 0>} : (tensor<1x0x3xf32>) -> tensor<0x3x1xf32>
  return %0, %1 : tensor<?x?x?x1xf32, #mopt.dims<[n, h, w, 1]>>, tensor<0x3x1xf32>
}

// -----

// An axis that may be 1 is not one that is.
// CHECK-LABEL: func @perhaps_units
// CHECK: mopt.transpose
// CHECK: mopt.transpose
func.func @perhaps_units(%x: tensor<?x4xf32, #mopt.dims<[n, 4]>>, %y: tensor<?x4xf32>) -> (tensor<4x?xf32, #mopt.dims<[4, n]>>, tensor<4x?xf32>) {
  %0 = mopt.transpose %x : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<4x?xf32, #mopt.dims<[4, n]>>
  %1 = mopt.transpose %y : (tensor<?x4xf32>) -> tensor<4x?xf32>
  return %0, %1 : tensor<4x?xf32, #mopt.dims<[4, n]>>, tensor<4x?xf32>
}
