//===- SetRequantize.cpp - how sums become quantized integers -----------------------------------------------------===//
#include "mopt/Dialect/Mopt/Contraction.h"
#include "mopt/Transforms/Grouping/Quantized.h"
#include "mopt/Transforms/Passes.h"

namespace mopt {
#define GEN_PASS_DEF_SETREQUANTIZE
#include "mopt/Transforms/Passes.h.inc"

namespace {

/// Whether the sums of an op are integers, as `fixed` needs them; those of 8-bit floats are not.
bool sumsIntegers(Operation *op) {
  RankedTensorType a = tensorOf(op->getOperand(0)), y = tensorOf(op->getResult(0));
  return a && y && isa<IntegerType>(a.getElementType()) && isa<IntegerType>(y.getElementType());
}

struct SetRequantize : impl::SetRequantizeBase<SetRequantize> {
  using SetRequantizeBase::SetRequantizeBase;
  void runOnOperation() override {
    if (mode != "float" && mode != "fixed") {
      getOperation().emitError() << "MOPT-C015: there is no way to requantize called '" << mode
                                 << "', expected float or fixed";
      return signalPassFailure();
    }
    auto attr = StringAttr::get(&getContext(), mode);
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa<QLinearMatMulOp, QLinearConvOp>(op) || !sumsIntegers(op))
        return WalkResult::advance();
      if (mode == "fixed")
        if (std::optional<float> scale = scaleWithoutMultiplier(op)) {
          op->emitError() << "MOPT-C016: its products have to be scaled by " << *scale
                          << ", and fixed-point numbers go from 2^-32 to below 2^29; quantize the model anew, or compile with "
                             "--requantize float";
          return WalkResult::interrupt();
        }
      op->setAttr("requantize", attr);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace mopt
