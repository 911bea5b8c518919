// SpinRecord: whether it pays, where ranks outnumber cores, that who waits spins for a moment
// before others have its core.
//
// Where the peer runs just now, on another core, its message is there before a turn of the
// scheduler is over: both go on at once, and stay together. Where the peer waits for a core itself,
// a spin is lost time. Nobody can say which it is, but one wait is like the last: so waits spin as
// long as those before them gained by it, and try again now and then (the spins that learn in
// Karlin, Li, Manasse, Owicki: "Empirical studies of competitive spinning for a shared-memory
// multiprocessor", SOSP 1991).
//
// Threads: any number at a time; a count that is lost among them does no harm.
// Bounds:  trial_interval_max waits between two spins that are only tried.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/relaxed.hpp"

namespace hawser::p2p {

class SpinRecord {
 public:
  /// A wait has found nothing yet. Whether it spins first.
  bool is_worth_while() {
    if (credit_ > 0) return true;
    const std::uint32_t waits = waits_ + 1;
    const bool is_trial = waits >= trial_interval_;
    waits_ = is_trial ? 0 : waits;
    return is_trial;
  }
  /// It did, and found all that it waited for.
  void note_gain() {
    credit_ = std::min(credit_ + 1, credit_max);
    trial_interval_ = trial_interval_min;
  }
  /// It did in vain.
  void note_loss() {
    const std::uint32_t credit = credit_;
    if (credit > 0) {
      credit_ = credit - 1;
    } else {
      trial_interval_ = std::min(2 * trial_interval_, trial_interval_max);
    }
  }

  static constexpr std::uint32_t credit_max = 16;
  static constexpr std::uint32_t trial_interval_min = 16;
  static constexpr std::uint32_t trial_interval_max = 1024;

 private:
  base::Relaxed<std::uint32_t> credit_{0};  // spins in vain until the next one is a trial
  base::Relaxed<std::uint32_t> waits_{0};   // since the last trial
  base::Relaxed<std::uint32_t> trial_interval_{trial_interval_min};
};

}  // namespace hawser::p2p
