//===- Depthwise.cpp - convolutions with one channel in a group, on GPUs -------------------------------------------===//
//
// One thread for each element of y: neighbours have neighbouring channels, so that they read x and weights side by side. There
// is nothing that threads could share through workgroup memory but windows that overlap, which caches serve.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "GpuKernel.h"
#include "mopt/Dialect/Kernel/Panels.h"

namespace mopt {
namespace {

class Depthwise : public ElementKernel {
public:
  Depthwise(kernel::DepthwiseOp op, PlanView &plan, const GpuSchedule &schedule)
      : ElementKernel(schedule), op(op), x(numbersOf(plan.view(op.getInputs()[0]).dims)),
        y(numbersOf(plan.view(op.getOuts()[0]).dims)),
        strides(rowMajorStrides(plan.view(op.getInputs()[0]).dims, op.getContext())) {
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps()))
      extraMoves.push_back(movesOf(map, plan.view(memref).dims, op.getContext()));
    for (int64_t size : op.getKernel())
      taps *= size;
    int64_t count = 1;
    for (int64_t size : y)
      count *= size;
    setElements(count);
    macs = count * taps;
  }

private:
  void element(ThreadCode &code, Value index) override {
    constexpr int64_t width = Panels::floatWidth;
    SmallVector<Value> position = code.digits(index, y);
    Value channel = position.back();
    Value weights = code.add(code.mul(code.div(channel, width), taps * width), code.rem(channel, width));
    Value image = code.add(code.mul(position.front(), *strides.front().asConstant()), channel);
    Value sum = code.loop(taps, 1, code.zero(),
                          [&](Value tap, ValueRange carried) -> SmallVector<Value> {
                            Value at = image, inside;
                            for (auto [d, distance] : llvm::enumerate(code.digits(tap, op.getKernel()))) {
                              Value origin =
                                  code.sub(code.mul(position[d + 1], op.getStrides()[d]), code.index(op.getPads()[d]));
                              Value coordinate = code.add(origin, code.mul(distance, op.getDilations()[d]));
                              inside = code.both(inside, code.below(coordinate, x[d + 1]));
                              at = code.add(at, code.mul(coordinate, *strides[d + 1].asConstant()));
                            }
                            Value element = code.loadIf(inside, op.getInputs()[0], at);
                            Value weight = code.load(op.getInputs()[1], code.add(weights, code.mul(tap, width)));
                            // A tap outside adds nothing, also where its weight is not finite.
                            return {code.select(inside, code.fma(element, weight, carried.front()), carried.front())};
                          })
                    .front();
    SmallVector<Value> arguments = {sum};
    for (auto [memref, moves] : llvm::zip_equal(op.getExtras(), extraMoves))
      arguments.push_back(code.load(memref, dot(code, position, moves)));
    code.store(applyElementwise(code, op.getEpilogue().front(), arguments).front(), op.getOuts()[0], index);
  }

  kernel::DepthwiseOp op;
  SmallVector<int64_t> x, y;
  SmallVector<DimExpr> strides;
  SmallVector<SmallVector<DimExpr>> extraMoves;
  int64_t taps = 1;
};

} // namespace

std::unique_ptr<GpuKernel> gpuDepthwise(kernel::DepthwiseOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<Depthwise>(op, plan, schedule);
}

} // namespace mopt
