// RUN: mopt-opt %s --mopt-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

// The pass names axes that have no name, follows groups, and sets the function's type.
// CHECK-LABEL: func @names(%arg0: tensor<?x?xf32, #mopt.dims<[d0, d1]>>)
// CHECK-SAME: -> tensor<?x?xf32, #mopt.dims<[d1, d0]>>
// CHECK: mopt.group "movement"
// CHECK: } -> tensor<?x?xf32, #mopt.dims<[d1, d0]>>
func.func @names(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = mopt.group "movement" {
    %1 = mopt.transpose %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
    mopt.yield %1 : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// A size that only the run knows keeps its name.
// CHECK-LABEL: func @keeps
// CHECK-SAME: -> tensor<?xf32, #mopt.dims<[chosen]>>
func.func @keeps(%x: tensor<9xf32>, %k: tensor<1xi64>) -> tensor<?xf32, #mopt.dims<[chosen]>> {
  %0:2 = mopt.topk %x, %k : (tensor<9xf32>, tensor<1xi64>) -> (tensor<?xf32, #mopt.dims<[chosen]>>, tensor<?xi64>)
  return %0#0 : tensor<?xf32, #mopt.dims<[chosen]>>
}

// -----

func.func @bytes() {
  // expected-error@+1 {{MOPT-S019: the weight handle covers 8 bytes at 0, the type needs 12}}
  %0 = mopt.constant {value = #mopt.weight<"w", 0, 8> : tensor<3xf32>} : tensor<3xf32>
  return
}

// -----

func.func @kind() {
  // expected-error@+1 {{MOPT-S019: mopt.constant: the value is not a tensor with known sizes}}
  %0 = mopt.constant {value = 1 : i64} : tensor<i64>
  return
}

// -----

func.func @type() {
  // expected-error@+1 {{MOPT-S017: mopt.constant: result 0 has other sizes}}
  %0 = mopt.constant {value = dense<1> : tensor<2xi64>} : tensor<3xi64>
  return
}

// -----

func.func @yields(%x: tensor<2xf32>) {
  // expected-error@+1 {{MOPT-S018: the group has 0 results and yields 1 values}}
  mopt.group "none" {
    mopt.yield %x : tensor<2xf32>
  }
  return
}

// -----

// expected-error@+1 {{MOPT-S002: func.func: input 0 has the negative size -3}}
func.func @negative(%x: tensor<?xf32, #mopt.dims<[-3]>>) {
  return
}
