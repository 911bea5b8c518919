#include "transport/verbs/verbs_transport.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace hawser::transport::verbs {

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::open(const Environment& environment,
                                                             const Settings& settings) {
  Result<Port> opened = Port::open(settings);
  if (!opened) return opened.take_error();
  auto port = std::make_unique<Port>(std::move(*opened));  // queues refer to it
  Result<std::unique_ptr<Datagrams>> datagrams =
      Datagrams::open(*port, settings, *environment.ledger);
  if (!datagrams) return datagrams.take_error();
  return std::unique_ptr<VerbsTransport>(
      new VerbsTransport(environment, std::move(port), std::move(*datagrams)));
}

VerbsTransport::VerbsTransport(const Environment& environment, std::unique_ptr<Port> port,
                               std::unique_ptr<Datagrams> datagrams)
    : environment_(environment), port_(std::move(port)), datagrams_(std::move(datagrams)) {
  address_.mtu = port_->mtu;
  address_.lid = port_->lid;
  address_.queue_pair = datagrams_->number();
  std::memcpy(address_.gid, port_->gid.raw, sizeof(address_.gid));
}

Result<std::span<const std::byte>> VerbsTransport::address() {
  return std::as_bytes(std::span(&address_, 1));
}

VerbsLink& VerbsTransport::make_link(const Identity& peer, std::uint64_t expected_token) {
  const DatagramHeader header{.mtu = port_->mtu,
                              .index = environment_.self.index,
                              .epoch = environment_.self.epoch,
                              .token = token_of(environment_.key, environment_.self, peer)};
  auto link = std::make_unique<VerbsLink>(*datagrams_, header, expected_token);
  return *links_.emplace(peer, std::move(link)).first->second;
}

Result<Link*> VerbsTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  const auto known = links_.find(peer);
  if (known != links_.end()) return known->second.get();
  const std::optional<PortAddress> port = parse<PortAddress>(address);
  if (!port) return Error(ErrorClass::other, "its address is not one of a verbs transport");
  AddressHandle to = port_->make_address_handle(*port);
  if (!to)
    return Error(ErrorClass::other,
                 fmt::format("the adapter '{}' knows no way to its port", port_->device));
  VerbsLink& link = make_link(peer, token_of(environment_.key, peer, environment_.self));
  link.open(std::move(to), port->queue_pair, port->mtu);
  return &link;
}

bool VerbsTransport::progress() {
  return datagrams_->poll([this](const ReceivedDatagram& datagram) { on_datagram(datagram); });
}

bool VerbsTransport::is_drained() const { return datagrams_->is_drained(); }

void VerbsTransport::on_datagram(const ReceivedDatagram& datagram) {
  const std::optional<DatagramHeader> header = parse<DatagramHeader>(datagram.bytes);
  VerbsLink* const link =
      header && header->type == DatagramHeader::frame ? link_of(*header, datagram) : nullptr;
  if (link == nullptr) {
    ++dropped_;
    return;
  }
  environment_.sink->on_frame(*link, ChannelKind::ud_send,
                              datagram.bytes.subspan(sizeof(DatagramHeader)));
}

VerbsLink* VerbsTransport::link_of(const DatagramHeader& header, const ReceivedDatagram& datagram) {
  const Identity sender{environment_.self.job, header.index, header.epoch};
  if (const auto known = links_.find(sender); known != links_.end())
    return known->second->expected_token() == header.token ? known->second.get() : nullptr;
  const std::uint64_t token = token_of(environment_.key, sender, environment_.self);
  if (token != header.token) return nullptr;
  AddressHandle back = port_->make_address_handle(*datagram.completion, datagram.route);
  if (!back) return nullptr;
  VerbsLink& link = make_link(sender, token);
  link.open(std::move(back), datagram.completion->src_qp, header.mtu);
  environment_.sink->on_link(link, sender);
  environment_.sink->on_channels_changed(link);
  return &link;
}

}  // namespace hawser::transport::verbs
