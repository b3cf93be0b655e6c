// Leaving after any phase and entering there again gives the same artifact, byte for byte.
// RUN: rm -rf %t && mkdir -p %t/other
// RUN: mopt-compiler compile %s -o %t/whole.so --cpu x86-64-v2 --quiet
// RUN: mopt-compiler compile %s -o %t/other/whole.so --cpu x86-64-v2 --quiet && cmp %t/whole.so %t/other/whole.so
// RUN: mopt-compiler compile %s --to normalized -o %t/n.mlir --quiet && mopt-compiler compile %t/n.mlir -o %t/n.so --cpu x86-64-v2 --quiet && cmp %t/whole.so %t/n.so
// RUN: mopt-compiler compile %s --to grouped -o %t/g.mlir --quiet && mopt-compiler compile %t/g.mlir -o %t/g.so --cpu x86-64-v2 --quiet && cmp %t/whole.so %t/g.so
// RUN: mopt-compiler compile %s --to kernels -o %t/k.mlir --quiet && mopt-compiler compile %t/k.mlir -o %t/k.so --cpu x86-64-v2 --quiet && cmp %t/whole.so %t/k.so
// RUN: mopt-compiler compile %s --to buffers -o %t/b.mlir --quiet && mopt-compiler compile %t/b.mlir -o %t/b.so --cpu x86-64-v2 --quiet && cmp %t/whole.so %t/b.so
// A phase or form that does not exist: status 2, the list, no file.
// RUN: not mopt-compiler compile %s --to nowhere -o %t/x.so 2>&1 | FileCheck %s --check-prefix=PHASE
// PHASE: error MOPT-C010: there is no phase 'nowhere'; phases are imported, normalized
// RUN: not mopt-compiler compile %s --emit exe -o %t/x.so 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: error MOPT-C011: cannot emit 'exe'
// RUN: not mopt-compiler compile %s --triple m68k-linux-gnu -o %t/x.so 2>&1 | FileCheck %s --check-prefix=TRIPLE
// TRIPLE: error MOPT-C012:
// RUN: not ls %t/x.so
// The report says what was made; a model without symbols has a known arena.
// RUN: mopt-compiler compile %s -o %t/r.so --shape x=8x4 --report %t/r.json --quiet && FileCheck %s --check-prefix=REPORT < %t/r.json
// REPORT: "arena_bytes": 128
// REPORT: "steps": 2
func.func @main(%x: tensor<?x4xf32, #mopt.dims<[n, 4]>> {mopt.name = "x"}) -> (tensor<?x4xf32, #mopt.dims<[n, 4]>> {mopt.name = "y"}) {
  %w = mopt.constant {value = dense<0.5> : tensor<4x4xf32>} : tensor<4x4xf32>
  %0 = mopt.softmax %x : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %1 = mopt.matmul %0, %w : (tensor<?x4xf32, #mopt.dims<[n, 4]>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %2 = mopt.neg %1 : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  return %2 : tensor<?x4xf32, #mopt.dims<[n, 4]>>
}
