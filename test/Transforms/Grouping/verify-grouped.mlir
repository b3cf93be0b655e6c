// RUN: mopt-opt %s --mopt-verify-grouped -verify-diagnostics -split-input-file

func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{MOPT-C002: 'mopt.neg' G1: stands outside a group}}
  %0 = mopt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @two_roots(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{MOPT-C002: 'mopt.group' G2: has more than one root}}
  %0 = mopt.group "contraction" {
    %1 = mopt.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = mopt.softmax %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mopt.yield %2 : tensor<4x4xf32>
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @no_root(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{G2: says its root is 'conv' and has none}}
  %0 = mopt.group "conv" {
    %1 = mopt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    mopt.yield %1 : tensor<4xf32>
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @other_sizes(%x: tensor<1xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mopt.group "none" {
    // expected-error @+1 {{G2: has other sizes than the group's result}}
    %1 = mopt.neg %x : (tensor<1xf32>) -> tensor<1xf32>
    %2 = mopt.add %1, %y : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
    mopt.yield %2 : tensor<4xf32>
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{G3: has an axis whose size has no name}}
func.func @nameless(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func @data_dependent(%x: tensor<2x3xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32, #mopt.dims<[d0, d1]>> {
  // expected-error @+1 {{G5: has a size that depends on data, not on the shapes of inputs (symbol 'd0')}}
  %0 = mopt.reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32, #mopt.dims<[d0, d1]>>
  return %0 : tensor<?x?xf32, #mopt.dims<[d0, d1]>>
}

// -----

// A declaration is no model; passes leave it alone.
// expected-error @+1 {{a model function has one block}}
func.func private @declared(tensor<4xf32>)
