// What a link does about XRC.
#include "transport/verbs/verbs_link.hpp"

namespace hawser::transport::verbs {

VerbsLink::Xrc& VerbsLink::xrc() {
  if (!xrc_) {
    xrc_ = std::make_unique<Xrc>(services_, *this);
    services_.ledger.charge(memory::Account::endpoints, sizeof(Xrc));
  }
  return *xrc_;
}

bool VerbsLink::ask_for_xrc() {
  if (services_.xrc_queues() != nullptr) return xrc().sender.ask();
  earnable_.remove(ChannelKind::xrc_send);
  return false;
}

void VerbsLink::send_by_xrc() {
  XrcSender& sender = xrc_->sender;
  SendBuffers::note_of(reserved_).connection = sender.number();
  sender.send(reserved_, reserved_bytes_);
  if (is_to_break()) [[unlikely]]
    sender.break_now();
}

void VerbsLink::on_xrc_message(std::span<const std::byte> message) {
  const auto read_message = read<XrcMessage>(message);
  if (!read_message) return;
  const XrcSaid said{static_cast<XrcKind>(read_message->kind), read_message->attempt};
  xrc().sender.on_message(said, *read_message);
  xrc().receiver.on_message(said, *read_message);
}

void VerbsLink::on_xrc_open() {
  channels_.add(ChannelKind::xrc_send);
  services_.sink.on_channels_changed(*this);
}

void VerbsLink::on_xrc_refused(XrcRefusal refusal) {
  if (refusal != XrcRefusal::for_now) earnable_.remove(ChannelKind::xrc_send);
  if (refusal == XrcRefusal::until_there_is_room) crowded_out_.add(ChannelKind::xrc_send);
  services_.sink.on_channel_refused(*this, ChannelKind::xrc_send);
}

void VerbsLink::on_xrc_room() {
  crowded_out_.remove(ChannelKind::xrc_send);
  earnable_.add(ChannelKind::xrc_send);
  services_.sink.on_channels_changed(*this);
}

void VerbsLink::on_xrc_broken() {
  if (channels_.has(ChannelKind::xrc_send)) {
    channels_.remove(ChannelKind::xrc_send);
    services_.sink.on_channels_changed(*this);
  }
  services_.sink.on_undelivered(*this, {ChannelKind::xrc_send});
}

void VerbsLink::on_xrc_recalled() {
  services_.sink.on_channel_recalled(*this, ChannelKind::xrc_send);
}

bool VerbsLink::on_xrc_asked() {
  if (!services_.sink.on_channel_asked(*this, ChannelKind::xrc_send)) return false;
  incoming_.add(ChannelKind::xrc_send);
  return true;
}

void VerbsLink::on_xrc_given_back() {
  incoming_.remove(ChannelKind::xrc_send);
  services_.sink.on_channel_given_back(*this, ChannelKind::xrc_send);
}

void VerbsLink::on_xrc_arrived(std::span<const std::byte> frame) {
  services_.sink.on_frame(*this, ChannelKind::xrc_send, frame);
}

void VerbsLink::send_xrc_message(const XrcMessage& message) {
  send_control(DatagramHeader::xrc, std::as_bytes(std::span(&message, 1)));
}

}  // namespace hawser::transport::verbs
