//===- Recurrent.h - op classes of the family; see Recurrent.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_RECURRENT_H
#define MOPT_DIALECT_MOPT_RECURRENT_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Recurrent.h.inc"
#endif
