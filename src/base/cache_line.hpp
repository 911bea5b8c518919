// The size of a cache line, in bytes: on x86-64 always, elsewhere nearly always. Where a line is
// longer, sharing costs more than it should; nothing goes wrong.
#pragma once

#include <cstddef>

namespace hawser::base {

inline constexpr std::size_t cache_line_bytes = 64;

/// BYTES rounded up to whole cache lines.
constexpr std::size_t round_to_lines(std::size_t bytes) {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

}  // namespace hawser::base
