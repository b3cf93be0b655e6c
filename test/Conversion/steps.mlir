// RUN: mopt-compiler compile %s -o %t.mlir --emit mlir
// RUN: FileCheck %s < %t.mlir

// Equal groups over other buffers share one kernel function; each has a step function that finds its buffers and sizes.
// What a step reads is noalias and readonly, what it writes noalias; chunks become units inside.
// CHECK-DAG: llvm.func internal @reduction_kernel_0(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.readonly}{{.*}}, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}{{.*}}, %{{.*}}: i64
// CHECK-DAG: llvm.call @mopt_ref_hardmax
// CHECK-DAG: llvm.func internal @loop_kernel_0
// CHECK-NOT: @reduction_kernel_1
func.func @main(%x: tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>> {
  %0 = mopt.hardmax %x : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %1 = mopt.neg %0 : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  %2 = mopt.hardmax %1 : (tensor<?x4xf32, #mopt.dims<[n, 4]>>) -> tensor<?x4xf32, #mopt.dims<[n, 4]>>
  return %2 : tensor<?x4xf32, #mopt.dims<[n, 4]>>
}
