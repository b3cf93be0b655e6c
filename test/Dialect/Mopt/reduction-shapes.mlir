// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @reduce
// CHECK: mopt.reduce {{.*}} -> tensor<?x1x4xf32, #mopt.dims<[b, 1, 4]>>
// CHECK: mopt.reduce {{.*}} -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
// CHECK: mopt.reduce {{.*}} -> tensor<f32>
// CHECK: mopt.reduce {{.*}} -> tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>
// CHECK: mopt.arg_reduce {{.*}} -> tensor<?x3xi64, #mopt.dims<[b, 3]>>
func.func @reduce(%x: tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>) {
  %n = mopt.none : none
  %axes = mopt.constant {value = dense<[-2]> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.reduce %x, %axes : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>, tensor<1xi64>) -> tensor<?x?x?xf32>
  %1 = mopt.reduce %x, %axes {keepdims = 0 : i64} : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>, tensor<1xi64>) -> tensor<?x?xf32>
  %2 = mopt.reduce %x, %n {keepdims = 0 : i64} : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>, none) -> tensor<f32>
  %3 = mopt.reduce %x, %n {noop_with_empty_axes = 1 : i64} : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>, none) -> tensor<?x?x?xf32>
  %4 = mopt.arg_reduce %x {axis = -1 : i64, keepdims = 0 : i64} : (tensor<?x3x4xf32, #mopt.dims<[b, 3, 4]>>) -> tensor<?x?xi64>
  return
}

// -----

// A scalar has one element along one axis, as in numpy; no axis is kept.
// CHECK-LABEL: func @scalar
// CHECK: mopt.arg_reduce {{.*}} -> tensor<i64>
// CHECK: mopt.arg_reduce {{.*}} -> tensor<i64>
// CHECK: mopt.reduce {{.*}} -> tensor<f32>
func.func @scalar(%x: tensor<f32>) {
  %axes = mopt.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.arg_reduce %x : (tensor<f32>) -> tensor<i64>
  %1 = mopt.arg_reduce %x {kind = "min", axis = -1 : i64, keepdims = 0 : i64} : (tensor<f32>) -> tensor<i64>
  %2 = mopt.reduce %x, %axes : (tensor<f32>, tensor<1xi64>) -> tensor<f32>
  return
}

// -----

func.func @scalar_axis(%x: tensor<f32>) {
  // expected-error@+1 {{MOPT-S006: mopt.arg_reduce: axis 1 is outside}}
  %0 = mopt.arg_reduce %x {axis = 1 : i64} : (tensor<f32>) -> tensor<i64>
  return
}

// -----

func.func @scalar_axes(%x: tensor<f32>) {
  %axes = mopt.constant {value = dense<[0, 1]> : tensor<2xi64>} : tensor<2xi64>
  // expected-error@+1 {{MOPT-S006: mopt.reduce: axis 1 is outside}}
  %0 = mopt.reduce %x, %axes : (tensor<f32>, tensor<2xi64>) -> tensor<f32>
  return
}

// -----

