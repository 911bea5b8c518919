// XrcSender: our way into one peer's receive queue, by the queue pair that all our peers of its
// host share: asked for, used, given back, or broken with it.
//
// Ownership: owned by the link; borrows services and, while it takes part, the host.
// Threads:   the lane lock.
#pragma once

#include <cstdint>

#include "transport/verbs/link_services.hpp"
#include "transport/verbs/xrc_handshake.hpp"
#include "transport/verbs/xrc_host.hpp"
#include "transport/verbs/xrc_hosts.hpp"
#include "transport/verbs/xrc_listener.hpp"

namespace hawser::transport::verbs {

class XrcSender final : public XrcHost::User, public XrcHosts::Waiter {
 public:
  XrcSender(LinkServices& services, XrcListener& listener)
      : services_(services), listener_(listener) {}
  /// Without a word to the peer.
  ~XrcSender() override {
    leave_host();
    stop_waiting();
  }
  XrcSender(const XrcSender&) = delete;
  XrcSender& operator=(const XrcSender&) = delete;

  /// False: not now, as an earlier one has not ended yet.
  bool ask();
  /// Only while it is open: what was sent still arrives.
  void give_back();
  /// The peer is gone.
  void abandon();
  /// Breaks the host's queue pair.
  void break_now();
  void on_message(const XrcSaid& said, const XrcMessage& message);
  void serve(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;

  [[nodiscard]] bool is_open() const { return is_open_; }
  /// Only while it is open, as what follows.
  [[nodiscard]] bool has_room() const { return host_ != nullptr && host_->has_room(); }
  /// Posts FRAME of BYTES; there has to be room.
  void send(std::byte* frame, std::size_t bytes) {
    last_request_ = host_->send(frame, bytes, receive_queue_, grant_);
  }
  [[nodiscard]] std::size_t frame_bytes_max() const { return frame_bytes_max_; }
  /// Frames that we may have on our way, as the peer said when it granted.
  [[nodiscard]] std::uint32_t window() const { return window_; }
  /// The number of the queue pair that frames leave by now.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  /// What was sent by the queue pair of this NUMBER is on its way or has arrived, or the listener
  /// is about to hear that it broke.
  [[nodiscard]] bool carries(std::uint32_t number) const {
    return number_ == number && (is_open_ || asker_.is(XrcAsker::State::leaving));
  }

 private:
  void on_turn() override;
  void on_answered() override;
  void on_host_broken() override;
  void on_host_ended() override;

  void say(const XrcSaid& said);
  void join_host();
  void leave_host();
  void wait_for_room();
  void stop_waiting();
  void on_located(std::uint64_t host);
  void on_granted(const XrcMessage& message);
  void tell_of_break(std::uint64_t now_ns);
  void maybe_end(std::uint64_t now_ns);

  LinkServices& services_;
  XrcListener& listener_;
  XrcAsker asker_;
  std::uint64_t peers_host_ = 0;  // 0: not known yet
  XrcHost* host_ = nullptr;
  std::uint32_t number_ = 0;  // of the host that we use, or used last
  std::uint32_t receive_queue_ = 0;
  std::uint32_t grant_ = 0;
  std::uint32_t window_ = 1;
  std::size_t frame_bytes_max_ = 0;
  std::uint64_t last_request_ = 0;  // of ours by the host
  bool is_open_ = false;            // and the listener knows
  bool has_no_host_ = false;        // there can't be one more; the listener does not know yet
  bool awaits_room_ = false;        // and it knows, until some host ends
  bool is_told_of_room_ = false;    // one has; the listener does not know yet
  bool has_lost_host_ = false;      // it broke, likewise
  bool was_broken_ = false;         // what the peer hears at the end
};

}  // namespace hawser::transport::verbs
