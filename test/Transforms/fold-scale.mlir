// RUN: mopt-opt --mopt-fold-scale --split-input-file %s | FileCheck %s
// RUN: mopt-opt --mopt-fold-scale --split-input-file --mlir-print-debuginfo %s | FileCheck %s --check-prefix=LOC

// Factors: 6 / sqrt(3 + 1) = 3 and 4 / sqrt(15 + 1) = 1.
// Weights (1, 2) become (3, 2), the bias (10, 20) becomes (10 - 1) * 3 + 5 and (20 - 2) * 1 + 6.
// CHECK-LABEL: func.func @norm_into_conv
// CHECK-DAG: %[[W:.*]] = mopt.constant {value = dense<{{\[\[\[\[}}3.000000e+00]]], {{\[\[\[}}2.000000e+00]]]]> : tensor<2x1x1x1xf32>}
// CHECK-DAG: %[[B:.*]] = mopt.constant {value = dense<[3.200000e+01, 2.400000e+01]> : tensor<2xf32>}
// CHECK: %[[R:.*]] = mopt.conv %arg0, %[[W]], %[[B]] {mopt.outputs = ["named"]}
// CHECK-NEXT: return %[[R]]
// The conv is both nodes now.
// LOC-LABEL: func.func @norm_into_conv
// LOC: mopt.conv {{.*}} loc(#[[FUSED:.*]])
// LOC-DAG: #[[FUSED]] = loc(fused[#[[CONV:.*]], #[[NORM:.*]]])
// LOC-DAG: #[[CONV]] = loc("conv")
// LOC-DAG: #[[NORM]] = loc("norm")
func.func @norm_into_conv(%x: tensor<?x1x4x4xf32, #mopt.dims<[n, 1, 4, 4]>>) -> tensor<?x2x4x4xf32, #mopt.dims<[n, 2, 4, 4]>> {
  %w = mopt.constant {value = dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32> loc("w")
  %bias = mopt.constant {value = dense<[10.0, 20.0]> : tensor<2xf32>} : tensor<2xf32> loc("bias")
  %scale = mopt.constant {value = dense<[6.0, 4.0]> : tensor<2xf32>} : tensor<2xf32> loc("scale")
  %b = mopt.constant {value = dense<[5.0, 6.0]> : tensor<2xf32>} : tensor<2xf32> loc("b")
  %mean = mopt.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32> loc("mean")
  %var = mopt.constant {value = dense<[3.0, 15.0]> : tensor<2xf32>} : tensor<2xf32> loc("var")
  %y = mopt.conv %x, %w, %bias {group = 1 : i64, mopt.outputs = ["gone"]} : (tensor<?x1x4x4xf32, #mopt.dims<[n, 1, 4, 4]>>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<?x2x4x4xf32, #mopt.dims<[n, 2, 4, 4]>> loc("conv")
  %z:3 = mopt.batch_norm %y, %scale, %b, %mean, %var {epsilon = 1.0 : f32, mopt.outputs = ["named", "", ""]} : (tensor<?x2x4x4xf32, #mopt.dims<[n, 2, 4, 4]>>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<?x2x4x4xf32, #mopt.dims<[n, 2, 4, 4]>>, none, none) loc("norm")
  return %z#0 : tensor<?x2x4x4xf32, #mopt.dims<[n, 2, 4, 4]>>
}

// -----

// A chain of links folds in one walk: (x * 2 + 1) / 4 - 3.
// CHECK-LABEL: func.func @chain
// CHECK-DAG: %[[W:.*]] = mopt.constant {value = dense<5.000000e-01> : tensor<1x1x1x1xf32>}
// CHECK-DAG: %[[B:.*]] = mopt.constant {value = dense<-2.750000e+00> : tensor<1xf32>}
// CHECK: %[[R:.*]] = mopt.conv %arg0, %[[W]], %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @chain(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = mopt.constant {value = dense<1.0> : tensor<1x1x1x1xf32>} : tensor<1x1x1x1xf32>
  %none = mopt.none {value} : none
  %two = mopt.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %one = mopt.constant {value = dense<1.0> : tensor<1x1x1xf32>} : tensor<1x1x1xf32>
  %four = mopt.constant {value = dense<4.0> : tensor<1xf32>} : tensor<1xf32>
  %three = mopt.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = mopt.mul %two, %0 : (tensor<f32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = mopt.add %1, %one : (tensor<1x1x2x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %3 = mopt.div %2, %four : (tensor<1x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %4 = mopt.sub %3, %three : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  return %4 : tensor<1x1x2x2xf32>
}

// -----

// c - x negates the weights.
// CHECK-LABEL: func.func @constant_minus
// CHECK-DAG: mopt.constant {value = dense<-2.000000e+00> : tensor<1x1x1x1xf32>}
// CHECK-DAG: mopt.constant {value = dense<7.000000e+00> : tensor<1xf32>}
// CHECK-NOT: mopt.sub
func.func @constant_minus(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = mopt.constant {value = dense<2.0> : tensor<1x1x1x1xf32>} : tensor<1x1x1x1xf32>
  %none = mopt.none {value} : none
  %c = mopt.constant {value = dense<7.0> : tensor<f32>} : tensor<f32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = mopt.sub %c, %0 : (tensor<f32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %1 : tensor<1x1x2x2xf32>
}

// -----

// conv_transpose has its output channels in the second axis of the weights, counted anew in each group.
// CHECK-LABEL: func.func @conv_transpose
// CHECK: mopt.constant {value = dense<{{\[\[\[\[}}1.000000e+00]], {{\[\[}}2.000000e+00]]], {{\[\[\[}}3.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<2x2x1x1xf32>}
// CHECK-NOT: mopt.mul
func.func @conv_transpose(%x: tensor<1x2x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %w = mopt.constant {value = dense<1.0> : tensor<2x2x1x1xf32>} : tensor<2x2x1x1xf32>
  %none = mopt.none {value} : none
  %c = mopt.constant {value = dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>} : tensor<4x1x1xf32>
  %0 = mopt.conv_transpose %x, %w, %none {group = 2 : i64} : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x4x2x2xf32>
  %1 = mopt.mul %0, %c : (tensor<1x4x2x2xf32>, tensor<4x1x1xf32>) -> tensor<1x4x2x2xf32>
  return %1 : tensor<1x4x2x2xf32>
}

// -----

// Of a gemm the addend is scaled too, and beta goes into it. transB has the output channels in rows.
// CHECK-LABEL: func.func @gemm
// CHECK-DAG: %[[W:.*]] = mopt.constant {value = dense<{{\[\[}}2.000000e+00, 2.000000e+00], [3.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>}
// CHECK-DAG: %[[C:.*]] = mopt.constant {value = dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>}
// CHECK: mopt.gemm %arg0, %[[W]], %[[C]] {alpha = 5.000000e-01 : f32, transB = 1 : i64}
// CHECK-NOT: mopt.mul
func.func @gemm(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = mopt.constant {value = dense<1.0> : tensor<2x2xf32>} : tensor<2x2xf32>
  %c = mopt.constant {value = dense<1.0> : tensor<1x1xf32>} : tensor<1x1xf32>
  %s = mopt.constant {value = dense<[2.0, 3.0]> : tensor<2xf32>} : tensor<2xf32>
  %0 = mopt.gemm %x, %w, %c {alpha = 0.5 : f32, beta = 2.0 : f32, transB = 1 : i64} : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<1x1xf32>) -> tensor<3x2xf32>
  %1 = mopt.mul %0, %s : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// A matrix product takes the factor; a row that is added stays.
// CHECK-LABEL: func.func @matmul
// CHECK: mopt.constant {value = dense<{{\[\[}}2.000000e+00, 3.000000e+00], [2.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>}
// CHECK: mopt.matmul
// CHECK-NEXT: mopt.add
// CHECK-NEXT: return
func.func @matmul(%x: tensor<5x3x2xf32>) -> tensor<5x3x2xf32> {
  %w = mopt.constant {value = dense<1.0> : tensor<2x2xf32>} : tensor<2x2xf32>
  %s = mopt.constant {value = dense<[2.0, 3.0]> : tensor<2xf32>} : tensor<2xf32>
  %0 = mopt.matmul %x, %w : (tensor<5x3x2xf32>, tensor<2x2xf32>) -> tensor<5x3x2xf32>
  %1 = mopt.mul %0, %s : (tensor<5x3x2xf32>, tensor<2xf32>) -> tensor<5x3x2xf32>
  %2 = mopt.add %1, %s : (tensor<5x3x2xf32>, tensor<2xf32>) -> tensor<5x3x2xf32>
  return %2 : tensor<5x3x2xf32>
}

// -----

// The value before the norm is read elsewhere too: the norm becomes mul and add, per channel.
// CHECK-LABEL: func.func @second_reader
// CHECK: %[[Y:.*]] = mopt.conv
// CHECK: %[[S:.*]] = mopt.constant {{.*}} : tensor<2x1x1xf32>
// CHECK: %[[M:.*]] = mopt.mul %[[Y]], %[[S]]
// CHECK: mopt.constant {{.*}} : tensor<2x1x1xf32>
// CHECK: %[[Z:.*]] = mopt.add %[[M]], %{{.*}} {mopt.outputs = ["named"]}
// CHECK: return %[[Y]], %[[Z]]
func.func @second_reader(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = mopt.constant {value = dense<1.0> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %none = mopt.none {value} : none
  %v = mopt.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %y = mopt.conv %x, %w, %none : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %z:3 = mopt.batch_norm %y, %v, %v, %v, %v {mopt.outputs = ["named", "", ""]} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, none, none)
  return %y, %z#0 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Two convolutions share weights: scaling them for one would make a copy.
// CHECK-LABEL: func.func @shared_weights
// CHECK: mopt.conv
// CHECK: mopt.mul
func.func @shared_weights(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = mopt.constant {value = dense<1.0> : tensor<2x1x1x1xf32>} : tensor<2x1x1x1xf32>
  %none = mopt.none {value} : none
  %two = mopt.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %1 = mopt.mul %0, %two : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %2 = mopt.conv %1, %w, %none {group = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  return %1, %2 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Not one value per output channel: along another axis, more axes than the result, not a constant, not linear.
// CHECK-LABEL: func.func @not_per_channel
// CHECK: mopt.mul
// CHECK: mopt.mul
// CHECK: mopt.mul
// CHECK: mopt.div
func.func @not_per_channel(%x: tensor<1x2x2x2xf32>, %v: tensor<2x1x1xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %w = mopt.constant {value = dense<1.0> : tensor<2x2x1x1xf32>} : tensor<2x2x1x1xf32>
  %w1 = mopt.constant {value = dense<2.0> : tensor<2x2x1x1xf32>} : tensor<2x2x1x1xf32>
  %w2 = mopt.constant {value = dense<3.0> : tensor<2x2x1x1xf32>} : tensor<2x2x1x1xf32>
  %w3 = mopt.constant {value = dense<4.0> : tensor<2x2x1x1xf32>} : tensor<2x2x1x1xf32>
  %none = mopt.none {value} : none
  %columns = mopt.constant {value = dense<2.0> : tensor<2xf32>} : tensor<2xf32>
  %wide = mopt.constant {value = dense<2.0> : tensor<1x1x1x1x1xf32>} : tensor<1x1x1x1x1xf32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %1 = mopt.mul %0, %columns : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %2 = mopt.conv %x, %w1, %none : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %3 = mopt.mul %2, %wide : (tensor<1x2x2x2xf32>, tensor<1x1x1x1x1xf32>) -> tensor<1x1x2x2x2xf32>
  %4 = mopt.conv %x, %w2, %none : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %5 = mopt.mul %4, %v : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %6 = mopt.conv %x, %w3, %none : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %7 = mopt.div %columns, %6 : (tensor<2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %1, %3, %5, %7 : tensor<1x2x2x2xf32>, tensor<1x1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// -----

// Weights that come with the input, a gemm whose addend is a matrix, half precision, a factor that overflows.
// CHECK-LABEL: func.func @refused
// CHECK: mopt.mul
// CHECK: mopt.mul
// CHECK: mopt.mul
// CHECK: mopt.mul
func.func @refused(%x: tensor<1x2x2x2xf32>, %w: tensor<2x2x1x1xf32>, %a: tensor<2x2xf32>, %h: tensor<2x2xf16>) -> (tensor<1x2x2x2xf32>, tensor<2x2xf32>, tensor<2x2xf16>, tensor<2x2xf32>) {
  %none = mopt.none {value} : none
  %two = mopt.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %twoHalf = mopt.constant {value = dense<2.0> : tensor<f16>} : tensor<f16>
  %huge = mopt.constant {value = dense<3.0e38> : tensor<f32>} : tensor<f32>
  %m = mopt.constant {value = dense<1.0> : tensor<2x2xf32>} : tensor<2x2xf32>
  %m2 = mopt.constant {value = dense<2.0> : tensor<2x2xf32>} : tensor<2x2xf32>
  %mh = mopt.constant {value = dense<1.0> : tensor<2x2xf16>} : tensor<2x2xf16>
  %add = mopt.constant {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>} : tensor<2x2xf32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %1 = mopt.mul %0, %two : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %2 = mopt.gemm %a, %m, %add : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = mopt.mul %2, %two : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = mopt.matmul %h, %mh : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %5 = mopt.mul %4, %twoHalf : (tensor<2x2xf16>, tensor<f16>) -> tensor<2x2xf16>
  %6 = mopt.matmul %a, %m2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = mopt.mul %6, %huge : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %1, %3, %5, %7 : tensor<1x2x2x2xf32>, tensor<2x2xf32>, tensor<2x2xf16>, tensor<2x2xf32>
}

// -----

// A norm in training mode, one whose statistics are read, one whose parameters are inputs, and one of variance -1.
// CHECK-LABEL: func.func @norms_that_stay
// CHECK-COUNT-4: mopt.batch_norm
func.func @norms_that_stay(%x: tensor<1x2x2xf32>, %v: tensor<2xf32>) -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %c = mopt.constant {value = dense<1.0> : tensor<2xf32>} : tensor<2xf32>
  %minus = mopt.constant {value = dense<-1.0> : tensor<2xf32>} : tensor<2xf32>
  %0:3 = mopt.batch_norm %x, %c, %c, %c, %c {training_mode = 1 : i64} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, none, none)
  %1:3 = mopt.batch_norm %x, %c, %c, %c, %c : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, tensor<2xf32>, none)
  %2:3 = mopt.batch_norm %x, %v, %c, %c, %c : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, none, none)
  %3:3 = mopt.batch_norm %x, %c, %c, %c, %minus : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, none, none)
  return %0#0, %1#0, %1#1, %2#0, %3#0 : tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}

// -----

// Zeros around spatial axes add to the padding; both readers are convolutions.
// CHECK-LABEL: func.func @pad
// CHECK-NOT: mopt.pad
// CHECK: mopt.conv %arg0, {{.*}} {pads = array<i64: 1, 3, 1, 4>
// CHECK: mopt.conv %arg0, {{.*}} {pads = array<i64: 0, 2, 0, 2>
func.func @pad(%x: tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w]>>, %w: tensor<1x1x3x3xf32>) -> (tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 5]>>, tensor<1x1x2x?xf32, #mopt.dims<[1, 1, 2, w + 2]>>) {
  %none = mopt.none {value} : none
  %p = mopt.constant {value = dense<[0, 0, 0, 2, 0, 0, 0, 2]> : tensor<8xi64>} : tensor<8xi64>
  %zero = mopt.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %0 = mopt.pad %x, %p, %zero, %none : (tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w]>>, tensor<8xi64>, tensor<f32>, none) -> tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 4]>>
  %1 = mopt.conv %0, %w, %none {pads = array<i64: 1, 1, 1, 2>} : (tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 4]>>, tensor<1x1x3x3xf32>, none) -> tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 5]>>
  %2 = mopt.conv %0, %w, %none {auto_pad = "VALID"} : (tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 4]>>, tensor<1x1x3x3xf32>, none) -> tensor<1x1x2x?xf32, #mopt.dims<[1, 1, 2, w + 2]>>
  return %1, %2 : tensor<1x1x4x?xf32, #mopt.dims<[1, 1, 4, w + 5]>>, tensor<1x1x2x?xf32, #mopt.dims<[1, 1, 2, w + 2]>>
}

