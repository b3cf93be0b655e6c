// RUN: mopt-opt %s --mopt-slice-splits | FileCheck %s

// One slice for each part that is read; a part that nobody reads has none.
// CHECK-LABEL: @three
// CHECK-NOT: mopt.split
// CHECK: %[[A:.*]] = mopt.slice %arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} -> tensor<2x2xf32>
// CHECK: %[[B:.*]] = mopt.slice %arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} -> tensor<2x1xf32>
// CHECK-NOT: mopt.slice
// CHECK: return %[[A]], %[[B]]
func.func @three(%x: tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>) {
  %s = mopt.constant {value = dense<[2, 3, 1]> : tensor<3xi64>} : tensor<3xi64>
  %0:3 = mopt.split %x, %s {axis = -1 : i64} : (tensor<2x6xf32>, tensor<3xi64>) -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x1xf32>)
  return %0#0, %0#2 : tensor<2x2xf32>, tensor<2x1xf32>
}

// Other axes may have any size.
// CHECK-LABEL: @batch
// CHECK-NOT: mopt.split
// CHECK-COUNT-2: mopt.slice
func.func @batch(%x: tensor<?x6xf32, #mopt.dims<[n, 6]>>) -> (tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<?x3xf32, #mopt.dims<[n, 3]>>) {
  %none = mopt.none {value} : none
  %0:2 = mopt.split %x, %none {axis = 1 : i64} : (tensor<?x6xf32, #mopt.dims<[n, 6]>>, none) -> (tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<?x3xf32, #mopt.dims<[n, 3]>>)
  return %0#0, %0#1 : tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<?x3xf32, #mopt.dims<[n, 3]>>
}

// The axis has a size that only the run knows: whether the parts fit it is checked there.
// CHECK-LABEL: @unknown_axis
// CHECK: mopt.split
// CHECK-NOT: mopt.slice
func.func @unknown_axis(%x: tensor<?xf32, #mopt.dims<[n]>>) -> (tensor<2xf32>, tensor<3xf32>) {
  %s = mopt.constant {value = dense<[2, 3]> : tensor<2xi64>} : tensor<2xi64>
  %0:2 = mopt.split %x, %s {axis = 0 : i64} : (tensor<?xf32, #mopt.dims<[n]>>, tensor<2xi64>) -> (tensor<2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<3xf32>
}

// The sizes of the parts are an input of the model.
// CHECK-LABEL: @unknown_parts
// CHECK: mopt.split
// CHECK-NOT: mopt.slice
func.func @unknown_parts(%x: tensor<5xf32>, %s: tensor<2xi64>) -> (tensor<2xf32>, tensor<3xf32>) {
  %0:2 = mopt.split %x, %s {axis = 0 : i64} : (tensor<5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<3xf32>
}
