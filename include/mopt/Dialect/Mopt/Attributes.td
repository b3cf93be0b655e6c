//===- Attributes.td - sizes, weights -----------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_ATTRIBUTES
#define MOPT_DIALECT_MOPT_ATTRIBUTES
include "mopt/Dialect/Mopt/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

class Mopt_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<Mopt_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def Mopt_DimAttr : Mopt_Attr<"Dim", "dim"> {
  let summary = "A size: a number, a symbol, or an expression over symbols in normal form";
  let description = [{
    Built through `DimExpr` only, which keeps the normal form (a sum of products with integer factors, sorted), so that
    equal attributes are equal sizes. Kinds: const, symbol, sum, product, floordiv, ceildiv, mod, min, max, bcast.
  }];
  let parameters = (ins "::mopt::DimKind":$kind, "int64_t":$value, "::mlir::StringAttr":$name,
                        OptionalArrayRefParameter<"::mlir::Attribute">:$args);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 0;
}

def Mopt_DimsAttr : Mopt_Attr<"Dims", "dims"> {
  let summary = "The sizes of a tensor type, one per axis: equal names are equal sizes";
  let description = [{
    The encoding of a tensor type with dynamic axes: `tensor<?x?x384xf32, #mopt.dims<[b, s + 1, 384]>>`. Static axes
    repeat their number.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mopt::DimAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 0;
}

def Mopt_WeightAttr : Mopt_Attr<"Weight", "weight", [TypedAttrInterface]> {
  let summary = "A handle to bytes of a weight source";
  let description = [{
    `#mopt.weight<"model.weights", 4096, 1024> : tensor<256xf32>`: source name, offset and length in bytes. The bytes are
    little endian, row-major, packed as ONNX packs them (4-bit elements two a byte, low half first). They are read when a
    fold or the packer needs them, not before.
  }];
  let parameters = (ins "::mlir::StringAttr":$source, "int64_t":$offset, "int64_t":$bytes,
                        AttributeSelfTypeParameter<"">:$type);
  let assemblyFormat = "`<` $source `,` $offset `,` $bytes `>`";
}
#endif
