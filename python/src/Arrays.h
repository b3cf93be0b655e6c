// numpy arrays as mopt tensors and back. Types that numpy lacks: bfloat16 is uint16 and float8 is uint8 with the same
// bits, 4- and 2-bit elements are int8 or uint8, one a byte (arrays of the package ml_dtypes are taken as they are).
#pragma once
#include "mopt/Runtime/mopt.h"
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <vector>

namespace mopt::python {
namespace py = pybind11;

struct InputArray {
  py::array array;             // owns the bytes, unless packed does
  std::vector<uint8_t> packed; // elements below one byte
  mopt_array tensor{};
};

// No conversion of values: the runtime refuses a wrong element type. `expected` decides only what the types that numpy
// lacks mean. Contiguous arrays are not copied.
InputArray makeInput(const py::object &value, uint32_t expected);

// Memory for one output, aligned so that the runtime writes to it directly.
class OutputBuffer {
public:
  explicit OutputBuffer(uint64_t bytes);
  void *data() const { return pointer.get(); }
  // The array owns the memory from here on.
  py::array toArray(const mopt_array &tensor) &&;

private:
  struct Free {
    void operator()(void *p) const;
  };
  std::unique_ptr<void, Free> pointer;
};

uint64_t bytesOf(uint32_t dtype, uint64_t elements);
py::array copyOutput(const mopt_array &tensor);

} // namespace mopt::python
