// RUN: mopt-compiler compile %s --to kernels -o %t.k.mlir && FileCheck %s --check-prefix=KERNEL < %t.k.mlir
// RUN: mopt-compiler compile %s --cpu x86-64-v3 --emit mlir -o %t.mlir && FileCheck %s --check-prefix=CODE < %t.mlir
// RUN: mopt-compiler compile %s --cpu x86-64-v4 --emit mlir -o %t.4.mlir && FileCheck %s --check-prefix=WIDE < %t.4.mlir
// RUN: mopt-compiler compile %s --cpu x86-64-v3 --emit asm -o %t.s && FileCheck %s --check-prefix=ASM < %t.s

// Constant weights are handles with an order; a matrix that comes from outside is packed by a step.
// KERNEL: kernel.weight {panels = array<i64: 1, 40, 1, 40, 1600, 1, 0, 40, 0, 16>
// KERNEL: kernel.matmul ins({{.*}}) extras({{.*}}) outs({{.*}})
// KERNEL: kernel.scalar "add"
// KERNEL: kernel.scalar "relu"
// KERNEL: kernel.pack ins(

// 12 rows are two tiles of six. Tiles are shared: both products with bias and relu run the same two functions, of a whole
// panel and of half of one; the third, which has no epilogue, has its own.
// CODE-DAG: llvm.func internal @tile_6x1_0(
// CODE-DAG: llvm.func internal @tile_6x1_half_0(
// CODE-DAG: llvm.func internal @tile_6x1_1(
// CODE-NOT: @tile_6x1_2
// CODE-NOT: @tile_6x1_half_2

// With 32 wide registers a tile is up to four panels: 40 columns are one tile of three, the last of them by half.
// WIDE: llvm.func internal @tile_{{[0-9]}}x3_half_0(

// The inner loop is what the registers hold: twelve fused products for two loads of a panel, nothing is spilled.
// ASM-LABEL: tile_6x1_0:
// ASM-NOT: {{\(%rsp\)}}
// ASM: vfmadd231ps
// ASM-NOT: {{\(%rsp\)}}
// ASM: retq
func.func @main(%x: tensor<12x40xf32> {mopt.name = "x"}, %z: tensor<40x24xf32> {mopt.name = "z"})
    -> (tensor<12x40xf32> {mopt.name = "y"}, tensor<12x24xf32> {mopt.name = "q"}) {
  %w = mopt.constant {value = dense<0.5> : tensor<40x40xf32>} : tensor<40x40xf32>
  %v = mopt.constant {value = dense<0.25> : tensor<40x40xf32>} : tensor<40x40xf32>
  %c = mopt.constant {value = dense<1.5> : tensor<40xf32>} : tensor<40xf32>
  %0 = mopt.matmul %x, %w : (tensor<12x40xf32>, tensor<40x40xf32>) -> tensor<12x40xf32>
  %1 = mopt.add %0, %c : (tensor<12x40xf32>, tensor<40xf32>) -> tensor<12x40xf32>
  %2 = mopt.relu %1 : (tensor<12x40xf32>) -> tensor<12x40xf32>
  %3 = mopt.matmul %2, %v : (tensor<12x40xf32>, tensor<40x40xf32>) -> tensor<12x40xf32>
  %4 = mopt.add %3, %c : (tensor<12x40xf32>, tensor<40xf32>) -> tensor<12x40xf32>
  %5 = mopt.relu %4 : (tensor<12x40xf32>) -> tensor<12x40xf32>
  %6 = mopt.matmul %5, %z : (tensor<12x40xf32>, tensor<40x24xf32>) -> tensor<12x24xf32>
  return %5, %6 : tensor<12x40xf32>, tensor<12x24xf32>
}
