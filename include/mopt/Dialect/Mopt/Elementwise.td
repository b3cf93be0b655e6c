//===- Elementwise.td - one result element from one element of each operand ---------------------------------------===//
//
// Operands broadcast as in numpy. The reference is a scalar function mopt_s_<op> (lib/Reference), which the loop emitter
// calls and LLVM inlines. Integers compute in 64 bits and wrap to the type; half types compute in f32.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_DIALECT_MOPT_ELEMENTWISE
#define MOPT_DIALECT_MOPT_ELEMENTWISE
include "mopt/Dialect/Mopt/OpBase.td"

class Mopt_Elementwise<string mnemonic, string scalar_, list<Trait> traits = []>
    : Mopt_Op<mnemonic, !listconcat([Pure], traits)> {
  let kind = "elementwise";
  let scalar = scalar_;
  let quantClass = "elementwise";
  let extraClassDefinition = [{
    ::mlir::LogicalResult $cppClass::inferTypes(::mopt::ShapeContext &context,
                                                ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mopt::inferElementwise(*this, context, types);
    }
  }];
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//
class Mopt_Unary<string mnemonic, Type type, string scalar = "T->T", list<Trait> traits = []>
    : Mopt_Elementwise<mnemonic, scalar, traits> {
  let arguments = (ins type:$x);
  let results = (outs type:$y);
}
class Mopt_Math<string mnemonic, string onnxName, int since, string error = "approx">
    : Mopt_Unary<mnemonic, T_Float, "F->F"> {
  let onnx = [Onnx<onnxName, since>];
  let numericClass = error;
}
def Mopt_AbsOp : Mopt_Unary<"abs", T_Num> { let onnx = [Onnx<"Abs", 6>]; }
def Mopt_NegOp : Mopt_Unary<"neg", T_Num> { let onnx = [Onnx<"Neg", 6>]; }
def Mopt_SignOp : Mopt_Unary<"sign", T_Num> { let onnx = [Onnx<"Sign", 9>]; }
def Mopt_FloorOp : Mopt_Math<"floor", "Floor", 6, "exact">;
def Mopt_CeilOp : Mopt_Math<"ceil", "Ceil", 6, "exact">;
def Mopt_RoundOp : Mopt_Math<"round", "Round", 11, "exact">;
def Mopt_SqrtOp : Mopt_Math<"sqrt", "Sqrt", 6, "exact">;
def Mopt_ReciprocalOp : Mopt_Math<"reciprocal", "Reciprocal", 6, "exact">;
def Mopt_ExpOp : Mopt_Math<"exp", "Exp", 6>;
def Mopt_LogOp : Mopt_Math<"log", "Log", 6>;
def Mopt_SinOp : Mopt_Math<"sin", "Sin", 7>;
def Mopt_CosOp : Mopt_Math<"cos", "Cos", 7>;
def Mopt_TanOp : Mopt_Math<"tan", "Tan", 7>;
def Mopt_AsinOp : Mopt_Math<"asin", "Asin", 7>;
def Mopt_AcosOp : Mopt_Math<"acos", "Acos", 7>;
def Mopt_AtanOp : Mopt_Math<"atan", "Atan", 7>;
def Mopt_SinhOp : Mopt_Math<"sinh", "Sinh", 9>;
def Mopt_CoshOp : Mopt_Math<"cosh", "Cosh", 9>;
def Mopt_AsinhOp : Mopt_Math<"asinh", "Asinh", 9>;
def Mopt_AcoshOp : Mopt_Math<"acosh", "Acosh", 9>;
def Mopt_AtanhOp : Mopt_Math<"atanh", "Atanh", 9>;
def Mopt_TanhOp : Mopt_Math<"tanh", "Tanh", 6>;
def Mopt_ErfOp : Mopt_Unary<"erf", T_Num, "T->T"> { let onnx = [Onnx<"Erf", 9>]; let numericClass = "approx"; }
def Mopt_SigmoidOp : Mopt_Math<"sigmoid", "Sigmoid", 6>;
def Mopt_ReluOp : Mopt_Unary<"relu", T_Num> { let onnx = [Onnx<"Relu", 6>]; }
def Mopt_SoftplusOp : Mopt_Math<"softplus", "Softplus", 1>;
def Mopt_SoftsignOp : Mopt_Math<"softsign", "Softsign", 1, "exact">;
def Mopt_HardSwishOp : Mopt_Math<"hard_swish", "HardSwish", 14, "exact">;
def Mopt_MishOp : Mopt_Math<"mish", "Mish", 18>;
def Mopt_EluOp : Mopt_Math<"elu", "Elu", 6> { let arguments = (ins T_Float:$x, Flt<"1.0f">:$alpha); }
def Mopt_CeluOp : Mopt_Math<"celu", "Celu", 12> { let arguments = (ins T_Float:$x, Flt<"1.0f">:$alpha); }
def Mopt_SeluOp : Mopt_Math<"selu", "Selu", 6> {
  let arguments = (ins T_Float:$x, Flt<"1.67326319217681884765625f">:$alpha, Flt<"1.05070102214813232421875f">:$gamma);
}
def Mopt_LeakyReluOp : Mopt_Math<"leaky_relu", "LeakyRelu", 6, "exact"> { let arguments = (ins T_Float:$x, Flt<"0.01f">:$alpha); }
def Mopt_ThresholdedReluOp : Mopt_Math<"thresholded_relu", "ThresholdedRelu", 10, "exact"> {
  let arguments = (ins T_Float:$x, Flt<"1.0f">:$alpha);
}
def Mopt_HardSigmoidOp : Mopt_Math<"hard_sigmoid", "HardSigmoid", 6, "exact"> {
  let arguments = (ins T_Float:$x, Flt<"0.2f">:$alpha, Flt<"0.5f">:$beta);
}
def Mopt_GeluOp : Mopt_Math<"gelu", "Gelu", 20> {
  let arguments = (ins T_Float:$x, Choice<["none", "tanh"]>:$approximate);
}
def Mopt_SwishOp : Mopt_Math<"swish", "Swish", 24> { let arguments = (ins T_Float:$x, Flt<"1.0f">:$alpha); }
def Mopt_ShrinkOp : Mopt_Unary<"shrink", T_Num, "T->T"> {
  let onnx = [Onnx<"Shrink", 9>];
  let arguments = (ins T_Num:$x, Flt<"0.0f">:$bias, Flt<"0.5f">:$lambd);
}
def Mopt_NotOp : Mopt_Unary<"not", T_Bool, "B->B"> { let onnx = [Onnx<"Not", 1>]; }
def Mopt_BitwiseNotOp : Mopt_Unary<"bitwise_not", T_Num, "I->I"> { let onnx = [Onnx<"BitwiseNot", 18>]; }
def Mopt_IsNaNOp : Mopt_Unary<"is_nan", T_Any, "F->B"> {
  let onnx = [Onnx<"IsNaN", 9>];
  let results = (outs T_Bool:$y);
}
def Mopt_IsInfOp : Mopt_Unary<"is_inf", T_Any, "F->B"> {
  let onnx = [Onnx<"IsInf", 10>];
  let arguments = (ins T_Any:$x, Int<1>:$detect_negative, Int<1>:$detect_positive);
  let results = (outs T_Bool:$y);
}
/// The result type says what to. `saturate`: out-of-range values of 8-bit floats become the largest, else NaN or inf.
def Mopt_CastOp : Mopt_Op<"cast", [Pure]> {
  let onnx = [Onnx<"Cast", 6, 0, [], [], "cast">, Onnx<"CastLike", 15, 0, [], [], "castLike">];
  let kind = "elementwise";
  let scalar = "cast";
  let arguments = (ins T_Any:$x, Int<1>:$saturate, Choice<["up", "down", "nearest"]>:$round_mode);
  let results = (outs T_Any:$y);
  let undefinedWhen = "float to integer out of range: clamped, to 2- and 4-bit integers wrapped; NaN: 0";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Two and three operands
//===----------------------------------------------------------------------===//
class Mopt_Binary<string mnemonic, Type type, string scalar = "TT->T", list<Trait> traits = []>
    : Mopt_Elementwise<mnemonic, scalar, traits> {
  let arguments = (ins type:$a, type:$b);
  let results = (outs type:$y);
}
class Mopt_Compare<string mnemonic, string onnxName, int since, Type type = T_Num, string scalar = "TT->B">
    : Mopt_Binary<mnemonic, type, scalar> {
  let onnx = [Onnx<onnxName, since>];
  let results = (outs T_Bool:$y);
}
def Mopt_AddOp : Mopt_Binary<"add", T_Num, "TT->T", [Commutative]> {
  let onnx = [Onnx<"Add", 7>, Onnx<"Sum", 8, 0, [], [], "fold">];
}
def Mopt_SubOp : Mopt_Binary<"sub", T_Num> { let onnx = [Onnx<"Sub", 7>]; }
def Mopt_MulOp : Mopt_Binary<"mul", T_Num, "TT->T", [Commutative]> { let onnx = [Onnx<"Mul", 7>]; }
def Mopt_DivOp : Mopt_Binary<"div", T_Num> {
  let onnx = [Onnx<"Div", 7>, Onnx<"Mean", 8, 0, [], [], "mean">];
  let undefinedWhen = "integer division by zero: 0; the quotient of the smallest integer by -1 wraps";
}
def Mopt_ModOp : Mopt_Binary<"mod", T_Num> {
  let onnx = [Onnx<"Mod", 10>];
  let arguments = (ins T_Num:$a, T_Num:$b, Int<0>:$fmod);
  let undefinedWhen = "integer remainder by zero: 0";
}
def Mopt_PowOp : Mopt_Binary<"pow", T_Num> {
  let onnx = [Onnx<"Pow", 7>];
  let numericClass = "approx";
}
def Mopt_MaxOp : Mopt_Binary<"max", T_Num, "TT->T", [Commutative]> { let onnx = [Onnx<"Max", 8, 0, [], [], "fold">]; }
def Mopt_MinOp : Mopt_Binary<"min", T_Num, "TT->T", [Commutative]> { let onnx = [Onnx<"Min", 8, 0, [], [], "fold">]; }
/// The slope broadcasts to x, not both ways; opset 7 on.
def Mopt_PReluOp : Mopt_Elementwise<"prelu", "TT->T"> {
  let onnx = [Onnx<"PRelu", 7>];
  let arguments = (ins T_Num:$x, T_Num:$slope);
  let results = (outs T_Num:$y);
}
def Mopt_AndOp : Mopt_Compare<"and", "And", 7, T_Bool, "BB->B">;
def Mopt_OrOp : Mopt_Compare<"or", "Or", 7, T_Bool, "BB->B">;
def Mopt_XorOp : Mopt_Compare<"xor", "Xor", 7, T_Bool, "BB->B">;
def Mopt_EqualOp : Mopt_Compare<"equal", "Equal", 7, T_Any>;
def Mopt_LessOp : Mopt_Compare<"less", "Less", 7>;
def Mopt_GreaterOp : Mopt_Compare<"greater", "Greater", 7>;
def Mopt_LessOrEqualOp : Mopt_Compare<"less_or_equal", "LessOrEqual", 12>;
def Mopt_GreaterOrEqualOp : Mopt_Compare<"greater_or_equal", "GreaterOrEqual", 12>;
def Mopt_BitwiseAndOp : Mopt_Binary<"bitwise_and", T_Num, "II->I"> { let onnx = [Onnx<"BitwiseAnd", 18>]; }
def Mopt_BitwiseOrOp : Mopt_Binary<"bitwise_or", T_Num, "II->I"> { let onnx = [Onnx<"BitwiseOr", 18>]; }
def Mopt_BitwiseXorOp : Mopt_Binary<"bitwise_xor", T_Num, "II->I"> { let onnx = [Onnx<"BitwiseXor", 18>]; }
def Mopt_BitShiftOp : Mopt_Binary<"bit_shift", T_Num, "II->I"> {
  let onnx = [Onnx<"BitShift", 11>];
  let arguments = (ins T_Num:$a, T_Num:$b, Choice<["LEFT", "RIGHT"]>:$direction);
  let undefinedWhen = "shift by the width of the type or more: 0, right shifts of negative numbers -1";
}
/// min(max(x, low), high); a bound that ONNX leaves out is the limit of the type.
def Mopt_ClipOp : Mopt_Elementwise<"clip", "TTT->T"> {
  let onnx = [Onnx<"Clip", 6, 10, [], [], "clip">, Onnx<"Clip", 11, 0, [], [], "clip">];
  let arguments = (ins T_Num:$x, T_Num:$low, T_Num:$high);
  let results = (outs T_Num:$y);
}
def Mopt_WhereOp : Mopt_Elementwise<"where", "BTT->T"> {
  let onnx = [Onnx<"Where", 9>];
  let arguments = (ins T_Bool:$condition, T_Any:$x, T_Any:$y);
  let results = (outs T_Any:$z);
}
#endif
