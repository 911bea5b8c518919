// Assurance: what makes the frames to and from one peer arrive where its link may lose some, or has
// channels whose frames are checked or acknowledged because the user wants it.
//
// All frames of such an endpoint are numbered. The window knows which of ours are on their way; the
// acknowledger when to tell the peer what came. At the end both sides part: each sends a last
// frame, so that who still waits for an acknowledgement of it knows that nobody is left to send
// one.
//
// Ownership: one per endpoint of such a link; the frames are the link's where the channel keeps
//            them, or else copies of ours.
// Threads:   the lane lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "channel/endpoint/frame_copies.hpp"
#include "channel/endpoint/timers.hpp"
#include "delivery/retransmit/acknowledger.hpp"
#include "delivery/retransmit/send_window.hpp"

namespace hawser::channel {

/// What a user can set ("delivery.*").
struct AssuranceSettings {
  delivery::SendWindow::Settings window = {};
  delivery::Acknowledger::Settings acknowledger = {};
  std::uint32_t window_frames = 64;     // that a peer may have on its way to us
  std::string crc = "off";              // channels whose frames and payload are checked
  std::string acknowledged = "needed";  // channels whose frames are kept and acknowledged
  std::uint64_t flip_one_in = 0;        // for tests: what arrives with a flipped bit; 0: nothing
  std::uint64_t watch_ns = 2 * base::ns_per_s;  // between looks at awaited peers; 0: none
  std::uint64_t silence_s = 0;  // after which an awaited peer is gone; 0: it may be long
};

struct Assurance {
  /// Attempts to have our last frame acknowledged by a peer whose last frame we have.
  static constexpr std::uint32_t parting_attempts_max = 5;
  /// The same of one whose last frame has not come, but which waits for nothing else any more: that
  /// frame may be lost as often as it was sent.
  static constexpr std::uint32_t attempts_at_end_max = 10;

  /// SETTINGS are borrowed.
  Assurance(const AssuranceSettings& settings, Timers& when, memory::Ledger& ledger)
      : timers(when),
        receive_window(settings.window_frames),
        window(settings.window),
        acknowledger({std::min(settings.acknowledger.frames, std::max(1U, window_share(settings))),
                      settings.acknowledger.delay_ns}),
        copies(ledger) {}
  /// Early enough that a steady sender's window does not close.
  static std::uint32_t window_share(const AssuranceSettings& settings) {
    return std::min(settings.window_frames, settings.window.frames_initial) / 2;
  }

  Timers& timers;
  const std::uint32_t receive_window;  // frames that the peer may have on its way
  TimerState timer_state;
  std::uint8_t heard_by = 0;             // rails, one bit each, since we last acknowledged
  bool has_parted = false;               // our last frame has left
  std::uint32_t silent_looks = 0;        // at a peer that is awaited, since it was heard
  delivery::SendWindow window;           // of what we send
  delivery::Acknowledger acknowledger;   // of what we receive
  FrameCopies copies;                    // of what is on its way and its channel does not keep
  std::optional<std::uint32_t> damaged;  // the number that a frame had which was of no use
  bool peer_has_parted = false;          // its last frame has come
  bool is_peer_at_end = false;           // it is known to send but its last frame

  void note_heard_by(std::uint8_t rail) {
    heard_by |= static_cast<std::uint8_t>(1U << rail);
    silent_looks = 0;
  }
  /// The peer has said good-bye, or was about to, and answers no more.
  [[nodiscard]] bool is_peer_gone() const {
    return (peer_has_parted && window.unanswered() >= parting_attempts_max) ||
           (is_peer_at_end && window.unanswered() >= attempts_at_end_max);
  }
  /// All that we sent is acknowledged, and so is all that the peer sent: nobody waits for us.
  [[nodiscard]] bool is_settled() const {
    return window.is_empty() && acknowledger.deadline_ns() == never_ns;
  }
  [[nodiscard]] std::uint64_t deadline_ns() const {
    if (is_peer_gone()) return never_ns;
    if (damaged) return 0;
    return std::min(window.deadline_ns(), acknowledger.deadline_ns());
  }
};

}  // namespace hawser::channel
