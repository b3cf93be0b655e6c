//===- Passes.td - from groups to code ----------------------------------------------------------------------------===//
#ifndef MOPT_CONVERSION_PASSES
#define MOPT_CONVERSION_PASSES
include "mlir/Pass/PassBase.td"

def ConvertMoptToKernel : Pass<"mopt-convert-to-kernel", "::mlir::ModuleOp"> {
  let summary = "Groups of mopt ops become groups of destination-passing kernel ops";
  let description = [{
    Sizes leave the types and become `kernel.size` values. Every result of a group gets a destination made before the
    group; results of the model are written into buffers of the caller, which become arguments of the function.
  }];
  let dependentDialects = ["::mopt::kernel::KernelDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::bufferization::BufferizationDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
  let options = [Option<"int8Width", "int8-width", "int64_t", /*default=*/"16",
                        "Columns of a panel of 8-bit weights: as many i32 as a vector of the target holds, at least 16">];
}
def GroupCopies : Pass<"mopt-group-copies", "::mlir::func::FuncOp"> {
  let summary = "Copies that bufferization left become groups, so that they run as steps";
  let dependentDialects = ["::mopt::kernel::KernelDialect"];
}
#endif
