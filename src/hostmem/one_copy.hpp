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
// trial: a few messages go the other way, so that its pace is renewed too.
//
// Only one of the two peers measures, and the other does as it does: what a core is to copy lies in
// the caches of the one that has read it before, and each would spoil what the other measures.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/pace.hpp"

namespace hawser::hostmem {

class OneCopyChoice {
 public:
  enum class Copy : std::uint8_t { into_frame, out_of_frame, by_kernel };
  /// Shorter runs are not measured, and tell little of longer ones.
  static constexpr std::size_t run_bytes_min = 8192;

  /// LEADS: this one of the two measures.
  explicit OneCopyChoice(bool leads) : leads_(leads) {}

  /// While messages flow both ways: whether the next one from the peer is to be copied once.
  bool next() {
    if (!leads_) return pays_;
    if (!is_known(Copy::into_frame) || !is_known(Copy::out_of_frame)) return false;
    if (!is_known(Copy::by_kernel)) return true;
    is_first_of_trial_ = false;
    if (trial_left_ > 0 && --trial_left_ > 0) return !pays_;
    if (is_found_otherwise()) {
      pays_ = !pays_;
      gap_ = gap_min;
    }
    if (++since_trial_ < gap_) return pays_;
    since_trial_ = 0;
    gap_ = std::min<std::uint16_t>(gap_ * 2, gap_max);
    trial_left_ = messages_of_a_trial;
    is_first_of_trial_ = true;
    return !pays_;
  }
  /// The peer has copied a message of ours ONCE, or has not. (Trials are not followed.)
  void note_peer(bool once) {
    if (leads_) return;
    otherwise_ = once != pays_ ? static_cast<std::uint8_t>(otherwise_ + 1) : 0;
    if (otherwise_ <= messages_of_a_trial) return;
    otherwise_ = 0;
    pays_ = once;
  }
  /// Whether a run of at least run_bytes_min is to be timed. What is done seldom always is.
  bool wants_time(Copy copy) {
    if (!leads_) return false;
    if (copy == Copy::by_kernel || pays_ || !is_known(copy)) return true;
    runs_ = static_cast<std::uint8_t>((runs_ + 1) % runs_per_look);
    return runs_ == 0;
  }
  /// A run of BYTES took NS.
  void took(Copy copy, std::size_t bytes, std::uint64_t ns) {
    if (is_first_of_trial_) return;
    records_[static_cast<std::size_t>(copy)].add(pace_of(bytes, ns));
  }

 private:
  /// In 1/16 ns per KiB: a mean, since it is the work that counts. One run may meet an interrupt.
  class Record {
   public:
    void add(std::uint32_t pace) {
      if (runs_ < runs_of_a_beginning) {
        pace_ = runs_ == 0 ? pace : std::min(pace_, pace);
        ++runs_;
      } else {
        pace_ = (7 * pace_ + std::min(pace, 3 * pace_)) / 8;
      }
      pace_ = std::max<std::uint32_t>(pace_, 1);
    }
    [[nodiscard]] bool is_known() const { return runs_ == runs_of_a_beginning; }
    [[nodiscard]] std::uint32_t pace() const { return pace_; }

   private:
    /// The first runs may touch memory for the first time: of these, the quickest.
    static constexpr std::uint8_t runs_of_a_beginning = 3;
    std::uint32_t pace_ = 0;
    std::uint8_t runs_ = 0;
  };

  /// Messages between two trials: the fewest, doubled after each, and the most.
  static constexpr std::uint16_t gap_min = 64;
  static constexpr std::uint16_t gap_max = 2048;
  static constexpr std::uint8_t messages_of_a_trial = 4;
  static constexpr std::uint8_t looks_for_change = 16;  // messages in a row
  static constexpr std::uint8_t runs_per_look = 8;      // the clock costs 50 ns

  /// The other way is quicker, and that is no accident: a survey of the ways to copy, say.
  bool is_found_otherwise() {
    otherwise_ = is_one_copy_quicker() != pays_ ? static_cast<std::uint8_t>(otherwise_ + 1) : 0;
    if (otherwise_ < looks_for_change) return false;
    otherwise_ = 0;
    return true;
  }
  /// By a tenth.
  [[nodiscard]] bool is_one_copy_quicker() const {
    return pace(Copy::by_kernel) * 10 < (pace(Copy::into_frame) + pace(Copy::out_of_frame)) * 9;
  }
  [[nodiscard]] bool is_known(Copy copy) const {
    return records_[static_cast<std::size_t>(copy)].is_known();
  }
  [[nodiscard]] std::uint32_t pace(Copy copy) const {
    return records_[static_cast<std::size_t>(copy)].pace();
  }

  std::array<Record, 3> records_;
  std::uint16_t gap_ = gap_min;
  std::uint16_t since_trial_ = 0;  // messages
  std::uint8_t trial_left_ = 0;    // messages of the trial that is under way
  std::uint8_t runs_ = 0;          // since the last look
  std::uint8_t otherwise_ = 0;     // messages in a row that spoke for the other way
  /// What it reads may lie in the other core's caches, since that was the one to read it before.
  bool is_first_of_trial_ = false;
  bool pays_ = false;
  bool leads_;
};

}  // namespace hawser::hostmem
