#include "Arrays.h"
#include "Errors.h"
#include <cstdlib>
#include <cstring>
#include <string>

namespace mopt::python {
namespace {

struct NamedType {
  const char *name;
  uint32_t dtype;
};
// As ml_dtypes names them; numpy has no letters for these.
const NamedType namedTypes[] = {{"bfloat16", MOPT_BF16},
                                {"float8_e4m3fn", MOPT_F8E4M3FN},
                                {"float8_e4m3fnuz", MOPT_F8E4M3FNUZ},
                                {"float8_e5m2", MOPT_F8E5M2},
                                {"float8_e5m2fnuz", MOPT_F8E5M2FNUZ},
                                {"float8_e8m0fnu", MOPT_F8E8M0},
                                {"float4_e2m1fn", MOPT_F4E2M1},
                                {"int4", MOPT_I4},
                                {"uint4", MOPT_U4},
                                {"int2", MOPT_I2},
                                {"uint2", MOPT_U2}};

bool isSubByte(uint32_t dtype) {
  return dtype != MOPT_UNDEFINED && mopt_dtype_bits(dtype) > 0 && mopt_dtype_bits(dtype) < 8;
}
bool isFloat8(uint32_t dtype) {
  return dtype == MOPT_F8E4M3FN || dtype == MOPT_F8E4M3FNUZ || dtype == MOPT_F8E5M2 || dtype == MOPT_F8E5M2FNUZ ||
         dtype == MOPT_F8E8M0;
}

uint32_t plainType(char kind, py::ssize_t size) {
  switch (kind) {
  case 'b':
    return MOPT_BOOL;
  case 'f':
    return size == 2 ? MOPT_F16 : size == 4 ? MOPT_F32 : size == 8 ? MOPT_F64 : MOPT_UNDEFINED;
  case 'i':
    return size == 1 ? MOPT_I8 : size == 2 ? MOPT_I16 : size == 4 ? MOPT_I32 : MOPT_I64;
  case 'u':
    return size == 1 ? MOPT_U8 : size == 2 ? MOPT_U16 : size == 4 ? MOPT_U32 : MOPT_U64;
  case 'c':
    return size == 8 ? MOPT_C64 : size == 16 ? MOPT_C128 : MOPT_UNDEFINED;
  default:
    return MOPT_UNDEFINED;
  }
}

// The element type of an array; `expected` tells the meaning of the carriers uint16, uint8 and int8.
uint32_t elementType(const py::dtype &type, uint32_t expected) {
  std::string name = py::str(type.attr("name"));
  for (const NamedType &named : namedTypes)
    if (name == named.name)
      return named.dtype;
  uint32_t plain = plainType(type.kind(), type.itemsize());
  bool carries =
      (expected == MOPT_BF16 && plain == MOPT_U16) || (isFloat8(expected) && plain == MOPT_U8) ||
      (isSubByte(expected) && plain == (expected == MOPT_I4 || expected == MOPT_I2 ? uint32_t(MOPT_I8) : uint32_t(MOPT_U8)));
  return carries ? expected : plain;
}

const char *carrierName(uint32_t dtype) {
  if (dtype == MOPT_BF16)
    return "uint16";
  if (isFloat8(dtype))
    return "uint8";
  if (isSubByte(dtype))
    return dtype == MOPT_I4 || dtype == MOPT_I2 ? "int8" : "uint8";
  return mopt_dtype_name(dtype);
}

std::vector<py::ssize_t> shapeOf(const mopt_array &tensor) { return {tensor.dims, tensor.dims + tensor.rank}; }

uint64_t countOf(const mopt_array &tensor) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= static_cast<uint64_t>(tensor.dims[i]);
  return count;
}

// One element a byte <-> packed, low bits first.
std::vector<uint8_t> pack(const uint8_t *elements, uint64_t count, uint32_t bits) {
  std::vector<uint8_t> bytes((count * bits + 7) / 8);
  for (uint64_t i = 0; i < count; ++i)
    bytes[i * bits / 8] |= static_cast<uint8_t>((elements[i] & ((1u << bits) - 1)) << (i * bits % 8));
  return bytes;
}

py::array unpack(const mopt_array &tensor) {
  uint32_t bits = mopt_dtype_bits(tensor.dtype);
  bool isSigned = tensor.dtype == MOPT_I4 || tensor.dtype == MOPT_I2;
  py::array result(py::dtype(carrierName(tensor.dtype)), shapeOf(tensor));
  auto *to = static_cast<uint8_t *>(result.mutable_data());
  auto *from = static_cast<const uint8_t *>(tensor.data);
  uint32_t mask = (1u << bits) - 1, sign = isSigned ? 1u << (bits - 1) : 0;
  for (uint64_t i = 0, n = countOf(tensor); i < n; ++i) {
    uint32_t value = (from[i * bits / 8] >> (i * bits % 8)) & mask;
    to[i] = static_cast<uint8_t>((value ^ sign) - sign);
  }
  return result;
}

} // namespace

