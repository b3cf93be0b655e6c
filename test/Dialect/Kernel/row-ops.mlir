// RUN: mopt-opt %s --split-input-file --verify-diagnostics
// What ops that combine elements along axes refuse.

func.func @fits(%x: tensor<2x6xf32>, %y: tensor<2xf32>, %z: tensor<2x6xf32>) {
  %0 = kernel.reduce ins(%x : tensor<2x6xf32>) outs(%y : tensor<2xf32>) {axes = array<i64: 1>, kind = "sum", maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2xf32>
  %1 = kernel.norm ins(%x : tensor<2x6xf32>) outs(%z : tensor<2x6xf32>) {axes = array<i64: 1>, epsilon = 1.0 : f32, maps = [], split = array<i64: 1, 3>} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x6xf32>
  return
}

// -----
func.func @kind(%x: tensor<2x6xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{knows no kind 'median'}}
  %0 = kernel.reduce ins(%x : tensor<2x6xf32>) outs(%y : tensor<2xf32>) {axes = array<i64: 1>, kind = "median", maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2xf32>
  return
}

// -----
func.func @axes(%x: tensor<2x6xf32>, %y: tensor<f32>) {
  // expected-error @+1 {{axes are not ascending numbers of axes of its input}}
  %0 = kernel.reduce ins(%x : tensor<2x6xf32>) outs(%y : tensor<f32>) {axes = array<i64: 1, 0>, kind = "sum", maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<f32>
  return
}

// -----
func.func @axis(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) {
  // expected-error @+1 {{axes are not ascending numbers of axes of its input}}
  %0 = kernel.softmax ins(%x : tensor<2x6xf32>) outs(%y : tensor<2x6xf32>) {axes = array<i64: 2>, maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x6xf32>
  return
}

// -----
func.func @result(%x: tensor<2x6xf32>, %y: tensor<2x5xf32>) {
  // expected-error @+1 {{its result does not fit its input}}
  %0 = kernel.softmax ins(%x : tensor<2x6xf32>) outs(%y : tensor<2x5xf32>) {axes = array<i64: 1>, maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x5xf32>
  return
}

// -----
func.func @kept(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) {
  // expected-error @+1 {{its result does not fit its input}}
  %0 = kernel.reduce ins(%x : tensor<2x6xf32>) outs(%y : tensor<2x6xf32>) {axes = array<i64: 1>, kind = "sum", maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x6xf32>
  return
}

// -----
func.func @type(%x: tensor<2x6xf64>, %y: tensor<2x6xf64>) {
  // expected-error @+1 {{its result does not fit its input}}
  %0 = kernel.softmax ins(%x : tensor<2x6xf64>) outs(%y : tensor<2x6xf64>) {axes = array<i64: 1>, maps = []} epilogue {
  ^bb0(%v: f64):
    kernel.result %v : f64
  } -> tensor<2x6xf64>
  return
}

// -----
func.func @inputs(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) {
  // expected-error @+1 {{has one input and one result}}
  %0 = kernel.softmax ins(%x, %x : tensor<2x6xf32>, tensor<2x6xf32>) outs(%y : tensor<2x6xf32>) {axes = array<i64: 1>, maps = []} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x6xf32>
  return
}

// -----
func.func @split(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) {
  // expected-error @+1 {{its split names no axis that divides into the parts}}
  %0 = kernel.norm ins(%x : tensor<2x6xf32>) outs(%y : tensor<2x6xf32>) {axes = array<i64: 1>, epsilon = 1.0 : f32, maps = [], split = array<i64: 1, 4>} epilogue {
  ^bb0(%v: f32):
    kernel.result %v : f32
  } -> tensor<2x6xf32>
  return
}
