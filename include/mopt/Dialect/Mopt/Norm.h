//===- Norm.h - op classes of the family; see Norm.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_NORM_H
#define MOPT_DIALECT_MOPT_NORM_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Norm.h.inc"
#endif
