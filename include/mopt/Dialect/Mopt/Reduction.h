//===- Reduction.h - op classes of the family; see Reduction.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_REDUCTION_H
#define MOPT_DIALECT_MOPT_REDUCTION_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Reduction.h.inc"
#endif
