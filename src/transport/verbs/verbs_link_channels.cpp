// What a link does about the channels that are earned: the connection, and the fast path on it. For
// XRC see verbs_link_xrc.cpp.
#include <algorithm>
#include <utility>

#include "transport/verbs/verbs_link.hpp"

namespace hawser::transport::verbs {

Connector& VerbsLink::connector() {
  if (!connector_) {
    connector_ = std::make_unique<Connector>(services_, peer_.index, *this);
    services_.ledger.charge(memory::Account::endpoints, sizeof(Connector));
  }
  return *connector_;
}

bool VerbsLink::ask(ChannelKind kind) {
  if (kind == ChannelKind::rc_fast_path) return fast_path_ && fast_path_->ask();
  if (kind == ChannelKind::xrc_send) return ask_for_xrc();
  if (kind != ChannelKind::rc_send || !connector().is_closed()) return false;
  if (connector_->ask()) return true;
  earnable_.remove(ChannelKind::rc_send);
  return false;
}

bool VerbsLink::give_back(ChannelKind kind) {
  if (kind == ChannelKind::rc_send) {
    connector_->close();
    return true;
  }
  if (kind == ChannelKind::xrc_send) {
    xrc_->sender.give_back();
    channels_.remove(kind);
    return true;
  }
  if (kind != ChannelKind::rc_fast_path || !fast_path_->end()) return false;
  ring_number_ = 0;
  channels_.remove(kind);
  return true;
}

bool VerbsLink::recall(ChannelKind kind) {
  if (kind == ChannelKind::xrc_send && xrc_) xrc_->receiver.recall();
  return kind != ChannelKind::rc_fast_path || !fast_path_ || fast_path_->recall();
}

void VerbsLink::abandon() {
  if (connector_) connector_->abandon();
  if (xrc_) {
    xrc_->sender.abandon();
    xrc_->receiver.abandon();
  }
  earnable_ = {};
  crowded_out_ = {};
  channels_ = {};
}

void VerbsLink::serve(std::uint64_t now_ns) {
  is_timed_ = false;
  if (connector_) connector_->serve(now_ns);
  if (xrc_) {
    xrc_->sender.serve(now_ns);
    xrc_->receiver.serve(now_ns);
  }
  if (deadline_ns() != never_ns) on_timed();
}

std::uint64_t VerbsLink::deadline_ns() const {
  std::uint64_t first = connector_ ? connector_->deadline_ns() : never_ns;
  if (xrc_) first = std::min({first, xrc_->sender.deadline_ns(), xrc_->receiver.deadline_ns()});
  return first;
}

void VerbsLink::finish_ending() { connector_->finish_ending(); }

void VerbsLink::close() {
  // A connection's work ends before the ring that it may write.
  connector_.reset();
  drop_fast_path();
  xrc_.reset();
}

bool VerbsLink::on_connection_asked() {
  return services_.sink.on_channel_asked(*this, ChannelKind::rc_send);
}

void VerbsLink::on_connection_withdrawn() {
  services_.sink.on_channel_given_back(*this, ChannelKind::rc_send);
}

void VerbsLink::on_connection_open() {
  fast_path_ = std::make_unique<FastPath>(services_, *connector_->open(), *this);
  channels_.add(ChannelKind::rc_send);
  channels_.add(ChannelKind::rc_rdma);
  earnable_.add(ChannelKind::rc_fast_path);
  services_.sink.on_channels_changed(*this);
}

void VerbsLink::on_connection_refused() {
  services_.sink.on_channel_refused(*this, ChannelKind::rc_send);
}

void VerbsLink::on_connection_closing() {
  const bool was_asked = fast_path_ && fast_path_->is_asked() && fast_path_->writer() == nullptr;
  for (const ChannelKind kind :
       {ChannelKind::rc_send, ChannelKind::rc_rdma, ChannelKind::rc_fast_path})
    channels_.remove(kind);
  earnable_.remove(ChannelKind::rc_fast_path);
  ring_number_ = 0;
  if (was_asked) services_.sink.on_channel_refused(*this, ChannelKind::rc_fast_path);
  services_.sink.on_channels_changed(*this);
}

void VerbsLink::on_connection_broken() {
  drop_fast_path();
  services_.sink.on_undelivered(
      *this, {ChannelKind::rc_send, ChannelKind::rc_rdma, ChannelKind::rc_fast_path});
}

void VerbsLink::on_connection_ended() {
  drop_fast_path();
  services_.sink.on_channel_given_back(*this, ChannelKind::rc_send);
}

void VerbsLink::drop_fast_path() {
  if (!fast_path_) return;
  if (fast_path_->reader() != nullptr && !services_.is_closing) end_ring_of_peer();
  fast_path_.reset();
}

void VerbsLink::end_ring_of_peer() {
  fast_path_->drop_reader();
  std::erase(services_.polled, this);
  incoming_.remove(ChannelKind::rc_fast_path);
  services_.sink.on_channel_given_back(*this, ChannelKind::rc_fast_path);
}

void VerbsLink::on_timed() {
  if (!std::exchange(is_timed_, true)) services_.timed.push_back(this);
}

void VerbsLink::on_ending() { services_.ending.push_back(this); }

void VerbsLink::send_message(const ConnectionMessage& message) {
  send_control(DatagramHeader::connection, std::as_bytes(std::span(&message, 1)));
}

bool VerbsLink::on_fast_path_asked() {
  if (!services_.sink.on_channel_asked(*this, ChannelKind::rc_fast_path)) return false;
  services_.polled.push_back(this);
  incoming_.add(ChannelKind::rc_fast_path);
  return true;
}

void VerbsLink::on_fast_path_withdrawn() {
  std::erase(services_.polled, this);
  incoming_.remove(ChannelKind::rc_fast_path);
  services_.sink.on_channel_given_back(*this, ChannelKind::rc_fast_path);
}

void VerbsLink::on_fast_path_open() {
  ring_number_ = ++services_.rings_made;
  channels_.add(ChannelKind::rc_fast_path);
  services_.sink.on_channels_changed(*this);
}

void VerbsLink::on_fast_path_refused() {
  services_.sink.on_channel_refused(*this, ChannelKind::rc_fast_path);
}

void VerbsLink::on_fast_path_recalled() {
  services_.sink.on_channel_recalled(*this, ChannelKind::rc_fast_path);
}

}  // namespace hawser::transport::verbs
