//===- mopt-opt.cpp - runs passes on text ---------------------------------------------------------------------------===//
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "mopt/Pipelines/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mopt::registerDialects(registry);
  mopt::registerPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mopt: an ahead-of-time compiler for ONNX models\n", registry));
}
