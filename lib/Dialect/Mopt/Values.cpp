//===- Values.cpp - sizes, element types, constants and names of values -------------------------------------------===//
#include "mopt/Dialect/Mopt/Mopt.h"
#include "mopt/Runtime/mopt_abi.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mopt {

SmallVector<DimExpr> dimsOf(Type type) {
  SmallVector<DimExpr> dims;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return dims;
  auto names = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  for (auto [i, size] : llvm::enumerate(tensor.getShape())) {
    if (!ShapedType::isDynamic(size))
      dims.push_back(DimExpr::constant(type.getContext(), size));
    else if (names && i < names.getDims().size())
      dims.push_back(DimExpr(names.getDims()[i]));
    else
      dims.push_back({});
  }
  return dims;
}

RankedTensorType tensorType(ArrayRef<DimExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<DimAttr> names;
  bool dynamic = false, known = true;
  for (DimExpr dim : dims) {
    auto value = dim.asConstant();
    shape.push_back(value ? *value : ShapedType::kDynamic);
    dynamic |= !value;
    known &= static_cast<bool>(dim);
    names.push_back(dim.attr());
  }
  Attribute encoding;
  if (dynamic && known)
    encoding = DimsAttr::get(element.getContext(), names);
  return RankedTensorType::get(shape, element, encoding);
}

int32_t onnxType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return isUnsigned ? 0 : MOPT_BOOL;
    case 2:
      return isUnsigned ? MOPT_U2 : MOPT_I2;
    case 4:
      return isUnsigned ? MOPT_U4 : MOPT_I4;
    case 8:
      return isUnsigned ? MOPT_U8 : MOPT_I8;
    case 16:
      return isUnsigned ? MOPT_U16 : MOPT_I16;
    case 32:
      return isUnsigned ? MOPT_U32 : MOPT_I32;
    case 64:
      return isUnsigned ? MOPT_U64 : MOPT_I64;
    default:
      return 0;
    }
  }
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType().isF32() ? MOPT_C64 : complex.getElementType().isF64() ? MOPT_C128 : 0;
  return llvm::TypeSwitch<Type, int32_t>(element)
      .Case<Float32Type>([](Type) { return MOPT_F32; })
      .Case<Float64Type>([](Type) { return MOPT_F64; })
      .Case<Float16Type>([](Type) { return MOPT_F16; })
      .Case<BFloat16Type>([](Type) { return MOPT_BF16; })
      .Case<Float8E4M3FNType>([](Type) { return MOPT_F8E4M3FN; })
      .Case<Float8E4M3FNUZType>([](Type) { return MOPT_F8E4M3FNUZ; })
      .Case<Float8E5M2Type>([](Type) { return MOPT_F8E5M2; })
      .Case<Float8E5M2FNUZType>([](Type) { return MOPT_F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](Type) { return MOPT_F8E8M0; })
      .Case<Float4E2M1FNType>([](Type) { return MOPT_F4E2M1; })
      .Default([](Type) { return 0; });
}

Type elementType(MLIRContext *c, int32_t type) {
  auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(c, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case MOPT_F32:
    return Float32Type::get(c);
  case MOPT_F64:
    return Float64Type::get(c);
  case MOPT_F16:
    return Float16Type::get(c);
  case MOPT_BF16:
    return BFloat16Type::get(c);
  case MOPT_BOOL:
    return integer(1, false);
  case MOPT_I2:
    return integer(2, false);
  case MOPT_I4:
    return integer(4, false);
  case MOPT_I8:
    return integer(8, false);
  case MOPT_I16:
    return integer(16, false);
  case MOPT_I32:
    return integer(32, false);
  case MOPT_I64:
    return integer(64, false);
  case MOPT_U2:
    return integer(2, true);
  case MOPT_U4:
    return integer(4, true);
  case MOPT_U8:
    return integer(8, true);
  case MOPT_U16:
    return integer(16, true);
  case MOPT_U32:
    return integer(32, true);
  case MOPT_U64:
    return integer(64, true);
  case MOPT_F8E4M3FN:
    return Float8E4M3FNType::get(c);
  case MOPT_F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(c);
  case MOPT_F8E5M2:
    return Float8E5M2Type::get(c);
  case MOPT_F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(c);
  case MOPT_F8E8M0:
    return Float8E8M0FNUType::get(c);
  case MOPT_F4E2M1:
    return Float4E2M1FNType::get(c);
  case MOPT_C64:
    return ComplexType::get(Float32Type::get(c));
  case MOPT_C128:
    return ComplexType::get(Float64Type::get(c));
  default:
    return {};
  }
}

