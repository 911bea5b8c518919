#include "bootstrap/shared_cores.hpp"

#include <algorithm>
#include <cstring>

#include "platform/cgroup.hpp"

namespace hawser::bootstrap {

namespace {

constexpr std::size_t bits_per_byte = 8;
constexpr std::size_t limit_bytes = sizeof(std::uint32_t);
constexpr std::size_t share_bytes = limit_bytes + platform::CoreSet().size() / bits_per_byte;

}  // namespace

CoreShare own_core_share() {
  CoreShare share{.cores = platform::usable_core_set()};
  if (const auto quota = platform::cgroup_cores_max())
    share.time_max = static_cast<std::uint32_t>(std::clamp(*quota, 1.0, 1e6));
  return share;
}

std::vector<std::byte> to_bytes(const CoreShare& share) {
  std::vector<std::byte> bytes(share_bytes);
  std::memcpy(bytes.data(), &share.time_max, limit_bytes);
  for (std::size_t core = 0; core < share.cores.size(); ++core)
    if (share.cores[core])
      bytes[limit_bytes + core / bits_per_byte] |= std::byte{1} << (core % bits_per_byte);
  return bytes;
}

std::optional<CoreShare> parse_core_share(std::span<const std::byte> bytes) {
  if (bytes.size() != share_bytes) return std::nullopt;
  CoreShare share;
  std::memcpy(&share.time_max, bytes.data(), limit_bytes);
  for (std::size_t core = 0; core < share.cores.size(); ++core) {
    const std::byte bit = std::byte{1} << (core % bits_per_byte);
    share.cores[core] = (bytes[limit_bytes + core / bits_per_byte] & bit) != std::byte{0};
  }
  return share;
}

int count_shared_cores(std::span<const CoreShare> shares) {
  platform::CoreSet all;
  std::uint32_t limit = 0;
  for (const CoreShare& share : shares) {
    all |= share.cores;
    limit = std::max(limit, share.time_max);
  }
  const std::size_t cores = std::min<std::size_t>(all.count(), limit);
  return static_cast<int>(std::max<std::size_t>(cores, 1));
}

}  // namespace hawser::bootstrap
