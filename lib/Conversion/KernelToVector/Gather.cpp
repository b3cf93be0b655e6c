//===- Gather.cpp - rows of a table by index -----------------------------------------------------------------------===//
//
// y[a, i, c] = data[a, index[i], c]. A row of y is what one index takes, c elements that lie side by side on both sides; rows
// are counted over a and i together. A unit is a block of rows of about 4096 elements, or a part of that length of one row.
// An index outside of its axis ends the run: its row is left as it is, and the fault names the first such index of the chunk.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "../ToLLVM/KernelBody.h"
#include "MoveCode.h"
#include "RootEmitter.h"

namespace mopt {
namespace {

constexpr int64_t blockElements = 4096;

class GatherEmitter : public RootEmitter {
public:
  GatherEmitter(kernel::GatherOp op, PlanView &plan) : op(op), plan(plan), epilogue(op.getEpilogue()) {
    MLIRContext *context = op.getContext();
    SmallVector<DimExpr> data = plan.view(op.getInputs()[0]).dims, index = plan.view(op.getInputs()[1]).dims;
    auto axis = static_cast<size_t>(op.getAxis());
    axisSize = data[axis];
    indices = DimExpr::product(index, context);
    columns = DimExpr::product(ArrayRef(data).drop_front(axis + 1), context);
    rows = DimExpr::product(ArrayRef(data).take_front(axis), context) * indices;
    tableStep = axisSize * columns;
    addExtras(axis + index.size());
    columnBlocks = columns.ceilDiv(blockElements);
    rowBlock = std::max<int64_t>(1, blockElements / std::max<int64_t>(1, guess(columns)));
    units = rows.ceilDiv(rowBlock) * columnBlocks;
    work = rows * columns;
    macs = DimExpr::constant(context, 0);
    sizes.append({axisSize, indices, columns, rows, tableStep, columnBlocks});
    for (const Extra &extra : extras)
      for (auto &[size, stride] : extra.axes)
        sizes.append({size, stride});
  }

  void emit(KernelBody &body) override {
    Code code(body.builder, body.loc);
    Type i32 = code.builder.getI32Type();
    Value status = code.stack(body.function, sizeof(int32_t), alignof(int32_t));
    LLVM::StoreOp::create(code.builder, code.loc, body.i32(MOPT_STEP_OK), status, alignof(int32_t));
    code.loop(body.begin, body.end, code.i64(1), [&](Value unit) { emitUnit(body, code, unit, status); });
    body.status = LLVM::LoadOp::create(code.builder, code.loc, i32, status, alignof(int32_t));
  }

private:
  /// An operand of the epilogue: where it begins for a row, from the outermost axis of rows to the innermost, and whether it
  /// moves along the row.
  struct Extra {
    Value memref;
    SmallVector<std::pair<DimExpr, DimExpr>> axes; // size and stride; axes that it moves along as one are one
    bool alongRow = false;
  };

  void addExtras(size_t rowAxes) {
    MLIRContext *context = op.getContext();
    SmallVector<DimExpr> result = plan.view(op.getOuts().front()).dims;
    for (auto [memref, map] : llvm::zip_equal(op.getExtras(), op.getExtraMaps())) {
      SmallVector<DimExpr> own = rowMajorStrides(plan.view(memref).dims, context);
      SmallVector<DimExpr> strides(result.size(), DimExpr::constant(context, 0));
      Extra extra{memref, {}};
      for (auto [i, expr] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
          strides[dim.getPosition()] = own[i];
          extra.alongRow |= dim.getPosition() >= rowAxes && !result[dim.getPosition()].isConstant(1);
        }
      for (size_t d = 0; d < rowAxes; ++d) {
        if (result[d].isConstant(1))
          continue;
        if (!extra.axes.empty() && extra.axes.back().second == strides[d] * result[d])
          extra.axes.back() = {extra.axes.back().first * result[d], strides[d]};
        else
          extra.axes.push_back({result[d], strides[d]});
      }
      extras.push_back(extra);
    }
  }

  /// Elements from the start of an operand to its part for a row.
  Value offset(KernelBody &body, Code &code, const Extra &extra, Value row) {
    Value offset = code.i64(0), rest = row;
    for (size_t d = extra.axes.size(); d-- > 0;) {
      auto [size, stride] = extra.axes[d];
      Value position = d == 0 ? rest : code.rem(rest, body.size(size));
      offset = code.add(offset, code.mul(position, body.size(stride)));
      if (d)
        rest = code.div(rest, body.size(size));
    }
    return offset;
  }

