// Mishaps: which queue pair fails and which port goes down, and when, from a seed.
//
// Between two mishaps of a kind lies a random time, whose average the rate tells; for a port it
// begins when it has come up again. A port that was down while nobody asked was not; a queue pair
// that should have failed fails when somebody asks, one for all. So everything follows from the
// seed and from the times of asking. Threads: the device's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "softrdma/link/faults.hpp"

namespace softrdma::device {

/// How long a port is down.
inline constexpr std::uint64_t flap_ns = 10'000'000;

struct PortChange {
  std::uint8_t port;
  bool is_up;
  bool operator==(const PortChange&) const = default;
};

class Mishaps {
 public:
  /// PORTS: how many there are, counted from 1.
  Mishaps(const link::MishapRates& rates, std::uint8_t ports, std::uint64_t seed)
      : errors_per_second_(rates.queue_pair_errors),
        flaps_per_second_(rates.port_flaps),
        ports_(ports),
        random_(seed) {}

  /// Whether a queue pair fails now: choose() tells which.
  bool is_error_due(std::uint64_t now_ns);
  /// One of COUNT, which is not 0.
  std::size_t choose(std::size_t count) { return random_() % count; }
  /// What becomes of a port now. At most one is down at a time.
  std::optional<PortChange> port_change(std::uint64_t now_ns);
  /// When port_change() has a port that comes up.
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const {
    return is_down_ ? std::optional(flap_->ends_ns()) : std::nullopt;
  }

 private:
  struct Flap {
    std::uint8_t port;
    std::uint64_t begins_ns;
    [[nodiscard]] std::uint64_t ends_ns() const { return begins_ns + flap_ns; }
  };

  std::uint64_t draw_gap_ns(double per_second);
  /// The first after SINCE.
  Flap draw_flap(std::uint64_t since_ns);

  double errors_per_second_;
  double flaps_per_second_;
  std::uint8_t ports_;
  std::mt19937_64 random_;
  std::optional<std::uint64_t> next_error_ns_;
  std::optional<Flap> flap_;  // the next, or the present one
  bool is_down_ = false;      // its port, as far as was told
};

}  // namespace softrdma::device
