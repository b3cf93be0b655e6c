//===- Reduction.td - many elements to one: reductions, pooling, softmax, scans -----------------------------------===//
#ifndef MOPT_DIALECT_MOPT_REDUCTION
#define MOPT_DIALECT_MOPT_REDUCTION
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Reduction<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let quantClass = "reduce";
  let numericClass = "rounded";
}
class Reduce<string name, string k> { // axes became an input at 13 (ReduceSum) or 18
  list<Onnx> ranges = [Onnx<name, 1, !if(!eq(name, "ReduceSum"), 12, 17), ["axes:axes"], ["kind=" # k]>,
                       Onnx<name, !if(!eq(name, "ReduceSum"), 13, 18), 0, [], ["kind=" # k]>];
}
def Mopt_ReduceOp : Mopt_Reduction<"reduce"> {
  let onnx = !listconcat(Reduce<"ReduceSum", "sum">.ranges, Reduce<"ReduceMean", "mean">.ranges, Reduce<"ReduceMax", "max">.ranges,
      Reduce<"ReduceMin", "min">.ranges, Reduce<"ReduceProd", "prod">.ranges, Reduce<"ReduceL1", "l1">.ranges,
      Reduce<"ReduceL2", "l2">.ranges, Reduce<"ReduceLogSum", "log_sum">.ranges,
      Reduce<"ReduceLogSumExp", "log_sum_exp">.ranges, Reduce<"ReduceSumSquare", "sum_square">.ranges);
  let arguments = (ins T_Any:$data, O_I64:$axes,
      Choice<["sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"]>:$kind,
      Int<1>:$keepdims, Int<0>:$noop_with_empty_axes);
  let results = (outs T_Any:$reduced);
}
def Mopt_ArgReduceOp : Mopt_Reduction<"arg_reduce"> {
  let onnx = [Onnx<"ArgMax", 1, 0, [], ["kind=max"]>, Onnx<"ArgMin", 1, 0, [], ["kind=min"]>];
  let numericClass = "exact";
  let arguments = (ins T_Num:$data, Choice<["max", "min"]>:$kind, Int<0>:$axis, Int<1>:$keepdims, Int<0>:$select_last_index);
  let results = (outs T_I64:$reduced);
}
// Before opset 13 the axes from `axis` on are taken as one (flatten = 1).
class Mopt_Softmax<string mnemonic, string name> : Mopt_Reduction<mnemonic> {
  let onnx = [Onnx<name, 1, 12, [], ["axis?=1", "flatten=1"]>, Onnx<name, 13>];
  let units = Slices;
  let arguments = (ins T_Float:$input, Int<-1>:$axis, Int<0>:$flatten);
  let results = (outs T_Float:$output);
}
def Mopt_SoftmaxOp : Mopt_Softmax<"softmax", "Softmax">;
def Mopt_LogSoftmaxOp : Mopt_Softmax<"log_softmax", "LogSoftmax">;
def Mopt_HardmaxOp : Mopt_Softmax<"hardmax", "Hardmax">;

defvar PoolAttributes = (ins Choice<["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]>:$auto_pad, Int<0>:$ceil_mode,
                             Ints:$dilations, Ints:$kernel_shape, Ints:$pads, Ints:$strides, ChannelsLast:$channels_last);
def Mopt_AveragePoolOp : Mopt_Reduction<"average_pool"> {
  let onnx = [Onnx<"AveragePool", 7>];
  let arguments = !con((ins T_Float:$x), PoolAttributes, (ins Int<0>:$count_include_pad));
  let results = (outs T_Float:$y);
}
def Mopt_MaxPoolOp : Mopt_Reduction<"max_pool"> {
  let onnx = [Onnx<"MaxPool", 1>];
  let numericClass = "exact";
  let arguments = !con((ins T_Num:$x), PoolAttributes, (ins Int<0>:$storage_order));
  let results = (outs T_Num:$y, O_I64:$indices);
}
def Mopt_LpPoolOp : Mopt_Reduction<"lp_pool"> {
  let onnx = [Onnx<"LpPool", 2>];
  let arguments = !con((ins T_Float:$x), PoolAttributes, (ins Int<2>:$p));
  let results = (outs T_Float:$y);
}
class Mopt_GlobalPool<string mnemonic, string name, int since> : Mopt_Reduction<mnemonic> {
  let onnx = [Onnx<name, since>];
  let arguments = (ins T_Float:$x, ChannelsLast:$channels_last);
  let results = (outs T_Float:$y);
}
def Mopt_GlobalAveragePoolOp : Mopt_GlobalPool<"global_average_pool", "GlobalAveragePool", 1>;
def Mopt_GlobalMaxPoolOp : Mopt_GlobalPool<"global_max_pool", "GlobalMaxPool", 1>;
def Mopt_GlobalLpPoolOp : Mopt_GlobalPool<"global_lp_pool", "GlobalLpPool", 2> { let arguments = (ins T_Float:$x, Int<2>:$p, ChannelsLast:$channels_last); }
def Mopt_CumSumOp : Mopt_Reduction<"cumsum"> {
  let onnx = [Onnx<"CumSum", 11>];
  let units = Serial;
  let arguments = (ins T_Num:$x, T_Index:$axis, Int<0>:$exclusive, Int<0>:$reverse);
  let results = (outs T_Num:$y);
}
def Mopt_TopKOp : Mopt_Reduction<"topk"> {
  let onnx = [Onnx<"TopK", 1, 9, ["k:k"]>, Onnx<"TopK", 10>];
  let numericClass = "exact";
  let units = Slices;
  let arguments = (ins T_Num:$x, T_I64:$k, Int<-1>:$axis, Int<1>:$largest, Int<1>:$sorted);
  let results = (outs T_Num:$values, T_I64:$indices);
}
#endif
