// RUN: mopt-opt %s --mopt-group-copies | FileCheck %s
// RUN: mopt-opt %S/group-copies-whole.mlir --mopt-to-buffers | FileCheck %s --check-prefix=WHOLE

// A copy that bufferization left runs as a step; a copy onto itself goes.
// CHECK-LABEL: @copies
// CHECK: mopt.group "movement"
// CHECK: kernel.move ins(%arg0 : memref<4xf32>) outs(%arg1 : memref<4xf32>) {{.*}}op = "identity"
// CHECK-NOT: memref.copy
func.func @copies(%x: memref<4xf32>, %y: memref<4xf32>) {
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  memref.copy %y, %y : memref<4xf32> to memref<4xf32>
  return
}

// Outputs that are the input, a constant, or one value twice are copies.
// WHOLE-LABEL: @main
// WHOLE-COUNT-3: kernel.move {{.*}}op = "identity"
// WHOLE-NOT: memref.copy
