// Looks at memory that is about to be written: whether it is in none of this core's caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/clock.hpp"

namespace hawser::hostmem {

/// Whether the line of PLACE has to come from memory. It comes: this takes as long.
inline bool is_in_no_cache(const std::byte* place) {
  constexpr std::uint64_t cached_ns = 60;  // at most; 20 to 30 of them to look at the clock
  const std::uint64_t began_ns = platform::monotonic_ns();
  static_cast<void>(*static_cast<const volatile std::byte*>(place));
  return platform::monotonic_ns() - began_ns > cached_ns;
}

/// What looks at places that are alike have found: they count as cold if several in a row were.
class ColdLooks {
 public:
  void note(bool is_cold) {
    in_a_row_ = is_cold ? std::min<std::uint8_t>(in_a_row_ + 1, enough) : 0;
  }
  [[nodiscard]] bool are_cold() const { return in_a_row_ == enough; }

 private:
  static constexpr std::uint8_t enough = 3;  // one may be an accident (an interrupt)

  std::uint8_t in_a_row_ = 0;
};

}  // namespace hawser::hostmem
