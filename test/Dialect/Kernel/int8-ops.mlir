// RUN: mopt-opt %s --split-input-file --verify-diagnostics
// What matrix kernels of 8-bit integers, and the requantization in their epilogues, refuse.

func.func @fits(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %s: tensor<1xf32>, %y: tensor<2x9xi8>, %z: tensor<2x9xi32>) {
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) extras(%s : tensor<1xf32>) outs(%y : tensor<2x9xi8>) {maps = [affine_map<(d0, d1) -> (0)>]} epilogue {
  ^bb0(%v: i32, %scale: f32):
    %q = kernel.requantize %v by %scale {zero_point = -3 : i64, low = -3 : i64, high = 127 : i64} : f32 -> i8
    kernel.result %q : i8
  } -> tensor<2x9xi8>
  %1 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) outs(%z : tensor<2x9xi32>) {maps = []} epilogue {
  ^bb0(%v: i32):
    kernel.result %v : i32
  } -> tensor<2x9xi32>
  return
}

// -----
func.func @sum(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %y: tensor<2x9xui8>) {
  // expected-error @+1 {{its sum is an i32}}
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) outs(%y : tensor<2x9xui8>) {maps = []} epilogue {
  ^bb0(%v: ui8):
    kernel.result %v : ui8
  } -> tensor<2x9xui8>
  return
}

// -----
func.func @mixed(%a: tensor<2x6xf32>, %b: tensor<1x2x16x4xi8>, %y: tensor<2x9xf32>) {
  // expected-error @+1 {{has a float and an integer operand}}
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xf32>, tensor<1x2x16x4xi8>) outs(%y : tensor<2x9xf32>) {maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x9xf32>
  return
}

// -----
// 6 elements are two groups of four.
func.func @rows(%a: tensor<2x6xi8>, %b: tensor<1x1x16x4xi8>, %z: tensor<2x9xi32>) {
  // expected-error @+1 {{its panels have 1 rows of 16 times 4, expected 2 rows of 16 or 32 times 4}}
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xi8>, tensor<1x1x16x4xi8>) outs(%z : tensor<2x9xi32>) {maps = []} epilogue {
  ^bb0(%v: i32):
    kernel.result %v : i32
  } -> tensor<2x9xi32>
  return
}

// -----
func.func @depth(%a: tensor<2x?xi8>, %b: tensor<1x1x16x4xi8>, %z: tensor<2x9xi32>) {
  // expected-error @+1 {{neither floats nor 8-bit integers with panels of i8 for a known depth}}
  %0 = kernel.matmul ins(%a, %b : tensor<2x?xi8>, tensor<1x1x16x4xi8>) outs(%z : tensor<2x9xi32>) {maps = []} epilogue {
  ^bb0(%v: i32):
    kernel.result %v : i32
  } -> tensor<2x9xi32>
  return
}

// -----
func.func @pads(%x: tensor<1x8x3xi8>, %b: tensor<1x1x3x16x4xi8>, %z: tensor<1x8x9xi32>) {
  // expected-error @+1 {{its zero point is no value of its operand}}
  %0 = kernel.conv ins(%x, %b : tensor<1x8x3xi8>, tensor<1x1x3x16x4xi8>) outs(%z : tensor<1x8x9xi32>) {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1>, group = 1 : i64, zero_point = 200 : i64, maps = []} epilogue {
  ^bb0(%v: i32):
    kernel.result %v : i32
  } -> tensor<1x8x9xi32>
  return
}

// -----
func.func @result(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %y: tensor<2x9xi8>) {
  // expected-error @+1 {{its epilogue ends in another type than that of its result}}
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) outs(%y : tensor<2x9xi8>) {maps = []} epilogue {
  ^bb0(%v: i32):
    kernel.result %v : i32
  } -> tensor<2x9xi8>
  return
}

// -----
func.func @shift(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %s: tensor<1xi32>, %y: tensor<2x9xi8>) {
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) extras(%s : tensor<1xi32>) outs(%y : tensor<2x9xi8>) {maps = [affine_map<(d0, d1) -> (0)>]} epilogue {
  ^bb0(%v: i32, %scale: i32):
    // expected-error @+1 {{takes an f32, or an i32 and a shift}}
    %q = kernel.requantize %v by %scale {zero_point = 0 : i64, low = -128 : i64, high = 127 : i64} : i32 -> i8
    kernel.result %q : i8
  } -> tensor<2x9xi8>
  return
}

// -----
func.func @bounds(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %s: tensor<1xf32>, %y: tensor<2x9xi8>) {
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) extras(%s : tensor<1xf32>) outs(%y : tensor<2x9xi8>) {maps = [affine_map<(d0, d1) -> (0)>]} epilogue {
  ^bb0(%v: i32, %scale: f32):
    // expected-error @+1 {{its bounds or zero point are no values of its result}}
    %q = kernel.requantize %v by %scale {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64} : f32 -> i8
    kernel.result %q : i8
  } -> tensor<2x9xi8>
  return
}

// -----
func.func @outside(%v: i32, %scale: f32) {
  // expected-error @+1 {{stands outside of an epilogue}}
  %q = kernel.requantize %v by %scale {zero_point = 0 : i64, low = -128 : i64, high = 127 : i64} : f32 -> i8
  return
}

// -----
func.func @packing() {
  // expected-error @+1 {{its panels do not fit its type}}
  %0 = kernel.weight {panels = array<i64: 1, 20, 1, 40, 800, 1, 0, 20, 1, 16>, value = dense<2> : tensor<40x20xi8>} : tensor<2x10x16x4xf32>
  return
}

// -----
func.func @scalar(%a: tensor<2x6xui8>, %b: tensor<1x2x16x4xi8>, %z: tensor<2x9xi32>) {
  %0 = kernel.matmul ins(%a, %b : tensor<2x6xui8>, tensor<1x2x16x4xi8>) outs(%z : tensor<2x9xi32>) {maps = []} epilogue {
  ^bb0(%v: i32):
    // expected-error @+1 {{in an epilogue is of f32 and bool, or adds a bias of i32}}
    %q = kernel.scalar "relu" {}(%v) : (i32) -> i32
    kernel.result %q : i32
  } -> tensor<2x9xi32>
  return
}
