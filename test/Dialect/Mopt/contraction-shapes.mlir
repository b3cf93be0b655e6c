// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @matmul
// CHECK: mopt.matmul {{.*}} -> tensor<?x8x5xf32, #mopt.dims<[b, 8, 5]>>
// CHECK: mopt.matmul {{.*}} -> tensor<?x8xf32, #mopt.dims<[b, 8]>>
// CHECK: mopt.matmul {{.*}} -> tensor<f32>
func.func @matmul(%a: tensor<?x8x4xf32, #mopt.dims<[b, 8, 4]>>, %b: tensor<4x5xf32>, %v: tensor<4xf32>) {
  %0 = mopt.matmul %a, %b : (tensor<?x8x4xf32, #mopt.dims<[b, 8, 4]>>, tensor<4x5xf32>) -> tensor<?x?x?xf32>
  %1 = mopt.matmul %a, %v : (tensor<?x8x4xf32, #mopt.dims<[b, 8, 4]>>, tensor<4xf32>) -> tensor<?x?xf32>
  %2 = mopt.matmul %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// CHECK-LABEL: func @gemm
// CHECK: mopt.gemm {{.*}} -> tensor<3x5xf32>
func.func @gemm(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>, %c: tensor<5xf32>) {
  %0 = mopt.gemm %a, %b, %c {transA = 1 : i64, transB = 1 : i64} : (tensor<4x3xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @conv
// CHECK: mopt.conv {{.*}} -> tensor<1x64x112x112xf32>
// CHECK: mopt.conv {{.*}} -> tensor<1x64x56x56xf32>
// CHECK: mopt.conv {{.*}} -> tensor<1x6x218x218xf32>
func.func @conv(%x: tensor<1x3x224x224xf32>, %w: tensor<64x3x7x7xf32>, %d: tensor<6x1x7x7xf32>) {
  %n = mopt.none : none
  %0 = mopt.conv %x, %w, %n {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, none) -> tensor<?x?x?x?xf32>
  %1 = mopt.conv %x, %w, %n {strides = array<i64: 4, 4>, auto_pad = "SAME_UPPER"} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, none) -> tensor<?x?x?x?xf32>
  %2 = mopt.conv %x, %d, %n {group = 3 : i64} : (tensor<1x3x224x224xf32>, tensor<6x1x7x7xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

// Padding that keeps a size keeps its name; a stride divides it.
// CHECK-LABEL: func @conv_symbolic
// CHECK: mopt.conv {{.*}} -> tensor<?x8x?x?xf32, #mopt.dims<[n, 8, h, w]>>
// CHECK: mopt.conv {{.*}} -> tensor<?x8x?x?xf32, #mopt.dims<[n, 8, floordiv(h + 1, 2), floordiv(w + 1, 2)]>>
// CHECK: mopt.conv_transpose {{.*}} -> tensor<?x4x?x?xf32, #mopt.dims<[n, 4, 2 * h, 2 * w]>>
func.func @conv_symbolic(%x: tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, %w: tensor<8x3x3x3xf32>, %t: tensor<3x4x2x2xf32>) {
  %n = mopt.none : none
  %0 = mopt.conv %x, %w, %n {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  %1 = mopt.conv %x, %w, %n {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  %2 = mopt.conv_transpose %x, %t, %n {strides = array<i64: 2, 2>} : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, tensor<3x4x2x2xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @integer
// CHECK: mopt.matmul_integer {{.*}} -> tensor<2x5xi32>
// CHECK: mopt.qlinear_matmul {{.*}} -> tensor<2x5xi8>
func.func @integer(%a: tensor<2x4xui8>, %b: tensor<4x5xi8>, %s: tensor<f32>, %z: tensor<ui8>, %y: tensor<i8>) {
  %n = mopt.none : none
  %0 = mopt.matmul_integer %a, %b, %n, %n : (tensor<2x4xui8>, tensor<4x5xi8>, none, none) -> tensor<?x?xi32>
  %1 = mopt.qlinear_matmul %a, %s, %z, %b, %s, %y, %s, %y : (tensor<2x4xui8>, tensor<f32>, tensor<ui8>, tensor<4x5xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<?x?xi8>
  return
}

// -----

// CHECK-LABEL: func @einsum
// CHECK: mopt.einsum {{.*}} -> tensor<?x2x7xf32, #mopt.dims<[b, 2, 7]>>
// CHECK: mopt.einsum {{.*}} -> tensor<?xf32, #mopt.dims<[b]>>
func.func @einsum(%a: tensor<?x2x3xf32, #mopt.dims<[b, 2, 3]>>, %b: tensor<3x7xf32>) {
  %0 = mopt.einsum %a, %b {equation = "...ij, jk -> ...ik"} : (tensor<?x2x3xf32, #mopt.dims<[b, 2, 3]>>, tensor<3x7xf32>) -> tensor<?x?x?xf32>
  %1 = mopt.einsum %a {equation = "bij->b"} : (tensor<?x2x3xf32, #mopt.dims<[b, 2, 3]>>) -> tensor<?xf32>
  return
}

// -----

func.func @columns(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{MOPT-S010: mopt.matmul: columns of a and rows of b have to be equal, found 3 and 4}}
  %0 = mopt.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<8x2x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S013: mopt.conv: the input has 3 channels, expected 2}}
  %0 = mopt.conv %x, %w, %n : (tensor<1x3x8x8xf32>, tensor<8x2x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @group(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S013: mopt.conv: group is 0, expected at least 1}}
  %0 = mopt.conv %x, %w, %n {group = 0 : i64} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S012: mopt.conv: strides holds 0, expected at least 1}}
  %0 = mopt.conv %x, %w, %n {strides = array<i64: 1, 0>} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @covers(%x: tensor<1x3x2x8xf32>, %w: tensor<8x3x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S012: mopt.conv: axis 2: the kernel covers 3, the padded input has only 2}}
  %0 = mopt.conv %x, %w, %n : (tensor<1x3x2x8xf32>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @letters(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S016: mopt.einsum: letter 'k' of the result occurs in no operand}}
  %0 = mopt.einsum %a {equation = "ij->ik"} : (tensor<2x3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @terms(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S016: mopt.einsum: the equation has 2 terms for 1 operands}}
  %0 = mopt.einsum %a {equation = "ij,jk->ik"} : (tensor<2x3xf32>) -> tensor<?x?xf32>
  return
}

// -----

// Channels last: the weights stay as ONNX has them.
// CHECK-LABEL: func @channels_last
// CHECK: mopt.conv {{.*}} -> tensor<?x?x?x8xf32, #mopt.dims<[n, h, w, 8]>>
// CHECK: mopt.conv_transpose {{.*}} -> tensor<1x16x6xf32>
func.func @channels_last(%x: tensor<?x?x?x3xf32, #mopt.dims<[n, h, w, 3]>>, %w: tensor<8x3x3x3xf32>, %y: tensor<1x8x4xf32>, %v: tensor<4x6x2xf32>) {
  %n = mopt.none : none
  %0 = mopt.conv %x, %w, %n {pads = array<i64: 1, 1, 1, 1>, channels_last = 1 : i64} : (tensor<?x?x?x3xf32, #mopt.dims<[n, h, w, 3]>>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  %1 = mopt.conv_transpose %y, %v, %n {strides = array<i64: 2>, channels_last = 1 : i64} : (tensor<1x8x4xf32>, tensor<4x6x2xf32>, none) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @channels_second(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S013: mopt.conv: the input has 8 channels, expected 3: 3 of the weights times group 1}}
  %0 = mopt.conv %x, %w, %n {channels_last = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @channels_somewhere(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S009: mopt.conv: channels_last is 2, expected 0 or 1}}
  %0 = mopt.conv %x, %w, %n {channels_last = 2 : i64} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>, none) -> tensor<?x?x?x?xf32>
  return
}
