//===- ElementwiseMath.cpp - functions and activations ------------------------------------------------------------===//
#include "Elementwise.h"

using namespace mopt::ref;

SCALAR1(exp) { return mopt::ref::exp(x); }
SCALAR1(log) { return mopt::ref::log(x); }
SCALAR1(sin) { return mopt::ref::sin(x); }
SCALAR1(cos) { return mopt::ref::cos(x); }
SCALAR1(tan) { return mopt::ref::tan(x); }
SCALAR1(asin) { return mopt::ref::asin(x); }
SCALAR1(acos) { return mopt::ref::acos(x); }
SCALAR1(atan) { return mopt::ref::atan(x); }
SCALAR1(sinh) { return mopt::ref::sinh(x); }
SCALAR1(cosh) { return mopt::ref::cosh(x); }
SCALAR1(asinh) { return mopt::ref::asinh(x); }
SCALAR1(acosh) { return mopt::ref::acosh(x); }
SCALAR1(atanh) { return mopt::ref::atanh(x); }
SCALAR1(tanh) { return mopt::ref::tanh(x); }
SCALAR1(erf) {
  if constexpr (isFloat<C>) return mopt::ref::erf(x);
  else return (C)mopt::ref::erf((double)x); // truncated: 0 but for huge integers, where erf rounds to 1
}
DEFINE1_F(exp)
DEFINE1_F(log)
DEFINE1_F(sin)
DEFINE1_F(cos)
DEFINE1_F(tan)
DEFINE1_F(asin)
DEFINE1_F(acos)
DEFINE1_F(atan)
DEFINE1_F(sinh)
DEFINE1_F(cosh)
DEFINE1_F(asinh)
DEFINE1_F(acosh)
DEFINE1_F(atanh)
DEFINE1_F(tanh)
DEFINE1_T(erf)

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//
SCALAR1(sigmoid) { return mopt::ref::sigmoid(x); }
SCALAR1(softplus) { return mopt::ref::softplus(x); }
SCALAR1(softsign) { return x / ((C)1 + mopt::ref::abs(x)); }
SCALAR1(mish) { return mopt::ref::mish(x); }
SCALAR1(hard_swish) {
  C gate = x * (C)0.16666667f + (C)0.5; // ONNX: HardSigmoid with alpha = 1/6 in float
  gate = gate < 0 ? (C)0 : gate;
  return x * (gate > 1 ? (C)1 : gate);
}
SCALAR1(hard_sigmoid) {
  C y = (C)attrFloat(attr, MOPT_HARD_SIGMOID_ALPHA) * x + (C)attrFloat(attr, MOPT_HARD_SIGMOID_BETA);
  y = y < 0 ? (C)0 : y;
  return y > 1 ? (C)1 : y;
}
SCALAR1(leaky_relu) { return x < 0 ? (C)attrFloat(attr, MOPT_LEAKY_RELU_ALPHA) * x : x; }
SCALAR1(thresholded_relu) { return x > (C)attrFloat(attr, MOPT_THRESHOLDED_RELU_ALPHA) ? x : (C)0; } // NaN is not above
// The exponent is held at 0 where it is not used: it would overflow, and raise for nothing.
SCALAR1(elu) { return x < 0 ? (C)attrFloat(attr, MOPT_ELU_ALPHA) * expm1(x < 0 ? x : (C)0) : x; }
SCALAR1(celu) {
  C alpha = (C)attrFloat(attr, MOPT_CELU_ALPHA);
  C low = alpha * expm1(x / alpha);
  return (x < 0 ? (C)0 : x) + (low < 0 ? low : (C)0);
}
SCALAR1(selu) {
  C alpha = (C)attrFloat(attr, MOPT_SELU_ALPHA), gamma = (C)attrFloat(attr, MOPT_SELU_GAMMA);
  return gamma * (x <= 0 ? alpha * expm1(x <= 0 ? x : (C)0) : x);
}
SCALAR1(gelu) { return attrInt(attr, MOPT_GELU_APPROXIMATE) == MOPT_GELU_APPROXIMATE_TANH ? geluTanh(x) : geluErf(x); }
SCALAR1(swish) { return x * mopt::ref::sigmoid((C)attrFloat(attr, MOPT_SWISH_ALPHA) * x); }
DEFINE1_F(sigmoid)
DEFINE1_F(softplus)
DEFINE1_F(softsign)
DEFINE1_F(mish)
DEFINE1_F(hard_swish)
DEFINE1_F(hard_sigmoid)
DEFINE1_F(leaky_relu)
DEFINE1_F(thresholded_relu)
DEFINE1_F(elu)
DEFINE1_F(celu)
DEFINE1_F(selu)
DEFINE1_F(gelu)
DEFINE1_F(swish)
