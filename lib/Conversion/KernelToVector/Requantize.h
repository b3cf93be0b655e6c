//===- Requantize.h - sums to quantized integers on vectors --------------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_REQUANTIZE_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_REQUANTIZE_H

#include "Code.h"
#include "mopt/Dialect/Kernel/Kernel.h"

namespace mopt {

/// The code of kernel.requantize: 16 sums and their numbers to 16 bytes. The same bits as the reference functions.
Value vectorRequantize(Code &code, kernel::RequantizeOp op, ArrayRef<Value> operands);

} // namespace mopt
#endif
