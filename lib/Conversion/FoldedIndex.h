//===- FoldedIndex.h - integer arithmetic of addresses, constants folded -------------------------------------------===//
//
// What the code writers of all classes of targets (Code, ThreadCode, HvxCode) compute places and counts with. The type is that
// of the operands: i64, i32 or index.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_FOLDEDINDEX_H
#define MOPT_LIB_CONVERSION_FOLDEDINDEX_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mopt/Support/LLVM.h"

namespace mopt::folded {

/// The number that a value is known to be.
std::optional<int64_t> number(Value value);
Value add(OpBuilder &builder, Location loc, Value a, Value b);
Value sub(OpBuilder &builder, Location loc, Value a, Value b);
Value mul(OpBuilder &builder, Location loc, Value a, Value b);
Value div(OpBuilder &builder, Location loc, Value a, Value b); // of numbers >= 0
Value rem(OpBuilder &builder, Location loc, Value a, Value b); // of numbers >= 0
Value min(OpBuilder &builder, Location loc, Value a, Value b); // signed

} // namespace mopt::folded
#endif
