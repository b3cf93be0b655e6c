// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @reshape
// CHECK: mopt.reshape {{.*}} -> tensor<?x?x12x32xf32, #mopt.dims<[b, s, 12, 32]>>
// CHECK: mopt.reshape {{.*}} -> tensor<?x384xf32, #mopt.dims<[b * s, 384]>>
// CHECK: mopt.reshape {{.*}} -> tensor<?x?xf32, #mopt.dims<[d0, d1]>>
// CHECK: mopt.flatten {{.*}} -> tensor<?x?xf32, #mopt.dims<[b, 384 * s]>>
func.func @reshape(%x: tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, %any: tensor<2xi64>) {
  %a = mopt.constant {value = dense<[0, 0, 12, -1]> : tensor<4xi64>} : tensor<4xi64>
  %b = mopt.constant {value = dense<[-1, 384]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.reshape %x, %a : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  %1 = mopt.reshape %x, %b : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = mopt.reshape %x, %any : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = mopt.flatten %x : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>) -> tensor<?x?xf32>
  return
}

// -----

// The shape as exporters compute it: shape, gather, unsqueeze, concat; and half a size by way of floats.
// CHECK-LABEL: func @computed_shape
// CHECK: mopt.reshape {{.*}} -> tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>
// CHECK-NOT: d0
func.func @computed_shape(%x: tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>) {
  %n = mopt.none : none
  %zero = mopt.constant {value = dense<0> : tensor<i64>} : tensor<i64>
  %one = mopt.constant {value = dense<1> : tensor<i64>} : tensor<i64>
  %axis = mopt.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %rest = mopt.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>
  %shape = mopt.shape %x : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>) -> tensor<3xi64>
  %b = mopt.gather %shape, %zero : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %s = mopt.gather %shape, %one : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %b1 = mopt.unsqueeze %b, %axis : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %s1 = mopt.unsqueeze %s, %axis : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %new = mopt.concat %b1, %s1, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %0 = mopt.reshape %x, %new : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, tensor<3xi64>) -> tensor<?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @half
