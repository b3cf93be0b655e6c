//===- Move.cpp - copies between strided places, on GPUs -----------------------------------------------------------===//
//
// One thread for each element, in the order in which the result lies where a part's axes are in that order: writes are then
// side by side. A transpose through workgroup memory would have reads side by side too.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "GpuKernel.h"

namespace mopt {
namespace {

class MoveKernel : public ElementKernel {
public:
  MoveKernel(kernel::MoveOp op, PlanView &plan, const GpuSchedule &schedule) : ElementKernel(schedule), op(op) {
    int64_t total = 0;
    for (auto [source, attr] : llvm::zip_equal(op.getInputs(), op.getParts())) {
      auto lists = cast<ArrayAttr>(attr);
      auto numbers = [&](unsigned i) {
        SmallVector<int64_t> result;
        for (DimAttr dim : cast<DimsAttr>(lists[i]).getDims())
          result.push_back(*DimExpr(dim).asConstant());
        return result;
      };
      Part part{source, numbers(0), numbers(1), numbers(2), total, 1};
      for (int64_t size : part.sizes)
        part.count *= size;
      total += part.count;
      if (part.count)
        parts.push_back(part);
    }
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps()))
      extraMoves.push_back(movesOf(map, plan.view(memref).dims, op.getContext()));
    setElements(total);
  }

private:
  struct Part {
    Value source;
    SmallVector<int64_t> sizes, from, to; // from, to: an offset, then a stride for each axis
    int64_t first, count;
  };

  void element(ThreadCode &code, Value index) override {
    for (const Part &part : parts) {
      Value number = code.sub(index, code.index(part.first));
      code.when(parts.size() > 1 ? code.below(number, part.count) : Value(), [&] {
        SmallVector<Value> position = code.digits(number, part.sizes);
        auto place = [&](ArrayRef<int64_t> numbers) {
          Value sum = code.index(numbers.front());
          for (auto [p, stride] : llvm::zip_equal(position, numbers.drop_front()))
            sum = code.add(sum, code.mul(p, stride));
          return sum;
        };
        SmallVector<Value> arguments = {code.load(part.source, place(part.from))};
        for (auto [memref, moves] : llvm::zip_equal(op.getExtras(), extraMoves))
          arguments.push_back(code.load(memref, dot(code, position, moves)));
        code.store(applyElementwise(code, op.getEpilogue().front(), arguments).front(), op.getOuts()[0], place(part.to));
      });
    }
  }

  kernel::MoveOp op;
  SmallVector<Part> parts;
  SmallVector<SmallVector<DimExpr>> extraMoves;
};

} // namespace

std::unique_ptr<GpuKernel> gpuMove(kernel::MoveOp op, PlanView &plan, const GpuSchedule &schedule) {
  return std::make_unique<MoveKernel>(op, plan, schedule);
}

} // namespace mopt