  void emitUnit(KernelBody &body, Code &code, Value unit, Value status) {
    Value block = unit, firstColumn = code.i64(0), count = body.size(columns);
    if (!columnBlocks.isConstant(1)) {
      block = code.div(unit, body.size(columnBlocks));
      firstColumn = code.mul(code.rem(unit, body.size(columnBlocks)), code.i64(blockElements));
      count = code.min(code.sub(count, firstColumn), code.i64(blockElements));
    }
    Value first = code.mul(block, code.i64(rowBlock));
    Value last = code.min(code.add(first, code.i64(rowBlock)), body.size(rows));
    bool isOne = rows == indices; // no axes before the one of the indices
    Value table = isOne ? code.i64(0) : code.div(first, body.size(indices));
    Value position = isOne ? first : code.rem(first, body.size(indices));
    code.loop(first, last, code.i64(1), {table, position}, [&](Value row, ValueRange carried) -> SmallVector<Value> {
      emitRow(body, code, row, carried[0], carried[1], firstColumn, count, status);
      Value next = code.add(carried[1], code.i64(1));
      if (isOne)
        return {carried[0], next};
      Value wraps = code.equal(next, body.size(indices));
      return {code.select(wraps, code.add(carried[0], code.i64(1)), carried[0]), code.select(wraps, code.i64(0), next)};
    });
  }

  void emitRow(KernelBody &body, Code &code, Value row, Value table, Value position, Value column, Value count,
               Value status) {
    OpBuilder &b = code.builder;
    BufferView indexView = plan.view(op.getInputs()[1]), out = plan.view(op.getOuts().front());
    Type element = indexView.element;
    Value given = code.loadScalar(code.at(body.base(indexView.base), position, storedBits(element) / 8), element);
    if (element.isInteger(32))
      given = arith::ExtSIOp::create(b, code.loc, b.getI64Type(), given);
    Value size = body.size(axisSize);
    Value wrapped = code.select(code.less(given, code.i64(0)), code.add(given, size), given);
    Value isInside = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ult, wrapped, size);
    auto copy = [&] {
      MoveCode move{body, code, epilogue, out.element, storedBits(out.element) / 8};
      Value from = code.add(code.mul(wrapped, body.size(columns)), column);
      if (rows != indices)
        from = code.add(from, code.mul(table, body.size(tableStep)));
      RowPlace place{from, code.add(code.mul(row, body.size(columns)), column), {}}, steps{code.i64(1), code.i64(1), {}};
      SmallVector<Value> bases;
      for (const Extra &extra : extras) {
        Value start = offset(body, code, extra, row);
        place.extras.push_back(extra.alongRow ? code.add(start, column) : start);
        steps.extras.push_back(code.i64(extra.alongRow));
        bases.push_back(body.base(plan.view(extra.memref).base));
      }
      place = move.pointers(place, body.base(plan.view(op.getInputs()[0]).base), body.base(out.base), bases);
      move.row(place, steps, count);
    };
    code.either(isInside, copy, [&] { recordFault(body, code, given, size, status); });
  }

  /// The first one counts.
  static void recordFault(KernelBody &body, Code &code, Value given, Value size, Value status) {
    OpBuilder &b = code.builder;
    Value before = LLVM::LoadOp::create(b, code.loc, b.getI32Type(), status, alignof(int32_t));
    Value isFirst = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::eq, before, body.i32(MOPT_STEP_OK));
    code.when(isFirst, [&] {
      auto field = [&](Value value, size_t offset, unsigned alignment) {
        LLVM::StoreOp::create(b, code.loc, value, code.at(body.fault, code.i64(offset), 1), alignment);
      };
      field(given, offsetof(mopt_fault, got), alignof(int64_t));
      field(size, offsetof(mopt_fault, limit), alignof(int64_t));
      field(body.i32(1), offsetof(mopt_fault, operand), alignof(int32_t));
      LLVM::StoreOp::create(b, code.loc, body.i32(MOPT_STEP_INDEX), status, alignof(int32_t));
    });
  }

  kernel::GatherOp op;
  PlanView &plan;
  Epilogue epilogue;
  SmallVector<Extra> extras;
  DimExpr axisSize, indices, columns, rows, tableStep, columnBlocks;
  int64_t rowBlock;
};

} // namespace

std::unique_ptr<RootEmitter> emitGather(kernel::GatherOp op, PlanView &plan, const Schedule &) {
  return std::make_unique<GatherEmitter>(op, plan);
}

} // namespace mopt
