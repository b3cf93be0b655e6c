//===- Epilogue.h - the elementwise part of a kernel op on vectors -------------------------------------------------===//
#ifndef MOPT_LIB_CONVERSION_KERNELTOVECTOR_EPILOGUE_H
#define MOPT_LIB_CONVERSION_KERNELTOVECTOR_EPILOGUE_H

#include "../ToLLVM/KernelBody.h"
#include "Code.h"

namespace mopt {

class Epilogue {
public:
  explicit Epilogue(Region &region) : block(region.front()) {}
  /// Values of the block's arguments (16 floats each) to the 16 floats that are stored. `body` is that of the function the
  /// code stands in: an op without vector form calls its scalar function for each lane.
  Value apply(KernelBody &body, Code &code, ArrayRef<Value> arguments) const;
  /// Whether every op is a few instructions.
  bool isCheap() const;
  bool isEmpty() const { return llvm::hasSingleElement(block); }
  /// Equal texts are equal epilogues.
  std::string text() const;
  /// "+relu", for the step's name.
  std::string name() const;

private:
  Block &block;
};

} // namespace mopt
#endif
