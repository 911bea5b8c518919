// OneCopyChoice: whether a long message from a peer on this host is copied once, by the kernel out
// of its sender's memory, or twice, through memory that both share. While messages flow one way the
// two copies are made at the same time, by two cores. While they flow both ways each core makes
// two for every message that it gets: then one copy pays where it takes a core less than those two.
// That depends on whether the cores share a cache (EPYC 9004, per KiB: two copies 45 to 50 ns there
// and 105 to 145 elsewhere; one 75 to 90, or 160 to 250 if the sender has just written what is
// read), which nobody tells us and which changes: so both are measured.
//
// A state machine without a clock: next() says how a message that comes goes; before a run of bytes
// is copied wants_time() says whether took() is to hear how long that took. Now and then there is a
// trial: some MiB go the other way, so that its pace is renewed too. Whenever the way changes, the
// first bytes do not count: what is copied then lies in the caches of the wrong core, of the one
// that copied it before.
//
// Of messages both ways only one of the two peers measures, and decides for both, since each would
// spoil what the other measures. The other is told by a word in memory that both share, and follows
// (OneCopyFollower).
//
// While they flow one way, or alternate, two cores can make one copy as well, jointly: the receiver
// reads one part of the message and the sender writes the other (joint_claims.hpp). That pays where
// the slower of the two, who has half of the bytes, takes less than the receiver would to copy all
// of them out of frames: so it is where one core fetches slowly what another has written (Xeon of
// 2026, cores that share no cache, per KiB: out of frames 56 ns; jointly 20 to 27). The receiver
// chooses. What lies in whose cache depends on the other direction as well: so who begins a trial
// says so by another word, and the peer has one of the same way at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/pace.hpp"

namespace hawser::hostmem {

/// A few messages that are copied the other way, on either side.
class OneCopyTrial {
 public:
  void begin() {
    messages_left_ = messages_min;
    bytes_left_ = bytes_min;
  }
  [[nodiscard]] bool is_running() const { return messages_left_ > 0 || bytes_left_ > 0; }
  /// Whether the next message, of BYTES, is one of them.
  bool takes(std::size_t bytes) {
    if (!is_running()) return false;
    messages_left_ -= std::min(messages_left_, 1U);
    bytes_left_ -= std::min(bytes_left_, bytes);
    return true;
  }
  static constexpr std::uint32_t messages_min = 2;
  static constexpr std::size_t bytes_min = std::size_t{8} << 20;

 private:
  std::uint32_t messages_left_ = 0;
  std::size_t bytes_left_ = 0;
};

/// What the one that measures says to the other: bit 0, whether one copy pays; the others, how many
/// trials have begun.
using OneCopyWord = std::uint32_t;

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

class OneCopyChoice {
 public:
  enum class Copy : std::uint8_t { into_frame, out_of_frame, by_kernel, by_peer };
  /// How one copy is made, and of which messages: by their receivers, where messages cross, or
  /// jointly, where none does.
  enum class Kind : std::uint8_t { by_receiver, jointly };
  /// Shorter runs are not measured: they are those of shorter messages, or the ends of long ones.
  static constexpr std::size_t run_bytes_min = 16384;

  explicit OneCopyChoice(Kind kind = Kind::by_receiver) : kind_(kind) {}

  /// Whether the next message from the peer, of BYTES, is to be copied once. Asked of those that
  /// the peer asks for.
  bool next(std::size_t bytes) {
    review(bytes);
    if (is_trial_due(bytes)) begin_trial(bytes);
    if (kind_ == Kind::jointly) return next_jointly(bytes);
    bytes_since_trial_ += bytes;
    return pays_ != trial_.takes(bytes);
  }
  [[nodiscard]] OneCopyWord word() const { return trials_ << 1 | (pays_ ? 1 : 0); }

  // For those that may be copied jointly, which the peer also sends unasked.

  /// BYTES of a message of MESSAGE_BYTES have come by frames.
  void came_by_frames(std::size_t bytes, std::size_t message_bytes) {
    bytes_since_trial_ += bytes;
    if (pays_) trial_.takes(bytes);
    review(message_bytes);
    is_asking_ = !pays_ && is_trial_due(message_bytes);
  }
  /// Such messages cross others: of them nothing is to be known now.
  void put_off_trial() {
    bytes_since_trial_ = 0;
    is_asking_ = false;
  }
  /// How long a message has to be for the peer to ask before it sends it; 0: none.
  [[nodiscard]] std::size_t asked_from_bytes() const {
    if (pays_) return trial_.is_running() ? 0 : bytes_min();
    return is_asking_ || trial_.is_running() ? 1 : 0;
  }
  /// What is tried, as the peer hears of it.
  [[nodiscard]] OneCopyWord trial_word() const { return trials_ << 1 | (tries_one_copy_ ? 1 : 0); }
  /// The peer has begun to try ONE copy, or frames, for messages the other way.
  void join_trial(bool one) {
    constexpr std::size_t no_message_bytes = 0;
    if (pays_ == one || trial_.is_running() || !is_settled(pays_)) return;
    prepare_trial(no_message_bytes);
  }