// -----

// Not zeros, not constant mode, a cut, the channel axis, a reader that is no convolution, padding by size.
// CHECK-LABEL: func.func @pads_that_stay
// CHECK-COUNT-6: mopt.pad
func.func @pads_that_stay(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %w2: tensor<1x2x1x1xf32>) -> (tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x3xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>) {
  %none = mopt.none {value} : none
  %p = mopt.constant {value = dense<[0, 0, 0, 1, 0, 0, 0, 1]> : tensor<8xi64>} : tensor<8xi64>
  %cut = mopt.constant {value = dense<[0, 0, 0, -1, 0, 0, 0, 0]> : tensor<8xi64>} : tensor<8xi64>
  %channel = mopt.constant {value = dense<[0, 1, 0, 0, 0, 0, 0, 0]> : tensor<8xi64>} : tensor<8xi64>
  %one = mopt.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %0 = mopt.pad %x, %p, %one, %none : (tensor<1x1x4x4xf32>, tensor<8xi64>, tensor<f32>, none) -> tensor<1x1x4x6xf32>
  %1 = mopt.conv %0, %w, %none : (tensor<1x1x4x6xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x4x6xf32>
  %2 = mopt.pad %x, %p, %none, %none {mode = "edge"} : (tensor<1x1x4x4xf32>, tensor<8xi64>, none, none) -> tensor<1x1x4x6xf32>
  %3 = mopt.conv %2, %w, %none : (tensor<1x1x4x6xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x4x6xf32>
  %4 = mopt.pad %x, %cut, %none, %none : (tensor<1x1x4x4xf32>, tensor<8xi64>, none, none) -> tensor<1x1x4x3xf32>
  %5 = mopt.conv %4, %w, %none : (tensor<1x1x4x3xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x4x3xf32>
  %6 = mopt.pad %x, %channel, %none, %none : (tensor<1x1x4x4xf32>, tensor<8xi64>, none, none) -> tensor<1x2x4x4xf32>
  %7 = mopt.conv %6, %w2, %none : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>, none) -> tensor<1x1x4x4xf32>
  %8 = mopt.pad %x, %p, %none, %none : (tensor<1x1x4x4xf32>, tensor<8xi64>, none, none) -> tensor<1x1x4x6xf32>
  %9 = mopt.conv %8, %w, %none : (tensor<1x1x4x6xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x4x6xf32>
  %10 = mopt.pad %x, %p, %none, %none : (tensor<1x1x4x4xf32>, tensor<8xi64>, none, none) -> tensor<1x1x4x6xf32>
  %11 = mopt.conv %10, %w, %none {auto_pad = "SAME_UPPER"} : (tensor<1x1x4x6xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x4x6xf32>
  return %1, %3, %5, %7, %8, %9, %11 : tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x3xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32>
}
