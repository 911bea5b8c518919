// Acknowledger: when the receiver of a stream of numbered frames has to say what it has.
//
// At once where the sender waits for it or may be wrong: a frame came twice, ahead of its turn, or
// the sender asks. Otherwise after a number of frames, or a time after the first of them, so that
// few acknowledgements are sent and no window closes for want of one.
//
// Pure state machine, as SendWindow. Threads: the lane lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.hpp"

namespace hawser::delivery {

using base::never_ns;

class Acknowledger {
 public:
  static constexpr std::size_t bytes_per_frame = 4096;

  struct Settings {
    std::uint32_t frames = 8;            // that one acknowledgement may be about
    std::uint64_t delay_ns = 1'000'000;  // after the first of them
  };

  explicit Acknowledger(const Settings& settings) : settings_(settings) {}

  /// The sender may have WINDOW frames on their way: it hears from us before they are all here.
  void follow(std::uint32_t window) { frames_ = std::clamp(window / 2, 1U, settings_.frames); }

  [[nodiscard]] bool owes() const { return owed_ > 0; }
  /// A frame of BYTES was delivered. NOW counts only if none was owed before. A long one counts for
  /// several: its sender has few buffers of that length.
  void on_delivered(std::uint64_t now_ns, std::size_t bytes) {
    if (owed_ == 0) owed_since_ns_ = now_ns;
    owed_ += 1 + static_cast<std::uint32_t>(bytes / bytes_per_frame);
  }
  /// The sender should hear from us at once.
  void hurry() { is_urgent_ = true; }

  [[nodiscard]] std::uint64_t deadline_ns() const {
    if (is_urgent_ || owed_ >= frames_) return 0;
    return owed_ == 0 ? never_ns : owed_since_ns_ + settings_.delay_ns;
  }
  /// An acknowledgement has left.
  void on_sent() {
    owed_ = 0;
    is_urgent_ = false;
  }

 private:
  const Settings settings_;
  std::uint32_t frames_ = settings_.frames;
  std::uint32_t owed_ = 0;
  bool is_urgent_ = false;
  std::uint64_t owed_since_ns_ = 0;
};

}  // namespace hawser::delivery