// CHECK: mopt.constant_of_shape {{.*}} -> tensor<?xf32, #mopt.dims<[floordiv(s, 2)]>>
func.func @half(%x: tensor<?xf32, #mopt.dims<[s]>>, %v: tensor<1xf32>) {
  %half = mopt.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %shape = mopt.shape %x : (tensor<?xf32, #mopt.dims<[s]>>) -> tensor<1xi64>
  %f = mopt.cast %shape : (tensor<1xi64>) -> tensor<1xf32>
  %m = mopt.mul %f, %half : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  %r = mopt.floor %m : (tensor<1xf32>) -> tensor<1xf32>
  %i = mopt.cast %r : (tensor<1xf32>) -> tensor<1xi64>
  %0 = mopt.constant_of_shape %i, %v : (tensor<1xi64>, tensor<1xf32>) -> tensor<?xf32>
  return
}

// -----

// Expand as exporters write it: -1 in the wanted shape means 1.
// CHECK-LABEL: func @expand
// CHECK: mopt.expand {{.*}} -> tensor<?x4xf32, #mopt.dims<[b, 4]>>
func.func @expand(%x: tensor<?x1xf32, #mopt.dims<[b, 1]>>) {
  %wanted = mopt.constant {value = dense<[-1, 4]> : tensor<2xi64>} : tensor<2xi64>
  %ones = mopt.constant {value = dense<1> : tensor<2xi64>} : tensor<2xi64>
  %minus = mopt.constant {value = dense<-1> : tensor<2xi64>} : tensor<2xi64>
  %is = mopt.equal %wanted, %minus : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %shape = mopt.where %is, %ones, %wanted : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %0 = mopt.expand %x, %shape : (tensor<?x1xf32, #mopt.dims<[b, 1]>>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

// Backwards from before the first element: ONNX holds the start at 0.
// CHECK-LABEL: func @slice_back
// CHECK: mopt.slice {{.*}} -> tensor<1xf32>
// CHECK: mopt.slice {{.*}} -> tensor<1xf32>
// CHECK: mopt.slice {{.*}} -> tensor<?xf32, #mopt.dims<[max(0, min(b - 1, max(0, b - 4)) + 1)]>>
// CHECK: mopt.slice {{.*}} -> tensor<0xf32>
func.func @slice_back(%x: tensor<3xf32>, %b: tensor<?xf32, #mopt.dims<[b]>>, %e: tensor<0xf32>) {
  %n = mopt.none : none
  %minus1 = mopt.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>
  %minus4 = mopt.constant {value = dense<-4> : tensor<1xi64>} : tensor<1xi64>
  %low = mopt.constant {value = dense<-9223372036854775808> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.slice %x, %minus4, %low, %n, %minus1 : (tensor<3xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?xf32>
  %1 = mopt.slice %x, %low, %low, %n, %minus1 : (tensor<3xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?xf32>
  %2 = mopt.slice %b, %minus4, %low, %n, %minus1 : (tensor<?xf32, #mopt.dims<[b]>>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?xf32>
  %3 = mopt.slice %e, %minus4, %low, %n, %minus1 : (tensor<0xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// CHECK-LABEL: func @slice
// CHECK: mopt.slice {{.*}} -> tensor<?x3xf32, #mopt.dims<[b, 3]>>
// CHECK: mopt.slice {{.*}} -> tensor<?x8xf32, #mopt.dims<[max(0, b - 1), 8]>>
// CHECK: mopt.slice {{.*}} -> tensor<?x8xf32, #mopt.dims<[min(2, b), 8]>>
// CHECK: mopt.slice {{.*}} -> tensor<?x8xf32, #mopt.dims<[b, 8]>>
// CHECK: mopt.slice {{.*}} -> tensor<?x8xf32, #mopt.dims<[d0, 8]>>
func.func @slice(%x: tensor<?x8xf32, #mopt.dims<[b, 8]>>, %any: tensor<1xi64>) {
  %n = mopt.none : none
  %a0 = mopt.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %a1 = mopt.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %two = mopt.constant {value = dense<2> : tensor<1xi64>} : tensor<1xi64>
  %minus1 = mopt.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>
  %minus2 = mopt.constant {value = dense<-2> : tensor<1xi64>} : tensor<1xi64>
  %far = mopt.constant {value = dense<9223372036854775807> : tensor<1xi64>} : tensor<1xi64>
  %low = mopt.constant {value = dense<-9223372036854775808> : tensor<1xi64>} : tensor<1xi64>
  // [:, 2:7:2], [1:], [-2:], [::-1], and a bound that only the run knows
  %seven = mopt.constant {value = dense<7> : tensor<1xi64>} : tensor<1xi64>
  %0 = mopt.slice %x, %two, %seven, %a1, %two : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  %1 = mopt.slice %x, %a1, %far, %a0, %n : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<?x?xf32>
  %2 = mopt.slice %x, %minus2, %far, %n, %n : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<?x?xf32>
  %3 = mopt.slice %x, %minus1, %low, %n, %minus1 : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?x?xf32>
  %4 = mopt.slice %x, %any, %far, %n, %n : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @join
// CHECK: mopt.concat {{.*}} -> tensor<?x8xf32, #mopt.dims<[b + s + 1, 8]>>
// CHECK: mopt.split {{.*}} -> (tensor<?x3xf32, #mopt.dims<[b, 3]>>, tensor<?x3xf32, #mopt.dims<[b, 3]>>, tensor<?x2xf32, #mopt.dims<[b, 2]>>)
// CHECK: mopt.transpose {{.*}} -> tensor<8x?xf32, #mopt.dims<[8, b]>>
// CHECK: mopt.tile {{.*}} -> tensor<?x24xf32, #mopt.dims<[2 * b, 24]>>
// CHECK: mopt.pad {{.*}} -> tensor<?x12xf32, #mopt.dims<[b + 1, 12]>>
func.func @join(%x: tensor<?x8xf32, #mopt.dims<[b, 8]>>, %y: tensor<?x8xf32, #mopt.dims<[s, 8]>>, %z: tensor<1x8xf32>) {
  %n = mopt.none : none
  %0 = mopt.concat %x, %y, %z {axis = 0 : i64} : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<?x8xf32, #mopt.dims<[s, 8]>>, tensor<1x8xf32>) -> tensor<?x?xf32>
  %1:3 = mopt.split %x, %n {axis = 1 : i64} : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, none) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
  %2 = mopt.transpose %x : (tensor<?x8xf32, #mopt.dims<[b, 8]>>) -> tensor<?x?xf32>
  %r = mopt.constant {value = dense<[2, 3]> : tensor<2xi64>} : tensor<2xi64>
  %3 = mopt.tile %x, %r : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<2xi64>) -> tensor<?x?xf32>
  %p = mopt.constant {value = dense<[0, 3, 1, 1]> : tensor<4xi64>} : tensor<4xi64>
  %4 = mopt.pad %x, %p, %n, %n : (tensor<?x8xf32, #mopt.dims<[b, 8]>>, tensor<4xi64>, none, none) -> tensor<?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @index
// CHECK: mopt.gather {{.*}} -> tensor<?x2x3x8xf32, #mopt.dims<[b, 2, 3, 8]>>
// CHECK: mopt.gather_nd {{.*}} -> tensor<5x8xf32>
// CHECK: mopt.one_hot {{.*}} -> tensor<2x3x10xf32>
// CHECK: mopt.depth_to_space {{.*}} -> tensor<1x2x6x8xf32>
// CHECK: mopt.space_to_depth {{.*}} -> tensor<1x32x1x2xf32>
func.func @index(%x: tensor<?x4x8xf32, #mopt.dims<[b, 4, 8]>>, %i: tensor<2x3xi64>, %nd: tensor<5x2xi64>, %v: tensor<2xf32>, %img: tensor<1x8x3x4xf32>, %even: tensor<1x8x2x4xf32>) {
  %0 = mopt.gather %x, %i {axis = 1 : i64} : (tensor<?x4x8xf32, #mopt.dims<[b, 4, 8]>>, tensor<2x3xi64>) -> tensor<?x?x?x?xf32>
  %1 = mopt.gather_nd %x, %nd : (tensor<?x4x8xf32, #mopt.dims<[b, 4, 8]>>, tensor<5x2xi64>) -> tensor<?x?xf32>
  %d = mopt.constant {value = dense<10> : tensor<i64>} : tensor<i64>
  %2 = mopt.one_hot %i, %d, %v : (tensor<2x3xi64>, tensor<i64>, tensor<2xf32>) -> tensor<?x?x?xf32>
  %3 = mopt.depth_to_space %img {blocksize = 2 : i64} : (tensor<1x8x3x4xf32>) -> tensor<?x?x?x?xf32>
  %4 = mopt.space_to_depth %even {blocksize = 2 : i64} : (tensor<1x8x2x4xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @resize
// CHECK: mopt.resize {{.*}} -> tensor<?x3x?x?xf32, #mopt.dims<[n, 3, 2 * h, floordiv(w, 2)]>>
// CHECK: mopt.resize {{.*}} -> tensor<?x3x7x9xf32, #mopt.dims<[n, 3, 7, 9]>>
func.func @resize(%x: tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>) {
  %n = mopt.none : none
  %scales = mopt.constant {value = dense<[1.0, 1.0, 2.0, 0.5]> : tensor<4xf32>} : tensor<4xf32>
  %0 = mopt.resize %x, %n, %scales, %n : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, none, tensor<4xf32>, none) -> tensor<?x?x?x?xf32>
  %sizes = mopt.constant {value = dense<[7, 9]> : tensor<2xi64>} : tensor<2xi64>
  %1 = mopt.resize %x, %n, %n, %sizes {axes = array<i64: 2, 3>} : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, none, none, tensor<2xi64>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// CHECK-LABEL: func @range
// CHECK: mopt.range {{.*}} -> tensor<?xi64, #mopt.dims<[s]>>
// CHECK: mopt.range {{.*}} -> tensor<4xf32>
func.func @range(%x: tensor<?xf32, #mopt.dims<[s]>>) {
  %zero = mopt.constant {value = dense<0> : tensor<i64>} : tensor<i64>
  %one = mopt.constant {value = dense<1> : tensor<i64>} : tensor<i64>
  %size = mopt.size %x : (tensor<?xf32, #mopt.dims<[s]>>) -> tensor<i64>
  %0 = mopt.range %zero, %size, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %a = mopt.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %b = mopt.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %c = mopt.constant {value = dense<-0.3> : tensor<f32>} : tensor<f32>
  %1 = mopt.range %a, %b, %c : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

func.func @elements(%x: tensor<2x3xf32>) {
  %s = mopt.constant {value = dense<[4, -1]> : tensor<2xi64>} : tensor<2xi64>
  // expected-error@+1 {{MOPT-S014: mopt.reshape: 6 elements do not divide into the shape [4, -1]}}
  %0 = mopt.reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

// All may be cut away, and more than all, where a constant stands for the rest.
// CHECK-LABEL: func @pad_rest
// CHECK-COUNT-2: mopt.pad {{.*}} -> tensor<2xf32>
func.func @pad_rest(%x: tensor<3xf32>) {
  %n = mopt.none : none
  %all = mopt.constant {value = dense<[-3, 2]> : tensor<2xi64>} : tensor<2xi64>
  %more = mopt.constant {value = dense<[4, -5]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.pad %x, %all, %n, %n : (tensor<3xf32>, tensor<2xi64>, none, none) -> tensor<?xf32>
  %1 = mopt.pad %x, %more, %n, %n : (tensor<3xf32>, tensor<2xi64>, none, none) -> tensor<?xf32>
  return
}

// -----

func.func @pad_nothing(%x: tensor<3xf32>) {
  %n = mopt.none : none
  %p = mopt.constant {value = dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>} : tensor<2xi64>
  // expected-error@+1 {{MOPT-S012: mopt.pad: axis 0: the padding leaves none of its 3 elements to pad with in mode edge}}
  %0 = mopt.pad %x, %p, %n, %n {mode = "edge"} : (tensor<3xf32>, tensor<2xi64>, none, none) -> tensor<?xf32>
  return
}

// -----

func.func @cut(%x: tensor<2x3xf32>) {
  %n = mopt.none : none
  %p = mopt.constant {value = dense<[0, -2, 0, -2]> : tensor<4xi64>} : tensor<4xi64>
  // expected-error@+1 {{MOPT-S012: mopt.pad: axis 1: the padding cuts more than its 3 elements}}
  %0 = mopt.pad %x, %p, %n, %n : (tensor<2x3xf32>, tensor<4xi64>, none, none) -> tensor<?x?xf32>
  return
}

// -----

func.func @unknown_rank(%x: tensor<2x3xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{MOPT-S008: mopt.reshape: the rank of the result is not known: operand 1 ('shape') has d0 elements}}
  %0 = mopt.reshape %x, %s : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S007: mopt.transpose: axis 0 is named twice}}
  %0 = mopt.transpose %x {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @step(%x: tensor<8xf32>) {
  %n = mopt.none : none
  %z = mopt.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  // expected-error@+1 {{MOPT-S009: mopt.slice: a step is 0}}
  %0 = mopt.slice %x, %z, %z, %n, %z : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @outside(%x: tensor<8xf32>) {
  %i = mopt.constant {value = dense<8> : tensor<i64>} : tensor<i64>
  // expected-error@+1 {{MOPT-S015: mopt.gather: index 8 is outside the axis of size 8}}
  %0 = mopt.gather %x, %i : (tensor<8xf32>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @rows(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{MOPT-S010: mopt.concat: axis 1 of the operands have to be equal, found 3 and 4}}
  %0 = mopt.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @rank_limit(%x: tensor<1x1x1x1x1x1x1x1xf32>) {
  %a = mopt.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  // expected-error@+1 {{MOPT-S005: mopt.unsqueeze: the result has rank 9, expected at most 8}}
  %0 = mopt.unsqueeze %x, %a : (tensor<1x1x1x1x1x1x1x1xf32>, tensor<1xi64>) -> tensor<1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

// Sizes that grow without end are refused, not computed.
func.func @growth(%x: tensor<4611686018427387904xf32>) {
  %r = mopt.constant {value = dense<4> : tensor<1xi64>} : tensor<1xi64>
  // expected-error@+1 {{MOPT-S002: mopt.tile: a size of the result does not fit in 64 bits}}
  %0 = mopt.tile %x, %r : (tensor<4611686018427387904xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// CHECK-LABEL: func @channels_last
// CHECK: mopt.depth_to_space {{.*}} -> tensor<1x10x12x2xf32>
// CHECK: mopt.space_to_depth {{.*}} -> tensor<1x5x6x8xf32>
func.func @channels_last(%x: tensor<1x5x6x8xf32>) {
  %0 = mopt.depth_to_space %x {blocksize = 2 : i64, channels_last = 1 : i64} : (tensor<1x5x6x8xf32>) -> tensor<?x?x?x?xf32>
  %1 = mopt.space_to_depth %0 {blocksize = 2 : i64, channels_last = 1 : i64} : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}
