// Copies between the memories of simulated processes, all of which are that of this one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "sim/random.hpp"
#include "transport/transport.hpp"

namespace hawser::sim {

/// Copies the pieces of FROM, in order, to those of TO; at times only the first of their bytes.
/// Returns how many.
inline std::int64_t copy_some(Random& random, std::span<const transport::MemoryPiece> to,
                              std::span<const transport::MemoryPiece> from) {
  std::uint64_t bytes = 0;
  for (const transport::MemoryPiece& piece : to) bytes += piece.bytes;
  const std::uint64_t limit = random.one_in(4) ? 1 + random.below(bytes) : bytes;
  std::uint64_t copied = 0;
  std::size_t number = 0;
  std::uint64_t offset = 0;
  for (const transport::MemoryPiece& piece : to) {
    for (std::uint64_t done = 0; done < piece.bytes && number < from.size() && copied < limit;) {
      const std::uint64_t run =
          std::min({piece.bytes - done, from[number].bytes - offset, limit - copied});
      std::memmove(reinterpret_cast<void*>(piece.address + done),
                   reinterpret_cast<const void*>(from[number].address + offset), run);
      copied += run;
      done += run;
      offset += run;
      if (offset < from[number].bytes) continue;
      ++number;
      offset = 0;
    }
  }
  return static_cast<std::int64_t>(copied);
}

}  // namespace hawser::sim
