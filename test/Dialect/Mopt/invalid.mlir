// RUN: mopt-opt %s --split-input-file --verify-diagnostics

// Text can hold anything; each of these is refused and none may crash.

func.func @no_operands() {
  // expected-error@+1 {{expected 3 operands, but found 0}}
  %0 = "mopt.conv"() : () -> tensor<1xf32>
  return
}

// -----

func.func @scalar_conv(%x: tensor<f32>) {
  %n = mopt.none : none
  // expected-error@+1 {{MOPT-S004: mopt.conv: operand 0 has rank 0, expected at least 3}}
  %0 = mopt.conv %x, %x, %n : (tensor<f32>, tensor<f32>, none) -> tensor<f32>
  return
}

// -----

func.func @no_axis(%x: tensor<2xf32>) {
  // expected-error@+1 {{requires attribute 'axis'}}
  %0 = "mopt.concat"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @empty_concat() {
  // expected-error@+1 {{MOPT-S018: mopt.concat: found no operand}}
  %0 = "mopt.concat"() {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @empty_einsum() {
  // expected-error@+1 {{MOPT-S016: mopt.einsum: the equation has 1 terms for 0 operands}}
  %0 = "mopt.einsum"() {equation = ""} : () -> tensor<2xf32>
  return
}

// -----

func.func @odd_equation(%x: tensor<2xf32>) {
  // expected-error@+1 {{MOPT-S016: mopt.einsum: term '..i' of the equation has a misplaced '.'}}
  %0 = mopt.einsum %x {equation = "..i->i"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @short_lists(%x: tensor<1x1x8x8xf32>) {
  // expected-error@+1 {{MOPT-S012: mopt.average_pool: pads has 1 entries, expected 4}}
  %0 = mopt.average_pool %x {kernel_shape = array<i64: 2, 2>, pads = array<i64: 1>} : (tensor<1x1x8x8xf32>) -> tensor<1x1x7x7xf32>
  return
}

// -----

func.func @choice(%x: tensor<1xf32>) {
  // expected-error@+1 {{one of none, tanh}}
  %0 = mopt.gelu %x {approximate = "erf"} : (tensor<1xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor}}
  %0 = mopt.relu %x : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S007: mopt.transpose: perm has 1 entries for an operand of rank 2}}
  %0 = mopt.transpose %x {perm = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @far_axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{MOPT-S006: mopt.flatten: axis -9223372036854775808 is outside}}
  %0 = mopt.flatten %x {axis = -9223372036854775808 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rank_nine(%x: tensor<1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error@+1 {{MOPT-S005: mopt.relu: operand 0 has rank 9, expected at most 8}}
  %0 = mopt.relu %x : (tensor<1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

func.func @encoding(%x: tensor<?x?xf32, #mopt.dims<[a]>>) {
  // expected-error@+1 {{MOPT-S017: mopt.relu: result 0 has another rank}}
  %0 = mopt.relu %x : (tensor<?x?xf32, #mopt.dims<[a]>>) -> tensor<?xf32>
  return
}

// -----

// A value that follows itself ends; so do many ways through the same definitions.
func.func @diamonds(%x: tensor<4xf32>, %s: tensor<1xi64>) {
  %0 = mopt.mul %s, %s : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %1 = mopt.add %0, %0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %2 = mopt.mul %1, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %3 = mopt.reshape %x, %2 : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}
