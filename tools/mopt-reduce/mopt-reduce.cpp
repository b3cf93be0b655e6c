//===- mopt-reduce.cpp - makes a module that shows a fault smaller ------------------------------------------------===//
//
//   mopt-reduce bug.mlir -reduction-tree='traversal-mode=0 test=./still-fails.sh'
//
// Weights stay handles: run it in the folder of the weight file.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"
#include "mopt/Pipelines/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mopt::registerDialects(registry);
  mopt::registerPasses();
  mlir::registerTransformsPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
