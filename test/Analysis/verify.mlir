// RUN: %python -c "import numpy; numpy.savez(r'%t.npz', x=numpy.arange(6, dtype='f4').reshape(2, 3))"
// RUN: mopt-compiler verify %s --inputs %t.npz 2>&1 | FileCheck %s
// RUN: mopt-compiler interpret %s --inputs %t.npz --outputs %t.out.npz
// RUN: %python -c "import numpy; assert numpy.load(r'%t.out.npz')['y'].tolist() == [[3, 4, 5], [6, 7, 8]]"
// Inputs that do not fit are the user's fault.
// RUN: %python -c "import numpy; numpy.savez(r'%t.bad.npz', x=numpy.zeros((2, 4), 'f4'))"
// RUN: not mopt-compiler verify %s --inputs %t.bad.npz 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error MOPT-V004: input 'x' has {{.*}}[2, 4]

// CHECK: ok    --mopt-fold-constants
// CHECK: ok    compiled model
func.func @main(%x: tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "x"})
    -> (tensor<?x3xf32, #mopt.dims<[n, 3]>> {mopt.name = "y"}) {
  %one = mopt.constant {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32> loc("one")
  %two = mopt.constant {value = dense<2.0> : tensor<f32>} : tensor<f32> loc("two")
  %three = mopt.add %one, %two : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32> loc("three")
  %y = mopt.add %x, %three : (tensor<?x3xf32, #mopt.dims<[n, 3]>>, tensor<3xf32>) -> tensor<?x3xf32, #mopt.dims<[n, 3]>> loc("sum")
  return %y : tensor<?x3xf32, #mopt.dims<[n, 3]>>
}
