// RUN: mopt-compiler compile %s --triple spirv-unknown-vulkan1.1 --emit mlir -o %t.mlir && FileCheck %s < %t.mlir
// RUN: rm -rf %t.vk && mopt-compiler compile %s --triple spirv-unknown-vulkan1.1 -o %t.vk
// RUN: mlir-translate-22 --no-implicit-module --deserialize-spirv %t.vk/shaders.spv | FileCheck %s --check-prefix=SPIRV
// RUN: FileCheck %s --check-prefix=PLAN < %t.vk/plan.json

// A product with bias and activation is one kernel. Its tile, 32 rows and 64 columns of 128 threads with 4x4 each, goes through
// workgroup memory: one row more than there is of a, so that banks differ.
// CHECK-LABEL: gpu.func @matmul_0
// CHECK-SAME: mopt.workgroups = array<i32: 6, 1, 1>
// CHECK-SAME: workgroup_size = [128, 1, 1]
// CHECK: memref.alloc() : memref<528xf32, #spirv.storage_class<Workgroup>>
// CHECK: memref.alloc() : memref<1024xf32, #spirv.storage_class<Workgroup>>

// k ascends in one chain of fma per element; both barriers are outside of every branch.
// CHECK: scf.for {{.*}} iter_args(
// CHECK: memref.store
// CHECK-NOT: scf.if
// CHECK: gpu.barrier
// CHECK: scf.for {{.*}} iter_args(
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK-NOT: scf.if
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: arith.addf
// CHECK: arith.cmpf ogt
// CHECK: memref.store

// The second layer is the same step with other weights: no kernel of its own.
// CHECK-NOT: gpu.func @matmul_1

// Products and sums are not to be contracted; workgroup memory is declared once for all entry points that take the same.
// SPIRV-COUNT-2: spirv.GlobalVariable {{.*}}, Workgroup>
// SPIRV-NOT: spirv.GlobalVariable {{.*}}, Workgroup>
// SPIRV: spirv.GL.Fma {{.*}}no_contraction
// SPIRV: spirv.EntryPoint "GLCompute" @matmul_0

// PLAN: "alignment": 256
// PLAN: "workgroups": [
// PLAN-NEXT: 6,
// PLAN: "file": "weights.bin"
func.func @main(%x: tensor<90x128xf32> {mopt.name = "x"}) -> (tensor<90x128xf32> {mopt.name = "y"}) {
  %w = mopt.constant {value = dense<0.5> : tensor<128x128xf32>} : tensor<128x128xf32>
  %v = mopt.constant {value = dense<0.25> : tensor<128x128xf32>} : tensor<128x128xf32>
  %c = mopt.constant {value = dense<1.5> : tensor<128xf32>} : tensor<128xf32>
  %0 = mopt.matmul %x, %w : (tensor<90x128xf32>, tensor<128x128xf32>) -> tensor<90x128xf32>
  %1 = mopt.add %0, %c : (tensor<90x128xf32>, tensor<128xf32>) -> tensor<90x128xf32>
  %2 = mopt.relu %1 : (tensor<90x128xf32>) -> tensor<90x128xf32>
  %3 = mopt.matmul %2, %v : (tensor<90x128xf32>, tensor<128x128xf32>) -> tensor<90x128xf32>
  %4 = mopt.add %3, %c : (tensor<90x128xf32>, tensor<128xf32>) -> tensor<90x128xf32>
  %5 = mopt.relu %4 : (tensor<90x128xf32>) -> tensor<90x128xf32>
  return %5 : tensor<90x128xf32>
}
