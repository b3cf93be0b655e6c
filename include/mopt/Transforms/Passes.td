//===- Passes.td - transforms of the graph, in alphabetical order --------------------------------------------------===//
#ifndef MOPT_TRANSFORMS_PASSES
#define MOPT_TRANSFORMS_PASSES
include "mlir/Pass/PassBase.td"

def BindShapes : Pass<"mopt-bind-shapes", "::mlir::ModuleOp"> {
  let summary = "Gives symbols of input shapes a number";
  let description = [{
    A size given for an axis of an input holds wherever its symbol stands. Example: `--mopt-bind-shapes=shapes=x=1x3x224x224`.
    Before phase `kernels`, where sizes leave the types.
  }];
  let options = [ListOption<"shapes", "shapes", "std::string", "NAME=SIZExSIZE..., '?' keeps an axis">];
}
def ChooseLayout : Pass<"mopt-choose-layout", "::mlir::ModuleOp"> {
  let summary = "Lets images lie channels last where convolutions gain from it";
  let description = [{
    Convolutions run fastest on N, spatial..., C. Ops that can run either way (the spatial ones by their attribute
    `channels_last`, others by their axes) are divided into those that do and those that stay by a minimum cut: a value that
    one side makes and the other reads costs twice its bytes; a convolution that stays costs what it would gain, a byte for
    four multiply-adds and half of what it reads and writes. So a chain of ops changes as a whole, with one transpose where
    it begins and ends, a transpose of the model that undoes one of these vanishes, and a convolution that is not worth its
    two transposes stays. A transpose that moves only axes of size 1 costs nothing. Constants are moved here, once.
  }];
  let statistics = [Statistic<"numPlaced", "placed", "Ops that run channels last">];
}
def FoldConstants : Pass<"mopt-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Evaluates what does not depend on inputs";
  let description = [{
    Ops whose operands are all constants are replaced by their results, computed by the reference functions; integers that
    follow from sizes (of `shape`, `size` and arithmetic on them) are replaced by constants; what nobody uses is removed.
    A fold that makes more than twice the bytes of its inputs plus `slack-bytes` is refused, so that a model cannot grow
    by expanding a splat; an op that would fail when it runs stays, and fails then.
  }];
  let options = [
    Option<"slackBytes", "slack-bytes", "int64_t", "int64_t(64) << 10",
           "A result may be twice as large as the operands, and this">,
    Option<"totalBytes", "total-bytes", "int64_t", "int64_t(64) << 20",
           "All results together may be twice as large as all constants, and at least this">,
  ];
  let statistics = [Statistic<"numFolded", "folded", "Values replaced by constants">,
                    Statistic<"numRemoved", "removed", "Ops without uses that were removed">];
}
def FoldScale : Pass<"mopt-fold-scale", "::mlir::ModuleOp"> {
  let summary = "Moves scales and shifts of channels into weights";
  let description = [{
    `batch_norm` (inference form), and `mul`, `div`, `add`, `sub` by a constant per output channel, directly after `conv`,
    `conv_transpose`, `gemm` or `matmul` with constant weights, become part of the weights and the bias; a shift after
    `matmul`, which has no bias, stays an `add`. Products are taken in double and rounded once. It is refused where the
    result has another reader, where the weights have one (they would lie in memory twice), where a weight would become
    infinite, and in half precision. A `batch_norm` that is left becomes `mul` and `add` by constants. A `pad` with zeros
    whose readers are all convolutions becomes their padding. Reads and writes each weight once.
  }];
  let statistics = [Statistic<"numFolded", "folded", "Ops that became part of weights">,
                    Statistic<"numRewritten", "rewritten", "Batch norms that became mul and add">,
                    Statistic<"numPads", "pads", "Pads that became padding of convolutions">];
}
def InferShapes : Pass<"mopt-infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "Recomputes every result type by the shape rules";
  let description = [{
    Walks a function in order with one context, so that sizes flow from the inputs to the results; an input axis without
    a name gets one. A size that only the run can tell keeps the name it has. The function's type follows.
  }];
  let statistics = [Statistic<"numChanged", "changed", "Types that became other ones">];
}
def SetRequantize : Pass<"mopt-set-requantize", "::mlir::ModuleOp"> {
  let summary = "Chooses how sums of quantized products become quantized integers";
  let description = [{
    Sets the attribute `requantize` of `qlinear_matmul` and `qlinear_conv`: `float` is what ONNX says, a product in f32 and
    halves to even; `fixed` a product with a 31-bit integer and a shift, in integers alone, as TOSA says
    (docs/rationale/requantize.md). A constant scale that `fixed` has no multiplier for is refused.
  }];
  let options = [Option<"mode", "mode", "std::string", /*default=*/"\"float\"", "float or fixed">];
}
#endif
