#include "channel/endpoint/endpoint_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hawser::channel {

namespace {

Endpoint& endpoint_of(Link& link) { return *static_cast<Endpoint*>(link.user); }

}  // namespace

Endpoint& EndpointTable::find_or_make(const Identity& peer) {
  const auto found = endpoints_.find(peer);
  if (found != endpoints_.end()) return *found->second;
  Endpoint& endpoint = make(peer);
  if (!try_connect(endpoint)) unresolved_.push_back(&endpoint);
  return endpoint;
}

Endpoint& EndpointTable::make(const Identity& peer) {
  const bool same_host =
      peer == environment_.self || environment_.bootstrap->local_rank_of(peer.index).has_value();
  auto endpoint = std::make_unique<Endpoint>(peer, same_host, *environment_.ledger);
  endpoint->send_credit_bytes = environment_.eager_credit_bytes;
  environment_.ledger->charge(memory::Account::endpoints, sizeof(Endpoint));
  return *endpoints_.emplace(peer, std::move(endpoint)).first->second;
}

bool EndpointTable::try_connect(Endpoint& endpoint) {
  if (endpoint.identity() == environment_.self) {
    Link* link = *self_transport_->connect(endpoint.identity(), {});
    endpoint.link_ = link;
    link->user = &endpoint;
    on_channels_changed(*link);
    return true;
  }
  for (Transport* transport : transports_) {
    const auto address =
        environment_.bootstrap->look_up(endpoint.identity().index, transport->name());
    if (!address) {
      lose(endpoint, address.error().sentence());
      return true;
    }
    if (!*address) continue;
    const Result<Link*> link = transport->connect(endpoint.identity(), **address);
    if (!link) {
      lose(endpoint, link.error().sentence());
      return true;
    }
    endpoint.link_ = *link;
    (*link)->user = &endpoint;
    if (!(*link)->channels().empty()) on_channels_changed(**link);
    return true;
  }
  return false;
}

void EndpointTable::note_waiting(Endpoint& endpoint) {
  if (endpoint.fifo_.empty() || endpoint.listed_) return;
  endpoint.listed_ = true;
  waiting_.push_back(&endpoint);
}

bool EndpointTable::progress() {
  bool moved = false;
  for (Transport* transport : transports_) moved |= transport->progress();
  moved |= self_transport_->progress();
  if (!waiting_.empty()) [[unlikely]] {
    std::erase_if(waiting_, [&](Endpoint* endpoint) {
      moved |= endpoint->flush();
      endpoint->listed_ = !endpoint->fifo_.empty() && !endpoint->lost_;
      return !endpoint->listed_;
    });
  }
  if (!unresolved_.empty()) [[unlikely]]
    std::erase_if(unresolved_, [&](Endpoint* endpoint) {
      return endpoint->link_ != nullptr || try_connect(*endpoint);
    });
  return moved;
}

bool EndpointTable::is_drained() const {
  return waiting_.empty() && unresolved_.empty() && self_transport_->is_drained() &&
         std::all_of(transports_.begin(), transports_.end(),
                     [](const Transport* transport) { return transport->is_drained(); });
}

void EndpointTable::for_each(const std::function<void(const Endpoint&)>& visit) const {
  for (const auto& [identity, endpoint] : endpoints_) visit(*endpoint);
}

void EndpointTable::on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) {
  Endpoint& endpoint = endpoint_of(link);
  FramePrefix prefix;
  if (frame.size() < sizeof(prefix)) return;
  std::memcpy(&prefix, frame.data(), sizeof(prefix));
  if (prefix.version != FramePrefix::current_version) return;
  if ((prefix.flags & FramePrefix::sequenced) == 0) {
    handler_->on_frame(endpoint, kind, frame);
    return;
  }
  if (endpoint.reorder_.accept(prefix.sequence, frame) !=
      delivery::ReorderBuffer::Verdict::in_order)
    return;
  handler_->on_frame(endpoint, kind, frame);
  if (endpoint.reorder_.has_early()) [[unlikely]]
    deliver_early(endpoint, kind);
}

void EndpointTable::deliver_early(Endpoint& endpoint, ChannelKind kind) {
  while (const auto frame = endpoint.reorder_.take_next())
    handler_->on_frame(endpoint, kind, *frame);
}

void EndpointTable::on_link(Link& link, const Identity& peer) {
  const auto found = endpoints_.find(peer);
  Endpoint& endpoint = found != endpoints_.end() ? *found->second : make(peer);
  endpoint.link_ = &link;
  link.user = &endpoint;
}

bool EndpointTable::on_channel_asked(Link&, ChannelKind) {
  if (rings_granted_ >= environment_.settings.rings_granted_max) return false;
  ++rings_granted_;
  return true;
}

void EndpointTable::on_channels_changed(Link& link) {
  Endpoint& endpoint = endpoint_of(link);
  if (link.channels().empty()) return;
  apply_policy(endpoint);
  endpoint.flush();
  note_waiting(endpoint);
}

void EndpointTable::on_channel_refused(Link&, ChannelKind) {
  // Not asked again for this peer: its limit is for the life of the job. Another may have the slot.
  --rings_asked_;
}

void EndpointTable::apply_policy(Endpoint& endpoint) {
  if (endpoint.link_ == nullptr || endpoint.link_->channels().empty()) return;
  Policy& policy = *environment_.policy;
  const ChannelSet channels = endpoint.link_->channels();
  const SendTable& table = policy.table(channels, endpoint.same_host_, endpoint.messages_);
  endpoint.use_table(table);
  endpoint.next_look_messages_ = table.valid_until_messages();
  if (channels.has(ChannelKind::ring) || channels.has(ChannelKind::self) || endpoint.ring_asked_)
    return;
  const std::uint64_t earned_at = policy.earned_at(ChannelKind::ring, endpoint.same_host_);
  if (endpoint.messages_ < earned_at) {
    endpoint.next_look_messages_ = std::min(endpoint.next_look_messages_, earned_at);
    return;
  }
  // The slot is reserved before asking, so that the limit is never passed.
  if (rings_asked_ >= environment_.settings.rings_asked_max) return;
  if (endpoint.link_->ask(ChannelKind::ring)) {
    endpoint.ring_asked_ = true;
    ++rings_asked_;
  } else {
    endpoint.next_look_messages_ = endpoint.messages_ + 1;
  }
}

void EndpointTable::on_lost(Link& link, std::string_view cause) { lose(endpoint_of(link), cause); }

void EndpointTable::lose(Endpoint& endpoint, std::string_view cause) {
  if (endpoint.lost_) return;
  endpoint.lost_ = true;
  endpoint.table_ = nullptr;
  endpoint.loss_ = fmt::format("process {} is not reachable: {}", endpoint.identity_.index, cause);
  for (const auto& frame : endpoint.fifo_)
    environment_.ledger->refund(memory::Account::sender_fifo, frame.bytes);
  endpoint.fifo_.clear();
  handler_->on_lost(endpoint);
}

}  // namespace hawser::channel
