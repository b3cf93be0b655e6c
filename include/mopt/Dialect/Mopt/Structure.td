//===- Structure.td - constants, groups ---------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_STRUCTURE
#define MOPT_DIALECT_MOPT_STRUCTURE
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Structure<string mnemonic, list<Trait> traits> : Mopt_Op<mnemonic, traits> { let kind = "structure"; }

/// `value`: elements in the IR (small) or a `#mopt.weight` handle.
def Mopt_ConstantOp : Mopt_Structure<"constant", [Pure, ConstantLike]> {
  let onnx = [Onnx<"Constant", 1, 0, [], [], "constant">];
  let arguments = (ins AnyAttr:$value);
  let results = (outs T_Any:$output);
  let hasFolder = 1;
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict `:` type($output)";
}
/// The value of an operand that is left out.
def Mopt_NoneOp : Mopt_Structure<"none", [Pure, ConstantLike]> {
  let arguments = (ins UnitAttr:$value);
  let results = (outs NoneType:$output);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict `:` type($output)";
}
def Mopt_YieldOp : Op<Mopt_Dialect, "yield", [Pure, Terminator, HasParent<"GroupOp">]> {
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}
/// What becomes one step: one root, an elementwise prologue before it and an epilogue after it. Uses outer values directly.
def Mopt_GroupOp : Op<Mopt_Dialect, "group", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let arguments = (ins StrAttr:$root);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$root $body attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}
#endif
