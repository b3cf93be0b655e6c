//===- Panels.cpp - packing of constant matrix operands -----------------------------------------------------------===//
#include "mopt/Dialect/Kernel/Panels.h"
#include <cstring>

namespace mopt {

std::optional<Panels> Panels::fromArray(ArrayRef<int64_t> a) {
  if (a.size() != 8 || llvm::any_of(a, [](int64_t v) { return v < 0 || v > (int64_t(1) << 40); }))
    return std::nullopt;
  Panels p{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]};
  std::optional<int64_t> count = checked::mul<int64_t>(p.outer, p.inner);
  for (int64_t factor : {p.groups, p.panels(), width, int64_t(sizeof(float))})
    count = count ? checked::mul<int64_t>(*count, factor) : count;
  for (auto [n, stride] :
       {std::pair(p.groups, p.groupStride), {p.n, p.nStride}, {p.outer, p.outerStride}, {p.inner, p.innerStride}})
    if (!checked::mul<int64_t>(n, stride))
      return std::nullopt;
  return count ? std::optional(p) : std::nullopt;
}

int64_t Panels::extent() const {
  if (!groups || !n || !outer || !inner)
    return 0;
  return (groups - 1) * groupStride + (n - 1) * nStride + (outer - 1) * outerStride + (inner - 1) * innerStride + 1;
}

void Panels::pack(const uint8_t *source, float *target) const {
  auto element = [&](int64_t at) {
    float value;
    std::memcpy(&value, source + at * sizeof(float), sizeof value);
    return value;
  };
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t p = 0; p < panels(); ++p) {
      int64_t columns = std::min(width, n - p * width);
      for (int64_t k0 = 0; k0 < outer; ++k0)
        for (int64_t k1 = 0; k1 < inner; ++k1, target += width) {
          int64_t from = g * groupStride + p * width * nStride + k0 * outerStride + k1 * innerStride;
          for (int64_t c = 0; c < width; ++c)
            target[c] = c < columns ? element(from + c * nStride) : 0.0f;
        }
    }
}

} // namespace mopt
