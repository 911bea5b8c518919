// What copying takes, as a number that choices between ways to copy are made by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hawser::hostmem {

/// Of a run of BYTES that took NS: 1/16 ns per KiB, bounded so that 64 of them can be added up.
constexpr std::uint32_t pace_of(std::size_t bytes, std::uint64_t ns) {
  const std::uint64_t pace = ns * 16 * 1024 / std::max<std::size_t>(bytes, 1);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(pace, std::numeric_limits<std::uint32_t>::max() / 64));
}
/// How many bytes take NS at PACE, which is not 0.
constexpr std::size_t bytes_of(std::uint64_t ns, std::uint32_t pace) {
  return static_cast<std::size_t>(ns * 16 * 1024 / pace);
}

}  // namespace hawser::hostmem
