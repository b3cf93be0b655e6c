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
    SmallVector<DimExpr> stored = rowMajorStrides(source.dims, op.getContext());
    unsigned rank = source.dims.size();
    for (unsigned i = 0; i < rank; ++i) {
      unsigned axis = op.getOrder() ? (*op.getOrder())[i] : i;
      dims.push_back(source.dims[axis]);
      strides.push_back(stored[axis]);
    }
    k = dims[rank - 2];
    n = dims[rank - 1];
    panels = n.ceilDiv(Code::width);
    units = DimExpr::product(ArrayRef(dims).drop_back(2), op.getContext()) * panels;
    work = DimExpr::product(out.dims, op.getContext());
    macs = DimExpr::constant(op.getContext(), 0);
    sizes = {panels};
    llvm::append_range(sizes, dims);
    llvm::append_range(sizes, strides);
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    unsigned batch = dims.size() - 2;
    Value depth = body.size(k), columns = body.size(n), count = body.size(panels);
    Value kStride = body.size(strides[batch]), nStride = body.size(strides[batch + 1]);
    Value source = body.base(plan.view(op.getSource()).base), out = body.base(plan.view(op.getOut()).base);
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) {
      Value first = code.mul(code.rem(unit, count), code.i64(Code::width)), rest = code.div(unit, count);
      Value from = code.at(source, code.mul(first, nStride));
      for (unsigned d = batch; d-- > 0;) {
        Value index = d == 0 ? rest : code.rem(rest, body.size(dims[d]));
        from = code.at(from, code.mul(index, body.size(strides[d])));
        if (d)
          rest = code.div(rest, body.size(dims[d]));
      }
      Value to = code.at(out, code.mul(unit, code.mul(depth, code.i64(Code::width))));
      Value lanes = code.mask(code.sub(columns, first));
      // Columns side by side are loaded, others gathered: 16 lines that stay in the cache for the next k.
      bool contiguous = strides[batch + 1].isConstant(1);
      Value offsets = contiguous ? Value() : laneOffsets(code, nStride);
      code.loop(code.i64(0), depth, code.i64(1), [&](Value row) {
        Value at = code.at(from, code.mul(row, kStride));
        Value values = contiguous ? code.load(at, lanes) : gather(code, at, offsets, lanes);
        code.store(values, code.at(to, code.mul(row, code.i64(Code::width))));
      });
    });
  }

private:
  /// stride * [0 .. 15], 64 bits each.
  static Value laneOffsets(Code &code, Value stride) {
    SmallVector<int64_t> numbers(Code::width);
    std::iota(numbers.begin(), numbers.end(), 0);
    VectorType type = VectorType::get({Code::width}, code.builder.getI64Type());
    Value lane = arith::ConstantOp::create(code.builder, code.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    Value undefined = LLVM::PoisonOp::create(code.builder, code.loc, type);
    Value zero =
        LLVM::ConstantOp::create(code.builder, code.loc, code.builder.getI32Type(), code.builder.getI32IntegerAttr(0));
    Value one = LLVM::InsertElementOp::create(code.builder, code.loc, undefined, stride, zero);
    Value all = LLVM::ShuffleVectorOp::create(code.builder, code.loc, one, undefined, SmallVector<int32_t>(Code::width, 0));
    return arith::MulIOp::create(code.builder, code.loc, lane, all);
  }
  static Value gather(Code &code, Value base, Value offsets, Value lanes) {
    Type pointers = VectorType::get({Code::width}, code.ptr());
    Value addresses =
        LLVM::GEPOp::create(code.builder, code.loc, pointers, code.f32(), base, ArrayRef<LLVM::GEPArg>{offsets});
    return LLVM::masked_gather::create(code.builder, code.loc, code.vector(), addresses, lanes, ValueRange{code.constant(0)},
                                       code.builder.getI32IntegerAttr(4));
  }

  kernel::PackOp op;
  PlanView &plan;
  SmallVector<DimExpr> dims, strides; // of b, in its order
  DimExpr k, n, panels;
};

} // namespace

std::unique_ptr<RootEmitter> emitPack(kernel::PackOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<Pack>(op, plan);
}

} // namespace mopt
