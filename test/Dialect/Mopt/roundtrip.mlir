// RUN: mopt-opt %s --split-input-file | mopt-opt --split-input-file | FileCheck %s
// RUN: mopt-opt %s --split-input-file --mlir-print-op-generic | mopt-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @attributes(%arg0: tensor<?x4xf32, #mopt.dims<[b, 4]>>)
// CHECK: mopt.constant {value = #mopt.weight<"model.data", 64, 16> : tensor<4xf32>} : tensor<4xf32>
// CHECK: mopt.none : none
// CHECK: mopt.leaky_relu %arg0 {alpha = 2.000000e-01 : f32} : (tensor<?x4xf32, #mopt.dims<[b, 4]>>)
// CHECK: mopt.gelu %{{.*}} {approximate = "tanh"}
func.func @attributes(%x: tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>> {
  %w = mopt.constant {value = #mopt.weight<"model.data", 64, 16> : tensor<4xf32>} : tensor<4xf32>
  %n = mopt.none : none
  %0 = mopt.leaky_relu %x {alpha = 0.2 : f32} : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %1 = mopt.gelu %0 {approximate = "tanh"} : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  %2 = mopt.add %1, %w : (tensor<?x4xf32, #mopt.dims<[b, 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
  return %2 : tensor<?x4xf32, #mopt.dims<[b, 4]>>
}

// -----

// CHECK-LABEL: func @group
// CHECK: mopt.group "contraction" {
// CHECK: mopt.yield
// CHECK: } -> tensor<2x2xf32>
func.func @group(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = mopt.group "contraction" {
    %1 = mopt.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = mopt.relu %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
    mopt.yield %2 : tensor<2x2xf32>
  } -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
