// MeasuredCopy: long runs of bytes between this process's memory and memory that another one writes
// or reads, copied by what is quickest here and now. That depends on the processor, on the length,
// on how the two ends lie within a cache line, and on whether the two cores share a cache, which
// nobody tells us, and which changes when a process, or a virtual machine, is moved. So it is
// measured, now and then.
//
// CopyChoice is the state machine, without a clock, for runs that are alike: next() says how the
// next run is to be copied and whether its time is wanted; took() hears it. In a *survey* each way
// has a few runs, of which the quickest counts. Afterwards the best way is used, and looked at
// seldom: if it takes another time than it used to, things have changed, and there is a survey; at
// once if it takes several times as long. Of long runs only the beginning is measured, since it may
// be copied by a way that takes twenty times as long as the best.
// A reader whose destination is in no cache does not go by what it measures (note_place).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "base/copy.hpp"
#include "hostmem/cold_looks.hpp"
#include "hostmem/pace.hpp"
#include "platform/clock.hpp"

namespace hawser::hostmem {

enum class CopyWay : std::uint8_t { vector, string, past_cache };  // see base/copy.hpp

/// Which end of a copy is shared with a peer.
enum class CopyEnds : std::uint8_t {
  to_peer,          // the peer reads it: what passes the cache may reach it sooner
  from_peer,        // the peer writes it again
  from_peer_to_us,  // we write it next
};

class CopyChoice {
 public:
  struct Next {
    CopyWay way;
    bool is_measured;
  };

  explicit constexpr CopyChoice(CopyEnds ends = CopyEnds::to_peer) : ends_(ends) {}

  Next next() {
    if (left_ > 1) [[likely]] {
      --left_;
      return {best(), false};
    }
    return {is_in_survey() ? static_cast<CopyWay>(tried_) : best(), true};
  }
  /// Whether a measured run is to be preceded by note_place(): out of lines that a peer writes
  /// again.
  [[nodiscard]] bool wants_place() const { return ends_ == CopyEnds::from_peer; }
  /// Whether where the next run goes to IS_COLD, in none of this core's caches. To write whole
  /// lines there without fetching them seems to be quick. But it drives the lines that are read out
  /// of the caches as well, and the peer waits for memory: a price that no run of ours shows.
  void note_place(bool is_cold) { cold_looks_.note(is_cold); }
  /// Of a run of RUN_BYTES the first measured_bytes_of(RUN_BYTES) took NS, by the way that next()
  /// said.
  void took(std::size_t run_bytes, std::uint64_t ns) {
    const std::uint32_t pace = hostmem::pace_of(measured_bytes_of(run_bytes), ns);
    if (is_in_survey()) {
      note_trial(pace, run_bytes);
    } else {
      note_look(pace, run_bytes);
    }
  }
  static constexpr std::size_t measured_bytes_of(std::size_t run_bytes) {
    return std::min<std::size_t>(run_bytes, 16 << 10);
  }
  [[nodiscard]] CopyWay best() const { return cold_looks_.are_cold() ? CopyWay::vector : best_; }

 private:
  /// A look costs two readings of the clock.
  static constexpr std::uint16_t runs_between_looks(std::size_t run_bytes) {
    constexpr std::size_t bytes_between_looks = 1 << 20, fewest = 8, most = 256;
    return static_cast<std::uint16_t>(
        std::clamp(bytes_between_looks / std::max<std::size_t>(run_bytes, 1), fewest, most));
  }
  static constexpr std::uint16_t runs_in_doubt = 4;
  /// Times as long as usual that tell of a peer that has gone to a far core, or come from there: 16
  /// to 20 where the loop is used (EPYC 9004). Surveys for the sake of that need no gap: the next
  /// one compares with what this one found.
  static constexpr std::uint32_t times_of_a_move = 3;
  static constexpr std::uint8_t looks_for_change = 3;  // one may be an accident (an interrupt)
  static constexpr std::uint8_t runs_of_a_trial = 3;
  /// Runs from one survey to the next: the fewest, doubled after each that changed nothing, since
  /// a way that is not the best may take many times as long; and the most.
  static constexpr std::uint16_t gap_min = 64;
  static constexpr std::uint16_t gap_max = 4096;

