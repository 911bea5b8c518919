// The part of EndpointTable that deals with several ways to one peer: which network carries the
// frames, which of its rails is used, and the side link by another network.
#include <ranges>
#include <utility>

#include "channel/endpoint/endpoint_table.hpp"

namespace hawser::channel {

bool EndpointTable::can_reach(const Transport& transport, const Identity& peer) const {
  return !transport.is_for_one_host() || environment_.addresses->is_same_host(peer);
}

/// From behind: a process publishes its addresses in this order, so that who sees one of them sees
/// those before it as well, and both sides of a pair prefer the same network.
Result<EndpointTable::Way> EndpointTable::preferred_way(const Identity& peer) const {
  Way way;
  for (Transport* transport : transports_ | std::views::reverse) {
    if (!can_reach(*transport, peer)) continue;
    auto address = environment_.addresses->look_up(peer, transport->name());
    if (!address) return address.take_error();
    if (*address) way = {transport, std::move(**address)};
  }
  return way;
}

std::vector<std::byte> EndpointTable::address_of(const Identity& peer, std::string_view name) {
  auto address = environment_.addresses->look_up(peer, name);
  if (!address || !*address) return {};
  return std::move(**address);
}

void EndpointTable::seek_side_link(Endpoint& endpoint) {
  if (endpoint.side_link_ != nullptr || endpoint.lost_ ||
      std::exchange(endpoint.has_sought_side_link_, true))
    return;
  connect_side_link(endpoint);
}

void EndpointTable::connect_side_link(Endpoint& endpoint) {
  if (!has_networks_) return;
  const std::string_view network = endpoint.link_->rail().network;
  for (Transport* transport : transports_) {
    if (network.empty() || transport->rail().network == network ||
        !can_reach(*transport, endpoint.identity()))
      continue;
    // Who is not to be reached there, perhaps on another host, is reached by the link in use.
    const auto address = environment_.addresses->look_up(endpoint.identity(), transport->name());
    if (!address || !*address) continue;
    const Result<Link*> link = transport->connect(endpoint.identity(), **address);
    if (!link) continue;
    attach_beside(endpoint, **link);
    return;
  }
}

bool EndpointTable::is_beside(const Endpoint& endpoint, const Link& link) const {
  if (!has_networks_) return false;
  const std::string_view network = link.rail().network;
  if (endpoint.link_ != nullptr) return endpoint.link_->rail().network != network;
  const Result<Way> way = preferred_way(endpoint.identity());
  return way && way->transport != nullptr && way->transport->rail().network != network;
}

void EndpointTable::attach_beside(Endpoint& endpoint, Link& link) {
  link.user = &endpoint;
  link.rail_number = link.rail().number;
  link.is_beside = true;
  if (endpoint.side_link_ != nullptr || endpoint.lost_) return;
  endpoint.side_link_ = &link;
  endpoint.is_side_link_checked_ =
      environment_.delivery.of_link(link.possible_channels()).checked.has(ChannelKind::single_copy);
}

void EndpointTable::on_link_state(Link& link) {
  Endpoint& endpoint = endpoint_of(link);
  if (endpoint.lost_ || link.is_beside) return;
  if (!link.is_up()) connect_rails(endpoint);
  if (!endpoint.rails_) return;
  endpoint.rails_->set_up(link.rail_number, link.is_up());
  if (!link.is_up() && &link != endpoint.link_) link.break_connection();
  choose_rail(endpoint);
  if (link.is_up()) apply_policy(endpoint);  // it has no connection yet
}

void EndpointTable::connect_rails(Endpoint& endpoint) {
  const transport::Rail first = endpoint.link_->rail();
  for (Transport* transport : transports_) {
    const transport::Rail rail = transport->rail();
    if (!has_rails_ || rail.network.empty() || rail.network != first.network ||
        endpoint.link(rail.number) != nullptr)
      continue;
    // Who has not this rail is reached by the others.
    const auto address = environment_.addresses->look_up(endpoint.identity(), transport->name());
    if (!address || !*address) continue;
    const Result<Link*> link = transport->connect(endpoint.identity(), **address);
    if (link) attach(endpoint, **link);
  }
}

void EndpointTable::choose_rail(Endpoint& endpoint) {
  if (endpoint.lost_ || !endpoint.rails_->choose(timers_.now_ns())) return;
  Link& old = *endpoint.link_;
  endpoint.change_rail(old);
  give_back_unshared(endpoint, old);
  on_channels_changed(*endpoint.link_);
}

void EndpointTable::on_silence(Endpoint& endpoint) {
  connect_rails(endpoint);
  if (endpoint.rails_) endpoint.ask_by_another();
}

}  // namespace hawser::channel
