//===- Interfaces.td - what every op of the dialect can be asked --------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_INTERFACES
#define MOPT_DIALECT_MOPT_INTERFACES
include "mlir/IR/OpBase.td"

def MoptOpInterface : OpInterface<"MoptOpInterface"> {
  let cppNamespace = "::mopt";
  let description = [{ The shape rule. One rule serves the importer, the verifier and every rewrite. }];
  let methods = [
    InterfaceMethod<[{
        Result types from operand types, attributes and what is known of operand values. Sizes that follow from no
        symbol are new symbols of the context. On failure an error was reported through `context`.
      }],
      "::mlir::LogicalResult", "inferTypes",
      (ins "::mopt::ShapeContext &":$context, "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>
  ];
  // The rule judges operands and attributes, and its result types the ones written down.
  let verify = [{ return ::mopt::verifyShapeRule($_op); }];
}
#endif