  /// Whether a run of at least run_bytes_min is to be timed: all of them until it is known what
  /// they take, also when a trial begins, and then one in a few.
  bool wants_time(Copy copy) {
    return lacks_time(copy) || (does_concern(copy) && record(copy).is_due());
  }
  /// Whether it is not known yet.
  [[nodiscard]] bool lacks_time(Copy copy) const {
    return does_concern(copy) && !record(copy).is_settled();
  }
  /// A run of BYTES took NS.
  void took(Copy copy, std::size_t bytes, std::uint64_t ns) {
    record(copy).add(bytes, pace_of(bytes, ns));
  }

 private:
  /// In 1/16 ns per KiB: a mean, since it is the work that counts. One run may meet an interrupt.
  class Record {
   public:
    /// The next bytes do not count, and what counted before them is forgotten then.
    void begin_again(std::size_t bytes) { left_out_bytes_ = bytes; }
    void add(std::size_t bytes, std::uint32_t pace) {
      if (left_out_bytes_ > 0) {
        left_out_bytes_ -= std::min(left_out_bytes_, bytes);
        runs_ = 0;
        return;
      }
      pace = std::max<std::uint32_t>(pace, 1);
      if (runs_ < runs_at_first) {
        pace_ = runs_ == 0 ? pace : std::min(pace_, pace);
        ++runs_;
      } else {
        runs_ = std::min<std::uint32_t>(runs_ + 1, runs_max);
        pace_ = ((runs_ - 1) * pace_ + std::min(pace, 3 * pace_)) / runs_;
      }
    }
    /// One run in a few.
    bool is_due() {
      untimed_ = static_cast<std::uint8_t>((untimed_ + 1) % runs_per_look);
      return untimed_ == 0;
    }
    [[nodiscard]] bool is_settled() const { return left_out_bytes_ == 0 && runs_ >= runs_min; }
    [[nodiscard]] std::uint32_t pace() const { return pace_; }

   private:
    static constexpr std::uint32_t runs_at_first = 3;  // of which the quickest counts
    static constexpr std::uint32_t runs_min = 4;
    static constexpr std::uint32_t runs_max = 32;  // that a mean is of
    /// The clock costs 50 ns. Odd, as the number of chunks of a message seldom is.
    static constexpr std::uint8_t runs_per_look = 9;
    std::size_t left_out_bytes_ = 0;
    std::uint32_t pace_ = 0;
    std::uint32_t runs_ = 0;
    std::uint8_t untimed_ = 0;  // since the last look
  };

  /// From one trial to the next, in trials: the fewest, doubled after each that changed nothing, up
  /// to so many that trials take one part in GAP_SHARE of the time, but no fewer and no more than
  /// these.
  static constexpr std::uint32_t gap_min = 4;
  static constexpr std::uint32_t gap_limit_min = 64;
  static constexpr std::uint32_t gap_limit_max = 512;
  static constexpr std::uint32_t gap_share = 400;
  /// Bytes that do not count when the way changes; of longer messages the first one.
  static constexpr std::size_t left_out_bytes_min = std::size_t{2} << 20;

  /// What it takes to agree on who copies what, beyond what frames take.
  static constexpr std::uint64_t agreement_ns = 200;

