// Timers: which endpoints have something to do by themselves, and when.
//
// Few endpoints have: those whose frames have to be acknowledged. One that has to act at once is in
// a list for the next round of progress; the others are looked through together when the first of
// them is due, but not more often than every look_ns.
// Ownership: borrows endpoints; they let go before they end. Threads: the lane lock.
// Bounds:    an endpoint stands in each list once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace hawser::channel {

using base::never_ns;

class Endpoint;

/// An endpoint's places in the lists.
struct TimerState {
  bool is_urgent = false;
  bool is_timed = false;
};

class Timers {
 public:
  static constexpr std::uint64_t look_ns = 200'000;
  static constexpr std::uint32_t rounds_per_look = 8;
  static constexpr std::uint32_t rounds_often = 16;

  /// CLOCK: nanoseconds of a clock that never goes back.
  explicit Timers(std::function<std::uint64_t()> clock) : clock_(std::move(clock)) {}

  [[nodiscard]] std::uint64_t now_ns() const { return clock_(); }
  /// Whether this round of progress should run(): it reads the clock, which costs as much as the
  /// rest of a round that finds nothing.
  [[nodiscard]] bool wants_look() {
    if (!urgent_.empty()) return true;
    if (timed_.empty()) return false;
    ++rounds_;
    return rounds_ < rounds_often || rounds_ % rounds_per_look == 0;
  }
  /// In the next rounds: this process is about to sleep until something is due.
  void look_often() { rounds_ = 0; }
  /// ENDPOINT has something to do at DEADLINE: 0 at once, never_ns not at all.
  void expect(Endpoint& endpoint, TimerState& state, std::uint64_t deadline_ns) {
    if (deadline_ns == 0) {
      if (!std::exchange(state.is_urgent, true)) urgent_.push_back(&endpoint);
    } else if (deadline_ns != never_ns) {
      if (!std::exchange(state.is_timed, true)) timed_.push_back(&endpoint);
      next_ns_ = std::min(next_ns_, deadline_ns);
    }
  }
  /// When run() has something to do: 0 at once, never_ns not at all.
  [[nodiscard]] std::uint64_t deadline_ns() const {
    if (!urgent_.empty()) return 0;
    return timed_.empty() ? never_ns : next_ns_;
  }
  /// Calls SERVE(Endpoint&, now_ns) for those that may be due; it says their next deadline.
  /// STATE(Endpoint&) is their TimerState. True if one of them may have done something: who waits
  /// looks again at what it waits for.
  template <class State, class Serve>
  bool run(State&& state, Serve&& serve) {
    const std::uint64_t now = now_ns();
    bool moved = false;
    const auto serve_one = [&](Endpoint& endpoint) {
      const std::uint64_t next_ns = serve(endpoint, now);
      moved |= next_ns != 0;  // else it found no room
      expect(endpoint, state(endpoint), next_ns);
    };
    for (Endpoint* endpoint : std::exchange(urgent_, {})) {
      state(*endpoint).is_urgent = false;
      serve_one(*endpoint);
    }
    if (timed_.empty() || now < next_ns_) return moved;
    next_ns_ = never_ns;
    for (Endpoint* endpoint : std::exchange(timed_, {})) {
      state(*endpoint).is_timed = false;
      serve_one(*endpoint);
    }
    next_ns_ = std::max(next_ns_, now + look_ns);
    return moved;
  }
  void forget(Endpoint& endpoint, TimerState& state) {
    if (std::exchange(state.is_urgent, false)) std::erase(urgent_, &endpoint);
    if (std::exchange(state.is_timed, false)) std::erase(timed_, &endpoint);
  }

 private:
  const std::function<std::uint64_t()> clock_;
  std::vector<Endpoint*> urgent_;
  std::vector<Endpoint*> timed_;
  std::uint64_t next_ns_ = never_ns;  // no endpoint of timed_ is due before
  std::uint32_t rounds_ = 0;          // with something timed
};

}  // namespace hawser::channel
