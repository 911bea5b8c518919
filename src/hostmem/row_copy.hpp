// RowCopyChoice: whether frames of one or two KiB that follow each other without an answer are
// written past the caches, where the peer's core is far. There each line that is stored to comes
// from the other core first, some five at a time; what passes the caches comes from nowhere (EPYC
// 9004, 1 KiB: 660 and 220 ns there; 135 and 205 where the cores share a cache). Who waits for a
// single frame gets it sooner out of the other's cache, so only rows are written like that.
//
// A state machine without a clock. How long one copy takes tells nothing here: ordinary stores
// wait in the processor while the next frame is made, and stores past the caches wait for them. So
// windows of several frames are measured, with all that happens between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hostmem/pace.hpp"

namespace hawser::hostmem {

class RowCopyChoice {
 public:
  /// Whether next() is to know the time.
  [[nodiscard]] bool wants_time() const { return frames_ == 0; }
  /// A frame of a row, of BYTES, is about to be written: whether past the caches. NOW counts if
  /// wants_time().
  bool next(std::size_t bytes, std::uint64_t now_ns) {
    if (frames_ == 0) {
      if (bytes_ > 0) end_window(now_ns - began_ns_);
      began_ns_ = now_ns;
      bytes_ = 0;
    }
    bytes_ += static_cast<std::uint32_t>(bytes);
    frames_ = static_cast<std::uint8_t>((frames_ + 1) % frames_of_a_window);
    return is_past_cache();
  }
  /// The next frame is the first of another row.
  void begin_row() {
    frames_ = 0;
    bytes_ = 0;
  }

 private:
  static constexpr std::uint8_t frames_of_a_window = 16;
  /// From one trial of the other way, of one window, to the next: the fewest windows, doubled after
  /// each that changed nothing, and the most.
  static constexpr std::uint16_t gap_min = 4;
  static constexpr std::uint16_t gap_max = 64;

  [[nodiscard]] bool is_past_cache() const { return pays_ != is_trial_; }
  void end_window(std::uint64_t ns) {
    note(pace_of(bytes_, ns));
    is_trial_ = false;
    if (is_other_way_quicker()) {
      pays_ = !pays_;
      gap_ = gap_min;
    }
    if (++windows_ < gap_) return;
    windows_ = 0;
    gap_ = std::min<std::uint16_t>(gap_ * 2, gap_max);
    is_trial_ = true;
  }
  /// A mean, since a window may meet an interrupt, or a pause of the program. What a trial found
  /// long ago does not count.
  void note(std::uint32_t pace) {
    std::uint32_t& mean = paces_[is_past_cache() ? 1 : 0];
    mean = mean == 0 || is_trial_ ? pace : (3 * mean + std::min(pace, 3 * mean)) / 4;
  }
  /// By a fifth, to write past the caches: the reader gets it out of memory.
  [[nodiscard]] bool is_other_way_quicker() const {
    const auto [ordinary, past_cache] = paces_;
    if (ordinary == 0 || past_cache == 0) return false;
    return pays_ ? ordinary < past_cache : past_cache * 5 < ordinary * 4;
  }

  std::array<std::uint32_t, 2> paces_{};  // ordinary, past the caches; 0: not known
  std::uint64_t began_ns_ = 0;            // the window
  std::uint32_t bytes_ = 0;               // in it; 0: none has begun
  std::uint16_t windows_ = 0;             // since a trial began
  std::uint16_t gap_ = gap_min;
  std::uint8_t frames_ = 0;  // in the window
  bool is_trial_ = false;
  bool pays_ = false;
};

}  // namespace hawser::hostmem
