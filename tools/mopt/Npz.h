// Arrays in numpy's .npz container (zip of .npy). Types that numpy lacks: bfloat16 is uint16, float8 is uint8 with the same
// bits (void types V2 and V1, which ml_dtypes writes, are read too); 4- and 2-bit integers are int8/uint8, one element a
// byte.
#pragma once
#include "Common.h"

namespace mopt::tool {

struct NpzEntry {
  std::string name;  // without .npy
  std::string descr; // "<f4"
  std::vector<int64_t> dims;
  bool fortran = false;
};

class NpzReader {
public:
  explicit NpzReader(const std::string &path); // throws Failure
  ~NpzReader();
  NpzReader(const NpzReader &) = delete;
  std::vector<std::string> names() const;
  bool has(const std::string &name) const;
  // Reads one array as element type `dtype` (see above); Failure if the file's type is another.
  Array read(const std::string &name, uint32_t dtype) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

struct NamedTensor {
  std::string name;
  mopt_array tensor;
};
// Written aside and renamed. The same arrays give the same bytes.
void writeNpz(const std::string &path, const std::vector<NamedTensor> &arrays);

} // namespace mopt::tool
