// JointCopyChoice: whether a long message that crosses no other one comes by frames or is copied
// jointly: its receiver reads one half and its sender writes the other (joint_claims.hpp). While
// messages flow one way, or alternate, two cores can make one copy as well as two. That pays where
// the slower of the two, who has half of the bytes, takes less than the receiver would to copy all
// of them out of frames: so it is where one core fetches slowly what another has written (Xeon of
// 2026, cores that share no cache, per KiB: out of frames 56 ns; jointly 20 to 27).
//
// The receiver chooses. What lies in whose cache depends on the other direction as well: so who
// begins a trial says so by a word, and the peer has one of the same way at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/one_copy_contest.hpp"

namespace hawser::hostmem {

struct JointWays {
  static constexpr std::array by_frames = {TimedCopy::out_of_frame};
  static constexpr std::array of_one = {TimedCopy::by_kernel, TimedCopy::by_peer};
  static constexpr std::uint32_t frames_below = 19;
  static constexpr std::uint32_t one_below = 19;
};

class JointCopyChoice : public OneCopyContest<JointWays> {
 public:
  /// Whether the next message from the peer, of BYTES, is to be copied jointly. Asked of those that
  /// the peer asks for.
  bool next(std::size_t bytes) {
    change_if_quicker(bytes);
    if (is_trial_due(bytes)) {
      ++trials_;
      tries_one_copy_ = !pays();
      begin(bytes);
    }
    const bool is_one = pays() ? !is_trying() && bytes >= bytes_min() : trial().takes(bytes);
    if (is_one) count(bytes);
    return is_one;
  }
  /// BYTES of a message of MESSAGE_BYTES have come by frames; the peer also sends such unasked.
  void came_by_frames(std::size_t bytes, std::size_t message_bytes) {
    count(bytes);
    if (pays()) trial().takes(bytes);
    change_if_quicker(message_bytes);
    is_asking_ = !pays() && is_trial_due(message_bytes);
  }
  /// Such messages cross others: of them nothing is to be known now.
  void put_off_trial() {
    OneCopyContest::put_off_trial();
    is_asking_ = false;
  }
  /// How long a message has to be for the peer to ask before it sends it; 0: none.
  [[nodiscard]] std::size_t asked_from_bytes() const {
    if (pays()) return is_trying() ? 0 : bytes_min();
    return is_asking_ || is_trying() ? 1 : 0;
  }
  /// What is tried, as the peer hears of it. Bit 0: whether that is one copy.
  [[nodiscard]] OneCopyWord trial_word() const { return trials_ << 1 | (tries_one_copy_ ? 1 : 0); }
  /// The peer has begun to try ONE copy, or frames, for messages the other way.
  void join_trial(bool one) {
    constexpr std::size_t no_message_bytes = 0;
    if (pays() != one && !is_trying() && is_settled(pays())) begin(no_message_bytes);
  }

 private:
  /// What it takes to agree on who copies what, beyond what frames take.
  static constexpr std::uint64_t agreement_ns = 200;

  /// What a trial was for is known then.
  void change_if_quicker(std::size_t bytes) {
    if (review(bytes)) trial() = {};
  }
  void begin(std::size_t bytes) {
    is_asking_ = false;
    begin_trial(bytes);
  }
  /// While it pays to copy jointly, from which length on: so that what is saved is more than what
  /// it takes to agree.
  [[nodiscard]] std::size_t bytes_min() const {
    if (!is_settled(true) || !is_settled(false)) return 1;
    const std::uint32_t frames = pace(false), one = pace(true);
    if (frames <= one) return 1;  // it is about to be found that it does not pay
    return std::max<std::size_t>(bytes_of(agreement_ns, frames - one), 1);
  }

  std::uint32_t trials_ = 0;     // that this side has begun
  bool tries_one_copy_ = false;  // in the last of them
  bool is_asking_ = false;       // for messages to try one copy with
};

}  // namespace hawser::hostmem
