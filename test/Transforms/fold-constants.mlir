// RUN: mopt-opt --mopt-fold-constants --split-input-file %s | FileCheck %s
// RUN: mopt-opt --mopt-fold-constants --split-input-file --mlir-print-debuginfo %s | FileCheck %s --check-prefix=LOC
// RUN: mopt-opt --mopt-fold-constants="slack-bytes=4" --split-input-file %s | FileCheck %s --check-prefix=SLACK

// What hangs on constants only becomes a constant; what hangs on inputs stays.
// CHECK-LABEL: func.func @chain
// CHECK: %[[C:.*]] = mopt.constant {value = dense<[8.000000e+00, 1.000000e+01]> : tensor<2xf32>}
// CHECK-NEXT: %[[R:.*]] = mopt.add %arg0, %[[C]]
// CHECK-NEXT: return %[[R]]
// The constant carries the names of all nodes that made it.
// LOC-LABEL: func.func @chain
// LOC: mopt.constant {{.*}} loc(#[[FUSED:.*]])
// LOC-DAG: #[[FUSED]] = loc(fused[#[[MUL:.*]], #[[ADD:.*]]])
// LOC-DAG: #[[MUL]] = loc("mul")
// LOC-DAG: #[[ADD]] = loc("add")
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = mopt.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32> loc("a")
  %b = mopt.constant {value = dense<3.0> : tensor<2xf32>} : tensor<2xf32> loc("b")
  %two = mopt.constant {value = dense<2.0> : tensor<f32>} : tensor<f32> loc("two")
  %c = mopt.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("add")
  %d = mopt.mul %c, %two : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> loc("mul")
  %e = mopt.add %x, %d : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("last")
  return %e : tensor<2xf32>
}

// -----

// A size that the type says is a number, though the tensor is an input.
// CHECK-LABEL: func.func @shape_of_input
// CHECK: %[[C:.*]] = mopt.constant {value = dense<[3, 4]> : tensor<2xi64>}
// CHECK-NEXT: return %[[C]]
func.func @shape_of_input(%x: tensor<3x4xf32>) -> tensor<2xi64> {
  %s = mopt.shape %x : (tensor<3x4xf32>) -> tensor<2xi64>
  return %s : tensor<2xi64>
}

// -----

