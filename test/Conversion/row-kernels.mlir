// RUN: mopt-opt %s --split-input-file --mopt-form-groups --mopt-convert-to-kernel | FileCheck %s
// Which reductions, softmaxes and norms become kernel ops, with what axes, and what runs its reference function instead.

// Axes are counted from the front, sorted; elementwise readers are the epilogue.
// CHECK-LABEL: func.func @reduce(
// CHECK: kernel.reduce ins({{.*}}axes = array<i64: 1, 2>, kind = "mean"
// CHECK: kernel.scalar "add"
// CHECK-NEXT: kernel.scalar "sqrt"
// CHECK-NEXT: kernel.result
func.func @reduce(%x: tensor<?x3x4xf32, #mopt.dims<[n, 3, 4]>>) -> tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>> {
  %axes = mopt.constant {value = dense<[-1, 1]> : tensor<2xi64>} : tensor<2xi64>
  %e = mopt.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %0 = mopt.reduce %x, %axes {kind = "mean"} : (tensor<?x3x4xf32, #mopt.dims<[n, 3, 4]>>, tensor<2xi64>) -> tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>
  %1 = mopt.add %0, %e : (tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>, tensor<f32>) -> tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>
  %2 = mopt.sqrt %1 : (tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>) -> tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>
  return %2 : tensor<?x1x1xf32, #mopt.dims<[n, 1, 1]>>
}

// -----
// No axes: all of them; with noop_with_empty_axes none.
// CHECK-LABEL: func.func @all_or_none(
// CHECK: kernel.reduce ins({{.*}}axes = array<i64: 0, 1>, kind = "max"
// CHECK: kernel.reduce ins({{.*}}axes = array<i64>, kind = "l1"
func.func @all_or_none(%x: tensor<3x4xf32>) -> (tensor<f32>, tensor<3x4xf32>) {
  %none = mopt.none : none
  %0 = mopt.reduce %x, %none {keepdims = 0, kind = "max"} : (tensor<3x4xf32>, none) -> tensor<f32>
  %1 = mopt.reduce %x, %none {kind = "l1", noop_with_empty_axes = 1} : (tensor<3x4xf32>, none) -> tensor<3x4xf32>
  return %0, %1 : tensor<f32>, tensor<3x4xf32>
}

// -----
// Integers and doubles have no kernel, nor axes that only the run knows.
// CHECK-LABEL: func.func @no_kernel(
// CHECK-NOT: kernel.reduce
// CHECK-COUNT-3: kernel.reference "reduce"
func.func @no_kernel(%i: tensor<3x4xi64>, %d: tensor<3x4xf64>, %x: tensor<3x4xf32>, %axes: tensor<1xi64>)
    -> (tensor<i64>, tensor<f64>, tensor<?x?xf32, #mopt.dims<[a, b]>>) {
  %none = mopt.none : none
  %0 = mopt.reduce %i, %none {keepdims = 0} : (tensor<3x4xi64>, none) -> tensor<i64>
  %1 = mopt.reduce %d, %none {keepdims = 0} : (tensor<3x4xf64>, none) -> tensor<f64>
  %2 = mopt.reduce %x, %axes : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<?x?xf32, #mopt.dims<[a, b]>>
  return %0, %1, %2 : tensor<i64>, tensor<f64>, tensor<?x?xf32, #mopt.dims<[a, b]>>
}

// -----
// `flatten`: all axes from `axis` on, also none of them.
// CHECK-LABEL: func.func @softmax(
// CHECK: kernel.softmax ins({{.*}}axes = array<i64: 1>
// CHECK: kernel.softmax ins({{.*}}axes = array<i64: 1, 2>{{.*}}logarithm
// CHECK: kernel.softmax ins({{.*}}axes = array<i64>
// CHECK: kernel.reference "hardmax"
func.func @softmax(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = mopt.softmax %x {axis = -2} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = mopt.log_softmax %x {axis = 1, flatten = 1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = mopt.softmax %x {axis = 3, flatten = 1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = mopt.hardmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0, %1, %2, %3 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----
// Scale and bias come first in the epilogue. Scale and bias of channels do not move along the last axis.
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[CHANNEL:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-LABEL: func.func @norms(
// CHECK: kernel.norm ins({{.*}}axes = array<i64: 2>{{.*}}maps = [#[[LAST]], #[[LAST]]]
// CHECK: kernel.scalar "mul"
// CHECK-NEXT: kernel.scalar "add"
// CHECK-NEXT: kernel.scalar "relu"
// CHECK: kernel.norm ins({{.*}}axes = array<i64: 2>{{.*}}maps = [#[[LAST]]], rms
// CHECK: kernel.norm ins({{.*}}axes = array<i64: 2>{{.*}}maps = [#[[CHANNEL]], #[[CHANNEL]]]}
// CHECK: kernel.norm ins({{.*}}axes = array<i64: 1, 2>{{.*}}maps = [#[[CHANNEL]], #[[CHANNEL]]], {{.*}}split = array<i64: 1, 2>
func.func @norms(%x: tensor<2x4x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) {
  %0:3 = mopt.layer_norm %x, %s, %b : (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x4xf32>, none, none)
  %relu = mopt.relu %0#0 : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %1 = mopt.rms_norm %x, %s : (tensor<2x4x4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  %2 = mopt.instance_norm %x, %s, %b : (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  %3 = mopt.group_norm %x, %s, %b {num_groups = 2 : i64} : (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %relu, %1, %2, %3 : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
}

// -----
// Statistics that somebody reads, and a scale for each group: no kernel.
// CHECK-LABEL: func.func @norms_without(
// CHECK-NOT: kernel.norm
// CHECK: kernel.reference "layer_norm"
// CHECK: kernel.reference "group_norm"
func.func @norms_without(%x: tensor<2x4x4xf32>, %s: tensor<4xf32>, %g: tensor<2xf32>)
    -> (tensor<2x4x4xf32>, tensor<2x4x1xf32>, tensor<2x4x4xf32>) {
  %none = mopt.none : none
  %0:3 = mopt.layer_norm %x, %s, %none : (tensor<2x4x4xf32>, tensor<4xf32>, none) -> (tensor<2x4x4xf32>, tensor<2x4x1xf32>, none)
  %1 = mopt.group_norm %x, %g, %g {num_groups = 2 : i64, scale_per_group = 1} : (tensor<2x4x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4x4xf32>
  return %0#0, %0#1, %1 : tensor<2x4x4xf32>, tensor<2x4x1xf32>, tensor<2x4x4xf32>
}

// -----
// Global pooling reduces what lies behind the channels; norms other than 1 and 2 have no kernel.
// CHECK-LABEL: func.func @pooling(
// CHECK: kernel.reduce ins({{.*}}axes = array<i64: 2, 3>, kind = "mean"
// CHECK: kernel.reduce ins({{.*}}axes = array<i64: 2, 3>, kind = "l1"
// CHECK: kernel.reference "global_lp_pool"
func.func @pooling(%x: tensor<1x4x5x5xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>) {
  %0 = mopt.global_average_pool %x : (tensor<1x4x5x5xf32>) -> tensor<1x4x1x1xf32>
  %1 = mopt.global_lp_pool %x {p = 1} : (tensor<1x4x5x5xf32>) -> tensor<1x4x1x1xf32>
  %2 = mopt.global_lp_pool %x {p = 3} : (tensor<1x4x5x5xf32>) -> tensor<1x4x1x1xf32>
  return %0, %1, %2 : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>
}
