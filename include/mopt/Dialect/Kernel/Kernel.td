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

def RootOpInterface : OpInterface<"RootOpInterface"> {
  let cppNamespace = "::mopt::kernel";
  let description = [{
    An op with a kernel of its own and an epilogue: elementwise work on each element of the result before it is stored.
    The block of the epilogue takes the element computed by the op and one element of every extra; `maps` say where in the
    extras these lie, as functions of the position in the result.
  }];
  let methods = [
    InterfaceMethod<"What the op itself reads", "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"What only the epilogue reads", "::mlir::OperandRange", "getExtras">,
    InterfaceMethod<"What is written", "::mlir::OperandRange", "getOuts">,
    InterfaceMethod<"One map per extra", "::llvm::SmallVector<::mlir::AffineMap>", "getExtraMaps">,
    InterfaceMethod<"The elementwise part", "::mlir::Region &", "getEpilogue">,
  ];
  let verify = [{ return verifyRoot($_op); }];
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
  let description = [{
    With `panels`, the elements lie in the order of the panels that matrix kernels read (Panels.h); the result has the type
    that goes with it.
  }];
  let arguments = (ins AnyAttr:$value, OptionalAttr<DenseI64ArrayAttr>:$panels);
  let results = (outs TensorOrMemref:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Attribute":$value),
                            [{ build($_builder, $_state, type, value, ::mlir::DenseI64ArrayAttr()); }]>];
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
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

def Kernel_RequantizeOp : Kernel_Op<"requantize", [Pure]> {
  let summary = "The i32 sum of an integer kernel to an 8-bit integer; stands in epilogues";
  let description = [{
    `scale` f32, no shift (ONNX): clamp(f32(sum) * scale, low - zero_point, high - zero_point), rounded with halves to even, plus
    zero_point. `scale` and `shift` i32 (TOSA, one rounding): (i64(sum) * scale + 2^(shift - 1)) >> shift, plus zero_point,
    clamped to [low, high] in 64 bits; scale in [2^30, 2^31), 2 <= shift <= 62. `low` is raised to zero_point by a ReLU.
  }];
  let arguments = (ins I32:$sum, AnyTypeOf<[F32, I32]>:$scale, Optional<I32>:$shift, I64Attr:$zero_point, I64Attr:$low,
                       I64Attr:$high);
  let results = (outs AnyTypeOf<[I8, UI8]>:$result);
  let assemblyFormat = "$sum `by` $scale (`shift` $shift^)? attr-dict `:` type($scale) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ops with kernels of their own
//===----------------------------------------------------------------------===//
def Kernel_ResultOp : Kernel_Op<"result", [Pure, Terminator]> {
  let summary = "The element that an epilogue stores";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}
class Kernel_RootOp<string mnemonic, dag attributes = (ins)>
    : Kernel_Op<mnemonic, [DestinationStyleOpInterface, AttrSizedOperandSegments, RootOpInterface,
                           DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = !con((ins Variadic<TensorOrMemref>:$inputs, Variadic<TensorOrMemref>:$extras,
                            Variadic<TensorOrMemref>:$outs, AffineMapArrayAttr:$maps), attributes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `ins` `(` $inputs `:` type($inputs) `)` (`extras` `(` $extras^ `:` type($extras) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict `epilogue` $epilogue (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    ::llvm::SmallVector<::mlir::AffineMap> getExtraMaps() {
      return ::llvm::to_vector(getMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
  }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
      addBufferEffects(getOperation(), effects);
    }
  }];
}
/// f32 throughout, or integers: a of i8 or ui8, panels of i8; the sum is then an i32, exact but modulo 2^32, and the
/// destination whatever the epilogue makes of it.
def Kernel_MatMulOp : Kernel_RootOp<"matmul", (ins OptionalAttr<DenseI64ArrayAttr>:$a_order,
                                                  OptionalAttr<DenseI64ArrayAttr>:$y_order)> {
  let summary = "y[...b,m,n] = sum over k of a[...b,m,k] * B[...b,k,n]";
  let description = [{
    B comes in panels: [...b, ceil(n/16), k, 16], or of integers [...b, ceil(n/W), ceil(k/4), W, 4] (Panels.h). Batch axes
    broadcast from the right. One accumulator for each element, k ascending. With `a_order`, axis i of a is axis a_order[i] of
    its tensor; with `y_order`, axis i of y is axis y_order[i] of the tensor that is written. The last axis stays the last.
    Maps of extras are over y before that. Integers: a has no zero point here, it is part of the bias.
  }];
  let hasVerifier = 1;
}
def Kernel_ConvOp : Kernel_RootOp<"conv", (ins DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                                              DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads, I64Attr:$group,
                                              DefaultValuedAttr<I64Attr, "0">:$zero_point)> {
  let summary = "Convolution of x[n,s...,c] to y[n,s'...,o]";
  let description = [{
    Weights come in panels: [g, ceil(o/g/16), taps * c/g, 16], or of integers [g, ceil(o/g/W), taps * ceil(c/g/4), W, 4],
    taps in row-major order. `pads` are those before the first element of each axis. One accumulator for each element: taps
    ascending, then channels. Types as in kernel.matmul. A tap outside of x reads `zero_point`, which is 0 for floats: the
    zero point of x is part of the bias, as if every tap were inside.
  }];
  let hasVerifier = 1;
}
def Kernel_DepthwiseOp : Kernel_RootOp<"depthwise", (ins DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                                                        DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads)> {
  let summary = "Convolution of x[n,s...,c] to y[n,s'...,c], each channel by itself";
  let description = [{
    Weights come in panels of channels: [ceil(c/16), taps, 16], taps in row-major order. One accumulator for each element,
    taps ascending; a tap outside of x adds nothing.
  }];
}
/// `axes`: ascending numbers of axes of the one input.
class Kernel_RowOp<string mnemonic, dag attributes> : Kernel_RootOp<mnemonic, !con((ins DenseI64ArrayAttr:$axes), attributes)> {
  let hasVerifier = 1;
}
def Kernel_ReduceOp : Kernel_RowOp<"reduce", (ins StrAttr:$kind)> {
  let summary = "Combines the elements along `axes`, which the result lacks or has with size 1";
  let description = "`kind`: sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square. The order follows from the sizes.";
}
def Kernel_SoftmaxOp : Kernel_RowOp<"softmax", (ins UnitAttr:$logarithm)> {
  let summary = "exp(x - max) / sum over `axes`, or x - max - log(sum)";
}
def Kernel_NormOp : Kernel_RowOp<"norm", (ins F32Attr:$epsilon, UnitAttr:$rms, OptionalAttr<DenseI64ArrayAttr>:$split)> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over `axes`; with `rms`, x / sqrt(mean of x^2 + epsilon)";
  let description = "`split`, [axis, parts]: one of `axes` is cut into equal parts, of which each is normalized on its own.";
}
def Kernel_ConvTransposeOp : Kernel_RootOp<"conv_transpose", (ins DenseI64ArrayAttr:$kernel)> {
  let summary = "Transposed convolution of x[n,s...,c] to y[n,s*kernel...,o] with strides as large as the kernel";
  let description = "Weights come in panels: [taps, ceil(o/16), c, 16]. One accumulator for each element, channels ascending.";
}
def Kernel_PoolOp : Kernel_RootOp<"pool", (ins StrAttr:$op, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                                              DenseI64ArrayAttr:$dilations, AnyAttr:$pads, BoolAttr:$channels_last,
                                              BoolAttr:$count_pads)> {
  let summary = "Windows over x: max_pool or average_pool";
  let description = [{
    x and y are [n, c, s...], or [n, s..., c] with `channels_last`. `pads`: #mopt.dims, those before each axis, then those
    after. One accumulator for each element, taps in row-major order; taps outside of x are left out. An average is divided by
    the number of its taps, with `count_pads` also those on the padding.
  }];
  let hasVerifier = 1;
}
def Kernel_ResizeOp : Kernel_RootOp<"resize", (ins DenseF64ArrayAttr:$scales, StrAttr:$mode, StrAttr:$coordinates,
                                                  StrAttr:$nearest_mode)> {
  let summary = "Interpolation along axes of x";
  let description = [{
    `scales` has a number for each axis: a scale, 0 for an axis that stays as it is, -1 for one whose scale is the quotient of
    its sizes. Coordinates are computed in double, as the reference function does; sums in f32, taps in row-major order, a tap
    of weight 0 left out.
  }];
  let hasVerifier = 1;
}
def Kernel_MoveOp : Kernel_RootOp<"move", (ins StrAttr:$op, ArrayAttr:$parts)> {
  let summary = "Copies boxes of elements between strided places; `op` is what the graph calls it";
  let description = [{
    Part k copies from input k: [#mopt.dims<sizes>, #mopt.dims<from>, #mopt.dims<to>], where `from` and `to` begin with an
    offset and go on with a stride for each axis, in elements. Parts write different elements. Any type whose elements
    take 1, 2, 4 or 8 bytes. Only a single part in the shape of the result has an epilogue.
  }];
  let hasVerifier = 1;
}
def Kernel_GatherOp : Kernel_RootOp<"gather", (ins I64Attr:$axis)> {
  let summary = "y[...a, ...i, ...c] = data[...a, indices[...i], ...c], where `axis` is the number of axes a";
  let description = [{
    Data of any type whose elements take 1, 2, 4 or 8 bytes, indices of i32 or i64. A negative index counts from the end; one
    outside of [-size, size) ends the run with MOPT_STEP_INDEX, and nothing is read for it.
  }];
  let hasVerifier = 1;
}
def Kernel_PackOp : Kernel_Op<"pack", [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A matrix operand that is not constant, into panels";
  let description = [{
    b[...,k,n] to [..., ceil(n/16), k, 16]; missing columns are zeros. With `order`, axis i of b is axis order[i] of its
    tensor.
  }];
  let arguments = (ins TensorOrMemref:$source, TensorOrMemref:$out, OptionalAttr<DenseI64ArrayAttr>:$order);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $source `:` type($source) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); } }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
      addBufferEffects(getOperation(), effects);
    }
  }];
}
#endif
