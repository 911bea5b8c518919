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
#include <atomic>
#include <cstdint>

namespace hawser::p2p {

class SpinRecord {
 public:
  /// A wait has found nothing yet. Whether it spins first.
  bool is_worth_while() {
    if (load(credit_) > 0) return true;
    const std::uint32_t waits = load(waits_) + 1;
    const bool is_trial = waits >= load(trial_interval_);
    store(waits_, is_trial ? 0 : waits);
    return is_trial;
  }
  /// It did, and found something.
  void note_gain() {
    store(credit_, std::min(load(credit_) + 1, credit_max));
    store(trial_interval_, trial_interval_min);
  }
  /// It did in vain.
  void note_loss() {
    const std::uint32_t credit = load(credit_);
    if (credit > 0) {
      store(credit_, credit - 1);
    } else {
      store(trial_interval_, std::min(2 * load(trial_interval_), trial_interval_max));
    }
  }

  static constexpr std::uint32_t credit_max = 16;
  static constexpr std::uint32_t trial_interval_min = 16;
  static constexpr std::uint32_t trial_interval_max = 1024;

 private:
  using Number = std::atomic<std::uint32_t>;
  static std::uint32_t load(const Number& number) { return number.load(std::memory_order_relaxed); }
  static void store(Number& number, std::uint32_t value) {
    number.store(value, std::memory_order_relaxed);
  }

  Number credit_{0};  // spins in vain until the next one is a trial
  Number waits_{0};   // since the last trial
  Number trial_interval_{trial_interval_min};
};

}  // namespace hawser::p2p