uint64_t bytesOf(uint32_t dtype, uint64_t elements) {
  uint64_t bits;
  if (__builtin_mul_overflow(elements, uint64_t(mopt_dtype_bits(dtype)), &bits))
    throwError("MOPT-R037: a shape whose tensors cannot exist", "");
  return bits / 8 + (bits % 8 != 0);
}

InputArray makeInput(const py::object &value, uint32_t expected) {
  InputArray input;
  input.array = py::array::ensure(value, py::array::c_style);
  if (!input.array) {
    PyErr_Clear();
    throwError("MOPT-R031: an input is not an array", "");
  }
  py::dtype type = input.array.dtype();
  if (type.byteorder() == '>')
    throwError("MOPT-R031: an input is big-endian; convert it with array.astype(array.dtype.newbyteorder('='))", "");
  uint32_t dtype = elementType(type, expected);
  if (dtype == MOPT_UNDEFINED)
    throwError("MOPT-R031: no model takes arrays of type " + std::string(py::str(type.attr("name"))), "");
  if (input.array.ndim() > MOPT_MAX_RANK)
    throwError("MOPT-R032: an input has " + std::to_string(input.array.ndim()) + " dimensions; the limit is " +
                   std::to_string(MOPT_MAX_RANK),
               "");
  input.tensor.dtype = dtype;
  input.tensor.rank = static_cast<uint32_t>(input.array.ndim());
  for (py::ssize_t i = 0; i < input.array.ndim(); ++i)
    input.tensor.dims[i] = input.array.shape(i);
  input.tensor.data = const_cast<void *>(input.array.data());
  input.tensor.bytes = static_cast<uint64_t>(input.array.nbytes());
  if (isSubByte(dtype)) {
    input.packed = pack(static_cast<const uint8_t *>(input.array.data()), static_cast<uint64_t>(input.array.size()),
                        mopt_dtype_bits(dtype));
    input.tensor.data = input.packed.data();
    input.tensor.bytes = input.packed.size();
  }
  return input;
}

void OutputBuffer::Free::operator()(void *p) const { std::free(p); }

OutputBuffer::OutputBuffer(uint64_t bytes) {
  uint64_t size = (bytes / MOPT_ALIGNMENT + 1) * MOPT_ALIGNMENT; // never 0, a multiple as aligned_alloc wants it
  if (bytes < PTRDIFF_MAX)
    pointer.reset(std::aligned_alloc(MOPT_ALIGNMENT, size));
  if (!pointer)
    throw std::bad_alloc();
}

py::array OutputBuffer::toArray(const mopt_array &tensor) && {
  if (isSubByte(tensor.dtype))
    return unpack(tensor);
  py::capsule owner(pointer.get(), [](void *p) { std::free(p); });
  void *data = pointer.release();
  return py::array(py::dtype(carrierName(tensor.dtype)), shapeOf(tensor), data, owner);
}

py::array copyOutput(const mopt_array &tensor) {
  if (isSubByte(tensor.dtype))
    return unpack(tensor);
  py::array result(py::dtype(carrierName(tensor.dtype)), shapeOf(tensor));
  if (tensor.bytes)
    std::memcpy(result.mutable_data(), tensor.data, tensor.bytes);
  return result;
}

} // namespace mopt::python
