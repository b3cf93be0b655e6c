//===- Panels.cpp - packing of constant matrix operands -----------------------------------------------------------===//
#include "mopt/Dialect/Kernel/Panels.h"
#include <cstring>

namespace mopt {

std::optional<Panels> Panels::fromArray(ArrayRef<int64_t> a) {
  if (a.size() != 10 || llvm::any_of(a, [](int64_t v) { return v < 0 || v > (int64_t(1) << 40); }) || a[8] > 2 ||
      (a[8] ? a[9] != 16 && a[9] != 32 : a[9] != floatWidth))
    return std::nullopt;
  Panels p{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], static_cast<Kind>(a[8]), a[9]};
  std::optional<int64_t> count = checked::mul<int64_t>(p.outer, p.inner + p.step());
  for (int64_t factor : {p.groups, p.panels(), p.width, int64_t(sizeof(float))})
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

void Panels::pack(const uint8_t *source, uint8_t *target) const {
  const int64_t bytes = elementBytes();
  const uint8_t flip = kind == Kind::shifted ? 0x80 : 0; // v - 128 of a byte, as int8
  auto row = [&](int64_t from, int64_t columns, int64_t deep) {
    for (int64_t c = 0; c < width; ++c)
      for (int64_t j = 0; j < step(); ++j, target += bytes) {
        if (c >= columns || j >= deep) {
          std::memset(target, 0, bytes);
          continue;
        }
        const uint8_t *element = source + (from + c * nStride + j * innerStride) * bytes;
        if (bytes == 1)
          *target = *element ^ flip;
        else
          std::memcpy(target, element, sizeof(float));
      }
  };
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t p = 0; p < panels(); ++p)
      for (int64_t k0 = 0; k0 < outer; ++k0)
        for (int64_t k1 = 0; k1 < inner; k1 += step())
          row(g * groupStride + p * width * nStride + k0 * outerStride + k1 * innerStride,
              std::min(width, n - p * width), inner - k1);
}

} // namespace mopt
