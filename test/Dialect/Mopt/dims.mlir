// RUN: mopt-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// Equal sizes have one spelling.
// CHECK-LABEL: func private @sums(
// CHECK-SAME: #mopt.dims<[a + b, 2 * a, a * b, a - 1]>
// CHECK-SAME: #mopt.dims<[2 * a + a * a + 1]>
// CHECK-SAME: tensor<4xf32>
func.func private @sums(tensor<?x?x?x?xf32, #mopt.dims<[b + a, a + a, b * a, a - 3 + 2]>>,
                        tensor<?xf32, #mopt.dims<[(a + 1) * (a + 1)]>>, tensor<4xf32>)

// CHECK-LABEL: func private @calls(
// CHECK-SAME: #mopt.dims<[floordiv(a, 2), a + 1, min(a, b), max(a, b), bcast(a, b), b]>
// CHECK-SAME: #mopt.dims<[floordiv(a, 6)]>
// CHECK-SAME: #mopt.dims<[floordiv(a + 1, 2)]>
func.func private @calls(tensor<?x?x?x?x?x?xf32, #mopt.dims<[floordiv(a, 2), floordiv(2 * a + 3, 2), min(b, a), max(b, a), bcast(b, a), bcast(b, 1)]>>,
                         tensor<?xf32, #mopt.dims<[floordiv(floordiv(a, 2), 3)]>>,
                         tensor<?xf32, #mopt.dims<[ceildiv(a, 2)]>>)

// A name that is none of the language is quoted.
// CHECK-LABEL: func private @names(
// CHECK-SAME: #mopt.dims<["batch size", "floordiv", seq_len]>
func.func private @names(tensor<?x?x?xf32, #mopt.dims<["batch size", "floordiv", seq_len]>>)

// -----

// expected-error@+1 {{a size needs a name}}
func.func private @anonymous(tensor<?xf32, #mopt.dims<[?]>>)

// -----

// expected-error@+1 {{size has no value}}
func.func private @zero(tensor<?xf32, #mopt.dims<[floordiv(a, 0)]>>)

// -----

// expected-error@+1 {{size overflows}}
func.func private @overflow(tensor<?xf32, #mopt.dims<[9223372036854775807 * 2]>>)

// -----

// expected-error@+1 {{size has no value}}
func.func private @broadcast(tensor<?xf32, #mopt.dims<[bcast(2, 3)]>>)
