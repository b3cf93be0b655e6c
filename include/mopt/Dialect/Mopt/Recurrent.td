//===- Recurrent.td - recurrent layers ----------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_RECURRENT
#define MOPT_DIALECT_MOPT_RECURRENT
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Recurrent<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let quantClass = "weighted";
  let numericClass = "rounded";
  let units = Serial;
}
// activations: names joined by commas as ONNX lists them; empty: the defaults of the op.
def Mopt_RNNOp : Mopt_Recurrent<"rnn"> {
  let onnx = [Onnx<"RNN", 7>];
  let arguments = (ins T_Float:$x, T_Float:$w, T_Float:$r, O_Float:$b, O_Index:$sequence_lens, O_Float:$initial_h,
      Flts:$activation_alpha, Flts:$activation_beta, OptionalAttr<StrArrayAttr>:$activations, OptFlt:$clip,
      Choice<["forward", "reverse", "bidirectional"]>:$direction, I64Attr:$hidden_size, Int<0>:$layout);
  let results = (outs O_Float:$y, O_Float:$y_h);
}
def Mopt_GRUOp : Mopt_Recurrent<"gru"> {
  let onnx = [Onnx<"GRU", 7>];
  let arguments = (ins T_Float:$x, T_Float:$w, T_Float:$r, O_Float:$b, O_Index:$sequence_lens, O_Float:$initial_h,
      Flts:$activation_alpha, Flts:$activation_beta, OptionalAttr<StrArrayAttr>:$activations, OptFlt:$clip,
      Choice<["forward", "reverse", "bidirectional"]>:$direction, I64Attr:$hidden_size, Int<0>:$layout, Int<0>:$linear_before_reset);
  let results = (outs O_Float:$y, O_Float:$y_h);
}
def Mopt_LSTMOp : Mopt_Recurrent<"lstm"> {
  let onnx = [Onnx<"LSTM", 7>];
  let arguments = (ins T_Float:$x, T_Float:$w, T_Float:$r, O_Float:$b, O_Index:$sequence_lens, O_Float:$initial_h,
      O_Float:$initial_c, O_Float:$p, Flts:$activation_alpha, Flts:$activation_beta,
      OptionalAttr<StrArrayAttr>:$activations, OptFlt:$clip, Choice<["forward", "reverse", "bidirectional"]>:$direction,
      I64Attr:$hidden_size, Int<0>:$input_forget, Int<0>:$layout);
  let results = (outs O_Float:$y, O_Float:$y_h, O_Float:$y_c);
}
#endif
