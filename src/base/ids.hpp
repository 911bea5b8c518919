// Strong types for the numbers that would otherwise be mixed up.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace hawser::base {

/// Counts, extents and displacements are 64 bits everywhere inside (MPI_Count, MPI_Aint).
using Count = std::int64_t;

/// Who a process is: job, index within the job, and the epoch of its life under that index
/// (DESIGN §4). Never an index into an array.
struct Identity {
  std::uint64_t job = 0;
  std::uint32_t index = 0;
  std::uint32_t epoch = 0;

  friend auto operator<=>(const Identity&, const Identity&) = default;
};
static_assert(sizeof(Identity) == 16);

/// A finalising mix (splitmix64): every input bit changes about half of the output bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace hawser::base

template <>
struct std::hash<hawser::base::Identity> {
  std::size_t operator()(const hawser::base::Identity& identity) const noexcept {
    return hawser::base::mix64(
        identity.job ^
        hawser::base::mix64((static_cast<std::uint64_t>(identity.epoch) << 32) | identity.index));
  }
};
