//===- Passes.td - from ops to groups -----------------------------------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_GROUPING_PASSES
#define MOPT_TRANSFORMS_GROUPING_PASSES
include "mlir/Pass/PassBase.td"

def FormGroups : Pass<"mopt-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Puts every op that runs into a group with one root";
  let description = [{
    An op that is not elementwise becomes the root of a group of its own. Elementwise ops over the same sizes whose values
    nobody else reads share one group, so that their intermediate values stay in registers. Constants and views stay
    outside: they run no code. Half-precision ops stay alone: each must round its result to memory, as ONNX says.
  }];
}
def SliceSplits : Pass<"mopt-slice-splits", "::mlir::func::FuncOp"> {
  let summary = "Turns a split into one slice for each part that is read";
  let description = [{
    A slice has a kernel and an epilogue of its own, a split with its many results has neither. A split whose parts only the
    run can tell stays.
  }];
  let statistics = [Statistic<"numSplits", "splits", "Splits that became slices">];
}
def VerifyGrouped : Pass<"mopt-verify-grouped", "::mlir::func::FuncOp"> {
  let summary = "Checks the contract between the graph half and the code half of the compiler";
  let description = [{
    (G1) outside groups there are only constants, views and the return; (G2) a group has one root, and all else in it is
    elementwise over the sizes of its result; (G3) every size is a number or an expression over named symbols; (G4) every
    element type has a size in bytes or packs into bytes; (G5) a symbol is the size of some input.
  }];
}
#endif
