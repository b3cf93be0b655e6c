//===- Compare.cpp - are two tensors the same, within a tolerance -------------------------------------------------===//
#include "mopt/Analysis/Compare.h"
#include "mopt/Runtime/mopt_abi.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace mopt {
namespace {

const llvm::fltSemantics *semanticsOf(int32_t dtype) {
  switch (dtype) {
  case MOPT_F16:
    return &APFloat::IEEEhalf();
  case MOPT_BF16:
    return &APFloat::BFloat();
  case MOPT_F32:
    return &APFloat::IEEEsingle();
  case MOPT_F64:
    return &APFloat::IEEEdouble();
  case MOPT_F8E4M3FN:
    return &APFloat::Float8E4M3FN();
  case MOPT_F8E4M3FNUZ:
    return &APFloat::Float8E4M3FNUZ();
  case MOPT_F8E5M2:
    return &APFloat::Float8E5M2();
  case MOPT_F8E5M2FNUZ:
    return &APFloat::Float8E5M2FNUZ();
  case MOPT_F8E8M0:
    return &APFloat::Float8E8M0FNU();
  case MOPT_F4E2M1:
    return &APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

uint64_t rawElement(const TensorData &tensor, int64_t index) {
  int64_t bits = TensorData::bits(tensor.dtype);
  uint64_t raw = 0;
  if (bits < 8)
    return tensor.bytes[index * bits / 8] >> (index * bits % 8) & ((1u << bits) - 1);
  memcpy(&raw, tensor.bytes.data() + index * bits / 8, std::min<int64_t>(bits, 64) / 8);
  return raw;
}

bool isSigned(int32_t dtype) {
  return dtype == MOPT_I8 || dtype == MOPT_I16 || dtype == MOPT_I32 || dtype == MOPT_I64 || dtype == MOPT_I4 ||
         dtype == MOPT_I2;
}

} // namespace

double elementAsDouble(const TensorData &tensor, int64_t index) {
  uint64_t raw = rawElement(tensor, index);
  int64_t bits = TensorData::bits(tensor.dtype);
  if (tensor.dtype == MOPT_F32) {
    float f;
    uint32_t low = static_cast<uint32_t>(raw);
    memcpy(&f, &low, 4);
    return f;
  }
  if (tensor.dtype == MOPT_F64) {
    double d;
    memcpy(&d, &raw, 8);
    return d;
  }
  if (const llvm::fltSemantics *semantics = semanticsOf(tensor.dtype)) {
    APFloat value(*semantics, APInt(static_cast<unsigned>(bits), raw));
    bool loses;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (isSigned(tensor.dtype))
    return static_cast<double>(static_cast<int64_t>(raw << (64 - bits)) >> (64 - bits));
  return static_cast<double>(raw);
}

Tolerance Tolerance::forType(int32_t dtype) const {
  Tolerance own{0, 0};
  switch (dtype) {
  case MOPT_F32:
  case MOPT_F64:
    own = {1e-3, 1e-4};
    break;
  case MOPT_F16:
    own = {4e-3, 1e-3};
    break;
  case MOPT_BF16:
    own = {3e-2, 8e-3};
    break;
  default:
    if (semanticsOf(dtype))
      own = {0.26, 0.07}; // one step of a type with two bits of mantissa
    else
      return own;
  }
  return {rtol >= 0 ? rtol : own.rtol, atol >= 0 ? atol : own.atol};
}

std::string Difference::text(ArrayRef<int64_t> dims) const {
  if (!what.empty())
    return what;
  SmallVector<int64_t> position(dims.size());
  int64_t rest = index;
  for (size_t i = dims.size(); i-- > 0;) {
    position[i] = dims[i] ? rest % dims[i] : 0;
    rest = dims[i] ? rest / dims[i] : 0;
  }
  std::string out;
  llvm::raw_string_ostream os(out);
  os << "element [";
  llvm::interleaveComma(position, os);
  os << llvm::format("]: got %.9g, expected %.9g; ", got, expected) << count
     << (count == 1 ? " element is" : " elements are") << " out of tolerance";
  return out;
}

std::optional<Difference> compare(const TensorData &got, const TensorData &expected, const Tolerance &given) {
  if (got.dtype != expected.dtype)
    return Difference{"element type " + std::to_string(got.dtype) + ", expected " + std::to_string(expected.dtype)};
  if (got.dims != expected.dims) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "sizes [";
    llvm::interleaveComma(got.dims, os);
    os << "], expected [";
    llvm::interleaveComma(expected.dims, os);
    os << "]";
    return Difference{text};
  }
  if (got.isAbsent() || got.bytes == expected.bytes)
    return std::nullopt;
  Tolerance tolerance = given.forType(got.dtype);
  bool isFloat = semanticsOf(got.dtype);
  int64_t n = got.numElements();
  double largest = 0;
  if (isFloat)
    for (int64_t i = 0; i < n; ++i)
      if (double e = std::fabs(elementAsDouble(expected, i)); std::isfinite(e))
        largest = std::max(largest, e);
  Difference worst;
  for (int64_t i = 0; i < n; ++i) {
    if (rawElement(got, i) == rawElement(expected, i) && TensorData::bits(got.dtype) <= 64)
      continue;
    double g = elementAsDouble(got, i), e = elementAsDouble(expected, i), excess = INFINITY;
    if (isFloat) {
      if (g == e || (std::isnan(g) && std::isnan(e)))
        continue;
      double error = std::fabs(g - e), allowed = tolerance.rtol * std::fabs(e) + tolerance.atol * largest;
      if (std::isfinite(error) && error <= allowed)
        continue;
      if (std::isfinite(error) && allowed > 0)
        excess = error / allowed;
    }
    ++worst.count;
    if (worst.index < 0 || excess > worst.excess) {
      worst.index = i;
      worst.got = g;
      worst.expected = e;
      worst.excess = excess;
    }
  }
  return worst.count ? std::optional<Difference>(worst) : std::nullopt;
}

} // namespace mopt
