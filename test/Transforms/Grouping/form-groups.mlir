// RUN: mopt-opt %s --mopt-form-groups --mopt-verify-grouped | FileCheck %s

// A root stands alone; an elementwise chain over one space whose values nobody else reads is one group.
// CHECK-LABEL: @chain
// CHECK: %[[C:.*]] = mopt.group "conv" {
// CHECK-NEXT: mopt.conv
// CHECK-NEXT: mopt.yield
// CHECK: %[[E:.*]] = mopt.group "none" {
// CHECK-NEXT: mopt.relu
// CHECK-NEXT: mopt.sigmoid
// CHECK-NEXT: mopt.mul
// CHECK-NEXT: mopt.yield
// CHECK: return %[[E]]
func.func @chain(%x: tensor<?x3x8x8xf32, #mopt.dims<[n, 3, 8, 8]>>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>> {
  %none = mopt.none {value} : none
  %0 = mopt.conv %x, %w, %none : (tensor<?x3x8x8xf32, #mopt.dims<[n, 3, 8, 8]>>, tensor<4x3x3x3xf32>, none) -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
  %1 = mopt.relu %0 : (tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>) -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
  %2 = mopt.sigmoid %1 : (tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>) -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
  %3 = mopt.mul %1, %2 : (tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>, tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>) -> tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
  return %3 : tensor<?x4x6x6xf32, #mopt.dims<[n, 4, 6, 6]>>
}

// A value that is read elsewhere is a result of its group: nothing is computed twice.
// CHECK-LABEL: @read_twice
// CHECK: %[[A:.*]] = mopt.group "none" {
// CHECK-NEXT: mopt.exp
// CHECK: %[[B:.*]] = mopt.group "none" {
// CHECK-NEXT: mopt.neg
// CHECK: return %[[A]], %[[B]]
func.func @read_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mopt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mopt.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Other sizes end a group: the producer would be computed once per row.
// CHECK-LABEL: @widens
// CHECK: mopt.group "none" {
// CHECK-NEXT: mopt.exp
// CHECK-NEXT: mopt.yield
// CHECK: mopt.group "none" {
// CHECK-NEXT: mopt.add
func.func @widens(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = mopt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mopt.add %y, %0 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// Half precision rounds after every op, so ops stay apart.
// CHECK-LABEL: @half
// CHECK-COUNT-2: mopt.group "none"
func.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mopt.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mopt.neg %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// Broadcasting that only a run decides stays with the reference function, alone.
// CHECK-LABEL: @unknown_broadcast
// CHECK-COUNT-2: mopt.group "none"
func.func @unknown_broadcast(%x: tensor<?xf32, #mopt.dims<[a]>>, %y: tensor<?xf32, #mopt.dims<[b]>>) -> tensor<?xf32, #mopt.dims<[bcast(a, b)]>> {
  %0 = mopt.add %x, %y : (tensor<?xf32, #mopt.dims<[a]>>, tensor<?xf32, #mopt.dims<[b]>>) -> tensor<?xf32, #mopt.dims<[bcast(a, b)]>>
  %1 = mopt.neg %0 : (tensor<?xf32, #mopt.dims<[bcast(a, b)]>>) -> tensor<?xf32, #mopt.dims<[bcast(a, b)]>>
  return %1 : tensor<?xf32, #mopt.dims<[bcast(a, b)]>>
}

// Views run no code.
// CHECK-LABEL: @view
// CHECK-NOT: mopt.group
// CHECK: mopt.flatten
// CHECK: return
func.func @view(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %0 = mopt.flatten %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}
