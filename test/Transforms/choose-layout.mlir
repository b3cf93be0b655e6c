// RUN: mopt-opt --mopt-choose-layout --split-input-file %s | FileCheck %s
// RUN: mopt-opt --mopt-choose-layout --split-input-file --mlir-print-debuginfo %s | FileCheck %s --check-prefix=LOC
// RUN: mopt-opt --mopt-choose-layout --canonicalize --split-input-file %s | FileCheck %s --check-prefix=VIEWS

// One transpose where the chain begins; where it ends only axes of size 1 move. Symbols move with their axes. The slope of
// a channel lies along the last axis.
// CHECK-LABEL: func.func @chain
// CHECK: %[[X:.*]] = mopt.transpose %arg0 {perm = array<i64: 0, 2, 3, 1>} {{.*}} -> tensor<?x?x?x3xf32, #mopt.dims<[n, h, w, 3]>>
// CHECK: %[[S:.*]] = mopt.constant {value = dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<4xf32>}
// CHECK: %[[C:.*]] = mopt.conv %[[X]], %arg1, %{{.*}} {channels_last = 1 : i64, pads = array<i64: 1, 1, 1, 1>} {{.*}} -> tensor<?x?x?x4xf32, #mopt.dims<[n, h, w, 4]>>
// CHECK: %[[P:.*]] = mopt.prelu %[[C]], %[[S]]
// CHECK: %[[D:.*]] = mopt.conv %[[P]], %arg2
// CHECK: %[[G:.*]] = mopt.global_average_pool %[[D]] {channels_last = 1 : i64}
// CHECK: mopt.transpose %[[G]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK: mopt.flatten
// VIEWS-LABEL: func.func @chain
// VIEWS-COUNT-1: mopt.transpose
// VIEWS-NOT: mopt.transpose
// VIEWS: mopt.global_average_pool
// VIEWS-NEXT: mopt.reshape
// LOC-LABEL: func.func @chain
// LOC: mopt.prelu {{.*}} loc(#[[PRELU:.*]])
// LOC: #[[PRELU]] = loc("prelu")
func.func @chain(%x: tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, %w: tensor<4x3x3x3xf32>, %w2: tensor<64x4x3x3xf32>) -> tensor<?x64xf32, #mopt.dims<[n, 64]>> {
  %none = mopt.none : none
  %slope = mopt.constant {value = dense<[[[0.0]], [[1.0]], [[2.0]], [[3.0]]]> : tensor<4x1x1xf32>} : tensor<4x1x1xf32>
  %0 = mopt.conv %x, %w, %none {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x3x?x?xf32, #mopt.dims<[n, 3, h, w]>>, tensor<4x3x3x3xf32>, none) -> tensor<?x4x?x?xf32, #mopt.dims<[n, 4, h, w]>> loc("first")
  %1 = mopt.prelu %0, %slope : (tensor<?x4x?x?xf32, #mopt.dims<[n, 4, h, w]>>, tensor<4x1x1xf32>) -> tensor<?x4x?x?xf32, #mopt.dims<[n, 4, h, w]>> loc("prelu")
  %2 = mopt.conv %1, %w2, %none {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x4x?x?xf32, #mopt.dims<[n, 4, h, w]>>, tensor<64x4x3x3xf32>, none) -> tensor<?x64x?x?xf32, #mopt.dims<[n, 64, h, w]>> loc("second")
  %3 = mopt.global_average_pool %2 : (tensor<?x64x?x?xf32, #mopt.dims<[n, 64, h, w]>>) -> tensor<?x64x1x1xf32, #mopt.dims<[n, 64, 1, 1]>> loc("pool")
  %4 = mopt.flatten %3 : (tensor<?x64x1x1xf32, #mopt.dims<[n, 64, 1, 1]>>) -> tensor<?x64xf32, #mopt.dims<[n, 64]>> loc("flatten")
  return %4 : tensor<?x64xf32, #mopt.dims<[n, 64]>>
}

// -----

// A depthwise convolution alone is not worth the two transposes around it.
// CHECK-LABEL: func.func @lone
// CHECK-NOT: mopt.transpose
// CHECK: mopt.conv %arg0
// CHECK-NOT: channels_last
// CHECK: return
func.func @lone(%x: tensor<1x8x16x16xf32>, %w: tensor<8x1x1x1xf32>) -> tensor<1x8x16x16xf32> {
  %none = mopt.none : none
  %0 = mopt.conv %x, %w, %none {group = 8 : i64} : (tensor<1x8x16x16xf32>, tensor<8x1x1x1xf32>, none) -> tensor<1x8x16x16xf32>
  return %0 : tensor<1x8x16x16xf32>
}

// -----

// The model's own transposes undo those of the layout. The first node lives on nowhere: what it undid is an argument; the
// second lives on in the convolution.
// CHECK-LABEL: func.func @own_transposes
// CHECK-NOT: mopt.transpose
// CHECK: %[[Y:.*]] = mopt.conv %arg0, %arg1, %{{.*}} {channels_last = 1 : i64}
// CHECK-NEXT: return %[[Y]]
// LOC-LABEL: func.func @own_transposes
// LOC: mopt.conv {{.*}} loc(#[[FUSED:.*]])
// LOC-DAG: #[[FUSED]] = loc(fused[#[[CONV:.*]], #[[BACK:.*]]])
// LOC-DAG: #[[CONV]] = loc("conv")
// LOC-DAG: #[[BACK]] = loc("back")
func.func @own_transposes(%x: tensor<2x16x8xf32>, %w: tensor<8x8x5xf32>) -> tensor<2x12x8xf32> {
  %none = mopt.none : none
  %0 = mopt.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<2x16x8xf32>) -> tensor<2x8x16xf32> loc("there")
  %1 = mopt.conv %0, %w, %none : (tensor<2x8x16xf32>, tensor<8x8x5xf32>, none) -> tensor<2x8x12xf32> loc("conv")
  %2 = mopt.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<2x8x12xf32>) -> tensor<2x12x8xf32> loc("back")
  return %2 : tensor<2x12x8xf32>
}

// -----

// A transpose that undoes only a part is joined with the one of the layout.
// CHECK-LABEL: func.func @joined
// CHECK: %[[Y:.*]] = mopt.conv
// CHECK-NEXT: %[[Z:.*]] = mopt.transpose %[[Y]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: return %[[Z]]
func.func @joined(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x14x14x8xf32> {
  %none = mopt.none : none
  %0 = mopt.conv %x, %w, %none : (tensor<1x8x16x16xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x14x14xf32>
  %1 = mopt.transpose %0 {perm = array<i64: 0, 3, 2, 1>} : (tensor<1x8x14x14xf32>) -> tensor<1x14x14x8xf32>
  return %1 : tensor<1x14x14x8xf32>
}

// -----

// Ops that name axes name others. Between the convolutions nothing is moved.
// CHECK-LABEL: func.func @axes
// CHECK: mopt.conv
// CHECK-NOT: mopt.transpose
// CHECK: mopt.split {{.*}}axis = 3
// CHECK-NOT: mopt.transpose
// CHECK: mopt.concat {{.*}}axis = 3
// CHECK-NOT: mopt.transpose
// CHECK: %[[A:.*]] = mopt.constant {value = dense<[1, 2]> : tensor<2xi64>}
// CHECK: mopt.slice %{{.*}}, %{{.*}}, %{{.*}}, %[[A]]
// CHECK-NOT: mopt.transpose
// CHECK: %[[P:.*]] = mopt.constant {value = dense<[0, 3, 1, 2]> : tensor<4xi64>}
// CHECK: mopt.pad %{{.*}}, %{{.*}}, %{{.*}}, %[[P]] {mode = "edge"} {{.*}} -> tensor<1x16x16x8xf32>
// CHECK-NOT: mopt.transpose
// CHECK: mopt.resize {{.*}}axes = array<i64: 0, 3, 1, 2>{{.*}} -> tensor<1x32x32x8xf32>
// CHECK-NOT: mopt.transpose
// CHECK: mopt.softmax {{.*}}axis = 3
// CHECK-NOT: mopt.transpose
// CHECK: mopt.reduce {{.*}} -> tensor<1x1x32x8xf32>
// CHECK-NOT: mopt.transpose
// CHECK: mopt.quantize_linear {{.*}}axis = 3
// CHECK-NEXT: mopt.dequantize_linear {{.*}}axis = 3
// CHECK-NOT: mopt.transpose
// CHECK: mopt.conv
func.func @axes(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x3x3xf32>, %w2: tensor<8x8x1x3xf32>, %scale: tensor<8xf32>) -> tensor<1x8x1x30xf32> {
  %none = mopt.none : none
  %starts = mopt.constant {value = dense<1> : tensor<2xi64>} : tensor<2xi64>
  %ends = mopt.constant {value = dense<13> : tensor<2xi64>} : tensor<2xi64>
  %axes = mopt.constant {value = dense<[2, -1]> : tensor<2xi64>} : tensor<2xi64>
  %pads = mopt.constant {value = dense<[0, 0, 2, 2, 0, 0, 2, 2]> : tensor<8xi64>} : tensor<8xi64>
  %scales = mopt.constant {value = dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>} : tensor<4xf32>
  %two = mopt.constant {value = dense<2> : tensor<1xi64>} : tensor<1xi64>
  %zero = mopt.constant {value = dense<0> : tensor<8xui8>} : tensor<8xui8>
  %0 = mopt.conv %x, %w, %none : (tensor<1x8x16x16xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x14x14xf32>
  %1:2 = mopt.split %0, %none {axis = 1 : i64} : (tensor<1x8x14x14xf32>, none) -> (tensor<1x4x14x14xf32>, tensor<1x4x14x14xf32>)
  %2 = mopt.concat %1#1, %1#0 {axis = -3 : i64} : (tensor<1x4x14x14xf32>, tensor<1x4x14x14xf32>) -> tensor<1x8x14x14xf32>
  %3 = mopt.slice %2, %starts, %ends, %axes, %none : (tensor<1x8x14x14xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, none) -> tensor<1x8x12x12xf32>
  %4 = mopt.pad %3, %pads, %none, %none {mode = "edge"} : (tensor<1x8x12x12xf32>, tensor<8xi64>, none, none) -> tensor<1x8x16x16xf32>
  %5 = mopt.resize %4, %none, %scales, %none {mode = "linear"} : (tensor<1x8x16x16xf32>, none, tensor<4xf32>, none) -> tensor<1x8x32x32xf32>
  %6 = mopt.softmax %5 {axis = 1 : i64} : (tensor<1x8x32x32xf32>) -> tensor<1x8x32x32xf32>
  %7 = mopt.reduce %6, %two {kind = "max"} : (tensor<1x8x32x32xf32>, tensor<1xi64>) -> tensor<1x8x1x32xf32>
  %8 = mopt.quantize_linear %7, %scale, %zero {axis = 1 : i64} : (tensor<1x8x1x32xf32>, tensor<8xf32>, tensor<8xui8>) -> tensor<1x8x1x32xui8>
  %9 = mopt.dequantize_linear %8, %scale, %zero {axis = -3 : i64} : (tensor<1x8x1x32xui8>, tensor<8xf32>, tensor<8xui8>) -> tensor<1x8x1x32xf32>
  %10 = mopt.conv %9, %w2, %none : (tensor<1x8x1x32xf32>, tensor<8x8x1x3xf32>, none) -> tensor<1x8x1x30xf32>
  return %10 : tensor<1x8x1x30xf32>
}

// -----

// An axis of size 1 is dropped, spatial axes are joined: the transpose to a sequence undoes the layout.
// CHECK-LABEL: func.func @sequences
// CHECK: %[[Y:.*]] = mopt.conv
// CHECK-NOT: mopt.transpose
// CHECK: mopt.squeeze %[[Y]], {{.*}} -> tensor<?x14x8xf32, #mopt.dims<[n, 14, 8]>>
// CHECK: %[[S:.*]] = mopt.constant {value = dense<[0, -1, 8]> : tensor<3xi64>}
// CHECK: mopt.reshape %{{.*}}, %[[S]] {{.*}} -> tensor<?x?x8xf32, #mopt.dims<[n, 14 * h - 28, 8]>>
// CHECK-NOT: mopt.transpose
// CHECK: return
func.func @sequences(%x: tensor<?x8x3x16xf32, #mopt.dims<[n, 8, 3, 16]>>, %y: tensor<?x8x?x16xf32, #mopt.dims<[n, 8, h, 16]>>, %w: tensor<8x8x3x3xf32>) -> (tensor<?x14x8xf32, #mopt.dims<[n, 14, 8]>>, tensor<?x?x8xf32, #mopt.dims<[n, 14 * h - 28, 8]>>) {
  %none = mopt.none : none
  %axes = mopt.constant {value = dense<2> : tensor<1xi64>} : tensor<1xi64>
  %shape = mopt.constant {value = dense<[0, 8, -1]> : tensor<3xi64>} : tensor<3xi64>
  %0 = mopt.conv %x, %w, %none : (tensor<?x8x3x16xf32, #mopt.dims<[n, 8, 3, 16]>>, tensor<8x8x3x3xf32>, none) -> tensor<?x8x1x14xf32, #mopt.dims<[n, 8, 1, 14]>>
  %1 = mopt.squeeze %0, %axes : (tensor<?x8x1x14xf32, #mopt.dims<[n, 8, 1, 14]>>, tensor<1xi64>) -> tensor<?x8x14xf32, #mopt.dims<[n, 8, 14]>>
  %2 = mopt.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<?x8x14xf32, #mopt.dims<[n, 8, 14]>>) -> tensor<?x14x8xf32, #mopt.dims<[n, 14, 8]>>
  %3 = mopt.conv %y, %w, %none : (tensor<?x8x?x16xf32, #mopt.dims<[n, 8, h, 16]>>, tensor<8x8x3x3xf32>, none) -> tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>
  %4 = mopt.reshape %3, %shape : (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<3xi64>) -> tensor<?x8x?xf32, #mopt.dims<[n, 8, 14 * h - 28]>>
  %5 = mopt.transpose %4 {perm = array<i64: 0, 2, 1>} : (tensor<?x8x?xf32, #mopt.dims<[n, 8, 14 * h - 28]>>) -> tensor<?x?x8xf32, #mopt.dims<[n, 14 * h - 28, 8]>>
  return %2, %5 : tensor<?x14x8xf32, #mopt.dims<[n, 14, 8]>>, tensor<?x?x8xf32, #mopt.dims<[n, 14 * h - 28, 8]>>
}

// -----

// What remains of a reduction lies as it did: no transpose, whatever was dropped.
// CHECK-LABEL: func.func @reduced
// CHECK: %[[Y:.*]] = mopt.conv
// CHECK: %[[A:.*]] = mopt.constant {value = dense<[1, 2]> : tensor<2xi64>}
// CHECK: mopt.reduce %[[Y]], %[[A]] {keepdims = 0 : i64} {{.*}} -> tensor<2x8xf32>
// CHECK: mopt.arg_reduce %[[Y]] {axis = 3 : i64, keepdims = 0 : i64} {{.*}} -> tensor<2x14x14xi64>
// CHECK-NEXT: return
func.func @reduced(%x: tensor<2x8x16x16xf32>, %w: tensor<8x8x3x3xf32>) -> (tensor<2x8xf32>, tensor<2x14x14xi64>) {
  %none = mopt.none : none
  %axes = mopt.constant {value = dense<[3, -2]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.conv %x, %w, %none : (tensor<2x8x16x16xf32>, tensor<8x8x3x3xf32>, none) -> tensor<2x8x14x14xf32>
  %1 = mopt.reduce %0, %axes {keepdims = 0 : i64} : (tensor<2x8x14x14xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  %2 = mopt.arg_reduce %0 {axis = 1 : i64, keepdims = 0 : i64} : (tensor<2x8x14x14xf32>) -> tensor<2x14x14xi64>
  return %1, %2 : tensor<2x8xf32>, tensor<2x14x14xi64>
}

// -----

// Operands that broadcast: constants are placed now, one value for all stays, the others get their axes first.
// CHECK-LABEL: func.func @broadcasts
// CHECK-DAG: mopt.constant {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK-DAG: mopt.constant {value = dense<[{{\[}}[1.000000e+00], [2.000000e+00]], {{\[}}[3.000000e+00], [4.000000e+00]]]> : tensor<2x2x1xf32>}
// CHECK-DAG: mopt.constant {value = dense<[{{\[}}[1.000000e+00, 5.000000e+00], [2.000000e+00, 6.000000e+00]], {{\[}}[3.000000e+00, 7.000000e+00], [4.000000e+00, 8.000000e+00]]]> : tensor<2x2x2xf32>}
// CHECK-DAG: %[[ONE:.*]] = mopt.constant {value = dense<5.000000e+00> : tensor<1x1x1xf32>}
// CHECK-DAG: %[[U:.*]] = mopt.unsqueeze %arg2, {{.*}} -> tensor<1x1x1x2xf32>
// CHECK-DAG: %[[V:.*]] = mopt.transpose %[[U]] {{.*}} -> tensor<1x1x2x1xf32>
// CHECK: mopt.mul {{.*}} (tensor<1x2x2x2xf32>, tensor<2xf32>)
// CHECK: mopt.mul {{.*}} (tensor<1x2x2x2xf32>, tensor<2x2x1xf32>)
// CHECK: mopt.mul {{.*}} (tensor<1x2x2x2xf32>, tensor<2x2x2xf32>)
// CHECK: mopt.mul %{{.*}}, %[[ONE]]
// CHECK: mopt.mul %{{.*}}, %[[V]]
func.func @broadcasts(%x: tensor<1x1x2x2xf32>, %w: tensor<2x1x1x1xf32>, %v: tensor<2xf32>) -> tensor<1x2x2x2xf32> {
  %none = mopt.none : none
  %c = mopt.constant {value = dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>} : tensor<1x2x1x1xf32>
  %hw = mopt.constant {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>} : tensor<2x2xf32>
  %all = mopt.constant {value = dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>} : tensor<2x2x2xf32>
  %one = mopt.constant {value = dense<5.0> : tensor<1x1x1xf32>} : tensor<1x1x1xf32>
  %0 = mopt.conv %x, %w, %none : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %1 = mopt.mul %0, %c : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %2 = mopt.mul %1, %hw : (tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
  %3 = mopt.mul %2, %all : (tensor<1x2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %4 = mopt.mul %3, %one : (tensor<1x2x2x2xf32>, tensor<1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %5 = mopt.mul %4, %v : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %6 = mopt.transpose %5 {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %6 : tensor<1x2x2x2xf32>
}

// -----

// Two readers that need ONNX's order share one transpose; sizes are read without any.
// CHECK-LABEL: func.func @readers
// CHECK: %[[Y:.*]] = mopt.conv
// CHECK-COUNT-1: mopt.transpose %[[Y]]
// CHECK-NOT: mopt.transpose
// CHECK: mopt.shape %[[Y]]
// CHECK: mopt.constant {value = dense<[3, 1]> : tensor<2xi64>}
// CHECK-NEXT: mopt.gather
// CHECK: mopt.size %[[Y]]
func.func @readers(%x: tensor<?x8x?x16xf32, #mopt.dims<[n, 8, h, 16]>>, %w: tensor<8x8x3x3xf32>, %g: tensor<14xf32>) -> (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<2xi64>, tensor<i64>) {
  %none = mopt.none : none
  %0 = mopt.conv %x, %w, %none : (tensor<?x8x?x16xf32, #mopt.dims<[n, 8, h, 16]>>, tensor<8x8x3x3xf32>, none) -> tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>
  %1:3 = mopt.layer_norm %0, %g, %none : (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<14xf32>, none) -> (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, none, none)
  %2 = mopt.shape %0 {start = 1 : i64, end = -1 : i64} : (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>) -> tensor<2xi64>
  %3 = mopt.size %0 : (tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>) -> tensor<i64>
  return %0, %1#0, %2, %3 : tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<?x8x?x14xf32, #mopt.dims<[n, 8, h - 2, 14]>>, tensor<2xi64>, tensor<i64>
}

// -----

// Positions count in ONNX's order: a pool whose positions are read stays. Where nobody reads them they are left out.
// CHECK-LABEL: func.func @positions
// CHECK: mopt.max_pool {{.*}}channels_last = 1 {{.*}} -> (tensor<1x7x7x8xf32>, none)
// CHECK: mopt.transpose
// CHECK: mopt.max_pool {{.*}} -> (tensor<1x8x6x6xf32>, tensor<1x8x6x6xi64>)
func.func @positions(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x3x3xf32>) -> (tensor<1x8x6x6xf32>, tensor<1x8x6x6xi64>) {
  %none = mopt.none : none
  %0 = mopt.conv %x, %w, %none : (tensor<1x8x16x16xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x14x14xf32>
  %1:2 = mopt.max_pool %0 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x14x14xf32>) -> (tensor<1x8x7x7xf32>, tensor<1x8x7x7xi64>)
  %2:2 = mopt.max_pool %1#0 {kernel_shape = array<i64: 2, 2>} : (tensor<1x8x7x7xf32>) -> (tensor<1x8x6x6xf32>, tensor<1x8x6x6xi64>)
  return %2#0, %2#1 : tensor<1x8x6x6xf32>, tensor<1x8x6x6xi64>
}

// -----

// Nothing to decide: sizes without names, an op whose layout is chosen, no convolution.
// CHECK-LABEL: func.func @untouched
// CHECK-NOT: mopt.transpose
// CHECK: mopt.conv %arg0, %arg2, %{{[0-9]+}} :
// CHECK-NOT: mopt.transpose
// CHECK: mopt.conv %arg1, %arg2, %{{[0-9]+}} {channels_last = 1 : i64} :
// CHECK-NOT: mopt.transpose
// CHECK: return
func.func @untouched(%x: tensor<?x8x?x?xf32>, %y: tensor<1x16x16x8xf32>, %w: tensor<8x8x3x3xf32>) -> (tensor<?x8x?x?xf32>, tensor<1x14x14x8xf32>) {
  %none = mopt.none : none
  %0 = mopt.conv %x, %w, %none : (tensor<?x8x?x?xf32>, tensor<8x8x3x3xf32>, none) -> tensor<?x8x?x?xf32>
  %1 = mopt.conv %y, %w, %none {channels_last = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x14x14x8xf32>
  return %0, %1 : tensor<?x8x?x?xf32>, tensor<1x14x14x8xf32>
}
