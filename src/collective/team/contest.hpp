// Contest: whether a long collective of a team is quicker where members read each other's memory
// (one copy, by the kernel) or by what its table says otherwise (two, by the members). That depends
// on how quickly the kernel copies and on how far the members' cores are from each other (alltoall
// of 4 ranks, 1 MiB: by reading 0.56x of what it takes on the board on a Xeon of 2026, 1.18x on an
// EPYC 7003), which nobody tells us: so both are tried.
//
// A state machine without a clock. For a number of calls the better way is used, of which the last
// ones are timed; then the other one has a few calls. After those the members tell each other what
// both have taken, and all of them find the same way better. The number grows whenever that
// changed nothing. Of the calls that are timed all but the longest count, which may have met an
// interrupt: where ranks share cores, the shortest ones are those of the last to come.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hawser::collective {

class Contest {
 public:
  struct Turn {
    bool reads;     // the way of this call
    bool is_timed;  // took() wants to hear of it
  };
  /// Of both ways: [reads].
  using Paces = std::array<std::uint32_t, 2>;

  /// Calls of a trial, of which the first ones meet data in the caches of the wrong core.
  static constexpr std::uint32_t trial_calls = 8;
  static constexpr std::uint32_t warming_calls = 2;
  /// Calls before the first trial; from one trial to the next at least and at most.
  static constexpr std::uint32_t first_gap = 8;
  static constexpr std::uint32_t gap_min = 32;
  static constexpr std::uint32_t gap_max = 8192;

  /// A call begins.
  Turn next() {
    const std::uint32_t call = calls_++;
    constexpr std::uint32_t timed = trial_calls - warming_calls;
    if (call < gap_) return {reads_, call + timed >= gap_};
    return {!reads_, call >= gap_ + warming_calls};
  }
  /// What the call took, per byte (hostmem/pace.hpp).
  void took(bool reads, std::uint32_t pace) {
    Taken& taken = taken_[reads ? 1 : 0];
    taken.sum += pace;
    taken.longest = std::max(taken.longest, pace);
  }
  /// The last call of a trial has ended: decide() comes next.
  [[nodiscard]] bool is_over() const { return calls_ == gap_ + trial_calls; }
  /// Of this member, added up.
  [[nodiscard]] Paces paces() const { return {taken_[0].counted(), taken_[1].counted()}; }
  /// SUMS: of all members' paces.
  void decide(const std::array<std::uint64_t, 2>& sums) {
    // Not for what chance may make of two that are equal.
    const bool changes = sums[reads_ ? 0 : 1] * 20 < sums[reads_ ? 1 : 0] * 19;
    reads_ = reads_ != changes;
    gap_ = changes ? gap_min : std::min(gap_ * 4, gap_max);
    calls_ = 0;
    taken_ = {};
  }

 private:
  struct Taken {
    std::uint32_t sum = 0;
    std::uint32_t longest = 0;
    [[nodiscard]] std::uint32_t counted() const { return sum - longest; }
  };

  std::array<Taken, 2> taken_;  // [reads]
  std::uint32_t calls_ = 0;     // since the last decision
  std::uint32_t gap_ = first_gap;
  bool reads_ = false;
};

}  // namespace hawser::collective
