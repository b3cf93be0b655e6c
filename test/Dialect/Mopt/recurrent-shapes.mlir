// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @lstm
// CHECK: mopt.lstm {{.*}} -> (tensor<?x2x?x5xf32, #mopt.dims<[t, 2, b, 5]>>, none, tensor<2x?x5xf32, #mopt.dims<[2, b, 5]>>)
func.func @lstm(%x: tensor<?x?x3xf32, #mopt.dims<[t, b, 3]>>, %w: tensor<2x20x3xf32>, %r: tensor<2x20x5xf32>) {
  %n = mopt.none : none
  %0:3 = mopt.lstm %x, %w, %r, %n, %n, %n, %n, %n {hidden_size = 5 : i64, direction = "bidirectional"} : (tensor<?x?x3xf32, #mopt.dims<[t, b, 3]>>, tensor<2x20x3xf32>, tensor<2x20x5xf32>, none, none, none, none, none) -> (tensor<?x?x?x?xf32>, none, tensor<?x?x?xf32>)
  return
}

// -----

// CHECK-LABEL: func @gru
// CHECK: mopt.gru {{.*}} -> (tensor<?x?x1x5xf32, #mopt.dims<[b, t, 1, 5]>>, tensor<?x1x5xf32, #mopt.dims<[b, 1, 5]>>)
func.func @gru(%x: tensor<?x?x3xf32, #mopt.dims<[b, t, 3]>>, %w: tensor<1x15x3xf32>, %r: tensor<1x15x5xf32>) {
  %n = mopt.none : none
  %0:2 = mopt.gru %x, %w, %r, %n, %n, %n {hidden_size = 5 : i64, layout = 1 : i64} : (tensor<?x?x3xf32, #mopt.dims<[b, t, 3]>>, tensor<1x15x3xf32>, tensor<1x15x5xf32>, none, none, none) -> (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
  return
}

// -----

func.func @gates(%x: tensor<4x2x3xf32>, %w: tensor<1x15x3xf32>, %r: tensor<1x20x5xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S010: mopt.lstm: w has sizes [1, 15, 3], expected [1, 20, 3]}}
  %0:3 = mopt.lstm %x, %w, %r, %n, %n, %n, %n, %n {hidden_size = 5 : i64} : (tensor<4x2x3xf32>, tensor<1x15x3xf32>, tensor<1x20x5xf32>, none, none, none, none, none) -> (tensor<?x?x?x?xf32>, none, none)
  return
}
