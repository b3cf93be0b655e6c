// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @static
// CHECK: mopt.add {{.*}} -> tensor<2x3xf32>
// CHECK: mopt.less {{.*}} -> tensor<2x3xi1>
// CHECK: mopt.where {{.*}} -> tensor<4x2x3xf32>
// CHECK: mopt.cast {{.*}} -> tensor<2x3xi8>
func.func @static(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<4x1x1xf32>) {
  %0 = mopt.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<?x?xf32>
  %1 = mopt.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<?x?xi1>
  %2 = mopt.where %1, %0, %c : (tensor<?x?xi1>, tensor<?x?xf32>, tensor<4x1x1xf32>) -> tensor<?x?x?xf32>
  %3 = mopt.cast %0 : (tensor<?x?xf32>) -> tensor<?x?xi8>
  return
}

// -----

// A number decides over a symbol; two symbols stay a question for the run.
// CHECK-LABEL: func @symbolic
// CHECK: mopt.mul {{.*}} -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
// CHECK: mopt.sub {{.*}} -> tensor<?x?xf32, #mopt.dims<[b, bcast(s, t)]>>
func.func @symbolic(%a: tensor<?x?xf32, #mopt.dims<[b, s]>>, %b: tensor<4xf32>, %c: tensor<?xf32, #mopt.dims<[t]>>) {
  %0 = mopt.mul %a, %b : (tensor<?x?xf32, #mopt.dims<[b, s]>>, tensor<4xf32>) -> tensor<?x?xf32>
  %1 = mopt.sub %a, %c : (tensor<?x?xf32, #mopt.dims<[b, s]>>, tensor<?xf32, #mopt.dims<[t]>>) -> tensor<?x?xf32>
  return
}

// -----

func.func @broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{MOPT-S001: mopt.add: sizes [3] cannot be broadcast with [2]}}
  %0 = mopt.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @types(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{MOPT-S011: mopt.mul: operand 1 has elements of f64, expected f32}}
  %0 = mopt.mul %a, %b : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @result(%a: tensor<2xf32>) {
  // expected-error@+1 {{MOPT-S017: mopt.abs: result 0 has other sizes}}
  %0 = mopt.abs %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

// Axes of size 1 in front of the slope are axes of the result, as onnxruntime and ONNX's reference implementation have them.
// CHECK-LABEL: func @long_slope
// CHECK: mopt.prelu {{.*}} -> tensor<1x1x2x3xf32>
// CHECK: mopt.prelu {{.*}} -> tensor<1x?xf32, #mopt.dims<[1, n]>>
// CHECK: mopt.prelu {{.*}} -> tensor<1x1xf32>
func.func @long_slope(%a: tensor<2x3xf32>, %n: tensor<?xf32, #mopt.dims<[n]>>, %s: tensor<f32>, %b: tensor<1x1x2x1xf32>, %c: tensor<1x1xf32>) {
  %0 = mopt.prelu %a, %b : (tensor<2x3xf32>, tensor<1x1x2x1xf32>) -> tensor<?x?x?x?xf32>
  %1 = mopt.prelu %n, %c : (tensor<?xf32, #mopt.dims<[n]>>, tensor<1x1xf32>) -> tensor<?x?xf32>
  %2 = mopt.prelu %s, %c : (tensor<f32>, tensor<1x1xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @long_slope_sizes(%a: tensor<2x3xf32>, %b: tensor<1x2x2xf32>) {
  // expected-error@+1 {{MOPT-S001: mopt.prelu: sizes [1, 2, 2] cannot be broadcast to [1, 2, 3]}}
  %0 = mopt.prelu %a, %b : (tensor<2x3xf32>, tensor<1x2x2xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

// ONNX's result has the size of x, so a front axis has to be 1.
func.func @slope_symbol(%a: tensor<2x3xf32>, %b: tensor<?x2x3xf32, #mopt.dims<[k, 2, 3]>>) {
  // expected-error@+1 {{MOPT-S001: mopt.prelu: sizes [k, 2, 3] cannot be broadcast to [2, 3]}}
  %0 = mopt.prelu %a, %b : (tensor<2x3xf32>, tensor<?x2x3xf32, #mopt.dims<[k, 2, 3]>>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @slope(%a: tensor<2x3xf32>, %b: tensor<4x1x1xf32>) {
  // expected-error@+1 {{MOPT-S001: mopt.prelu: sizes [4, 1, 1] cannot be broadcast to [2, 3]}}
  %0 = mopt.prelu %a, %b : (tensor<2x3xf32>, tensor<4x1x1xf32>) -> tensor<2x3xf32>
  return
}
