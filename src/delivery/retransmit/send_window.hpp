// SendWindow: the frames to one peer that are not acknowledged yet, which of them to send again,
// and how many more may leave.
//
// A frame is kept by its owner until it is released here, or only counts (its `frame` is null)
// where it can't be sent again since its channel never loses any. One that left by a reliable
// channel is taken for lost only if that broke. When nothing is heard for a time, the oldest frame
// is sent again, or, if it is not kept, the peer is asked what it has: what it says may have been
// lost too. An acknowledgement that names frames behind a gap has the gap sent again at once. The
// time doubles with every attempt that brings nothing (RFC 6298 gives the estimate of the round
// trip).
//
// Pure state machine: fed acknowledgements and `now`, it calls back with what to do; it owns no
// clock, channel or frame. Threads: the lane lock.
// Bounds:    a window holds at most frames_max frames, whatever the peer allows; the interval
//            between attempts grows to timeout_ns_max and their number is not limited, since a peer
//            that computes answers nothing (who is gone, others find out).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/growing_queue.hpp"
#include "base/time.hpp"
#include "delivery/retransmit/acknowledgement.hpp"

namespace hawser::delivery {

using base::never_ns;

/// A frame on its way.
struct SentFrame {
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
  std::byte* frame = nullptr;  // kept by its channel; null: not kept
  std::uint8_t channel = 0;
  std::uint8_t rail = 0;  // that keeps it
  bool may_be_lost = false;
};

class SendWindow {
 public:
  static constexpr std::uint32_t frames_max = 4096;
  static constexpr std::uint32_t frames_per_measurement = 8;

  struct Settings {
    std::uint32_t frames_initial = 16;  // that may leave before the peer has said anything
    std::uint64_t timeout_ns_initial = 10'000'000;
    std::uint64_t timeout_ns_min = 2'000'000;
    std::uint64_t timeout_ns_max = 1'000'000'000;
  };

  /// SETTINGS, of all windows of a process, are borrowed.
  explicit SendWindow(const Settings& settings, std::uint32_t first = 0)
      : settings_(settings), window_(settings.frames_initial), first_(first) {}
  explicit SendWindow(Settings&& settings, std::uint32_t first = 0) = delete;

  [[nodiscard]] bool has_room() const { return entries_.size() < window_; }
  [[nodiscard]] bool is_empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The round trip of the next frame is to be measured, or it is the first that waits: add() wants
  /// to know the time. Asking for it costs as much as a tenth of sending a small frame.
  [[nodiscard]] bool wants_time() const {
    return entries_.empty() || (first_ + entries_.size()) % frames_per_measurement == 0;
  }
  /// FRAME, the next of the stream, has just left: NOW counts only if wants_time().
  void add(const SentFrame& frame, std::uint64_t now_ns);

  /// What the peer says. RELEASED(const SentFrame&) is called for every kept frame that arrived.
  template <class Released>
  void acknowledge(const Acknowledgement& acknowledgement, std::uint64_t now_ns,
                   Released&& released);

  /// When on_time() has something to do: a time, or never_ns.
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// Calls SEND_AGAIN(const SentFrame&) for what is due, which is false if there is no room now.
  /// With a null frame it asks the peer for an acknowledgement.
  template <class SendAgain>
  void on_time(std::uint64_t now_ns, SendAgain&& send_again);

  /// No more than FRAMES may be on their way until the peer says otherwise.
  void narrow(std::uint32_t frames) { window_ = std::clamp(frames, 1U, window_); }

  /// The peer got a frame that was of no use, perhaps the one numbered SEQUENCE: that is due now,
  /// or the oldest, if it is none of ours or has arrived.
  void on_damaged(std::uint32_t sequence);

  /// CHANNEL of RAIL broke: what left by it and has not arrived may never do so. It is due now.
  void on_broken(std::uint8_t rail, std::uint8_t channel);
  /// RAIL failed, with all its channels.
  void on_failed(std::uint8_t rail);

  /// Gives up everything: the peer is gone.
  template <class Released>
  void clear(Released&& released);

  /// Attempts in a row that brought no answer.
  [[nodiscard]] std::uint32_t unanswered() const { return unanswered_; }
  [[nodiscard]] std::uint64_t sent_again() const { return sent_again_; }

 private:
  struct Entry {
    SentFrame frame;
    std::uint64_t sent_ns = 0;
    bool is_measured = false;
    bool was_sent_again = false;
    bool has_arrived = false;
    bool is_due = false;
  };

  /// True if ACKNOWLEDGEMENT is about this window, and not older than one that was seen.
  [[nodiscard]] bool is_current(const Acknowledgement& acknowledgement) const;
  void measure(std::uint32_t delivered, std::uint64_t now_ns);
  void mark_gaps(std::uint64_t early, std::uint64_t now_ns);
  void mark_oldest(std::uint64_t now_ns);
  template <class Left>
  void mark_lost(Left&& has_left);
  [[nodiscard]] std::uint64_t timeout_ns() const;
  /// Its owner has it back: who sends it again all the same asks for an acknowledgement.
  template <class Released>
  static void arrive(Entry& entry, Released&& released) {
    if (entry.frame.frame != nullptr) released(entry.frame);
    entry.frame.frame = nullptr;
    entry.has_arrived = true;
    entry.is_due = false;
  }

  const Settings& settings_;
  std::uint32_t window_;
  std::uint32_t first_;                // the number of the oldest entry
  base::GrowingQueue<Entry> entries_;  // by ascending number
  bool has_due_ = false;
  std::uint32_t unanswered_ = 0;
  std::uint64_t waiting_since_ns_ = 0;  // the oldest left, or was sent again, or an answer came
  std::uint64_t round_trip_ns_ = 0;     // smoothed; 0: not measured yet
  std::uint64_t variation_ns_ = 0;
  std::uint64_t sent_again_ = 0;
};

template <class Released>
void SendWindow::acknowledge(const Acknowledgement& acknowledgement, std::uint64_t now_ns,
                             Released&& released) {
  if (!is_current(acknowledgement)) return;
  window_ = std::clamp(acknowledgement.window, 1U, frames_max);
  unanswered_ = 0;
  const std::uint32_t delivered = acknowledgement.expected - first_;
  measure(delivered, now_ns);
  for (std::uint32_t i = 0; i < delivered; ++i) {
    arrive(entries_.front(), released);
    entries_.pop_front();
  }
  first_ = acknowledgement.expected;
  // One that brings nothing new does not put off the next attempt.
  if (delivered > 0) waiting_since_ns_ = now_ns;
  for (std::size_t i = 0; i < 64 && i + 1 < entries_.size(); ++i)
    if ((acknowledgement.early >> i & 1) != 0) arrive(entries_[i + 1], released);
  mark_gaps(acknowledgement.early, now_ns);
}

template <class SendAgain>
void SendWindow::on_time(std::uint64_t now_ns, SendAgain&& send_again) {
  if (entries_.empty()) return;
  if (now_ns >= waiting_since_ns_ + timeout_ns()) mark_oldest(now_ns);
  if (!has_due_) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.is_due) continue;
    if (!send_again(entry.frame)) return;  // still due
    entry.is_due = false;
    entry.was_sent_again = true;
    entry.sent_ns = now_ns;
    ++sent_again_;
  }
  has_due_ = false;
}

template <class Released>
void SendWindow::clear(Released&& released) {
  for (; !entries_.empty(); entries_.pop_front(), ++first_) arrive(entries_.front(), released);
  has_due_ = false;
}

}  // namespace hawser::delivery
