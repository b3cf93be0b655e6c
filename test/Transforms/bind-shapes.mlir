// RUN: mopt-opt %s --mopt-bind-shapes=shapes=x=2x?x4 | FileCheck %s
// RUN: not mopt-opt %s --mopt-bind-shapes=shapes=z=2 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mopt-opt %s --mopt-bind-shapes=shapes=x=2x3 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not mopt-opt %s --mopt-bind-shapes=shapes=x=2x3x5 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not mopt-opt %s --mopt-bind-shapes=shapes=x=2x3x4,y=3x4 2>&1 | FileCheck %s --check-prefix=TWICE

// A size holds wherever its symbol stands; what follows from it is computed.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<2x?x4xf32, #mopt.dims<[2, s, 4]>>
// CHECK-SAME: tensor<2x4xf32>
// CHECK: mopt.concat {{.*}} -> tensor<4x?x4xf32, #mopt.dims<[4, s, 4]>>
// NAME: MOPT-C014: --shape names input 'z', which the model does not have
// RANK: MOPT-C014: --shape gives input 'x' 2 axes, it has 3
// SIZE: MOPT-C014: --shape gives axis 2 of input 'x' size 5, the model says 4
// TWICE: MOPT-C014: --shape gives size 'b' both 2 and 3
func.func @main(%x: tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>> {mopt.name = "x"}, %y: tensor<?x4xf32, #mopt.dims<[b, 4]>> {mopt.name = "y"}) -> tensor<?x?x4xf32, #mopt.dims<[2 * b, s, 4]>> {
  %0 = mopt.concat %x, %x {axis = 0 : i64} : (tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>>, tensor<?x?x4xf32, #mopt.dims<[b, s, 4]>>) -> tensor<?x?x4xf32, #mopt.dims<[2 * b, s, 4]>>
  return %0 : tensor<?x?x4xf32, #mopt.dims<[2 * b, s, 4]>>
}
