// RUN: mopt-opt %s --mopt-form-groups --mopt-convert-to-kernel | FileCheck %s
// RUN: mopt-opt %s --mopt-to-buffers | FileCheck %s --check-prefix=BUFFERS

// Results of the model are buffers of the caller; sizes are values; a broadcast operand does not move along its axis.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32> {bufferization.writable = false, mopt.dims = #mopt.dims<[n, 4]>
// CHECK-SAME: %[[OUT:.*]]: memref<?x4xf32> {{{.*}}mopt.output
// CHECK: %[[B:.*]] = kernel.weight
// CHECK: %[[N:.*]] = kernel.size {expr = #mopt.dim<n>}
// CHECK: tensor.empty(%[[N]]) : tensor<?x4xf32>
// CHECK: mopt.group "none"
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ID]]]
// CHECK: kernel.scalar "add"
// CHECK: kernel.scalar "relu"
// CHECK: mopt.group "reduction"
// CHECK: kernel.softmax ins(
// CHECK: bufferization.materialize_in_destination {{.*}} in restrict writable %[[OUT]]

// The last group writes into the caller's buffer: one allocation, no copy.
// BUFFERS-LABEL: func.func @f(
// BUFFERS-COUNT-1: memref.alloc
// BUFFERS-NOT: memref.alloc
// BUFFERS-NOT: memref.copy
// BUFFERS: return
func.func @f(%x: tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>> {
  %b = mopt.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %0 = mopt.add %x, %b : (tensor<?x4xf32, #mopt.dims<[n, 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %1 = mopt.relu %0 : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %2 = mopt.softmax %1 : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  return %2 : tensor<?x4xf32, #mopt.dims<[n, 4]>>
}
