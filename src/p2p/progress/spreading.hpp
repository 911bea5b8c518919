// Spreading: when a rank that waits, where ranks outnumber the cores, leaves its core for a less
// crowded one.
//
// Ranks that give way to one another all the time look to the kernel like work that is there and
// gone: now and then most of them gather on one core, and each turn takes as long as all others'
// together, while the next core is all but idle. So who waits looks round now and then.
//
// Only while nobody on its core computes: then turns come soon after one another, or after what
// they have to move, if that is known. Where somebody does, the kernel knows better: it gathers
// those who wait on the other cores. And who has moved goes back at the first turn that comes late,
// since somebody computes there then; the next try waits for twice as long.
//
// (Of turns in which others move much 4 are enough for a look.)
//
//                                 16 turns, none of them late
//             +--------------------------------------------------------------+
//             v                                                              |
//        +---------+   16 turns, soon after one another,  moved to one  +----------+
//        | staying |-- and the interval is over: look for ------------->| on trial |
//        +---------+   a better core                                    +----------+
//             ^                                                              |
//             +--------------------------------------------------------------+
//                    one turn is late: go back, and double the interval
//
// State machine: it is told of turns, and asks for the time where it needs that.
// Threads: any number at a time; what is lost or mixed up among them does no harm.
// Bounds:  one look in interval_min_ns, one try in interval_max_ns at least.
// Measured: docs/decisions/0034-who-waits-spreads-over-the-cores.md
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/relaxed.hpp"

namespace hawser::p2p {

class Spreading {
 public:
  enum class Step : std::uint8_t {
    stay,
    tell,     // the others where this rank runs
    look,     // for a better core, after telling; note_move() if there is one
    go_back,  // to origin()
  };

  /// For one of RANKS that share CORES (both >= 1).
  Spreading(std::uint32_t ranks, std::uint32_t cores)
      : turns_in_round_(crowd_max * ((ranks - 1) / cores + 1)) {}

  /// Until it is called again: others have BYTES to move in a turn, each.
  void expect_turns(std::uint64_t bytes) { turn_bytes_ = bytes; }

  /// This rank gave way, and has its core again. NOW_NS() tells the time.
  template <class Clock>
  Step note_turn(Clock&& now_ns) {
    if (const std::uint64_t left = trial_turns_; left > 0) [[unlikely]]
      return note_turn_on_trial(left - 1, now_ns());
    const std::uint64_t turns = turns_ + 1;
    const bool are_enough = turns >= turns_wanted();
    turns_ = are_enough ? 0 : turns;
    return are_enough ? choose(now_ns()) : Step::stay;
  }
  /// It has moved from core ORIGIN to a better one, at NOW_NS.
  void note_move(int origin, std::uint64_t now_ns) {
    origin_ = origin;
    last_ns_ = now_ns;
    trial_turns_ = turns_per_look;
  }
  [[nodiscard]] int origin() const { return origin_; }

  static constexpr std::uint64_t turns_per_look = 16;
  /// Where a turn takes as long as several of who only looks: the others are to be told in time.
  static constexpr std::uint64_t long_turns_per_look = 4;
  /// What a turn of a rank that only looks takes, amply.
  static constexpr std::uint64_t turn_max_ns = 4000;
  /// Of what it moves besides, at the least.
  static constexpr std::uint64_t bytes_per_ns = 8;
  /// Times as many ranks as on the average that may have gathered on a core.
  static constexpr std::uint64_t crowd_max = 4;
  static constexpr std::uint64_t interval_min_ns = 2'000'000;
  static constexpr std::uint64_t interval_max_ns = 4'000'000'000;

 private:
  using Number = base::Relaxed<std::uint64_t>;

  /// The time since the last call, or move.
  std::uint64_t elapsed_ns(std::uint64_t now_ns) {
    const std::uint64_t elapsed_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    return elapsed_ns;
  }

  /// LEFT: turns of the trial after this one.
  Step note_turn_on_trial(std::uint64_t left, std::uint64_t now_ns) {
    if (elapsed_ns(now_ns) > round_max_ns()) {
      trial_turns_ = 0;
      interval_ns_ = std::min(2 * interval_ns_, interval_max_ns);
      stays_until_ns_ = now_ns + interval_ns_;
      return Step::go_back;
    }
    trial_turns_ = left;
    if (left == 0) interval_ns_ = interval_min_ns;
    return Step::stay;
  }
  Step choose(std::uint64_t now_ns) {
    const bool is_soon = elapsed_ns(now_ns) <= round_max_ns() * turns_wanted();
    if (now_ns - told_ns_ < interval_min_ns) return Step::stay;
    told_ns_ = now_ns;
    return is_soon && now_ns >= stays_until_ns_ ? Step::look : Step::tell;
  }

  [[nodiscard]] std::uint64_t longest_turn_ns() const {
    return turn_max_ns + turn_bytes_ / bytes_per_ns;
  }
  /// Until all on a core have had a turn, if nobody computes.
  [[nodiscard]] std::uint64_t round_max_ns() const { return turns_in_round_ * longest_turn_ns(); }
  /// For a look.
  [[nodiscard]] std::uint64_t turns_wanted() const {
    return longest_turn_ns() < 2 * turn_max_ns ? turns_per_look : long_turns_per_look;
  }

  const std::uint64_t turns_in_round_;  // at the most
  Number turn_bytes_{0};
  Number turns_{0};
  Number trial_turns_{0};  // that are left of a trial
  Number last_ns_{0};
  Number told_ns_{0};
  Number interval_ns_{interval_min_ns};
  Number stays_until_ns_{0};
  base::Relaxed<int> origin_{-1};  // of the last move
};

}  // namespace hawser::p2p
