//===- Pack.cpp - a matrix operand that is not constant, into panels -----------------------------------------------===//
#include "../ToLLVM/KernelBody.h"
#include "Code.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

/// A unit is one panel of one matrix.
class Pack : public RootEmitter {
public:
  Pack(kernel::PackOp op, PlanView &plan) : op(op), plan(plan) {
    BufferView source = plan.view(op.getSource()), out = plan.view(op.getOut());
    unsigned rank = source.dims.size();
    k = source.dims[op.getTransposed() ? rank - 1 : rank - 2];
    n = source.dims[op.getTransposed() ? rank - 2 : rank - 1];
    panels = n.ceilDiv(Code::width);
    units = elementCount(ArrayRef(source.dims).drop_back(2), op.getContext()) * panels;
    work = elementCount(out.dims, op.getContext());
    macs = DimExpr::constant(op.getContext(), 0);
    sizes = {k, n, panels};
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    Value depth = body.size(k), columns = body.size(n), count = body.size(panels);
    Value source = body.base(plan.view(op.getSource()).base), out = body.base(plan.view(op.getOut()).base);
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
      Value panel = code.rem(unit, count), matrix = code.div(unit, count);
      Value first = code.mul(panel, code.i64(Code::width));
      Value from = code.at(source, code.mul(matrix, code.mul(depth, columns)));
      Value to = code.at(out, code.mul(unit, code.mul(depth, code.i64(Code::width))));
      Value lanes = code.mask(code.sub(columns, first));
      if (!op.getTransposed()) {
        from = code.at(from, first);
        code.loop(code.i64(0), depth, code.i64(1), [&](Value row) {
          code.store(code.load(code.at(from, code.mul(row, columns)), lanes), code.at(to, code.mul(row, code.i64(Code::width))));
        });
        return;
      }
      // b[n,k]: a column of the panel is contiguous. Gathered, since 16 strided loads of 64 bytes stay in the cache.
      from = code.at(from, code.mul(first, depth));
      SmallVector<int32_t> numbers(Code::width);
      std::iota(numbers.begin(), numbers.end(), 0);
      VectorType indices = VectorType::get({Code::width}, code.builder.getI64Type());
      SmallVector<int64_t> wide(numbers.begin(), numbers.end());
      Value lane = arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(indices, ArrayRef<int64_t>(wide)));
      Value undefined = LLVM::PoisonOp::create(code.builder, code.loc, indices);
      Value zero = LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
      Value one = LLVM::InsertElementOp::create(code.builder, code.loc, undefined, depth, zero);
      Value stride = LLVM::ShuffleVectorOp::create(code.builder, code.loc, one, undefined, SmallVector<int32_t>(Code::width, 0));
      Value offsets = arith::MulIOp::create(code.builder, code.loc, lane, stride);
      Type pointers = VectorType::get({Code::width}, code.ptr());
      code.loop(code.i64(0), depth, code.i64(1), [&](Value row) {
        Value addresses = LLVM::GEPOp::create(code.builder, code.loc, pointers, code.f32(), code.at(from, row),
                                              ArrayRef<LLVM::GEPArg>{offsets});
        Value values = LLVM::masked_gather::create(code.builder, code.loc, code.vector(), addresses, lanes,
                                                   ValueRange{code.constant(0)}, code.builder.getI32IntegerAttr(4));
        code.store(values, code.at(to, code.mul(row, code.i64(Code::width))));
      });
    });
  }

private:
  kernel::PackOp op;
  PlanView &plan;
  DimExpr k, n, panels;
};

} // namespace

std::unique_ptr<RootEmitter> emitPack(kernel::PackOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Pack>(op, plan);
}

} // namespace mopt
