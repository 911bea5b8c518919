// XrcReceiver: one peer's way into our receive queue: a grant, and the target queue pair by which
// its frames come, to us as to other processes of this host; held as long as the peer uses it.
//
// Ownership: owned by the link; owns our handle of the target queue pair; borrows the services.
// Threads:   the lane lock.
#pragma once

#include <cstdint>
#include <span>

#include "transport/verbs/link_services.hpp"
#include "transport/verbs/xrc_handshake.hpp"
#include "transport/verbs/xrc_listener.hpp"
#include "transport/verbs/xrc_receives.hpp"

namespace hawser::transport::verbs {

class XrcReceiver final : public XrcReceives::Owner {
 public:
  XrcReceiver(LinkServices& services, XrcListener& listener)
      : services_(services), listener_(listener) {}
  ~XrcReceiver() override { let_go(false); }
  XrcReceiver(const XrcReceiver&) = delete;
  XrcReceiver& operator=(const XrcReceiver&) = delete;

  void on_message(const XrcSaid& said, const XrcMessage& message);
  /// The peer shall give back what was granted, if anything was.
  void recall();
  /// The peer is gone.
  void abandon();
  void serve(std::uint64_t now_ns) { say(granter_.on_time(now_ns)); }
  [[nodiscard]] std::uint64_t deadline_ns() const { return granter_.deadline_ns(); }

  [[nodiscard]] bool has_granted() const { return grant_ != 0; }
  /// Frames that the peer may have on its way to us.
  [[nodiscard]] std::uint32_t window() const;

 private:
  void on_xrc_frame(std::span<const std::byte> frame) override { listener_.on_xrc_arrived(frame); }
  void on_asked(const XrcMessage& question);
  bool decide(const XrcMessage& question);
  bool take(const XrcMessage& question);
  void drop(bool was_broken);
  void let_go(bool was_broken);
  void say(const XrcSaid& said);

  LinkServices& services_;
  XrcListener& listener_;
  XrcGranter granter_;
  QueuePair target_;
  std::uint32_t grant_ = 0;  // 0: none
};

}  // namespace hawser::transport::verbs
