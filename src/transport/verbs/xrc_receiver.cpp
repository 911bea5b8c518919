#include "transport/verbs/xrc_receiver.hpp"

#include <algorithm>
#include <utility>

namespace hawser::transport::verbs {

void XrcReceiver::on_message(const XrcSaid& said, const XrcMessage& message) {
  const bool was_broken = (message.flags & XrcMessage::is_broken) != 0;
  switch (said.kind) {
    case XrcKind::where:
      say({XrcKind::here, said.attempt});
      return;
    case XrcKind::ask:
      on_asked(message);
      return;
    case XrcKind::end:
      say(granter_.on_end(said.attempt, [&] { drop(was_broken); }));
      return;
    default:
      return;
  }
}

void XrcReceiver::on_asked(const XrcMessage& question) {
  const auto drop_old = [this] { drop(false); };
  say(granter_.on_ask(question.attempt, drop_old, [&] { return decide(question); }));
}

bool XrcReceiver::decide(const XrcMessage& question) {
  if (!listener_.on_xrc_asked()) return false;
  if (take(question)) return true;
  listener_.on_xrc_given_back();
  return false;
}

bool XrcReceiver::take(const XrcMessage& question) {
  const XrcQueues* const queues = services_.xrc_queues();
  if (queues == nullptr || question.host != queues->domain.host()) return false;
  target_ = queues->receives->target_for(question);
  if (target_) grant_ = queues->receives->add(*this);
  if (grant_ == 0) target_.reset();
  return grant_ != 0;
}

/// What came by it is delivered first.
void XrcReceiver::drop(bool was_broken) {
  if (was_broken) {
    // A frame that came in part gives its buffer back.
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(target_.get(), &attributes, IBV_QP_STATE);
  }
  services_.xrc->receives->poll_all();
  if (!has_granted()) return;  // the peer was found to be gone
  let_go(was_broken);
  listener_.on_xrc_given_back();
}

void XrcReceiver::let_go(bool was_broken) {
  target_.reset();
  if (has_granted()) services_.xrc->receives->remove(std::exchange(grant_, 0), was_broken);
}

void XrcReceiver::abandon() {
  const bool had_granted = has_granted();
  let_go(true);
  granter_.abandon();
  if (had_granted) listener_.on_xrc_given_back();
}

void XrcReceiver::recall() {
  if (!has_granted()) return;
  say(granter_.recall(services_.clock()));
  listener_.on_timed();
}

std::uint32_t XrcReceiver::window() const {
  return has_granted() ? services_.xrc->receives->window() : ~std::uint32_t{0};
}

void XrcReceiver::say(const XrcSaid& said) {
  if (said.kind == XrcKind::none) return;
  XrcMessage message{.kind = static_cast<std::uint8_t>(said.kind), .attempt = said.attempt};
  if (said.kind == XrcKind::here) {
    const XrcQueues* const queues = services_.xrc_queues();
    message.host = queues != nullptr ? queues->domain.host() : 0;
  }
  if (said.kind == XrcKind::grant) {
    const Port& port = services_.port;
    message.mtu = port.mtu;
    message.lid = port.lid;
    std::ranges::copy(port.gid.raw, message.gid);
    message.target = target_->qp_num;
    services_.xrc->receives->describe(grant_, message);
  }
  listener_.send_xrc_message(message);
}

}  // namespace hawser::transport::verbs