int64_t storedBits(Type element) {
  if (element.isInteger(1))
    return 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * storedBits(complex.getElementType());
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

std::optional<int64_t> storedBytes(Type element, int64_t elements) {
  auto bits = checked::mul(elements, storedBits(element));
  auto rounded = bits ? checked::add<int64_t>(*bits, 7) : std::nullopt;
  return rounded ? std::optional<int64_t>(*rounded / 8) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//
static Attribute constantValue(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : Attribute();
}

std::optional<ArrayRef<uint8_t>> constantBytes(Attribute value, MLIRContext *context, std::vector<uint8_t> &scratch) {
  if (auto weight = dyn_cast<WeightAttr>(value))
    return context->getOrLoadDialect<MoptDialect>()->getWeightStore().get(weight.getSource(), weight.getOffset(),
                                                                          weight.getBytes());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  Type element = dense.getElementType();
  int64_t bits = storedBits(element);
  if (!bits)
    return std::nullopt;
  auto bytes = storedBytes(element, dense.getNumElements());
  if (!bytes)
    return std::nullopt;
  scratch.assign(*bytes, 0);
  // Element by element: MLIR stores booleans as bits, splats once and sub-byte types one a byte.
  auto put = [&](int64_t index, const APInt &v) {
    if (bits >= 8) {
      for (int64_t b = 0; b < bits / 8; ++b)
        scratch[index * bits / 8 + b] = static_cast<uint8_t>(v.zextOrTrunc(64).lshr(8 * b).getZExtValue());
    } else {
      scratch[index * bits / 8] |= static_cast<uint8_t>((v.getZExtValue() & ((1u << bits) - 1)) << (index * bits % 8));
    }
  };
  int64_t index = 0;
  if (isa<FloatType>(element))
    for (const APFloat &v : dense.getValues<APFloat>())
      put(index++, v.bitcastToAPInt());
  else if (isa<IntegerType>(element))
    for (const APInt &v : dense.getValues<APInt>())
      put(index++, v);
  else
    return std::nullopt;
  return ArrayRef<uint8_t>(scratch);
}

TypedAttr constantFromBytes(RankedTensorType type, std::vector<uint8_t> bytes) {
  constexpr size_t inlineBytes = 1024; // readable shape tensors and scalars; weights stay out of the IR
  Type element = type.getElementType();
  MLIRContext *context = type.getContext();
  int64_t bits = storedBits(element);
  if (bytes.size() <= inlineBytes && isa<IntegerType, FloatType>(element)) {
    SmallVector<Attribute> values;
    for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
      uint64_t raw = 0;
      if (bits >= 8)
        memcpy(&raw, bytes.data() + i * bits / 8, bits / 8);
      else
        raw = (bytes[i * bits / 8] >> (i * bits % 8)) & ((1u << bits) - 1);
      unsigned width = element.getIntOrFloatBitWidth();
      if (auto f = dyn_cast<FloatType>(element))
        values.push_back(FloatAttr::get(element, APFloat(f.getFloatSemantics(), APInt(width, raw))));
      else
        values.push_back(IntegerAttr::get(element, APInt(width, width == 1 ? raw != 0 : raw, false, true)));
    }
    return DenseElementsAttr::get(type, values);
  }
  int64_t size = static_cast<int64_t>(bytes.size());
  int64_t offset = context->getOrLoadDialect<MoptDialect>()->getWeightStore().keep(std::move(bytes));
  return WeightAttr::get(context, StringAttr::get(context, WeightStore::memorySource), offset, size, type);
}

std::optional<SmallVector<int64_t>> constantInts(Value value) {
  Attribute attr = constantValue(value);
  RankedTensorType type = tensorOf(value);
  if (!attr || !type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  std::vector<uint8_t> scratch;
  auto bytes = constantBytes(attr, value.getContext(), scratch);
  int64_t bits = storedBits(type.getElementType()), n = type.getNumElements();
  if (!bytes || bits < 8 || static_cast<int64_t>(bytes->size()) < n * bits / 8)
    return std::nullopt;
  bool isUnsigned = cast<IntegerType>(type.getElementType()).isUnsigned() || type.getElementType().isInteger(1);
  SmallVector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t raw = 0;
    memcpy(&raw, bytes->data() + i * bits / 8, bits / 8);
    unsigned shift = 64 - bits;
    out.push_back(isUnsigned ? static_cast<int64_t>(raw) : static_cast<int64_t>(raw << shift) >> shift);
  }
  return out;
}

std::optional<SmallVector<double>> constantFloats(Value value) {
  Attribute attr = constantValue(value);
  RankedTensorType type = tensorOf(value);
  if (!attr || !type || !type.hasStaticShape())
    return std::nullopt;
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!element || element.getWidth() < 8)
    return std::nullopt;
  std::vector<uint8_t> scratch;
  auto bytes = constantBytes(attr, value.getContext(), scratch);
  unsigned width = element.getWidth();
  if (!bytes || static_cast<int64_t>(bytes->size()) < type.getNumElements() * width / 8)
    return std::nullopt;
  SmallVector<double> out;
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    uint64_t raw = 0;
    memcpy(&raw, bytes->data() + i * width / 8, width / 8);
    APFloat v(element.getFloatSemantics(), APInt(width, raw));
    bool loses;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    out.push_back(v.convertToDouble());
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//
static void collectNames(Location location, SmallVectorImpl<std::string> &names) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    std::string name = named.getName().str();
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location inner : fused.getLocations())
      collectNames(inner, names);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectNames(call.getCallee(), names);
  }
}

SmallVector<std::string> onnxNames(Location location) {
  SmallVector<std::string> names;
  collectNames(location, names);
  return names;
}

std::string onnxName(Location location) {
  SmallVector<std::string> names = onnxNames(location);
  return names.empty() ? "" : names.front();
}

} // namespace mopt
