// How many cores the processes of a host have together, where a launcher that is not ours may have
// bound each of them to some: each tells the others what it may use, and all count the same.
//
// All must come to one number, since it decides who of them pays for ordering (hostmem/wake.hpp).
// A process's own cores are not enough for that: four processes with one core each have four cores,
// or one, and only the union of their sets tells which.
// Pure functions; what is parsed was written by another process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "platform/process.hpp"

namespace hawser::bootstrap {

struct CoreShare {
  static constexpr std::uint32_t no_limit = UINT32_MAX;

  platform::CoreSet cores = {};       // that it may run on
  std::uint32_t time_max = no_limit;  // cores' worth of time that its control group gives it

  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// That of this process.
CoreShare own_core_share();

std::vector<std::byte> to_bytes(const CoreShare& share);
std::optional<CoreShare> parse_core_share(std::span<const std::byte> bytes);

/// The cores in any of SHARES, and no more than the largest of the limits: processes of one
/// container share it, and where each has its own, counting too few costs only polling. At least 1.
int count_shared_cores(std::span<const CoreShare> shares);

}  // namespace hawser::bootstrap
