//===- Move.cpp - copies between strided places on Hexagon ---------------------------------------------------------===//
//
// Runs that are contiguous on both sides go through vectors, everything else element by element: what a quantized network
// moves is its inputs and outputs, once, to the layout of its convolutions and back.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "HvxEmitter.h"

namespace mopt {
namespace {

class HvxMove : public RootEmitter {
public:
  HvxMove(kernel::MoveOp op, PlanView &plan) : op(op), plan(plan) {
    MLIRContext *context = op.getContext();
    units = DimExpr::constant(context, 1);
    macs = DimExpr::constant(context, 0);
    work = DimExpr::product(plan.view(op.getOuts()[0]).dims, context);
    name = op.getOp().str();
    bytes = storedBits(plan.view(op.getOuts()[0]).element) / 8;
  }

  LogicalResult prepare() {
    for (Attribute attr : op.getParts()) {
      auto lists = cast<ArrayAttr>(attr);
      SmallVector<int64_t> numbers[3];
      for (unsigned i = 0; i < 3; ++i)
        for (DimAttr dim : cast<DimsAttr>(lists[i]).getDims()) {
          auto value = DimExpr(dim).asConstant();
          if (!value)
            return op.emitError() << "MOPT-C031: its size '" << DimExpr(dim).str()
                                  << "' is known only at run time, code for Hexagon takes numbers; give it with --shape";
          numbers[i].push_back(*value);
        }
      Part part{numbers[1].front() * bytes, numbers[2].front() * bytes, {}};
      for (auto [size, from, to] :
           llvm::zip_equal(numbers[0], ArrayRef(numbers[1]).drop_front(), ArrayRef(numbers[2]).drop_front())) {
        if (size == 1)
          continue;
        // An axis that goes on where the next one ends is the same axis.
        if (!part.axes.empty() && part.axes.back().from == from * bytes * size && part.axes.back().to == to * bytes * size)
          part.axes.back() = {part.axes.back().size * size, from * bytes, to * bytes};
        else
          part.axes.push_back({size, from * bytes, to * bytes});
      }
      parts.push_back(part);
    }
    return success();
  }

  void emit(KernelBody &body) override {
    HvxCode code(body.builder, body.loc);
    Value to = body.base(plan.view(op.getOuts()[0]).base);
    code.loop(code.narrow(body.begin), code.narrow(body.end), [&](Value) { // the one unit
      for (auto [part, input] : llvm::zip_equal(parts, op.getInputs()))
        copy(code, part.axes, code.at(body.base(plan.view(input).base), part.from), code.at(to, part.to));
    });
  }

private:
  struct Axis {
    int64_t size, from, to; // from, to: bytes
  };
  struct Part {
    int64_t from, to; // bytes
    SmallVector<Axis> axes;
  };

  void copy(HvxCode &code, ArrayRef<Axis> axes, Value from, Value to) {
    if (axes.empty())
      return element(code, from, to);
    const Axis &axis = axes.front();
    if (axes.size() == 1 && axis.from == bytes && axis.to == bytes)
      return run(code, axis.size * bytes, from, to);
    code.loop(code.number(0), code.number(axis.size), [&](Value index) {
      copy(code, axes.drop_front(), code.at(from, code.mul(index, axis.from)), code.at(to, code.mul(index, axis.to)));
    });
  }
  void element(HvxCode &code, Value from, Value to) {
    Type type = code.builder.getIntegerType(bytes * 8);
    code.store(code.load(type, from, bytes), to, bytes);
  }
  void run(HvxCode &code, int64_t length, Value from, Value to) {
    const int64_t whole = length / HvxCode::vectorBytes;
    if (whole)
      code.loop(code.number(0), code.number(whole), [&](Value index) {
        Value offset = code.mul(index, HvxCode::vectorBytes);
        code.store(code.load(code.vector(), code.at(from, offset), 1), code.at(to, offset), 1);
      });
    const int64_t start = whole * HvxCode::vectorBytes;
    if (length > start)
      code.loop(code.number(start / bytes), code.number(length / bytes), [&](Value index) {
        Value offset = code.mul(index, bytes);
        element(code, code.at(from, offset), code.at(to, offset));
      });
  }

  kernel::MoveOp op;
  PlanView &plan;
  int64_t bytes;
  SmallVector<Part> parts;
};

} // namespace

FailureOr<std::unique_ptr<RootEmitter>> emitHvxMove(kernel::MoveOp op, PlanView &plan) {
  if (!llvm::hasSingleElement(op.getEpilogue().front()))
    return op.emitError() << "MOPT-C030: '" << op.getOp()
                          << "' goes on with arithmetic of floats, which has no code for Hexagon; "
                          << "cut the model there, or compile it for a CPU";
  auto emitter = std::make_unique<HvxMove>(op, plan);
  if (failed(emitter->prepare()))
    return failure();
  return std::unique_ptr<RootEmitter>(std::move(emitter));
}

} // namespace mopt
