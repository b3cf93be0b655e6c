//===- Limits.h - what a model may ask for ------------------------------------------------------------------------===//
//
// Every limit is data: a row of MOPT_IMPORT_LIMITS is a field here, a flag of `mopt-compiler` and a line of the docs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_IMPORT_LIMITS_H
#define MOPT_IMPORT_LIMITS_H

#include <cstdint>

// MOPT_LIMIT(field, flag, default, what it bounds)
#define MOPT_IMPORT_LIMITS(MOPT_LIMIT)                                                                                      \
  MOPT_LIMIT(fileBytes, "limit-file-bytes", int64_t(2) << 30, "bytes of the model file")                                    \
  MOPT_LIMIT(externalBytes, "limit-external-bytes", int64_t(64) << 30, "bytes of all external data files together")         \
  MOPT_LIMIT(depth, "limit-depth", 64, "messages inside messages")                                                          \
  MOPT_LIMIT(nodes, "limit-nodes", 1000000, "nodes, functions expanded")                                                    \
  MOPT_LIMIT(initializers, "limit-initializers", 1000000, "initializers")                                                   \
  MOPT_LIMIT(functions, "limit-functions", 10000, "model-local functions")                                                  \
  MOPT_LIMIT(callDepth, "limit-call-depth", 100, "functions that call functions")                                           \
  MOPT_LIMIT(names, "limit-names", 10000000, "names of values in all nodes together")                                       \
  MOPT_LIMIT(messages, "limit-messages", 20000000, "protobuf messages in the file")                                         \
  MOPT_LIMIT(attributeElements, "limit-attribute-elements", int64_t(1) << 24, "numbers in one attribute")                   \
  MOPT_LIMIT(rank, "limit-rank", 8, "axes of a tensor")                                                                     \
  MOPT_LIMIT(dim, "limit-dim", (int64_t(1) << 31) - 1, "size of one axis")                                                  \
  MOPT_LIMIT(elements, "limit-elements", int64_t(1) << 40, "elements of one tensor")                                        \
  MOPT_LIMIT(stringBytes, "limit-string-bytes", 64 << 10, "bytes of a string attribute")                                    \
  MOPT_LIMIT(nameBytes, "limit-name-bytes", 1 << 10, "bytes of a name")                                                     \
  MOPT_LIMIT(sparseBytes, "limit-sparse-bytes", int64_t(256) << 20, "bytes of a sparse initializer made dense")             \
  MOPT_LIMIT(activationBytes, "limit-activation-bytes", int64_t(64) << 30, "bytes of all static results together")          \
  MOPT_LIMIT(seconds, "limit-seconds", 60, "seconds an import may take")

namespace mopt {
struct ImportLimits {
#define MOPT_LIMIT(field, flag, value, text) int64_t field = value;
  MOPT_IMPORT_LIMITS(MOPT_LIMIT)
#undef MOPT_LIMIT
};
} // namespace mopt
#endif
