//===- Movement.td - ops that move elements and change none -------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_MOVEMENT
#define MOPT_DIALECT_MOPT_MOVEMENT
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Movement<string mnemonic> : Mopt_Op<mnemonic, [Pure]> {
  let quantClass = "transparent";
}
/// The same elements in the same order under other sizes: no code runs.
class Mopt_View<string mnemonic> : Mopt_Movement<mnemonic> {
  let kind = "view";
  let hasFolder = 1;
}
def Mopt_IdentityOp : Mopt_View<"identity"> {
  let onnx = [Onnx<"Identity", 1>];
  let arguments = (ins T_Any:$x);
  let results = (outs T_Any:$y);
}
def Mopt_ReshapeOp : Mopt_View<"reshape"> {
  let onnx = [Onnx<"Reshape", 5>];
  let arguments = (ins T_Any:$data, T_I64:$shape, Int<0>:$allowzero);
  let results = (outs T_Any:$reshaped);
  let hasCanonicalizer = 1;
}
def Mopt_FlattenOp : Mopt_View<"flatten"> {
  let onnx = [Onnx<"Flatten", 1>];
  let arguments = (ins T_Any:$input, Int<1>:$axis);
  let results = (outs T_Any:$output);
}
def Mopt_SqueezeOp : Mopt_View<"squeeze"> {
  let onnx = [Onnx<"Squeeze", 1, 12, ["axes:axes"]>, Onnx<"Squeeze", 13>];
  let arguments = (ins T_Any:$data, O_I64:$axes);
  let results = (outs T_Any:$squeezed);
}
def Mopt_UnsqueezeOp : Mopt_View<"unsqueeze"> {
  let onnx = [Onnx<"Unsqueeze", 1, 12, ["axes:axes"]>, Onnx<"Unsqueeze", 13>];
  let arguments = (ins T_Any:$data, T_I64:$axes);
  let results = (outs T_Any:$expanded);
}
def Mopt_TransposeOp : Mopt_Movement<"transpose"> {
  let onnx = [Onnx<"Transpose", 1>];
  let arguments = (ins T_Any:$data, Ints:$perm);
  let results = (outs T_Any:$transposed);
  let extraClassDeclaration = [{
    /// One non-negative axis of the operand for each of the result; without attribute the axes are reversed.
    ::llvm::SmallVector<int64_t> permutation();
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def Mopt_ConcatOp : Mopt_Movement<"concat"> {
  let onnx = [Onnx<"Concat", 4>];
  let arguments = (ins Variadic<T_Any>:$inputs, I64Attr:$axis);
  let results = (outs T_Any:$concat_result);
  let hasFolder = 1;
}
/// One result per part. `split` gives the sizes; without it the parts are equal, the last one smaller (num_outputs).
def Mopt_SplitOp : Mopt_Movement<"split"> {
  let onnx = [Onnx<"Split", 2, 12, ["split:split"], [], "split">, Onnx<"Split", 13, 0, [], [], "split">];
  let units = Serial;
  let arguments = (ins T_Any:$input, O_I64:$split, Int<0>:$axis);
  let results = (outs Variadic<T_Any>:$outputs);
}
def Mopt_SliceOp : Mopt_Movement<"slice"> {
  let onnx = [Onnx<"Slice", 1, 9, ["starts:starts", "ends:ends", "axes:axes"]>, Onnx<"Slice", 10>];
  let arguments = (ins T_Any:$data, T_Index:$starts, T_Index:$ends, O_Index:$axes, O_Index:$steps);
  let results = (outs T_Any:$output);
}
def Mopt_PadOp : Mopt_Movement<"pad"> {
  let onnx = [Onnx<"Pad", 2, 10, ["pads:pads", "value:constant_value"]>, Onnx<"Pad", 11>];
  let arguments = (ins T_Any:$data, T_I64:$pads, O_Any:$constant_value, O_Index:$axes,
                       Choice<["constant", "reflect", "edge", "wrap"]>:$mode);
  let results = (outs T_Any:$output);
}
def Mopt_ExpandOp : Mopt_Movement<"expand"> {
  let onnx = [Onnx<"Expand", 8>];
  let arguments = (ins T_Any:$input, T_I64:$shape);
  let results = (outs T_Any:$output);
}
def Mopt_TileOp : Mopt_Movement<"tile"> {
  let onnx = [Onnx<"Tile", 6>];
  let arguments = (ins T_Any:$input, T_I64:$repeats);
  let results = (outs T_Any:$output);
}
def Mopt_GatherOp : Mopt_Movement<"gather"> {
  let onnx = [Onnx<"Gather", 1>];
  let arguments = (ins T_Any:$data, T_Index:$indices, Int<0>:$axis);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-size, size): an error of the run";
}
def Mopt_GatherElementsOp : Mopt_Movement<"gather_elements"> {
  let onnx = [Onnx<"GatherElements", 11>];
  let arguments = (ins T_Any:$data, T_Index:$indices, Int<0>:$axis);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-size, size): an error of the run";
}
def Mopt_GatherNDOp : Mopt_Movement<"gather_nd"> {
  let onnx = [Onnx<"GatherND", 11>];
  let arguments = (ins T_Any:$data, T_I64:$indices, Int<0>:$batch_dims);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-size, size): an error of the run";
}
def Mopt_ScatterElementsOp : Mopt_Movement<"scatter_elements"> {
  let onnx = [Onnx<"ScatterElements", 11>, Onnx<"Scatter", 9, 10>];
  let units = Serial;
  let arguments = (ins T_Any:$data, T_Index:$indices, T_Any:$updates, Int<0>:$axis,
                       Choice<["none", "add", "mul", "max", "min"]>:$reduction);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-size, size): an error of the run; repeated indices without reduction: the last wins";
}
def Mopt_ScatterNDOp : Mopt_Movement<"scatter_nd"> {
  let onnx = [Onnx<"ScatterND", 11>];
  let units = Serial;
  let arguments = (ins T_Any:$data, T_I64:$indices, T_Any:$updates, Choice<["none", "add", "mul", "max", "min"]>:$reduction);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-size, size): an error of the run; repeated indices without reduction: the last wins";
}
def Mopt_ShapeOp : Mopt_Movement<"shape"> {
  let onnx = [Onnx<"Shape", 1>];
  let units = Serial;
  let arguments = (ins T_Any:$data, Int<0>:$start, OptInt:$end);
  let results = (outs T_I64:$shape);
  let hasFolder = 1;
}
def Mopt_SizeOp : Mopt_Movement<"size"> {
  let onnx = [Onnx<"Size", 1>];
  let units = Serial;
  let arguments = (ins T_Any:$data);
  let results = (outs T_I64:$size);
}
def Mopt_ConstantOfShapeOp : Mopt_Movement<"constant_of_shape"> {
  let onnx = [Onnx<"ConstantOfShape", 9, 0, [], [], "constantOfShape">];
  let arguments = (ins T_I64:$input, T_Any:$value); // value: one element; ONNX has it as an attribute
  let results = (outs T_Any:$output);
}
def Mopt_RangeOp : Mopt_Movement<"range"> {
  let onnx = [Onnx<"Range", 11>];
  let arguments = (ins T_Num:$start, T_Num:$limit, T_Num:$delta);
  let results = (outs T_Num:$output);
}
def Mopt_OneHotOp : Mopt_Movement<"one_hot"> {
  let onnx = [Onnx<"OneHot", 9>];
  let arguments = (ins T_Num:$indices, T_Num:$depth, T_Any:$values, Int<-1>:$axis);
  let results = (outs T_Any:$output);
  let undefinedWhen = "index outside [-depth, depth): the off value everywhere";
}
def Mopt_TriluOp : Mopt_Movement<"trilu"> {
  let onnx = [Onnx<"Trilu", 14>];
  let arguments = (ins T_Any:$input, O_I64:$k, Int<1>:$upper);
  let results = (outs T_Any:$output);
}
def Mopt_EyeLikeOp : Mopt_Movement<"eye_like"> {
  let onnx = [Onnx<"EyeLike", 9, 0, [], [], "eyeLike">];
  let arguments = (ins T_Any:$input, Int<0>:$k);
  let results = (outs T_Any:$output);
}
def Mopt_DepthToSpaceOp : Mopt_Movement<"depth_to_space"> {
  let onnx = [Onnx<"DepthToSpace", 1>];
  let arguments = (ins T_Any:$input, I64Attr:$blocksize, Choice<["DCR", "CRD"]>:$mode, ChannelsLast:$channels_last);
  let results = (outs T_Any:$output);
}
def Mopt_SpaceToDepthOp : Mopt_Movement<"space_to_depth"> {
  let onnx = [Onnx<"SpaceToDepth", 1>];
  let arguments = (ins T_Any:$input, I64Attr:$blocksize, Choice<["DCR", "CRD"]>:$mode, ChannelsLast:$channels_last);
  let results = (outs T_Any:$output);
}
def Mopt_ReverseSequenceOp : Mopt_Movement<"reverse_sequence"> {
  let onnx = [Onnx<"ReverseSequence", 10>];
  let arguments = (ins T_Any:$input, T_I64:$sequence_lens, Int<1>:$batch_axis, Int<0>:$time_axis);
  let results = (outs T_Any:$y);
}
/// Interpolation along every axis; `roi` only for tf_crop_and_resize. Exactly one of scales and sizes is given.
def Mopt_ResizeOp : Mopt_Movement<"resize"> {
  let onnx = [Onnx<"Upsample", 7, 8, ["scales:scales"], ["coordinate_transformation_mode=asymmetric", "nearest_mode=floor"], "upsample">,
              Onnx<"Upsample", 9, 9, [], ["coordinate_transformation_mode=asymmetric", "nearest_mode=floor"], "upsample">,
              Onnx<"Resize", 10, 10, [], ["coordinate_transformation_mode=asymmetric", "nearest_mode=floor"], "upsample">,
              Onnx<"Resize", 11>];
  let numericClass = "rounded";
  let arguments = (ins T_Any:$x, O_Float:$roi, O_Float:$scales, O_I64:$sizes, Int<0>:$antialias, Ints:$axes,
      Choice<["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
              "tf_half_pixel_for_nn", "tf_crop_and_resize"]>:$coordinate_transformation_mode,
      Flt<"-0.75f">:$cubic_coeff_a, Int<0>:$exclude_outside, Flt<"0.0f">:$extrapolation_value,
      Choice<["stretch", "not_larger", "not_smaller"]>:$keep_aspect_ratio_policy,
      Choice<["nearest", "linear", "cubic"]>:$mode,
      Choice<["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>:$nearest_mode);
  let results = (outs T_Any:$y);
}
#endif
