//===- Reduce.cpp - reductions and global pooling on GPUs ----------------------------------------------------------===//
//
// One thread for each element of the result. Its elements are combined in parts of 64, and the parts one after the other:
// errors of a sum grow with the length of a part and the number of parts, not with their product. The order depends on the
// sizes only. Few long rows leave most of a device idle; that wants threads that share a row through workgroup memory.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "GpuKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mopt {
namespace {

constexpr int64_t part = 64;

class Reduce : public ElementKernel {
public:
  Reduce(kernel::ReduceOp op, PlanView &plan, const GpuSchedule &schedule)
      : ElementKernel(schedule), op(op), kind(op.getKind()), y(numbersOf(plan.view(op.getOuts()[0]).dims)) {
    SmallVector<DimExpr> dims = plan.view(op.getInputs()[0]).dims, strides = rowMajorStrides(dims, op.getContext());
    int64_t elements = 1;
    for (auto [d, size] : llvm::enumerate(numbersOf(dims))) {
      bool reduced = llvm::is_contained(op.getAxes(), static_cast<int64_t>(d));
      (reduced ? combined : kept).push_back(size);
      (reduced ? combinedStrides : keptStrides).push_back(strides[d]);
      (reduced ? count : elements) *= size;
    }
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps()))
      extraMoves.push_back(movesOf(map, plan.view(memref).dims, op.getContext()));
    setElements(elements);
  }

private:
  void element(ThreadCode &code, Value index) override {
    Value base = dot(code, code.digits(index, kept), keptStrides);
    auto partFrom = [&](Value first, int64_t length) {
      return code
          .loop(length, 1, start(code),
                [&](Value at, ValueRange carried) -> SmallVector<Value> {
                  Value number = code.add(first, at);
                  Value inside = count % length ? code.below(number, count) : Value();
                  Value place = code.add(base, dot(code, code.digits(number, combined), combinedStrides));
                  Value next = combine(code, carried.front(), prepared(code, code.loadIf(inside, op.getInputs()[0], place)));
                  return {inside ? code.select(inside, next, carried.front()) : next};
                })
          .front();
    };
    Value value;
    if (count == 0)
      value = start(code);
    else if (count <= part)
      value = partFrom(code.index(0), count);
    else
      value = code.loop(count, part, start(code),
                        [&](Value first, ValueRange carried) {
                          return SmallVector<Value>{combine(code, carried.front(), partFrom(first, part))};
                        })
                  .front();
    SmallVector<Value> arguments = {finished(code, value)};
    SmallVector<Value> position = code.digits(index, y);
    for (auto [memref, moves] : llvm::zip_equal(op.getExtras(), extraMoves))
      arguments.push_back(code.load(memref, dot(code, position, moves)));
    code.store(applyElementwise(code, op.getEpilogue().front(), arguments).front(), op.getOuts()[0], index);
  }

  Value constant(ThreadCode &code, float value) {
    return arith::ConstantOp::create(code.builder, code.loc, code.builder.getF32FloatAttr(value));
  }
  Value start(ThreadCode &code) {
    return constant(code, kind == "prod" ? 1 : kind == "max" ? -INFINITY : kind == "min" ? INFINITY : 0);
  }
  Value prepared(ThreadCode &code, Value x) {
    if (kind == "l1")
      return math::AbsFOp::create(code.builder, code.loc, x);
    return kind == "l2" || kind == "sum_square" ? arith::MulFOp::create(code.builder, code.loc, x, x).getResult() : x;
  }
  Value combine(ThreadCode &code, Value a, Value b) {
    OpBuilder &builder = code.builder;
    if (kind == "prod")
      return arith::MulFOp::create(builder, code.loc, a, b);
    if (kind != "max" && kind != "min")
      return arith::AddFOp::create(builder, code.loc, a, b);
    // NaN if either is: b unless a is better or NaN.
    auto predicate = kind == "max" ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OLE;
    Value better = arith::CmpFOp::create(builder, code.loc, predicate, a, b);
    Value isNaN = arith::CmpFOp::create(builder, code.loc, arith::CmpFPredicate::UNE, a, a);
    return code.select(arith::OrIOp::create(builder, code.loc, better, isNaN), a, b);
  }
  Value finished(ThreadCode &code, Value value) {
    if (kind == "mean")
      return arith::DivFOp::create(code.builder, code.loc, value, constant(code, static_cast<float>(count)));
    return kind == "l2" ? math::SqrtOp::create(code.builder, code.loc, value).getResult() : value;
  }

  kernel::ReduceOp op;
  StringRef kind;
  SmallVector<int64_t> y, kept, combined;
  SmallVector<DimExpr> keptStrides, combinedStrides;
  SmallVector<SmallVector<DimExpr>> extraMoves;
  int64_t count = 1;
};

} // namespace

std::unique_ptr<GpuKernel> gpuReduce(kernel::ReduceOp op, PlanView &plan, const GpuSchedule &schedule) {
  if (!llvm::is_contained({"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square"}, op.getKind()))
    return nullptr; // logarithms of sums
  return std::make_unique<Reduce>(op, plan, schedule);
}

} // namespace mopt