  /// What a reader takes longer out of memory than out of a cache that both cores share: 700 to
  /// 730 ns for 16 KiB (EPYC 9004 and 9005).
  static constexpr std::uint32_t pace_of_reading_memory = 45 * 16;
  void begin_survey() {
    tried_ = 0;
    trials_ = 0;
    strange_ = 0;
  }
  void note_trial(std::uint32_t pace, std::size_t run_bytes) {
    paces_[tried_] = trials_ == 0 ? pace : std::min(paces_[tried_], pace);
    if (++trials_ < runs_of_a_trial) return;
    trials_ = 0;
    if (++tried_ == ways()) end_survey(run_bytes);
  }
  void end_survey(std::size_t run_bytes) {
    const CopyWay before = best_;
    best_ = best_in_cache();
    // What goes past the cache has to be better by more than what its reader pays.
    if (ways() > 2 && pace_of(CopyWay::past_cache) + pace_of_reading_memory < pace_of(best_))
      best_ = CopyWay::past_cache;
    gap_ = best_ != before ? gap_min : std::min<std::uint16_t>(gap_ * 2, gap_max);
    since_survey_ = 0;
    wait_for_look(std::min(gap_, runs_between_looks(run_bytes)));
  }
  /// The string instruction has to be much better. Where it is not, trials find now the one and now
  /// the other better, by a tenth and more; and a peer that writes again what was read by it waits
  /// (EPYC 9004, cores that share a cache: 950 ns for 16 KiB, and 400 after vectors).
  [[nodiscard]] CopyWay best_in_cache() const {
    return pace_of(CopyWay::string) * 10 < pace_of(CopyWay::vector) * 7 ? CopyWay::string
                                                                        : CopyWay::vector;
  }
  void note_look(std::uint32_t pace, std::size_t run_bytes) {
    const std::uint32_t usual = pace_of(best());
    const bool is_strange = pace * 5 < usual * 4 || pace * 4 > usual * 5;
    if (!is_strange) paces_[static_cast<std::size_t>(best())] = (7 * usual + pace) / 8;
    strange_ = is_strange ? std::min<std::uint8_t>(strange_ + 1, looks_for_change) : 0;
    const bool has_changed = strange_ == looks_for_change;
    // What goes past the cache takes as long wherever the peer is: such a look tells nothing.
    const bool is_in_doubt = has_changed || best_ == CopyWay::past_cache;
    if (since_survey_ >= gap_max || (is_in_doubt && since_survey_ >= gap_) ||
        (has_changed && pace > times_of_a_move * usual)) {
      begin_survey();
    } else {
      const bool may_be_accident = strange_ > 0 && strange_ < looks_for_change;
      wait_for_look(may_be_accident ? runs_in_doubt : runs_between_looks(run_bytes));
    }
  }
  void wait_for_look(std::uint16_t runs) {
    left_ = runs;
    since_survey_ = static_cast<std::uint16_t>(since_survey_ + runs);
  }
  [[nodiscard]] bool is_in_survey() const { return tried_ < ways(); }
  /// How many of them come into question.
  [[nodiscard]] std::uint8_t ways() const { return ends_ == CopyEnds::to_peer ? 3 : 2; }
  [[nodiscard]] std::uint32_t pace_of(CopyWay way) const {
    return paces_[static_cast<std::size_t>(way)];
  }

  std::array<std::uint32_t, 3> paces_{};  // of each way, in the last survey; of the best since then
  std::uint16_t left_ = 0;                // runs until the next look; in a survey at most 1
  std::uint16_t gap_ = gap_min;
  std::uint16_t since_survey_ = 0;  // runs until then
  CopyEnds ends_;
  std::uint8_t tried_ = 0;          // ways, in this survey; all of them: there is none
  std::uint8_t trials_ = 0;         // of the way that is tried now
  std::uint8_t strange_ = 0;        // looks in a row that found another pace
  CopyWay best_ = CopyWay::vector;  // wherever it goes to
  ColdLooks cold_looks_;
};
static_assert(sizeof(CopyChoice) <= 24);

/// Where the lines of a source are: how they are asked for ahead (base/copy.hpp), if by vectors.
enum class SourceLines : std::uint8_t { not_asked_for, of_peer, maybe_cold };

class MeasuredCopy {
 public:
  explicit MeasuredCopy(CopyEnds ends) { choices_.fill(CopyChoice(ends)); }

  [[gnu::always_inline]] void operator()(std::byte* to, const std::byte* from, std::size_t bytes,
                                         SourceLines lines = SourceLines::maybe_cold) {
    if (bytes < base::long_copy_bytes) {
      base::copy_bytes(to, from, bytes);
    } else {
      copy_measured(to, from, bytes, lines);
    }
  }

 private:
  static constexpr std::array<std::size_t, 2> longer_bytes = {4096, 8192};

  void copy_measured(std::byte* to, const std::byte* from, std::size_t bytes, SourceLines lines) {
    CopyChoice& choice = choices_[kind_of(to, from, bytes)];
    const CopyChoice::Next next = choice.next();
    if (next.is_measured) [[unlikely]] {
      copy_and_measure(choice, next.way, {to, from, bytes, lines});
    } else {
      copy(next.way, lines, to, from, bytes);
    }
  }
  struct Run {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    SourceLines lines;
  };
  [[gnu::noinline]] static void copy_and_measure(CopyChoice& choice, CopyWay way, const Run& run) {
    const std::size_t measured = CopyChoice::measured_bytes_of(run.bytes);
    if (choice.wants_place()) choice.note_place(is_in_no_cache(run.to + measured / 2));
    const std::uint64_t began_ns = platform::monotonic_ns();
    copy(way, run.lines, run.to, run.from, measured);
    choice.took(run.bytes, platform::monotonic_ns() - began_ns);
    if (measured < run.bytes)
      copy(choice.best(), run.lines, run.to + measured, run.from + measured, run.bytes - measured);
  }
  /// Runs of one kind are alike.
  static std::size_t kind_of(const std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto difference =
        reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    const std::size_t length =
        std::size_t{bytes >= longer_bytes[0]} + std::size_t{bytes >= longer_bytes[1]};
    return 2 * length + (difference % base::cache_line_bytes == 0 ? 1 : 0);
  }
  static void copy(CopyWay way, SourceLines lines, std::byte* to, const std::byte* from,
                   std::size_t bytes) {
    switch (way) {
      case CopyWay::vector:
        return copy_by_vectors(lines, to, from, bytes);
      case CopyWay::string:
        return base::copy_string(to, from, bytes);
      case CopyWay::past_cache:
        return base::copy_past_cache(to, from, bytes);
    }
  }

  static void copy_by_vectors(SourceLines lines, std::byte* to, const std::byte* from,
                              std::size_t bytes) {
    switch (lines) {
      case SourceLines::not_asked_for:
        return base::copy_long(to, from, bytes);
      case SourceLines::of_peer:
        return base::copy_from_peer(to, from, bytes);
      case SourceLines::maybe_cold:
        return base::copy_maybe_cold(to, from, bytes);
    }
  }

  std::array<CopyChoice, 2 * (longer_bytes.size() + 1)> choices_;
};

}  // namespace hawser::hostmem
