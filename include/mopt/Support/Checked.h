//===- Checked.h - arithmetic on numbers that a file or a user supplies -------------------------------------------===//
#ifndef MOPT_SUPPORT_CHECKED_H
#define MOPT_SUPPORT_CHECKED_H

#include <cstdint>
#include <optional>

namespace mopt::checked {
template <typename T> std::optional<T> add(T a, T b) {
  T r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional<T>(r);
}
template <typename T> std::optional<T> sub(T a, T b) {
  T r;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional<T>(r);
}
template <typename T> std::optional<T> mul(T a, T b) {
  T r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional<T>(r);
}
/// The smallest multiple of `alignment` (a power of two) that is not below `value`.
template <typename T> std::optional<T> alignUp(T value, T alignment) {
  auto sum = add<T>(value, static_cast<T>(alignment - 1));
  return sum ? std::optional<T>(static_cast<T>(*sum & ~(alignment - 1))) : std::nullopt;
}
} // namespace mopt::checked
#endif
