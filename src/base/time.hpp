// Times are nanoseconds of a clock that never goes back; who owns the clock is said where one is
// used.
#pragma once

#include <cstdint>
#include <limits>

namespace hawser::base {

/// No deadline.
inline constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();

inline constexpr std::uint64_t ns_per_s = 1'000'000'000;

}  // namespace hawser::base
