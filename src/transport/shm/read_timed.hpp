// Reading of a peer's memory that may be timed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "platform/clock.hpp"
#include "platform/process.hpp"

namespace hawser::transport::shm {

/// platform::read_memory(). If WANTS_TIME(bytes) of what is to be copied, TOOK(bytes, ns) hears how
/// long it took, unless not all was copied.
template <class WantsTime, class Took>
std::int64_t read_timed(pid_t pid, std::span<const platform::MemoryPiece> local,
                        std::span<const platform::MemoryPiece> remote, const WantsTime& wants_time,
                        const Took& took) {
  std::size_t bytes = 0;
  for (const platform::MemoryPiece& piece : local) bytes += piece.bytes;
  const bool is_timed = wants_time(bytes);
  const std::uint64_t began_ns = is_timed ? platform::monotonic_ns() : 0;
  const std::int64_t copied = platform::read_memory(pid, local, remote);
  if (is_timed && copied == static_cast<std::int64_t>(bytes))
    took(bytes, platform::monotonic_ns() - began_ns);
  return copied;
}

}  // namespace hawser::transport::shm
