//===- LastForm.h - what an op is when its images lie channels last -----------------------------------------------===//
#ifndef MOPT_LIB_TRANSFORMS_LAYOUT_LASTFORM_H
#define MOPT_LIB_TRANSFORMS_LAYOUT_LASTFORM_H

#include "mopt/Dialect/Mopt/Mopt.h"

namespace mopt {

/// The permutation N, C, spatial... -> N, spatial..., C as transpose takes it, and the one back.
SmallVector<int64_t> toLast(int64_t rank);
SmallVector<int64_t> fromLast(int64_t rank);
/// The type of a value of `type` when it lies channels last.
RankedTensorType lastType(Type type);
/// A tensor that has both layouts: three axes or more, all with names.
bool isImage(Value value);
/// Elements of a tensor; symbols count as 16, and the number as 2^40 at most.
int64_t guessElements(Type type);
/// Bytes that a copy in another order reads and writes.
int64_t costOfMove(Value value);

/// How an op runs on images that lie channels last. All else of the op stays.
struct LastForm {
  SmallVector<unsigned> images; // operands that are images
  bool resultsLast = true;      // else the results are the same either way
  bool broadcasts = false;      // other operands are put in the place of the axes they broadcast to
  SmallVector<NamedAttribute> attributes;
  SmallVector<std::pair<unsigned, SmallVector<int64_t>>> lists; // operands that become lists of axes or sizes
  SmallVector<unsigned> leftOut;                                // results that nobody reads
  int64_t gain = 0;                                             // in bytes that could be moved in the time it saves
};

/// Nothing for an op that must have its images as ONNX has them.
std::optional<LastForm> lastFormOf(Operation *op);

} // namespace mopt
#endif
