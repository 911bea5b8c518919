#include "softrdma/memory/checked_copy.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "platform/process.hpp"

namespace softrdma::memory {
namespace {

hawser::platform::MemoryPiece piece(std::span<const std::byte> bytes) {
  return {reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
}

}  // namespace

bool copy_if_mapped(std::span<std::byte> to, std::span<const std::byte> from) {
  const std::array local{piece(to)};
  const std::array remote{piece(from)};
  const std::int64_t copied = hawser::platform::read_memory(::getpid(), local, remote);
  if (copied >= 0 || copied == -EFAULT) return copied == static_cast<std::int64_t>(from.size());
  std::ranges::copy(from, to.begin());
  return true;
}

}  // namespace softrdma::memory
