//===- Contraction.td - sums of products --------------------------------------------------------------------------===//
//
// Order of operations of one result element: one accumulator, the contraction index ascending (numeric contract).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_CONTRACTION
#define MOPT_DIALECT_MOPT_CONTRACTION
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Contraction<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let quantClass = "weighted";
  let numericClass = "rounded";
}
defvar ConvAttributes = (ins Choice<["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]>:$auto_pad, Ints:$dilations,
                             Int<1>:$group, Ints:$kernel_shape, Ints:$pads, Ints:$strides, ChannelsLast:$channels_last);

def Mopt_MatMulOp : Mopt_Contraction<"matmul"> {
  let onnx = [Onnx<"MatMul", 1>];
  let index = "a[...b,m,k] b[...b,k,n] -> y[...b,m,n]";
  let units = Rows;
  let arguments = (ins T_Num:$a, T_Num:$b);
  let results = (outs T_Num:$y);
}
def Mopt_GemmOp : Mopt_Contraction<"gemm"> {
  let onnx = [Onnx<"Gemm", 7>];
  let index = "a[m,k] b[k,n] c[m|1,n|1]? -> y[m,n]";
  let units = Rows;
  let arguments = (ins T_Num:$a, T_Num:$b, O_Num:$c, Flt<"1.0f">:$alpha, Flt<"1.0f">:$beta, Int<0>:$transA, Int<0>:$transB);
  let results = (outs T_Num:$y);
}
def Mopt_ConvOp : Mopt_Contraction<"conv"> {
  let onnx = [Onnx<"Conv", 1>];
  let index = "x[n,c,s...] w[o,c/g,k...] b[o]? -> y[n,o,s'...]";
  let units = Planes;
  let arguments = !con((ins T_Float:$x, T_Float:$w, O_Float:$b), ConvAttributes);
  let results = (outs T_Float:$y);
}
def Mopt_ConvTransposeOp : Mopt_Contraction<"conv_transpose"> {
  let onnx = [Onnx<"ConvTranspose", 1>];
  let index = "x[n,c,s...] w[c,o/g,k...] b[o]? -> y[n,o,s'...]";
  let units = Planes;
  let arguments = !con((ins T_Float:$x, T_Float:$w, O_Float:$b), ConvAttributes, (ins Ints:$output_padding, Ints:$output_shape));
  let results = (outs T_Float:$y);
}
def Mopt_MatMulIntegerOp : Mopt_Contraction<"matmul_integer"> {
  let onnx = [Onnx<"MatMulInteger", 10>];
  let index = "a[...b,m,k] b[...b,k,n] -> y[...b,m,n]";
  let numericClass = "exact";
  let units = Rows;
  let arguments = (ins T_Num:$a, T_Num:$b, O_Num:$a_zero_point, O_Num:$b_zero_point);
  let results = (outs T_Num:$y);
}
def Mopt_ConvIntegerOp : Mopt_Contraction<"conv_integer"> {
  let onnx = [Onnx<"ConvInteger", 10>];
  let index = "x[n,c,s...] w[o,c/g,k...] -> y[n,o,s'...]";
  let numericClass = "exact";
  let units = Planes;
  let arguments = !con((ins T_Num:$x, T_Num:$w, O_Num:$x_zero_point, O_Num:$w_zero_point), ConvAttributes);
  let results = (outs T_Num:$y);
}
/// How sums become quantized integers (docs/rationale/requantize.md). Passes set it; ONNX has `float` alone.
def Requantize : Choice<["float", "fixed"]>;
def Mopt_QLinearMatMulOp : Mopt_Contraction<"qlinear_matmul"> {
  let onnx = [Onnx<"QLinearMatMul", 10>];
  let index = "a[...b,m,k] b[...b,k,n] -> y[...b,m,n]";
  let units = Rows;
  let arguments = (ins T_Any:$a, T_Float:$a_scale, T_Any:$a_zero_point, T_Any:$b, T_Float:$b_scale, T_Any:$b_zero_point,
                       T_Float:$y_scale, T_Any:$y_zero_point, Requantize:$requantize);
  let results = (outs T_Any:$y);
}
def Mopt_QLinearConvOp : Mopt_Contraction<"qlinear_conv"> {
  let onnx = [Onnx<"QLinearConv", 10>];
  let index = "x[n,c,s...] w[o,c/g,k...] b[o]? -> y[n,o,s'...]";
  let units = Planes;
  let arguments = !con((ins T_Any:$x, T_Float:$x_scale, T_Any:$x_zero_point, T_Any:$w, T_Float:$w_scale, T_Any:$w_zero_point,
                            T_Float:$y_scale, T_Any:$y_zero_point, Opt<Mopt_Tensor<I32>>:$b), ConvAttributes, (ins Requantize:$requantize));
  let results = (outs T_Any:$y);
}
def Mopt_EinsumOp : Mopt_Contraction<"einsum"> {
  let onnx = [Onnx<"Einsum", 12>];
  let arguments = (ins Variadic<T_Num>:$inputs, StrAttr:$equation);
  let results = (outs T_Num:$y);
}
#endif
