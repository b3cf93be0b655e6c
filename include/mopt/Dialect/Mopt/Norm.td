//===- Norm.td - normalizations -----------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_NORM
#define MOPT_DIALECT_MOPT_NORM
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Norm<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let numericClass = "rounded";
}
/// Inference form: y = (x - mean) / sqrt(var + epsilon) * scale + b. With training_mode = 1 mean and var are those of the
/// batch, and the running ones are results.
def Mopt_BatchNormOp : Mopt_Norm<"batch_norm"> {
  let onnx = [Onnx<"BatchNormalization", 7, 13, [], [], "batchNorm">, Onnx<"BatchNormalization", 14, 0, [], [], "batchNorm">];
  let index = "x[n,c,s...] scale[c] b[c] mean[c] var[c] -> y[n,c,s...]";
  let units = Serial;
  let arguments = (ins T_Float:$x, T_Float:$scale, T_Float:$b, T_Float:$input_mean, T_Float:$input_var,
                       Flt<"1e-05f">:$epsilon, Flt<"0.9f">:$momentum, Int<0>:$training_mode, ChannelsLast:$channels_last);
  let results = (outs T_Float:$y, O_Float:$running_mean, O_Float:$running_var);
}
def Mopt_InstanceNormOp : Mopt_Norm<"instance_norm"> {
  let onnx = [Onnx<"InstanceNormalization", 6>];
  let index = "x[n,c,s...] scale[c] b[c] -> y[n,c,s...]";
  let units = Planes;
  let arguments = (ins T_Float:$input, T_Float:$scale, T_Float:$b, Flt<"1e-05f">:$epsilon, ChannelsLast:$channels_last);
  let results = (outs T_Float:$output);
}
def Mopt_LayerNormOp : Mopt_Norm<"layer_norm"> {
  let onnx = [Onnx<"LayerNormalization", 17>];
  let units = BeforeAxis;
  let arguments = (ins T_Float:$x, T_Float:$scale, O_Float:$b, Int<-1>:$axis, Flt<"1e-05f">:$epsilon, Int<1>:$stash_type);
  let results = (outs T_Float:$y, O_Float:$mean, O_Float:$inv_std_dev);
}
def Mopt_RMSNormOp : Mopt_Norm<"rms_norm"> {
  let onnx = [Onnx<"RMSNormalization", 23>];
  let units = BeforeAxis;
  let arguments = (ins T_Float:$x, T_Float:$scale, Int<-1>:$axis, Flt<"1e-05f">:$epsilon, Int<1>:$stash_type);
  let results = (outs T_Float:$y);
}
/// `scale_per_group`: opset 18 to 20 has one scale and bias per group, later opsets one per channel. One element serves all.
def Mopt_GroupNormOp : Mopt_Norm<"group_norm"> {
  let onnx = [Onnx<"GroupNormalization", 18, 20, [], ["scale_per_group=1"]>, Onnx<"GroupNormalization", 21>];
  let units = Outer;
  let arguments = (ins T_Float:$x, T_Float:$scale, T_Float:$bias, Flt<"1e-05f">:$epsilon, I64Attr:$num_groups,
                       Int<1>:$stash_type, Int<0>:$scale_per_group, ChannelsLast:$channels_last);
  let results = (outs T_Float:$y);
}
def Mopt_LpNormOp : Mopt_Norm<"lp_norm"> {
  let onnx = [Onnx<"LpNormalization", 1>];
  let units = Slices;
  let arguments = (ins T_Float:$input, Int<-1>:$axis, Int<2>:$p);
  let results = (outs T_Float:$output);
}
def Mopt_LRNOp : Mopt_Norm<"lrn"> {
  let onnx = [Onnx<"LRN", 1>];
  let arguments = (ins T_Float:$x, Flt<"0.0001f">:$alpha, Flt<"0.75f">:$beta, Flt<"1.0f">:$bias, I64Attr:$size,
                       ChannelsLast:$channels_last);
  let results = (outs T_Float:$y);
}
#endif
