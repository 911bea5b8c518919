#include "transport/verbs/xrc_sender.hpp"

#include <algorithm>
#include <utility>

namespace hawser::transport::verbs {

using Change = XrcAsker::Outcome::Change;
using State = XrcAsker::State;

bool XrcSender::ask() {
  if (!asker_.is(State::closed)) return false;
  was_broken_ = false;
  say(asker_.ask(peers_host_ != 0, services_.clock()));
  if (asker_.is(State::waiting)) join_host();
  return true;
}

/// Its turn to ask may come at once.
void XrcSender::join_host() {
  host_ = services_.xrc->hosts->find_or_make(peers_host_);
  has_no_host_ = host_ == nullptr;
  if (host_ != nullptr) {
    number_ = host_->number();
    last_request_ = 0;
    host_->add(*this);
  }
  listener_.on_timed();
}

void XrcSender::leave_host() {
  if (XrcHost* const host = std::exchange(host_, nullptr))
    services_.xrc->hosts->leave(*host, *this);
}

void XrcSender::give_back() {
  is_open_ = false;
  asker_.give_back();
  listener_.on_timed();
}

void XrcSender::abandon() {
  leave_host();
  stop_waiting();
  is_open_ = has_no_host_ = has_lost_host_ = false;
  asker_.abandon();
}

void XrcSender::break_now() {
  if (host_ != nullptr && (is_open_ || asker_.is(State::leaving))) host_->break_now();
}

void XrcSender::on_message(const XrcSaid& said, const XrcMessage& message) {
  const XrcAsker::Outcome outcome = asker_.on_message(said);
  say(outcome.send);
  switch (outcome.change) {
    case Change::located:
      on_located(message.host);
      break;
    case Change::open:
      on_granted(message);
      break;
    case Change::refused:
      leave_host();
      listener_.on_xrc_refused(XrcRefusal::for_now);
      break;
    case Change::recalled:
      listener_.on_xrc_recalled();
      break;
    case Change::none:
    case Change::ended:
      break;
  }
}

void XrcSender::on_located(std::uint64_t host) {
  peers_host_ = host;
  if (host != 0) {
    join_host();
    return;
  }
  asker_.give_up();
  listener_.on_xrc_refused(XrcRefusal::for_good);
}

void XrcSender::on_granted(const XrcMessage& message) {
  if (host_ == nullptr) return;  // it broke meanwhile
  receive_queue_ = message.receive_queue;
  grant_ = message.grant;
  window_ = std::max<std::uint32_t>(message.window, 1);
  frame_bytes_max_ = std::min<std::size_t>(
      message.frame_bytes, static_cast<std::size_t>(services_.settings.rc_eager_bytes));
  constexpr std::size_t frame_bytes_min = 512;
  if (frame_bytes_max_ < frame_bytes_min) host_->break_now();
  if (!host_->on_granted(*this, message)) return;
  is_open_ = true;
  listener_.on_xrc_open();
}

void XrcSender::on_turn() {
  if (services_.is_closing) return;
  say(asker_.go_on(services_.clock()));
  listener_.on_timed();
}

void XrcSender::on_answered() {
  if (asker_.is(State::leaving)) listener_.on_timed();
}

void XrcSender::on_host_broken() {
  host_ = nullptr;
  has_lost_host_ = true;
  listener_.on_timed();
}

void XrcSender::serve(std::uint64_t now_ns) {
  if (std::exchange(has_no_host_, false)) wait_for_room();
  if (std::exchange(is_told_of_room_, false)) listener_.on_xrc_room();
  if (has_lost_host_) tell_of_break(now_ns);
  if (asker_.is(State::leaving)) maybe_end(now_ns);
  say(asker_.on_time(now_ns));
}

void XrcSender::tell_of_break(std::uint64_t now_ns) {
  const bool was_open = std::exchange(is_open_, false);
  const bool is_known_to_peer = !asker_.is(State::waiting);
  const bool was_leaving = asker_.is(State::leaving);
  was_broken_ = true;
  if (is_known_to_peer) {
    say(asker_.end(now_ns));
  } else {
    asker_.give_up();
  }
  has_lost_host_ = false;
  if (was_open || was_leaving) {
    listener_.on_xrc_broken();
  } else {
    listener_.on_xrc_refused(XrcRefusal::for_now);
  }
}

/// Asking again is for nothing until another host has ended.
void XrcSender::wait_for_room() {
  asker_.give_up();
  awaits_room_ = true;
  services_.xrc->hosts->await_end(*this);
  listener_.on_xrc_refused(XrcRefusal::until_there_is_room);
}

void XrcSender::stop_waiting() {
  if (std::exchange(awaits_room_, false)) services_.xrc->hosts->forget(*this);
  is_told_of_room_ = false;
}

void XrcSender::on_host_ended() {
  awaits_room_ = false;
  is_told_of_room_ = true;
  listener_.on_timed();
}

/// Not while another question names the target queue pair that our peer may be the last to have.
void XrcSender::maybe_end(std::uint64_t now_ns) {
  if (!host_->has_arrived(last_request_) || host_->has_question()) return;
  leave_host();
  say(asker_.end(now_ns));
}

std::uint64_t XrcSender::deadline_ns() const {
  if (has_no_host_ || has_lost_host_ || is_told_of_room_) return 0;
  if (asker_.is(State::leaving) && !host_->has_question()) return 0;
  return asker_.deadline_ns();
}

void XrcSender::say(const XrcSaid& said) {
  if (said.kind == XrcKind::none) return;
  XrcMessage message{.kind = static_cast<std::uint8_t>(said.kind), .attempt = said.attempt};
  if (said.kind == XrcKind::ask && host_ != nullptr) {
    const Port& port = services_.port;
    message.host = peers_host_;
    message.mtu = port.mtu;
    message.lid = port.lid;
    std::ranges::copy(port.gid.raw, message.gid);
    host_->describe(message);
  }
  if (said.kind == XrcKind::end && was_broken_) message.flags |= XrcMessage::is_broken;
  listener_.send_xrc_message(message);
}

}  // namespace hawser::transport::verbs
