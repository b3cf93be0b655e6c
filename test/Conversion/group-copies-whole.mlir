// RUN: mopt-opt %s --mopt-to-imported
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = mopt.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %0 = mopt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %x, %c, %0, %0 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}
