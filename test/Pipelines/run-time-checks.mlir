// What shapes of a run decide is checked before anything is read: a view has the elements of its source.
// RUN: mopt-compiler compile %s -o %t.so --cpu x86-64-v2 --quiet
// RUN: mopt run %t.so --shape x=4x3 --outputs %t.npz
// RUN: not mopt run %t.so --shape x=2x3 --outputs %t.npz 2>&1 | FileCheck %s
// RUN: not mopt run %t.so --shape x=0x3 --outputs %t.npz 2>&1 | FileCheck %s --check-prefix=EMPTY
// CHECK: error MOPT-R040: node 'reshape': its input has 3 * n elements, its output 12: 6 and 12 must be equal
// EMPTY: error MOPT-R040
func.func @main(%x: tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "x"}) -> (tensor<2x6xf32> {mopt.name = "y"}) {
  %s = mopt.constant {value = dense<[2, 6]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mopt.reshape %x, %s : (tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<2xi64>) -> tensor<2x6xf32> loc("reshape")
  return %0 : tensor<2x6xf32>
}
