//===- Conv.cpp - convolutions as matrix products over a table of rows ---------------------------------------------===//
//
// For each tap of the kernel, a row of the left operand is the channels of one pixel of x, or zeros where the tap is outside.
// The table of those rows costs a few instructions for each row and tap, no copy of x and no border in memory; see
// docs/rationale/rows-by-table.md.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TileNest.h"

namespace mopt {
namespace {

class Conv : public TileNest {
public:
  Conv(kernel::ConvOp op, PlanView &plan, const Schedule &schedule) : TileNest(op, plan, schedule), conv(op) {
    xDims = plan.view(op.getInputs()[0]).dims;
    yDims = plan.view(op.getOuts()[0]).dims;
    unsigned rank = yDims.size();
    group = op.getGroup();
    channels = *xDims.back().asConstant();
    int64_t outputs = *yDims.back().asConstant();
    k = constant(channels / group);
    n = constant(outputs / group);
    m = elementCount(ArrayRef(yDims).drop_front().drop_back(), context);
    int64_t taps = 1;
    for (int64_t size : op.getKernel())
      taps *= size;
    panelStep = constant(taps * (channels / group) * Code::width);
    batch = {yDims.front(), constant(group)};
    SmallVector<DimExpr> xStrides = rowMajorStrides(xDims, context), yStrides = rowMajorStrides(yDims, context);
    a = {op.getInputs()[0], {xStrides.front(), k}, constant(0), true};
    b = {op.getInputs()[1], {constant(0), constant((outputs / group + Code::width - 1) / Code::width) * panelStep}, constant(0), true};
    y = {op.getOuts()[0], {yStrides.front(), constant(0)}, constant(outputs), true};
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      // Full, or the same for all pixels: groups are formed so.
      SmallVector<DimExpr> strides = rowMajorStrides(plan.view(memref).dims, context);
      Operand extra{memref, {constant(0), constant(0)}, constant(0), map.isFunctionOfDim(rank - 1)};
      for (auto [i, result] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(result)) {
          if (dim.getPosition() == 0)
            extra.batchStrides[0] = strides[i];
          else if (dim.getPosition() + 1 < rank)
            extra.rowStride = constant(extra.columns ? outputs : 1);
        }
      extras.push_back(extra);
    }
    llvm::append_range(sizes, xDims);
    llvm::append_range(sizes, yDims);
    finish(RowAccess::table, taps);
  }

protected:
  Value columnOffset(Code &code, ValueRange position) override {
    return group == 1 ? Value() : code.mul(position[1], code.i64(*n.asConstant()));
  }

  void fillTable(KernelBody &body, Code &code, Value table, ValueRange position, Value first, Value rows) override {
    unsigned axes = conv.getKernel().size();
    ArrayRef<int64_t> kernel = conv.getKernel(), strides = conv.getStrides(), dilations = conv.getDilations(),
                      pads = conv.getPads();
    Value x = body.base(plan.view(conv.getInputs()[0]).base);
    x = code.at(x, code.mul(position[0], body.size(a.batchStrides[0])));
    if (group != 1)
      x = code.at(x, code.mul(position[1], body.size(k)));
    Value zeros = body.zeros(*k.asConstant());
    SmallVector<Value> steps(axes); // floats from one element of an axis of x to the next
    Value step = code.i64(channels);
    for (unsigned d = axes; d-- > 0;) {
      steps[d] = step;
      step = code.mul(step, body.size(xDims[d + 1]));
    }
    // Position of the first row, then counted up.
    SmallVector<Value> at(axes);
    Value rest = first;
    for (unsigned d = axes; d-- > 0;) {
      at[d] = d == 0 ? rest : code.rem(rest, body.size(yDims[d + 1]));
      if (d)
        rest = code.div(rest, body.size(yDims[d + 1]));
    }
    code.loop(code.i64(0), rows, code.i64(1), at, [&](Value row, ValueRange carried) {
      SmallVector<Value> origin;
      for (unsigned d = 0; d < axes; ++d)
        origin.push_back(code.sub(code.mul(carried[d], code.i64(strides[d])), code.i64(pads[d])));
      taps(body, code, kernel, dilations, origin, steps, zeros, 0, x, Value(), code.atPointer(table, row));
      SmallVector<Value> next(carried);
      Value carry = code.i64(1);
      for (unsigned d = axes; d-- > 0;) {
        Value sum = code.add(next[d], carry);
        if (d == 0) {
          next[d] = sum;
          break;
        }
        Value full = code.equal(sum, body.size(yDims[d + 1]));
        next[d] = code.select(full, code.i64(0), sum);
        carry = code.select(full, code.i64(1), code.i64(0));
      }
      return next;
    });
  }

private:
  /// Stores the pointers of all taps from axis `d` on. `inside`: whether the outer axes are inside of x; null: yes.
  void taps(KernelBody &body, Code &code, ArrayRef<int64_t> kernel, ArrayRef<int64_t> dilations, ArrayRef<Value> origin,
            ArrayRef<Value> steps, Value zeros, unsigned d, Value pointer, Value inside, Value entry) {
    if (d == kernel.size()) {
      code.storePointer(inside ? code.select(inside, pointer, zeros) : pointer, entry);
      return;
    }
    int64_t below = 1;
    for (int64_t size : kernel.drop_front(d + 1))
      below *= size;
    // One loop per axis but the last, which is unrolled where it is short.
    auto tap = [&](Value index) {
      Value coordinate = code.add(origin[d], code.mul(index, code.i64(dilations[d])));
      // One unsigned comparison for both ends.
      Value within = arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ult, coordinate, body.size(xDims[d + 1]));
      taps(body, code, kernel, dilations, origin, steps, zeros, d + 1, code.at(pointer, code.mul(coordinate, steps[d])),
           inside ? code.both(inside, within) : within,
           code.atPointer(entry, code.mul(index, code.i64(below * tableRows))));
    };
    if (d + 1 == kernel.size() && kernel[d] <= 8)
      for (int64_t i = 0; i < kernel[d]; ++i)
        tap(code.i64(i));
    else
      code.loop(code.i64(0), code.i64(kernel[d]), code.i64(1), tap);
  }

  kernel::ConvOp conv;
  SmallVector<DimExpr> xDims, yDims;
  int64_t group = 1, channels = 0;
};

} // namespace

std::unique_ptr<RootEmitter> emitConv(kernel::ConvOp op, PlanView &plan, const Schedule &schedule) {
  return std::make_unique<Conv>(op, plan, schedule);
}

} // namespace mopt
