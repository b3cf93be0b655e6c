//===- HvxTile.cpp - one register tile of an integer matrix product on Hexagon -------------------------------------===//
//
// The fast dot product of HVX takes four bytes of a vector and four of a scalar register, and the vector's are unsigned. So
// panels hold weights plus 128, and a sum begins with -128 times the sum of its row, which whoever packs the rows adds up on
// the way. Both of the other forms were slower: two vectors need each word of a row in all lanes of a register (half the
// products in a packet), and with the rows in vectors they would have to be transposed.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "HvxTile.h"
#include "../KernelToVector/Epilogue.h"
#include "llvm/Support/FormatVariadic.h"

namespace mopt {

std::string HvxTiles::whyNot(kernel::RootOpInterface op) {
  Block &block = op.getEpilogue().front();
  Value last = block.getTerminator()->getOperand(0);
  for (Operation &inner : block.without_terminator()) {
    if (auto scalar = dyn_cast<kernel::ScalarOp>(inner)) {
      if (scalar.getOp() == "add" && scalar.getResult().getType().isSignlessInteger(32) &&
          llvm::all_of(scalar.getOperandTypes(), [](Type type) { return type.isSignlessInteger(32); }))
        continue;
      return "it goes on with '" + scalar.getOp().str() + "', expected the addition of a bias or a requantization";
    }
    auto requantize = cast<kernel::RequantizeOp>(inner);
    if (!requantize.getShift())
      return "its sums are requantized in floats, expected --requantize fixed";
    if (requantize.getResult() != last || !isa<BlockArgument>(requantize.getScale()) ||
        !isa<BlockArgument>(requantize.getShift()))
      return "its sums are used further after they are requantized, expected one requantization at the end";
  }
  return "";
}

LLVM::LLVMFuncOp HvxTiles::get(FunctionEmitter &emitter, int64_t rows, int64_t panels, int64_t columns) const {
  std::string key = llvm::formatv("hvx_tile_{0}x{1}|{2}|{3}|{4}|{5}|{6}|{7}|{8}|", rows, panels, columns, isUnsigned, steps,
                                  rowWords, panelBytes, yStep, Epilogue(op->getRegion(0)).text());
  for (const HvxExtra &extra : extras)
    key += llvm::formatv("{0} {1} {2};", extra.columns, extra.alignment, extra.least).str();
  MLIRContext *context = emitter.context();
  SmallVector<Type> types(4 + extras.size(), LLVM::LLVMPointerType::get(context));
  return emitter.shared(
      key, StringRef(key).split('|').first,
      [&](LLVM::LLVMFuncOp function) { emit(emitter, function, rows, panels, columns); },
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
}

/// All sums stay in registers for the whole of k, a vector of weights is loaded once for all rows.
SmallVector<Value> HvxTiles::multiply(HvxCode &code, LLVM::LLVMFuncOp function, int64_t rows, int64_t panels) const {
  Value packed = function.getArgument(0), starts = function.getArgument(1), weights = function.getArgument(2);
  Type i32 = code.builder.getI32Type(), i64 = code.builder.getI64Type();
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    sums.append(panels, code.splat(code.load(i32, code.at(starts, 4 * r), 4)));
  StringRef dot = isUnsigned ? "vrmpyub.acc" : "vrmpybus.acc";
  return code.loop(code.number(0), code.number(steps), sums, [&](Value step, ValueRange carried) {
    SmallVector<Value> next(carried), columns;
    Value panel = code.at(weights, code.mul(step, HvxCode::vectorBytes)),
          words = code.at(packed, code.mul(step, 4 * rowWords));
    for (int64_t p = 0; p < panels; ++p)
      columns.push_back(code.load(code.vector(), code.at(panel, p * panelBytes), HvxCode::vectorBytes));
    for (int64_t r = 0; r < rows; r += 2) { // two rows a load
      Value pair = code.load(i64, code.at(words, 4 * r), 8);
      for (int64_t half = 0; half < std::min<int64_t>(2, rows - r); ++half) {
        if (half)
          pair =
              arith::ShRUIOp::create(code.builder, code.loc, pair,
                                     arith::ConstantOp::create(code.builder, code.loc, code.builder.getI64IntegerAttr(32)));
        Value word = code.narrow(pair);
        for (int64_t p = 0; p < panels; ++p) {
          Value &sum = next[(r + half) * panels + p];
          sum = code.hvx(dot, {sum, columns[p], word});
        }
      }
    }
    return next;
  });
}

void HvxTiles::emit(FunctionEmitter &emitter, LLVM::LLVMFuncOp function, int64_t rows, int64_t panels,
                    int64_t columns) const {
  KernelBody body(emitter, function);
  HvxCode code(body.builder, body.loc);
  kernel::RootOpInterface root = op;
  Block &block = root.getEpilogue().front();
  llvm::DenseMap<Value, SmallVector<Value>> values; // one for each row and panel
  values[block.getArgument(0)] = multiply(code, function, rows, panels);
  for (auto [i, extra] : llvm::enumerate(extras)) {
    Value pointer = function.getArgument(4 + i);
    SmallVector<Value> list;
    for (int64_t p = 0; p < panels; ++p) // of constants, behind which a vector can be read (embedWeights)
      list.push_back(extra.columns ? code.load(code.vector(), code.at(pointer, p * HvxCode::vectorBytes), extra.alignment)
                                   : code.splat(code.load(code.builder.getI32Type(), pointer, 4)));
    for (int64_t r = 0; r < rows; ++r)
      llvm::append_range(values[block.getArgument(1 + i)], list);
  }
  Value y = function.getArgument(3), last = block.getTerminator()->getOperand(0);
  for (Operation &inner : block.without_terminator()) {
    if (auto requantize = dyn_cast<kernel::RequantizeOp>(inner)) {
      auto shift = cast<BlockArgument>(requantize.getShift());
      int64_t least = shift.getArgNumber() ? extras[shift.getArgNumber() - 1].least : 2;
      SmallVector<Value> bytes = hvxRequantize(code, requantize, values.lookup(requantize.getSum()),
                                               ArrayRef(values[requantize.getScale()]).take_front(panels),
                                               ArrayRef(values[requantize.getShift()]).take_front(panels), least);
      for (auto [r, row] : llvm::enumerate(bytes))
        code.storeFirst(row, columns, code.at(y, r * yStep), 1);
      continue;
    }
    SmallVector<Value> left = values.lookup(inner.getOperand(0)), right = values.lookup(inner.getOperand(1));
    for (auto [a, b] : llvm::zip_equal(left, right))
      a = arith::AddIOp::create(code.builder, code.loc, a, b);
    values[inner.getResult(0)] = left;
  }
  if (last.getType().isSignlessInteger(32))
    for (auto [i, sum] : llvm::enumerate(values.lookup(last))) {
      int64_t row = i / panels, column = i % panels * HvxCode::width;
      code.storeFirst(sum, columns - column, code.at(y, row * yStep + 4 * column), 4);
    }
  LLVM::ReturnOp::create(body.builder, body.loc, ValueRange{});
}

} // namespace mopt
