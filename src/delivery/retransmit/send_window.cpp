#include "delivery/retransmit/send_window.hpp"

#include <bit>

namespace hawser::delivery {

void SendWindow::add(const SentFrame& frame, std::uint64_t now_ns) {
  HAWSER_ASSERT(frame.sequence == first_ + static_cast<std::uint32_t>(entries_.size()));
  const bool is_measured = wants_time();
  if (entries_.empty()) waiting_since_ns_ = now_ns;
  entries_.push_back({.frame = frame, .sent_ns = now_ns, .is_measured = is_measured});
}

bool SendWindow::is_current(const Acknowledgement& acknowledgement) const {
  // Modulo 2^32: what was acknowledged before is far ahead, and so beyond the window.
  return acknowledgement.expected - first_ <= entries_.size();
}

/// The round trip of the newest of the first DELIVERED entries whose time is known, and which left
/// once only: else nobody knows which time was answered.
void SendWindow::measure(std::uint32_t delivered, std::uint64_t now_ns) {
  const auto tells = [](const Entry& entry) { return entry.is_measured && !entry.was_sent_again; };
  std::uint32_t newest = delivered;
  while (newest > 0 && !tells(entries_[newest - 1])) --newest;
  if (newest == 0 || now_ns < entries_[newest - 1].sent_ns) return;
  const std::uint64_t sample_ns = now_ns - entries_[newest - 1].sent_ns;
  if (round_trip_ns_ == 0) {
    round_trip_ns_ = sample_ns;
    variation_ns_ = sample_ns / 2;
    return;
  }
  const std::uint64_t difference_ns =
      std::max(round_trip_ns_, sample_ns) - std::min(round_trip_ns_, sample_ns);
  variation_ns_ = (3 * variation_ns_ + difference_ns) / 4;
  round_trip_ns_ = (7 * round_trip_ns_ + sample_ns) / 8;
}

/// Frames behind which later ones have arrived, if they left long enough ago.
void SendWindow::mark_gaps(std::uint64_t early, std::uint64_t now_ns) {
  const auto reach = static_cast<std::size_t>(std::bit_width(early));
  for (std::size_t i = 0; i < reach && i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const bool is_fresh = entry.was_sent_again && now_ns < entry.sent_ns + round_trip_ns_;
    if (entry.has_arrived || !entry.frame.may_be_lost || is_fresh) continue;
    entry.is_due = true;
    has_due_ = true;
  }
}

void SendWindow::on_broken(std::uint8_t rail, std::uint8_t channel) {
  mark_lost([=](const SentFrame& frame) { return frame.rail == rail && frame.channel == channel; });
}

void SendWindow::on_failed(std::uint8_t rail) {
  mark_lost([=](const SentFrame& frame) { return frame.rail == rail; });
}

/// Frames of which HAS_LEFT says that they left by what is broken.
template <class Left>
void SendWindow::mark_lost(Left&& has_left) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!has_left(entry.frame) || entry.frame.frame == nullptr) continue;
    entry.frame.may_be_lost = true;
    entry.is_due = true;
    has_due_ = true;
  }
}

void SendWindow::on_damaged(std::uint32_t sequence) {
  if (entries_.empty()) return;
  const std::uint32_t index = sequence - first_;  // modulo 2^32: an older one is far ahead
  const bool is_missing = index < entries_.size() && !entries_[index].has_arrived;
  entries_[is_missing ? index : 0].is_due = true;
  has_due_ = true;
}

void SendWindow::mark_oldest(std::uint64_t now_ns) {
  entries_.front().is_due = true;
  has_due_ = true;
  ++unanswered_;
  waiting_since_ns_ = now_ns;
}

std::uint64_t SendWindow::timeout_ns() const {
  const std::uint64_t estimate_ns =
      round_trip_ns_ == 0 ? settings_.timeout_ns_initial : round_trip_ns_ + 4 * variation_ns_;
  const std::uint64_t timeout = std::max(estimate_ns, settings_.timeout_ns_min);
  constexpr std::uint32_t doublings_max = 20;
  return std::min(timeout << std::min(unanswered_, doublings_max), settings_.timeout_ns_max);
}

std::uint64_t SendWindow::deadline_ns() const {
  if (entries_.empty()) return never_ns;
  return has_due_ ? 0 : waiting_since_ns_ + timeout_ns();
}

}  // namespace hawser::delivery
