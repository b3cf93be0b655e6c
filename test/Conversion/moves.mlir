// RUN: mopt-opt %s --mopt-form-groups --mopt-convert-to-kernel | FileCheck %s

// A transpose reads its operand in another order; elementwise work runs as it is stored.
// CHECK-LABEL: func.func @transposed
// CHECK: kernel.move ins({{.*}}) extras({{.*}}) outs({{.*}}) {{{.*}}op = "transpose", parts = {{\[\[}}#mopt.dims<[n, 5, 3]>, #mopt.dims<[0, 15, 1, 5]>, #mopt.dims<[0, 15, 3, 1]>]]}
// CHECK: kernel.scalar "add"
func.func @transposed(%x: tensor<?x3x5xf32, #mopt.dims<[n, 3, 5]>>, %b: tensor<3xf32>) -> tensor<?x5x3xf32, #mopt.dims<[n, 5, 3]>> {
  %0 = mopt.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<?x3x5xf32, #mopt.dims<[n, 3, 5]>>) -> tensor<?x5x3xf32, #mopt.dims<[n, 5, 3]>>
  %1 = mopt.add %0, %b : (tensor<?x5x3xf32, #mopt.dims<[n, 5, 3]>>, tensor<3xf32>) -> tensor<?x5x3xf32, #mopt.dims<[n, 5, 3]>>
  return %1 : tensor<?x5x3xf32, #mopt.dims<[n, 5, 3]>>
}

// One part for each operand; what follows does not join, since a part does not know the others.
// CHECK-LABEL: func.func @joined
// CHECK: kernel.move ins(%{{.*}}, %{{.*}} : {{.*}}) outs({{.*}}) {{{.*}}op = "concat", parts = {{\[\[}}#mopt.dims<[2, a]>, #mopt.dims<[0, a, 1]>, #mopt.dims<[0, a + 3, 1]>], [#mopt.dims<[2, 3]>, #mopt.dims<[0, 3, 1]>, #mopt.dims<[a, a + 3, 1]>]]}
// CHECK: linalg.generic
func.func @joined(%x: tensor<2x?xf32, #mopt.dims<[2, a]>>, %y: tensor<2x3xf32>) -> tensor<2x?xf32, #mopt.dims<[2, a + 3]>> {
  %0 = mopt.concat %x, %y {axis = 1 : i64} : (tensor<2x?xf32, #mopt.dims<[2, a]>>, tensor<2x3xf32>) -> tensor<2x?xf32, #mopt.dims<[2, a + 3]>>
  %1 = mopt.relu %0 : (tensor<2x?xf32, #mopt.dims<[2, a + 3]>>) -> tensor<2x?xf32, #mopt.dims<[2, a + 3]>>
  return %1 : tensor<2x?xf32, #mopt.dims<[2, a + 3]>>
}

// Backwards from the last element; any type.
// CHECK-LABEL: func.func @reversed
// CHECK: kernel.move {{.*}} {{{.*}}op = "slice", parts = {{\[\[}}#mopt.dims<[3]>, #mopt.dims<[4, -2]>, #mopt.dims<[0, 1]>]]}
func.func @reversed(%x: tensor<5xi8>) -> tensor<3xi8> {
  %none = mopt.none {value} : none
  %s = mopt.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>
  %e = mopt.constant {value = dense<-100> : tensor<1xi64>} : tensor<1xi64>
  %t = mopt.constant {value = dense<-2> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.slice %x, %s, %e, %none, %t : (tensor<5xi8>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// Two slabs of zeros for each padded axis and the operand between them: no element twice.
// CHECK-LABEL: func.func @padded
// CHECK: kernel.weight {value = dense<0.000000e+00> : tensor<1xf32>}
// CHECK: kernel.move {{.*}}parts = {{\[\[}}#mopt.dims<[1, 4]>, #mopt.dims<[0, 0, 0]>, #mopt.dims<[0, 4, 1]>], [#mopt.dims<[2, 1]>, #mopt.dims<[0, 0, 0]>, #mopt.dims<[7, 4, 1]>], [#mopt.dims<[2, 3]>, #mopt.dims<[0, 3, 1]>, #mopt.dims<[4, 4, 1]>]]}
func.func @padded(%x: tensor<2x3xf32>) -> tensor<3x4xf32> {
  %none = mopt.none {value} : none
  %p = mopt.constant {value = dense<[1, 0, 0, 1]> : tensor<4xi64>} : tensor<4xi64>
  %0 = mopt.pad %x, %p, %none, %none : (tensor<2x3xf32>, tensor<4xi64>, none, none) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Nearest neighbours of a whole multiple repeat elements: a copy.
// CHECK-LABEL: func.func @doubled
// CHECK: kernel.move {{.*}}op = "resize", parts = {{\[\[}}#mopt.dims<[1, 1, 1, 1, 3, 2]>, #mopt.dims<[0, 3, 0, 3, 0, 1, 0]>, #mopt.dims<[0, 6, 6, 6, 6, 2, 1]>]]}
func.func @doubled(%x: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %none = mopt.none {value} : none
  %s = mopt.constant {value = dense<[1.0, 1.0, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %0 = mopt.resize %x, %none, %s, %none {coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x1x3xf32>, none, tensor<3xf32>, none) -> tensor<1x1x6xf32>
  return %0 : tensor<1x1x6xf32>
}

// The same with neighbours half an element away is no copy.
// CHECK-LABEL: func.func @shifted
// CHECK: kernel.resize
func.func @shifted(%x: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %none = mopt.none {value} : none
  %s = mopt.constant {value = dense<[1.0, 1.0, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %0 = mopt.resize %x, %none, %s, %none {coordinate_transformation_mode = "half_pixel", nearest_mode = "floor"} : (tensor<1x1x3xf32>, none, tensor<3xf32>, none) -> tensor<1x1x6xf32>
  return %0 : tensor<1x1x6xf32>
}

// What an operand says only when the model runs stays with the reference function, which checks it.
// CHECK-LABEL: func.func @unknown_start
// CHECK: kernel.reference "slice"
func.func @unknown_start(%x: tensor<?xf32, #mopt.dims<[n]>>, %s: tensor<1xi64>) -> tensor<?xf32, #mopt.dims<[n]>> {
  %none = mopt.none {value} : none
  %e = mopt.constant {value = dense<100> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.slice %x, %s, %e, %none, %none : (tensor<?xf32, #mopt.dims<[n]>>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<?xf32, #mopt.dims<[n]>>
  return %0 : tensor<?xf32, #mopt.dims<[n]>>
}

// CHECK-LABEL: func.func @mirrored
// CHECK: kernel.reference "pad"
func.func @mirrored(%x: tensor<4xf32>) -> tensor<6xf32> {
  %none = mopt.none {value} : none
  %p = mopt.constant {value = dense<[1, 1]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.pad %x, %p, %none, %none {mode = "reflect"} : (tensor<4xf32>, tensor<2xi64>, none, none) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Elements of less than a byte.
// CHECK-LABEL: func.func @narrow
// CHECK: kernel.reference "transpose"
func.func @narrow(%x: tensor<2x4xi4>) -> tensor<4x2xi4> {
  %0 = mopt.transpose %x : (tensor<2x4xi4>) -> tensor<4x2xi4>
  return %0 : tensor<4x2xi4>
}

// A pool whose indices nobody reads has a kernel; cubic interpolation has none.
// CHECK-LABEL: func.func @pooled
// CHECK: kernel.pool {{.*}}channels_last = false, count_pads = false{{.*}}op = "max_pool"
// CHECK: kernel.reference "resize"
func.func @pooled(%x: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %none = mopt.none {value} : none
  %s = mopt.constant {value = dense<[1.0, 1.0, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %0, %1 = mopt.max_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, none)
  %2 = mopt.resize %0, %none, %s, %none {mode = "cubic"} : (tensor<1x1x2xf32>, none, tensor<3xf32>, none) -> tensor<1x1x4xf32>
  return %2 : tensor<1x1x4xf32>
}

// CHECK-LABEL: func.func @indices
// CHECK: kernel.reference "max_pool"
func.func @indices(%x: tensor<1x1x4xf32>) -> tensor<1x1x2xi64> {
  %0, %1 = mopt.max_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi64>)
  return %1 : tensor<1x1x2xi64>
}

// Indices of a run: a kernel of its own. Those that are constant are a move.
// CHECK-LABEL: func.func @rows
// CHECK: kernel.gather ins(%{{.*}}, %{{.*}} : tensor<9x40xf32>, tensor<?xi64>) extras({{.*}}) outs({{.*}}) {axis = 0 : i64
// CHECK: kernel.scalar "add"
func.func @rows(%x: tensor<9x40xf32>, %i: tensor<?xi64, #mopt.dims<[n]>>, %b: tensor<40xf32>) -> tensor<?x40xf32, #mopt.dims<[n, 40]>> {
  %0 = mopt.gather %x, %i {axis = -2 : i64} : (tensor<9x40xf32>, tensor<?xi64, #mopt.dims<[n]>>) -> tensor<?x40xf32, #mopt.dims<[n, 40]>>
  %1 = mopt.add %0, %b : (tensor<?x40xf32, #mopt.dims<[n, 40]>>, tensor<40xf32>) -> tensor<?x40xf32, #mopt.dims<[n, 40]>>
  return %1 : tensor<?x40xf32, #mopt.dims<[n, 40]>>
}

// The axes that an index takes are counted as one: an operand that moves along some of them is not of its epilogue.
// CHECK-LABEL: func.func @part_of_a_row
// CHECK: kernel.gather
// CHECK-NOT: kernel.scalar
// CHECK: linalg.generic
func.func @part_of_a_row(%x: tensor<9x4x5xf32>, %i: tensor<3xi32>, %b: tensor<4x1xf32>) -> tensor<3x4x5xf32> {
  %0 = mopt.gather %x, %i {axis = 0 : i64} : (tensor<9x4x5xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  %1 = mopt.mul %0, %b : (tensor<3x4x5xf32>, tensor<4x1xf32>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}
