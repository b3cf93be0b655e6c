//===- Contraction.h - op classes of the family; see Contraction.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_CONTRACTION_H
#define MOPT_DIALECT_MOPT_CONTRACTION_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Contraction.h.inc"
#endif