// A last window of a ceiled pool that would start in the padding is dropped.
// CHECK-LABEL: func @ceil
// CHECK: mopt.average_pool {{.*}} -> tensor<1x1x1xf32>
// CHECK: mopt.average_pool {{.*}} -> tensor<1x1x2xf32>
func.func @ceil(%x: tensor<1x1x3xf32>, %y: tensor<1x1x4xf32>) {
  %0 = mopt.average_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 3>, pads = array<i64: 0, 1>, ceil_mode = 1 : i64} : (tensor<1x1x3xf32>) -> tensor<?x?x?xf32>
  %1 = mopt.average_pool %y {kernel_shape = array<i64: 2>, strides = array<i64: 3>, pads = array<i64: 0, 1>, ceil_mode = 1 : i64} : (tensor<1x1x4xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @pool
// CHECK: mopt.max_pool {{.*}} -> (tensor<1x8x56x56xf32>, none)
// CHECK: mopt.average_pool {{.*}} -> tensor<1x8x56x56xf32>
// CHECK: mopt.average_pool {{.*}} -> tensor<1x8x57x57xf32>
// CHECK: mopt.max_pool {{.*}} -> (tensor<1x8x38x38xf32>, tensor<1x8x38x38xi64>)
// CHECK: mopt.global_average_pool {{.*}} -> tensor<1x8x1x1xf32>
func.func @pool(%x: tensor<1x8x112x112xf32>, %y: tensor<1x8x113x113xf32>) {
  %0:2 = mopt.max_pool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x112x112xf32>) -> (tensor<?x?x?x?xf32>, none)
  %1 = mopt.average_pool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, ceil_mode = 1 : i64} : (tensor<1x8x112x112xf32>) -> tensor<?x?x?x?xf32>
  %2 = mopt.average_pool %y {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>, ceil_mode = 1 : i64} : (tensor<1x8x113x113xf32>) -> tensor<?x?x?x?xf32>
  %3:2 = mopt.max_pool %y {kernel_shape = array<i64: 3, 3>, strides = array<i64: 3, 3>, auto_pad = "SAME_LOWER"} : (tensor<1x8x113x113xf32>) -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xi64>)
  %4 = mopt.global_average_pool %x : (tensor<1x8x112x112xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @pool_symbolic
// CHECK: mopt.max_pool {{.*}} -> (tensor<?x8x?xf32, #mopt.dims<[n, 8, floordiv(w, 2)]>>, none)
// CHECK: mopt.max_pool {{.*}} -> (tensor<?x8x?xf32, #mopt.dims<[n, 8, floordiv(w + 1, 2)]>>, none)
func.func @pool_symbolic(%x: tensor<?x8x?xf32, #mopt.dims<[n, 8, w]>>) {
  %0:2 = mopt.max_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 2>} : (tensor<?x8x?xf32, #mopt.dims<[n, 8, w]>>) -> (tensor<?x?x?xf32>, none)
  %1:2 = mopt.max_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 2>, ceil_mode = 1 : i64} : (tensor<?x8x?xf32, #mopt.dims<[n, 8, w]>>) -> (tensor<?x?x?xf32>, none)
  return
}

// -----

// CHECK-LABEL: func @others
// CHECK: mopt.softmax {{.*}} -> tensor<?x9xf32, #mopt.dims<[b, 9]>>
// CHECK: mopt.topk {{.*}} -> (tensor<?x5xf32, #mopt.dims<[b, 5]>>, tensor<?x5xi64, #mopt.dims<[b, 5]>>)
// CHECK: mopt.topk {{.*}} -> (tensor<?x?xf32, #mopt.dims<[b, d0]>>, tensor<?x?xi64, #mopt.dims<[b, d0]>>)
// CHECK: mopt.cumsum {{.*}} -> tensor<?x9xf32, #mopt.dims<[b, 9]>>
func.func @others(%x: tensor<?x9xf32, #mopt.dims<[b, 9]>>, %k: tensor<1xi64>) {
  %0 = mopt.softmax %x : (tensor<?x9xf32, #mopt.dims<[b, 9]>>) -> tensor<?x?xf32>
  %five = mopt.constant {value = dense<5> : tensor<1xi64>} : tensor<1xi64>
  %1:2 = mopt.topk %x, %five : (tensor<?x9xf32, #mopt.dims<[b, 9]>>, tensor<1xi64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %2:2 = mopt.topk %x, %k : (tensor<?x9xf32, #mopt.dims<[b, 9]>>, tensor<1xi64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %one = mopt.constant {value = dense<1> : tensor<i32>} : tensor<i32>
  %3 = mopt.cumsum %x, %one : (tensor<?x9xf32, #mopt.dims<[b, 9]>>, tensor<i32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S006: mopt.softmax: axis 2 is outside the operand of rank 2}}
  %0 = mopt.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @repeated(%x: tensor<2x3xf32>) {
  %axes = mopt.constant {value = dense<[1, -1]> : tensor<2xi64>} : tensor<2xi64>
  // expected-error@+1 {{MOPT-S007: mopt.reduce: axis 1 is named twice}}
  %0 = mopt.reduce %x, %axes : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x1xf32>
  return
}

// -----

func.func @unknown(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) {
  // expected-error@+1 {{MOPT-S008: mopt.reduce: the axes are not known; expected constants}}
  %0 = mopt.reduce %x, %axes {keepdims = 0 : i64} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @large_k(%x: tensor<2x3xf32>) {
  %k = mopt.constant {value = dense<4> : tensor<1xi64>} : tensor<1xi64>
  // expected-error@+1 {{MOPT-S009: mopt.topk: k is 4, expected 0 to 3}}
  %0:2 = mopt.topk %x, %k : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  return
}

// -----

func.func @kernel(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{MOPT-S012: mopt.average_pool: kernel_shape has 2 entries, expected 1}}
  %0 = mopt.average_pool %x {kernel_shape = array<i64: 2, 2>} : (tensor<1x3x8xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @channels_last
// CHECK: mopt.max_pool {{.*}} -> (tensor<?x4x4x3xf32, #mopt.dims<[n, 4, 4, 3]>>, none)
// CHECK: mopt.global_average_pool {{.*}} -> tensor<?x1x1x3xf32, #mopt.dims<[n, 1, 1, 3]>>
func.func @channels_last(%x: tensor<?x8x8x3xf32, #mopt.dims<[n, 8, 8, 3]>>) {
  %0:2 = mopt.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, channels_last = 1 : i64} : (tensor<?x8x8x3xf32, #mopt.dims<[n, 8, 8, 3]>>) -> (tensor<?x?x?x?xf32>, none)
  %1 = mopt.global_average_pool %x {channels_last = 1 : i64} : (tensor<?x8x8x3xf32, #mopt.dims<[n, 8, 8, 3]>>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @positions(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{MOPT-S009: mopt.max_pool: channels_last is 1, expected 0 where positions are a result}}
  %0:2 = mopt.max_pool %x {kernel_shape = array<i64: 2, 2>, channels_last = 1 : i64} : (tensor<1x8x8x3xf32>) -> (tensor<1x7x7x3xf32>, tensor<1x7x7x3xi64>)
  return
}
