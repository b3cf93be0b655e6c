//===- Elementwise.h - op classes of the family; see Elementwise.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_ELEMENTWISE_H
#define MOPT_DIALECT_MOPT_ELEMENTWISE_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Elementwise.h.inc"
#endif
