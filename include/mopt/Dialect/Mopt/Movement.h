//===- Movement.h - op classes of the family; see Movement.td ------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_MOVEMENT_H
#define MOPT_DIALECT_MOPT_MOVEMENT_H
#include "mopt/Dialect/Mopt/Mopt.h"
#define GET_OP_CLASSES
#include "mopt/Dialect/Mopt/Movement.h.inc"
#endif
