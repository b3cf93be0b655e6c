// RUN: mopt-opt %s --mopt-infer-shapes | FileCheck %s

// Types follow from operands; the function's results follow.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> tensor<?x4x1x1xf32, #mopt.dims<[n, 4, 1, 1]>>
// CHECK: mopt.conv {{.*}} -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
// CHECK: mopt.global_average_pool {{.*}} -> tensor<?x4x1x1xf32, #mopt.dims<[n, 4, 1, 1]>>
func.func @main(%x: tensor<?x3x8x8xf32, #mopt.dims<[n, 3, 8, 8]>>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x1x1xf32> {
  %none = mopt.none {value} : none
  %0 = mopt.conv %x, %w, %none : (tensor<?x3x8x8xf32, #mopt.dims<[n, 3, 8, 8]>>, tensor<4x3x3x3xf32>, none) -> tensor<?x4x?x?xf32>
  %1 = mopt.global_average_pool %0 : (tensor<?x4x?x?xf32>) -> tensor<?x4x1x1xf32>
  return %1 : tensor<?x4x1x1xf32>
}
