//===- SliceSplits.cpp - a split becomes one slice for each part ----------------------------------------------------===//
#include "mopt/Dialect/Mopt/Movement.h"
#include "mopt/Transforms/Grouping/Grouping.h"

namespace mopt {
#define GEN_PASS_DEF_SLICESPLITS
#include "mopt/Transforms/Grouping/Passes.h.inc"

namespace {

struct SliceSplits : impl::SliceSplitsBase<SliceSplits> {
  void runOnOperation() override {
    SmallVector<SplitOp> splits;
    getOperation().walk([&](SplitOp op) { splits.push_back(op); });
    for (SplitOp op : splits)
      rewrite(op);
  }

  void rewrite(SplitOp op) {
    RankedTensorType type = tensorOf(op.getInput());
    int64_t axis = static_cast<int64_t>(op.getAxis()), total = 0; // the accessor is unsigned
    axis += axis < 0 ? type.getRank() : 0;
    // Only the run can tell whether parts of an axis of unknown size fit it.
    if (type.isDynamicDim(axis) || (!isAbsent(op.getSplit()) && !op.getSplit().getDefiningOp<ConstantOp>()))
      return;
    for (Value part : op.getOutputs()) {
      if (!tensorOf(part) || tensorOf(part).isDynamicDim(axis))
        return;
      total += tensorOf(part).getDimSize(axis);
    }
    if (total != type.getDimSize(axis))
      return;
    OpBuilder builder(op);
    auto list = RankedTensorType::get({1}, builder.getI64Type());
    auto number = [&](int64_t value) -> Value {
      return ConstantOp::create(builder, op.getLoc(), list, DenseElementsAttr::get(list, value));
    };
    Value none = NoneOp::create(builder, op.getLoc(), builder.getNoneType(), builder.getUnitAttr()), axes = number(axis);
    int64_t first = 0;
    for (Value part : op.getOutputs()) {
      int64_t end = first + tensorOf(part).getDimSize(axis);
      if (!part.use_empty())
        part.replaceAllUsesWith(
            SliceOp::create(builder, op.getLoc(), part.getType(), op.getInput(), number(first), number(end), axes, none));
      first = end;
    }
    op.erase();
    ++numSplits;
  }
};

} // namespace
} // namespace mopt
