// Comparing secrets so that the time taken tells nothing about them.
#pragma once

#include <cstddef>
#include <span>

namespace hawser::base {

/// Whether A and B, of equal length, hold the same bytes; looks at all of them in any case.
inline bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  std::byte difference{a.size() == b.size() ? std::byte{0} : std::byte{1}};
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

}  // namespace hawser::base
