//===- Kernel.td - destination-passing ops between groups and code ------------------------------------------------===//
#ifndef MOPT_DIALECT_KERNEL_KERNEL
#define MOPT_DIALECT_KERNEL_KERNEL
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let summary = "What a step runs, on tensors and then on buffers";
  let description = [{
    Every op that computes writes into a destination it is given. Sizes are `index` values made by `kernel.size`; all of
    them together are the shape function of the plan. Elementwise work is `linalg.generic` over `kernel.scalar`.
  }];
  let cppNamespace = "::mopt::kernel";
  let dependentDialects = ["::mopt::MoptDialect"];
}

def TensorOrMemref : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;
class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_SizeOp : Kernel_Op<"size", [Pure]> {
  let summary = "The value of a size expression in the current run";
  let arguments = (ins AnyAttr:$expr); // #mopt.dim
  let results = (outs Index:$value);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Kernel_WeightOp : Kernel_Op<"weight", [Pure]> {
  let summary = "A constant: elements, or a handle to a weight source";
  let arguments = (ins AnyAttr:$value);
  let results = (outs TensorOrMemref:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Kernel_ViewOp : Kernel_Op<"view", [Pure]> {
  let summary = "The same bytes under other sizes";
  let arguments = (ins TensorOrMemref:$source, Variadic<Index>:$sizes);
  let results = (outs TensorOrMemref:$result);
  let assemblyFormat = "$source (`[` $sizes^ `]`)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}
/// `present` has one entry per operand of the op's record: 0 for one that is left out. `written` likewise for results.
def Kernel_ReferenceOp : Kernel_Op<"reference",
    [DestinationStyleOpInterface, AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Runs the reference function of a mopt op";
  let arguments = (ins StrAttr:$op, DictionaryAttr:$attrs, DenseI64ArrayAttr:$present, DenseI64ArrayAttr:$written,
                       Variadic<TensorOrMemref>:$inputs, Variadic<TensorOrMemref>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $op $attrs `present` $present `written` $written `ins` `(` ($inputs^ `:` type($inputs))? `)`
    `outs` `(` ($outs^ `:` type($outs))? `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); } }];
  let hasVerifier = 1;
}
def Kernel_ScalarOp : Kernel_Op<"scalar", [Pure]> {
  let summary = "The scalar function of an elementwise mopt op";
  let arguments = (ins StrAttr:$op, DictionaryAttr:$attrs, Variadic<AnyType>:$operands);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$op $attrs `(` $operands `)` attr-dict `:` functional-type($operands, $result)";
}
#endif
