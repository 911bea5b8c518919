// How devices and the ways between them misbehave on purpose.
#pragma once

#include <cmath>
#include <cstdint>

namespace softrdma::link {

/// SHARE: from 0 to 1.
inline std::uint32_t of_a_million(double share) {
  return static_cast<std::uint32_t>(std::lround(share * 1e6));
}

/// What happens to a device, so many times a second on average.
struct MishapRates {
  double queue_pair_errors = 0;  // one of its queue pairs is in error
  double port_flaps = 0;         // one of its ports is down for a moment

  [[nodiscard]] bool any() const { return queue_pair_errors > 0 || port_flaps > 0; }
};

/// Of a million packets, how many; and what happens to all.
struct Faults {
  std::uint32_t lost = 0;
  std::uint32_t repeated = 0;
  std::uint32_t late = 0;     // others overtake them
  std::uint32_t damaged = 0;  // a bit is flipped on the wire; the checksum finds it
  std::uint32_t flipped =
      0;  // a bit of the payload is flipped behind the checksum; nobody finds it
  std::uint64_t delay_ns = 0;  // by which every packet is late, in its turn

  MishapRates mishaps = {};

  /// To packets.
  [[nodiscard]] bool any() const {
    return (lost | repeated | late | damaged | flipped) != 0 || delay_ns != 0;
  }
};

}  // namespace softrdma::link
