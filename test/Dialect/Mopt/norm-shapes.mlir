// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @norms
// CHECK: mopt.layer_norm {{.*}} -> (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<?x4x1xf32, #mopt.dims<[b, 4, 1]>>, none)
// CHECK: mopt.rms_norm {{.*}} -> tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>
// CHECK: mopt.batch_norm {{.*}} -> (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, none, none)
// CHECK: mopt.batch_norm {{.*}} -> (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<4xf16>, tensor<4xf16>)
// CHECK: mopt.group_norm {{.*}} -> tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>
func.func @norms(%x: tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, %s: tensor<8xf16>, %c: tensor<4xf16>) {
  %n = mopt.none : none
  %0:3 = mopt.layer_norm %x, %s, %n : (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<8xf16>, none) -> (tensor<?x?x?xf16>, tensor<?x?x?xf32>, none)
  %1 = mopt.rms_norm %x, %s : (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<8xf16>) -> tensor<?x?x?xf16>
  %2:3 = mopt.batch_norm %x, %c, %c, %c, %c : (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> (tensor<?x?x?xf16>, none, none)
  %3:3 = mopt.batch_norm %x, %c, %c, %c, %c {training_mode = 1 : i64} : (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> (tensor<?x?x?xf16>, tensor<?xf16>, tensor<?xf16>)
  %4 = mopt.group_norm %x, %c, %c {num_groups = 2 : i64} : (tensor<?x4x8xf16, #mopt.dims<[b, 4, 8]>>, tensor<4xf16>, tensor<4xf16>) -> tensor<?x?x?xf16>
  return
}

// -----

func.func @channels(%x: tensor<2x4x8xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{MOPT-S010: mopt.instance_norm: elements of scale and bias and channels of the input have to be equal, found 3 and 4}}
  %0 = mopt.instance_norm %x, %c, %c : (tensor<2x4x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @groups(%x: tensor<2x4x8xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{MOPT-S013: mopt.group_norm: 4 channels do not divide into 3 groups}}
  %0 = mopt.group_norm %x, %c, %c {num_groups = 3 : i64} : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// CHECK-LABEL: func @one_scale
// CHECK-COUNT-2: mopt.group_norm {{.*}} -> tensor<2x4x8xf32>
func.func @one_scale(%x: tensor<2x4x8xf32>, %c: tensor<4xf32>, %one: tensor<1xf32>) {
  %0 = mopt.group_norm %x, %one, %c {num_groups = 2 : i64} : (tensor<2x4x8xf32>, tensor<1xf32>, tensor<4xf32>) -> tensor<?x?x?xf32>
  %1 = mopt.group_norm %x, %c, %one {num_groups = 4 : i64, scale_per_group = 1 : i64} : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @group_scale(%x: tensor<2x4x8xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{MOPT-S010: mopt.group_norm: elements of scale and bias and channels have to be equal, found 2 and 4}}
  %0 = mopt.group_norm %x, %c, %c {num_groups = 2 : i64} : (tensor<2x4x8xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @scale(%x: tensor<2x4x8xf32>, %c: tensor<4xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S001: mopt.layer_norm: sizes [4] cannot be broadcast to [2, 4, 8]}}
  %0:3 = mopt.layer_norm %x, %c, %n : (tensor<2x4x8xf32>, tensor<4xf32>, none) -> (tensor<2x4x8xf32>, none, none)
  return
}

// -----

// CHECK-LABEL: func @channels_last
// CHECK: mopt.batch_norm {{.*}} -> (tensor<2x5x6x3xf32>, none, none)
// CHECK: mopt.lrn {{.*}} -> tensor<2x5x6x3xf32>
func.func @channels_last(%x: tensor<2x5x6x3xf32>, %v: tensor<3xf32>) {
  %0:3 = mopt.batch_norm %x, %v, %v, %v, %v {channels_last = 1 : i64} : (tensor<2x5x6x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x?x?x?xf32>, none, none)
  %1 = mopt.lrn %x {size = 3 : i64, channels_last = 1 : i64} : (tensor<2x5x6x3xf32>) -> tensor<?x?x?x?xf32>
  return
}
