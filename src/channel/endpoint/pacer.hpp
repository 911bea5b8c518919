// Pacer: when something is due that is done at intervals, where reading the clock in every round of
// progress would cost too much.
//
// Ownership: a value. Threads: the lane lock.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace hawser::channel {

class Pacer {
 public:
  /// Of rounds of progress that find nothing, one in so many reads the clock.
  static constexpr std::uint32_t rounds_per_look = 256;

  /// 0: it is never due.
  explicit Pacer(std::uint64_t interval_ns) : interval_ns_(interval_ns) {}
  void set_interval(std::uint64_t interval_ns) { interval_ns_ = interval_ns; }

  /// A round of progress has found nothing; whether it should look at the clock.
  [[nodiscard]] bool is_round_for_it() {
    return interval_ns_ != 0 && ++rounds_ % rounds_per_look == 0;
  }
  /// It is due at NOW; then it is due again an interval later.
  [[nodiscard]] bool take(std::uint64_t now_ns) {
    if (now_ns < next_ns_) return false;
    next_ns_ = now_ns + interval_ns_;
    return true;
  }
  /// This process is about to sleep: its next round looks at the clock.
  void arm() { rounds_ = rounds_per_look - 1; }
  /// When it is due; never_ns: not at all.
  [[nodiscard]] std::uint64_t deadline_ns() const {
    return interval_ns_ == 0 ? base::never_ns : next_ns_;
  }

 private:
  std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
  std::uint32_t rounds_ = 0;
};

}  // namespace hawser::channel
