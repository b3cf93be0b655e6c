//===- Quant.td - conversion to and from quantized integers -------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_QUANT
#define MOPT_DIALECT_MOPT_QUANT
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Quant<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let numericClass = "exact";
}
def Mopt_QuantizeLinearOp : Mopt_Quant<"quantize_linear"> {
  let onnx = [Onnx<"QuantizeLinear", 10, 0, [], [], "quantizeLinear">];
  let arguments = (ins T_Num:$x, T_Any:$y_scale, O_Any:$y_zero_point, Int<1>:$axis, Int<0>:$block_size, Int<1>:$saturate,
                       Int<0>:$precision);
  let results = (outs T_Any:$y);
}
def Mopt_DequantizeLinearOp : Mopt_Quant<"dequantize_linear"> {
  let onnx = [Onnx<"DequantizeLinear", 10, 0, [], [], "dequantizeLinear">];
  let arguments = (ins T_Any:$x, T_Any:$x_scale, O_Any:$x_zero_point, Int<1>:$axis, Int<0>:$block_size);
  let results = (outs T_Float:$y);
}
def Mopt_DynamicQuantizeLinearOp : Mopt_Quant<"dynamic_quantize_linear"> {
  let onnx = [Onnx<"DynamicQuantizeLinear", 11>];
  let units = Serial;
  let arguments = (ins T_Float:$x);
  let results = (outs T_Any:$y, T_Float:$y_scale, T_Any:$y_zero_point);
}
#endif
