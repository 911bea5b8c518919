// Census: when to look for processes that have ended, where nobody tells of them
// (Bootstrap::look_for_ended()).
//
// Ownership: borrows the bootstrap. Threads: the lane lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"
#include "bootstrap/bootstrap.hpp"

namespace hawser::channel {

class Census {
 public:
  /// Of rounds of progress that find nothing, one in so many reads the clock.
  static constexpr std::uint32_t rounds_per_look = 256;

  explicit Census(bootstrap::Bootstrap& bootstrap)
      : bootstrap_(bootstrap), interval_ns_(bootstrap.look_interval_ns()) {}

  /// A round of progress has found nothing; whether it should take().
  [[nodiscard]] bool is_round_for_it() {
    return interval_ns_ != 0 && ++rounds_ % rounds_per_look == 0;
  }
  void take(std::uint64_t now_ns) {
    if (now_ns < next_ns_) return;
    next_ns_ = now_ns + interval_ns_;
    bootstrap_.look_for_ended();
  }
  /// This process is about to sleep: its next round looks at the clock.
  void arm() { rounds_ = rounds_per_look - 1; }
  /// When take() has something to do; never_ns: not at all.
  [[nodiscard]] std::uint64_t deadline_ns() const {
    return interval_ns_ == 0 ? base::never_ns : next_ns_;
  }

 private:
  bootstrap::Bootstrap& bootstrap_;
  const std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
  std::uint32_t rounds_ = 0;
};

}  // namespace hawser::channel