  [[nodiscard]] bool does_concern(Copy copy) const {
    if (copy == Copy::into_frame) return kind_ == Kind::by_receiver;
    return copy != Copy::by_peer || kind_ == Kind::jointly;
  }
  /// What is copied jointly comes the other way in a trial alone, and what comes by frames is
  /// counted in came_by_frames().
  bool next_jointly(std::size_t bytes) {
    const bool is_one = pays_ ? !trial_.is_running() && bytes >= bytes_min() : trial_.takes(bytes);
    if (is_one) bytes_since_trial_ += bytes;
    return is_one;
  }
  void review(std::size_t bytes) {
    if (!is_other_way_quicker()) return;
    pays_ = !pays_;
    gap_ = gap_min;
    pace_at_trial_ = 0;
    if (kind_ == Kind::jointly) trial_ = {};
    change_to(pays_, bytes);
  }
  [[nodiscard]] bool is_trial_due(std::size_t bytes) const {
    return is_settled(pays_) && !trial_.is_running() &&
           bytes_since_trial_ >=
               (has_slowed_down() ? gap_min : gap_) *
                   std::max(OneCopyTrial::bytes_min, OneCopyTrial::messages_min * bytes);
  }
  /// The way in use takes half as long again as it did: what the other one took is old news.
  [[nodiscard]] bool has_slowed_down() const {
    return pace_at_trial_ > 0 && pace(pays_) * 2 > pace_at_trial_ * 3;
  }
  void begin_trial(std::size_t bytes) {
    ++trials_;
    tries_one_copy_ = !pays_;
    if (has_slowed_down()) gap_ = gap_min;
    prepare_trial(bytes);
  }
  void prepare_trial(std::size_t bytes) {
    gap_ = std::min(gap_ * 2, gap_limit());
    pace_at_trial_ = pace(pays_);
    bytes_since_trial_ = 0;
    is_asking_ = false;
    trial_.begin();
    change_to(!pays_, bytes);
  }
  [[nodiscard]] std::uint32_t gap_limit() const {
    const std::uint64_t own = std::max(pace(pays_), 1U), other = pace(!pays_);
    const std::uint64_t lost = other > own ? other - own : 0;  // of each trial, in its own length
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(gap_share * lost / own, gap_limit_min, gap_limit_max));
  }
  /// What is to come goes by ONE copy, or by frames, from a message of BYTES on.
  void change_to(bool one, std::size_t bytes) {
    const std::size_t own_bytes = kind_ == Kind::jointly && one ? bytes / 2 : bytes;
    const std::size_t left_out_bytes = std::max(own_bytes, left_out_bytes_min);
    for (const Copy copy : one ? copies_of_one : copies_by_frames)
      record(copy).begin_again(left_out_bytes);
  }
  /// What a KiB takes by frames. Where messages cross each side makes both copies of one.
  [[nodiscard]] std::uint32_t pace_by_frames() const {
    const bool does_both = kind_ == Kind::by_receiver;
    return (does_both ? record(Copy::into_frame).pace() : 0) + record(Copy::out_of_frame).pace();
  }
  /// What it takes by one copy.
  [[nodiscard]] std::uint32_t pace_of_one() const {
    if (kind_ == Kind::by_receiver) return record(Copy::by_kernel).pace();
    return std::max(record(Copy::by_kernel).pace(), record(Copy::by_peer).pace()) / 2;
  }
  [[nodiscard]] std::uint32_t pace(bool one) const {
    return one ? pace_of_one() : pace_by_frames();
  }
  /// Those who write and read frames also wait for each other, a tenth of the time; so where each
  /// does both, frames have to be less work by as much, and by more where one copy is in use.
  [[nodiscard]] bool is_other_way_quicker() const {
    if (!is_settled(true) || !is_settled(false)) return false;
    const bool does_both = kind_ == Kind::by_receiver;
    const std::uint32_t frames = pace_by_frames(), one = pace_of_one();
    if (pays_) return frames * 20 < one * (does_both ? 17 : 19);
    return one * 20 < frames * (does_both ? 22 : 19);
  }
  /// While it pays to copy jointly, from which length on: so that what is saved is more than what
  /// it takes to agree.
  [[nodiscard]] std::size_t bytes_min() const {
    if (!is_settled(true) || !is_settled(false)) return 1;
    const std::uint32_t frames = pace_by_frames(), one = pace_of_one();
    if (frames <= one) return 1;  // it is about to be found that it does not pay
    return std::max<std::size_t>(bytes_of(agreement_ns, frames - one), 1);
  }
  /// Whether it is known what ONE copy takes, or frames.
  [[nodiscard]] bool is_settled(bool one) const {
    const auto& copies = one ? copies_of_one : copies_by_frames;
    return std::ranges::none_of(copies, [&](Copy copy) { return lacks_time(copy); });
  }
  Record& record(Copy copy) { return records_[static_cast<std::size_t>(copy)]; }
  [[nodiscard]] const Record& record(Copy copy) const {
    return records_[static_cast<std::size_t>(copy)];
  }

  static constexpr std::array copies_by_frames = {Copy::into_frame, Copy::out_of_frame};
  static constexpr std::array copies_of_one = {Copy::by_kernel, Copy::by_peer};

  std::array<Record, 4> records_;
  std::uint32_t gap_ = gap_min;
  std::uint32_t pace_at_trial_ = 0;      // of the way in use, when the last one began
  std::uint64_t bytes_since_trial_ = 0;  // began
  OneCopyTrial trial_;
  std::uint32_t trials_ = 0;     // that this side has begun
  bool tries_one_copy_ = false;  // in the last of them
  bool is_asking_ = false;       // for messages to try one copy with
  Kind kind_;
  bool pays_ = false;
};

}  // namespace hawser::hostmem
