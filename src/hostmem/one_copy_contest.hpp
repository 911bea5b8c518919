// OneCopyContest: which of two ways of copying long messages between processes of one host is
// quicker: by frames, or one copy by the kernel. That depends on whether the cores share a cache
// (EPYC 9004, per KiB: two copies 45 to 50 ns there and 105 to 145 elsewhere; one 75 to 90, or 160
// to 250 if the sender has just written what is read), which nobody tells us and which changes: so
// both are measured.
//
// A state machine without a clock: before a run of bytes is copied wants_time() says whether took()
// is to hear how long that took. Now and then there is a trial: some MiB go the other way, so that
// its pace is renewed too. Whenever the way changes, the first bytes do not count: what is copied
// then lies in the caches of the wrong core, of the one that copied it before.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/copy_record.hpp"

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

/// What one side says to the other: bit 0, which way; the others, how many trials have begun.
using OneCopyWord = std::uint32_t;

enum class TimedCopy : std::uint8_t { into_frame, out_of_frame, by_kernel, by_peer };

/// WAYS has the copies that this side times: `by_frames`, which it makes one after the other, and
/// `of_one`, each of which makes an equal part at the same time. And how many twentieths of what
/// the way in use takes the other one must stay below to replace it: `frames_below`, `one_below`.
template <class Ways>
class OneCopyContest {
 public:
  using Copy = TimedCopy;
  /// Shorter runs are not measured: they are those of shorter messages, or the ends of long ones.
  static constexpr std::size_t run_bytes_min = 16384;

  /// Whether a run of at least run_bytes_min is to be timed: all of them until it is known what
  /// they take, also when a trial begins, and then one in a few.
  bool wants_time(Copy copy) {
    return does_concern(copy) && (!record(copy).is_settled() || record(copy).is_due());
  }
  /// A run of BYTES took NS.
  void took(Copy copy, std::size_t bytes, std::uint64_t ns) { record(copy).add(bytes, ns); }

 protected:
  /// One copy does.
  [[nodiscard]] bool pays() const { return pays_; }
  /// Whether it is known what ONE copy takes, or frames.
  [[nodiscard]] bool is_settled(bool one) const {
    const auto all_are = [&](const auto& copies) {
      return std::ranges::all_of(copies, [&](Copy copy) { return record(copy).is_settled(); });
    };
    return one ? all_are(Ways::of_one) : all_are(Ways::by_frames);
  }
  /// What a KiB takes by ONE copy, or by frames.
  [[nodiscard]] std::uint32_t pace(bool one) const {
    std::uint32_t slowest = 0, sum = 0;
    for (const Copy copy : Ways::of_one) slowest = std::max(slowest, record(copy).pace());
    for (const Copy copy : Ways::by_frames) sum += record(copy).pace();
    return one ? slowest / static_cast<std::uint32_t>(Ways::of_one.size()) : sum;
  }
  /// A message of BYTES comes, perhaps by the other way from now on: then true.
  bool review(std::size_t bytes) {
    if (!is_other_way_quicker()) return false;
    pays_ = !pays_;
    gap_ = gap_min;
    pace_at_trial_ = 0;
    change_to(pays_, bytes);
    return true;
  }

  /// So many have been copied since the last trial began, too.
  void count(std::size_t bytes) { bytes_since_trial_ += bytes; }
  void put_off_trial() { bytes_since_trial_ = 0; }
  [[nodiscard]] bool is_trial_due(std::size_t bytes) const {
    return is_settled(pays_) && !trial_.is_running() &&
           bytes_since_trial_ >=
               (has_slowed_down() ? gap_min : gap_) *
                   std::max(OneCopyTrial::bytes_min, OneCopyTrial::messages_min * bytes);
  }
  /// From a message of BYTES on.
  void begin_trial(std::size_t bytes) {
    if (has_slowed_down()) gap_ = gap_min;
    gap_ = std::min(gap_ * 2, gap_limit());
    pace_at_trial_ = pace(pays_);
    bytes_since_trial_ = 0;
    trial_.begin();
    change_to(!pays_, bytes);
  }
  OneCopyTrial& trial() { return trial_; }
  [[nodiscard]] bool is_trying() const { return trial_.is_running(); }

 private:
  /// From one trial to the next, in trials: the fewest, doubled after each that changed nothing, up
  /// to so many that trials take one part in GAP_SHARE of the time, but no fewer and no more than
  /// these.
  static constexpr std::uint32_t gap_min = 4;
  static constexpr std::uint32_t gap_limit_min = 64;
  static constexpr std::uint32_t gap_limit_max = 512;
  static constexpr std::uint32_t gap_share = 400;
  /// Bytes that do not count when the way changes; of longer messages the first one.
  static constexpr std::size_t left_out_bytes_min = std::size_t{2} << 20;

  static bool does_concern(Copy copy) {
    return std::ranges::find(Ways::by_frames, copy) != Ways::by_frames.end() ||
           std::ranges::find(Ways::of_one, copy) != Ways::of_one.end();
  }
  [[nodiscard]] bool is_other_way_quicker() const {
    if (!is_settled(true) || !is_settled(false)) return false;
    return pace(!pays_) * 20 < pace(pays_) * (pays_ ? Ways::frames_below : Ways::one_below);
  }
  /// The way in use takes half as long again as it did: what the other one took is old news.
  [[nodiscard]] bool has_slowed_down() const {
    return pace_at_trial_ > 0 && pace(pays_) * 2 > pace_at_trial_ * 3;
  }
  [[nodiscard]] std::uint32_t gap_limit() const {
    const std::uint64_t own = std::max(pace(pays_), 1U), other = pace(!pays_);
    const std::uint64_t lost = other > own ? other - own : 0;  // of each trial, in its own length
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(gap_share * lost / own, gap_limit_min, gap_limit_max));
  }
  /// What is to come goes by ONE copy, or by frames, from a message of BYTES on.
  void change_to(bool one, std::size_t bytes) {
    const auto begin_again = [&](const auto& copies, std::size_t own_bytes) {
      for (const Copy copy : copies)
        record(copy).begin_again(std::max(own_bytes, left_out_bytes_min));
    };
    one ? begin_again(Ways::of_one, bytes / Ways::of_one.size())
        : begin_again(Ways::by_frames, bytes);
  }
  CopyRecord& record(Copy copy) { return records_[static_cast<std::size_t>(copy)]; }
  [[nodiscard]] const CopyRecord& record(Copy copy) const {
    return records_[static_cast<std::size_t>(copy)];
  }

  std::array<CopyRecord, 4> records_;
  std::uint32_t gap_ = gap_min;
  std::uint32_t pace_at_trial_ = 0;      // of the way in use, when the last one began
  std::uint64_t bytes_since_trial_ = 0;  // began
  OneCopyTrial trial_;
  bool pays_ = false;
};

}  // namespace hawser::hostmem
