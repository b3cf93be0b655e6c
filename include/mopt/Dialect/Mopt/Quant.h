//===- Quant.h - op classes of the family; see Quant.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_QUANT_H
#define MOPT_DIALECT_MOPT_QUANT_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Quant.h.inc"
#endif
