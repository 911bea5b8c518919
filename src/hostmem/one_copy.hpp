// OneCopyChoice: whether a long message that crosses another one is copied once, by the kernel out
// of its sender's memory, or twice, through memory that both share. While messages flow both ways
// each core makes two copies for every message that it gets: one copy pays where it takes a core
// less than those two (one_copy_contest.hpp).
//
// Only one of the two peers measures, and decides for both, since each would spoil what the other
// measures. The other is told by a word in memory that both share, and follows (OneCopyFollower).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/one_copy_contest.hpp"

namespace hawser::hostmem {

/// The peer of the one that measures.
class OneCopyFollower {
 public:
  /// Whether the next message, of BYTES, is to be copied once, where WORD is what the other says
  /// now.
  bool next(std::size_t bytes, OneCopyWord word) {
    const bool pays = (word & 1) != 0;
    if (word >> 1 != trials_) {
      trials_ = word >> 1;
      trial_.begin();
    }
    return pays != trial_.takes(bytes);
  }

 private:
  OneCopyTrial trial_;
  std::uint32_t trials_ = 0;
};

/// Those who write and read frames also wait for each other, a tenth of the time: so frames have to
/// be less work by as much, and by more where one copy is in use.
struct CrossingWays {
  static constexpr std::array by_frames = {TimedCopy::into_frame, TimedCopy::out_of_frame};
  static constexpr std::array of_one = {TimedCopy::by_kernel};
  static constexpr std::uint32_t frames_below = 17;
  static constexpr std::uint32_t one_below = 22;
};

class OneCopyChoice : public OneCopyContest<CrossingWays> {
 public:
  /// Whether the next message from the peer, of BYTES, is to be copied once.
  bool next(std::size_t bytes) {
    review(bytes);
    if (is_trial_due(bytes)) {
      ++trials_;
      begin_trial(bytes);
    }
    count(bytes);
    return pays() != trial().takes(bytes);
  }
  /// Bit 0: whether one copy pays.
  [[nodiscard]] OneCopyWord word() const { return trials_ << 1 | (pays() ? 1 : 0); }

 private:
  std::uint32_t trials_ = 0;
};

}  // namespace hawser::hostmem
