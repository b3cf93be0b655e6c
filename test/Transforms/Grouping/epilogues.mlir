// RUN: mopt-opt %s --mopt-form-groups --mopt-verify-grouped | FileCheck %s

// A root that has a kernel takes the elementwise ops behind it, and what else they read.
// CHECK-LABEL: @taken
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: mopt.matmul
// CHECK-NEXT: mopt.add
// CHECK-NEXT: mopt.relu
// CHECK-NOT: mopt.group
func.func @taken(%a: tensor<?x8xf32, #mopt.dims<[m, 8]>>, %c: tensor<4xf32>) -> tensor<?x4xf32, #mopt.dims<[m, 4]>> {
  %w = mopt.constant {value = dense<0.5> : tensor<8x4xf32>} : tensor<8x4xf32>
  %0 = mopt.matmul %a, %w : (tensor<?x8xf32, #mopt.dims<[m, 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mopt.dims<[m, 4]>>
  %1 = mopt.add %0, %c : (tensor<?x4xf32, #mopt.dims<[m, 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #mopt.dims<[m, 4]>>
  %2 = mopt.relu %1 : (tensor<?x4xf32, #mopt.dims<[m, 4]>>) -> tensor<?x4xf32, #mopt.dims<[m, 4]>>
  return %2 : tensor<?x4xf32, #mopt.dims<[m, 4]>>
}

// Of two roots the later one: what the other computes is there then.
// CHECK-LABEL: @two_roots
// CHECK: %[[FIRST:.*]] = mopt.group "contraction" {
// CHECK-NEXT: mopt.matmul %arg0
// CHECK-NEXT: mopt.yield
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: %[[P:.*]] = mopt.matmul %arg1
// CHECK-NEXT: mopt.add %[[FIRST]], %[[P]]
func.func @two_roots(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = mopt.matmul %a, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = mopt.matmul %b, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = mopt.add %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// A product that is read twice is written to memory once; the reason is kept.
// CHECK-LABEL: @read_elsewhere
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: mopt.matmul
// CHECK-NEXT: mopt.yield
// CHECK: mopt.group "none" {
// CHECK: {mopt.why = "not in the epilogue of 'product': its result is also read by
func.func @read_elsewhere(%a: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = mopt.matmul %a, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> loc("product")
  %1 = mopt.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// A result that is broadcast would be computed once for each copy.
// CHECK-LABEL: @widened
// CHECK: mopt.group "none"
// CHECK: its result is broadcast
func.func @widened(%a: tensor<1x8xf32>, %w: tensor<8x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = mopt.matmul %a, %w : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32> loc("product")
  %1 = mopt.add %0, %y : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// Kernels are for f32: others run their reference function alone, and say so.
// CHECK-LABEL: @double
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: mopt.matmul
// CHECK-NEXT: mopt.yield
// CHECK: {mopt.why = "kernels are generated for f32 only"}
// CHECK: mopt.group "none"
func.func @double(%a: tensor<2x8xf64>, %w: tensor<8x4xf64>) -> tensor<2x4xf64> {
  %0 = mopt.matmul %a, %w : (tensor<2x8xf64>, tensor<8x4xf64>) -> tensor<2x4xf64>
  %1 = mopt.relu %0 : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %1 : tensor<2x4xf64>
}

// Transposes join a product that can read or write in their order: the last axis of the left operand and of the result
// stays; the right operand is packed in any order.
// CHECK-LABEL: @orders
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: mopt.transpose %arg0
// CHECK-NEXT: mopt.transpose %arg1
// CHECK-NEXT: mopt.matmul
// CHECK-NEXT: mopt.transpose
// CHECK-NEXT: mopt.yield
// CHECK-NOT: mopt.group
func.func @orders(%a: tensor<2x5x3x8xf32>, %b: tensor<2x7x3x8xf32>) -> tensor<2x5x3x7xf32> {
  %0 = mopt.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xf32>) -> tensor<2x3x5x8xf32>
  %1 = mopt.transpose %b {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x7x3x8xf32>) -> tensor<2x3x8x7xf32>
  %2 = mopt.matmul %0, %1 : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %3 = mopt.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x7xf32>) -> tensor<2x5x3x7xf32>
  return %3 : tensor<2x5x3x7xf32>
}

// A left operand whose rows would not be contiguous, and one that somebody else reads, are transposed by a step.
// CHECK-LABEL: @not_orders
// CHECK: mopt.group "movement" {
// CHECK-NEXT: mopt.transpose %arg0
// CHECK: mopt.group "movement" {
// CHECK-NEXT: mopt.transpose %arg1
// CHECK: mopt.group "contraction" {
// CHECK-NEXT: mopt.matmul
func.func @not_orders(%a: tensor<8x5xf32>, %b: tensor<7x8xf32>) -> (tensor<5x7xf32>, tensor<8x7xf32>) {
  %0 = mopt.transpose %a {perm = array<i64: 1, 0>} : (tensor<8x5xf32>) -> tensor<5x8xf32>
  %1 = mopt.transpose %b {perm = array<i64: 1, 0>} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %2 = mopt.matmul %0, %1 : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  return %2, %1 : tensor<5x7xf32>, tensor<8x7xf32>
}
