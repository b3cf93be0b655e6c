//===- LLVM.h - names of LLVM and MLIR that mopt uses without a prefix --------------------------------------------===//
#ifndef MOPT_SUPPORT_LLVM_H
#define MOPT_SUPPORT_LLVM_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>

namespace mopt {
using namespace mlir; // the dialect's own names win; this is the one place that says so
} // namespace mopt
#endif