// A symbol has no number; the known part of a shape does.
// CHECK-LABEL: func.func @known_part
// CHECK: mopt.shape
// CHECK: %[[FOUR:.*]] = mopt.constant {value = dense<4> : tensor<i64>}
// CHECK: return %{{.*}}, %[[FOUR]]
func.func @known_part(%x: tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> (tensor<2xi64>, tensor<i64>) {
  %s = mopt.shape %x : (tensor<?x4xf32, #mopt.dims<[b, 4]>>) -> tensor<2xi64>
  %one = mopt.constant {value = dense<1> : tensor<i64>} : tensor<i64>
  %g = mopt.gather %s, %one {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  return %s, %g : tensor<2xi64>, tensor<i64>
}

// -----

// 256 KiB from one element: refused, whatever the options allow for smaller ones.
// CHECK-LABEL: func.func @bomb
// CHECK: mopt.constant_of_shape
// SLACK-LABEL: func.func @bomb
// SLACK: mopt.constant_of_shape
func.func @bomb() -> tensor<65536xf32> {
  %n = mopt.constant {value = dense<65536> : tensor<1xi64>} : tensor<1xi64>
  %v = mopt.constant {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %r = mopt.constant_of_shape %n, %v : (tensor<1xi64>, tensor<1xf32>) -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

// -----

// 32 bytes from 12 are within twice the inputs and 64 KiB, but not within twice the inputs and 4 bytes.
// CHECK-LABEL: func.func @small
// CHECK-NOT: mopt.constant_of_shape
// CHECK: mopt.constant {value = dense<1.000000e+00> : tensor<8xf32>}
// SLACK-LABEL: func.func @small
// SLACK: mopt.constant_of_shape
func.func @small() -> tensor<8xf32> {
  %n = mopt.constant {value = dense<8> : tensor<1xi64>} : tensor<1xi64>
  %v = mopt.constant {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %r = mopt.constant_of_shape %n, %v : (tensor<1xi64>, tensor<1xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A splat is not written out to compute with it.
// CHECK-LABEL: func.func @large_splat
// CHECK: mopt.neg
func.func @large_splat() -> tensor<1000x1000xf32> {
  %v = mopt.constant {value = dense<1.0> : tensor<1000x1000xf32>} : tensor<1000x1000xf32>
  %r = mopt.neg %v : (tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  return %r : tensor<1000x1000xf32>
}

// -----

// An op that fails stays, and fails when the model runs.
// CHECK-LABEL: func.func @bad_index
// CHECK: mopt.gather_nd
func.func @bad_index() -> tensor<1xf32> {
  %d = mopt.constant {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>} : tensor<3xf32>
  %i = mopt.constant {value = dense<7> : tensor<1x1xi64>} : tensor<1x1xi64>
  %r = mopt.gather_nd %d, %i {batch_dims = 0 : i64} : (tensor<3xf32>, tensor<1x1xi64>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

// Views of a constant share its bytes. What nobody reads is gone.
// CHECK-LABEL: func.func @view
// CHECK-NEXT: %[[C:.*]] = mopt.constant {value = dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>}
// CHECK-NEXT: return %[[C]]
func.func @view(%x: tensor<4xf32>) -> tensor<2x2xi32> {
  %d = mopt.constant {value = dense<[1, 2, 3, 4]> : tensor<4xi32>} : tensor<4xi32>
  %s = mopt.constant {value = dense<[2, -1]> : tensor<2xi64>} : tensor<2xi64>
  %dead = mopt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %r = mopt.reshape %d, %s : (tensor<4xi32>, tensor<2xi64>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

// -----

// Sizes of the result that are known need no shape to be computed: 0 keeps an axis.
// CHECK-LABEL: func.func @heads
// CHECK-NOT: mopt.shape
// CHECK: %[[C:.*]] = mopt.constant {value = dense<[0, 0, 12, 32]> : tensor<4xi64>}
// CHECK: mopt.reshape %arg0, %[[C]]
func.func @heads(%x: tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>) -> tensor<?x?x12x32xf32, #mopt.dims<[b, s, 12, 32]>> {
  %shape = mopt.shape %x : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>) -> tensor<3xi64>
  %at = mopt.constant {value = dense<[0, 1]> : tensor<2xi64>} : tensor<2xi64>
  %bs = mopt.gather %shape, %at {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %rest = mopt.constant {value = dense<[12, 32]> : tensor<2xi64>} : tensor<2xi64>
  %to = mopt.concat %bs, %rest {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %y = mopt.reshape %x, %to : (tensor<?x?x384xf32, #mopt.dims<[b, s, 384]>>, tensor<4xi64>) -> tensor<?x?x12x32xf32, #mopt.dims<[b, s, 12, 32]>>
  return %y : tensor<?x?x12x32xf32, #mopt.dims<[b, s, 12, 32]>>
}

// -----

// One axis that is not an axis of the operand is what is left.
// CHECK-LABEL: func.func @merged
// CHECK: %[[C:.*]] = mopt.constant {value = dense<[-1, 4]> : tensor<2xi64>}
// CHECK: mopt.reshape %arg0, %[[C]]
func.func @merged(%x: tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>>) -> tensor<?x4xf32, #mopt.dims<[b * s, 4]>> {
  %shape = mopt.shape %x : (tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>>) -> tensor<3xi64>
  %b = mopt.constant {value = dense<[0]> : tensor<1xi64>} : tensor<1xi64>
  %s = mopt.constant {value = dense<[1]> : tensor<1xi64>} : tensor<1xi64>
  %rows = mopt.gather %shape, %b {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %columns = mopt.gather %shape, %s {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %all = mopt.mul %rows, %columns : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %four = mopt.constant {value = dense<[4]> : tensor<1xi64>} : tensor<1xi64>
  %to = mopt.concat %all, %four {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = mopt.reshape %x, %to : (tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>>, tensor<2xi64>) -> tensor<?x4xf32, #mopt.dims<[b * s, 4]>>
  return %y : tensor<?x4xf32, #mopt.dims<[b * s, 4]>>
}

// -----

// The count of elements must be provably the same.
// CHECK-LABEL: func.func @other_count
// CHECK: mopt.shape
// CHECK: mopt.reshape
func.func @other_count(%x: tensor<?x4xf32, #mopt.dims<[b, 4]>>, %z: tensor<?xf32, #mopt.dims<[c]>>) -> tensor<?x2xf32, #mopt.dims<[c, 2]>> {
  %c = mopt.shape %z : (tensor<?xf32, #mopt.dims<[c]>>) -> tensor<1xi64>
  %two = mopt.constant {value = dense<[2]> : tensor<1xi64>} : tensor<1xi64>
  %to = mopt.concat %c, %two {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = mopt.reshape %x, %to : (tensor<?x4xf32, #mopt.dims<[b, 4]>>, tensor<2xi64>) -> tensor<?x2xf32, #mopt.dims<[c, 2]>>
  return %y : tensor<?x2xf32, #mopt.dims<[c, 2]>>
}
