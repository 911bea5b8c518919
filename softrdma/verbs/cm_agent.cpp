#include "softrdma/verbs/cm_agent.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "platform/file.hpp"
#include "softrdma/udp/addresses.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::uint64_t no_deadline = ~std::uint64_t{0};
constexpr std::uint8_t usual_hops = 64;
/// Messages of this process to itself that one flush() brings there.
constexpr int own_rounds_max = 64;

/// The address that the system would send from; nothing if it knows no way.
std::optional<wire::Address> system_source_for(const IpEndpoint& to) {
  const hawser::platform::FileDescriptor socket(::socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::array<std::byte, sizeof(sockaddr_in6)> name{};
  IpEndpoint probe = to;
  probe.port = wire::roce_port;
  const auto bytes = static_cast<socklen_t>(write_endpoint(probe, name));
  auto* const address = reinterpret_cast<sockaddr*>(name.data());
  socklen_t room = sizeof(name);
  if (::connect(socket.get(), address, bytes) != 0 ||
      ::getsockname(socket.get(), address, &room) != 0)
    return std::nullopt;
  const std::optional<IpEndpoint> own = endpoint_from(name);
  return own ? std::optional(own->address) : std::nullopt;
}

}  // namespace

ConnectionAgent::ConnectionAgent(int index, Adapter& adapter, ConnectionListener& listener,
                                 std::mutex& mutex)
    : index_(index),
      adapter_(adapter),
      listener_(listener),
      mutex_(mutex),
      manager_({.process = adapter.process_number(),
                .adapter_guid = adapter.guid(),
                .seed = hawser::platform::random_number()},
               *this) {
  const auto guard = adapter_.lock();
  adapter_.start();
  adapter_.device().manage(*this);
}

// Addresses

wire::Address ConnectionAgent::own_address() const {
  const auto addresses = adapter_.addresses();
  return addresses.empty() ? udp::address_of(in_addr{htonl(INADDR_LOOPBACK)})
                           : addresses.front().address;
}

/// Loopback is this host, unless its own addresses are of loopback, too: then others may be there.
bool ConnectionAgent::is_ours(const IpEndpoint& endpoint) const {
  const auto addresses = adapter_.addresses();
  if (udp::is_one_of(addresses, endpoint.address)) return true;
  return endpoint.is_loopback() &&
         std::ranges::none_of(addresses, [](const fabric::NetworkAddress& own) {
           return endpoint_of(own.address, 0).is_loopback();
         });
}

std::optional<wire::Address> ConnectionAgent::source_for(const IpEndpoint& to) const {
  if (is_ours(to)) return to.address;
  // Other hosts of InfiniBand are known by their addresses of IPv4 alone.
  if (!port().is_ethernet && to.family != AF_INET) return std::nullopt;
  const auto addresses = adapter_.addresses();
  const std::optional<wire::Address> usual = system_source_for(to);
  if (usual && udp::is_one_of(addresses, *usual)) return usual;
  for (const fabric::NetworkAddress& own : addresses)
    if (wire::is_ipv4(own.address) == (to.family == AF_INET)) return own.address;
  return std::nullopt;
}

ibv_gid ConnectionAgent::gid_of(const wire::Address& address) const {
  const bool is_own = is_ours(endpoint_of(address, 0));
  if (port().is_ethernet) {
    const ibv_gid gid = udp::gid_of(address);
    return is_own && !port().has(gid) ? port().gids.front() : gid;
  }
  return is_own ? port().gids.front() : link::link_local_gid(udp::ipv4_number(address));
}

std::uint16_t ConnectionAgent::lid_of(const wire::Address& address) const {
  if (port().is_ethernet) return 0;
  return is_ours(endpoint_of(address, 0)) ? port().lid : udp::lid_of(udp::ipv4_number(address));
}

ibv_ah_attr ConnectionAgent::way(const wire::Address& own, const wire::Address& remote) const {
  ibv_ah_attr way{};
  way.port_num = connection_port;
  way.dlid = lid_of(remote);
  const auto local = std::ranges::find_if(port().gids, [&](const ibv_gid& gid) {
    return std::memcmp(gid.raw, own.data(), own.size()) == 0;
  });
  if (!port().is_ethernet) return way;
  way.is_global = 1;
  way.grh.dgid = gid_of(remote);
  way.grh.hop_limit = usual_hops;
  if (local != port().gids.end())
    way.grh.sgid_index = static_cast<std::uint8_t>(local - port().gids.begin());
  return way;
}

// What comes and goes

void ConnectionAgent::note_change() {
  due_ns_ = waiting_.empty() ? manager_.deadline_ns().value_or(no_deadline) : 0;
  has_changed_ = true;
}

/// The thread of the device hears of timers; what is for this process itself is brought there.
void ConnectionAgent::flush() {
  has_changed_ = false;
  const auto guard = adapter_.lock();
  adapter_.send();
  for (int round = 0; round < own_rounds_max && adapter_.drive(); ++round) {
  }
}

void ConnectionAgent::on_datagram(std::span<const std::byte, device::management_bytes> datagram,
                                  const qp::Arrival& arrival, std::uint64_t now_ns) {
  const std::lock_guard guard(mutex_);
  manager_.on_datagram(datagram, arrival.host.value_or(own_address()), now_ns);
  note_change();
}

void ConnectionAgent::act(std::uint64_t now_ns) {
  std::vector<std::pair<cm::Datagram, wire::Address>> ready;
  {
    const std::lock_guard guard(mutex_);
    manager_.on_time(now_ns);
    std::swap(ready, waiting_);
    note_change();
  }
  for (const auto& [datagram, to] : ready) {
    const std::optional<wire::Address> own = source_for(endpoint_of(to, 0));
    adapter_.device().send_management(datagram, way(own.value_or(own_address()), to));
  }
}

void ConnectionAgent::send(const cm::Datagram& datagram, const wire::Address& to) {
  waiting_.emplace_back(datagram, to);
}

void ConnectionAgent::on_event(std::uint32_t connection, const wire::Address& peer,
                               const cm::Event& event) {
  listener_.on_event(*this, connection, peer, event);
}

}  // namespace softrdma::verbs
