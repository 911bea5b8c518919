#include "softrdma/udp/junction.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "softrdma/fabric/letter.hpp"
#include "softrdma/link/multicast.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::udp {

using fabric::NetworkMemory;

namespace {

constexpr std::uint32_t window_packets = 64;
/// After so many turns for nothing one asks whether the reader is alive.
constexpr std::uint64_t patience_turns = 1000;

/// The 40 bytes before a datagram: of IPv4 its header fills the last 20 (annex A17.4.5.2), unless
/// the port is of InfiniBand, which knows no IPv4.
std::array<std::byte, qp::grh_bytes> route_header(const wire::UdpPath& path,
                                                  std::size_t udp_payload_bytes, bool is_ethernet) {
  constexpr std::uint8_t udp_protocol = 17;
  constexpr std::uint8_t hops = 64;
  constexpr std::size_t udp_header_bytes = 8;
  constexpr std::size_t ipv4_header_bytes = 20;
  const std::size_t udp_bytes = udp_header_bytes + udp_payload_bytes;
  std::array<std::byte, qp::grh_bytes> out{};
  if (is_ethernet && wire::is_ipv4(path.destination)) {
    const std::uint16_t length = htons(static_cast<std::uint16_t>(ipv4_header_bytes + udp_bytes));
    out[20] = std::byte{0x45};
    std::memcpy(&out[22], &length, sizeof(length));
    out[26] = std::byte{0x40};
    out[28] = std::byte{hops};
    out[29] = std::byte{udp_protocol};
    std::memcpy(&out[32], &path.source[12], 4);
    std::memcpy(&out[36], &path.destination[12], 4);
    return out;
  }
  const std::uint16_t length = htons(static_cast<std::uint16_t>(udp_bytes));
  out[0] = std::byte{0x60};
  std::memcpy(&out[4], &length, sizeof(length));
  out[6] = std::byte{udp_protocol};
  out[7] = std::byte{hops};
  std::memcpy(&out[8], path.source.data(), path.source.size());
  std::memcpy(&out[24], path.destination.data(), path.destination.size());
  return out;
}

}  // namespace

// Out

std::optional<Way> Junction::way(const ibv_ah_attr& address) const {
  if (host_.sockets().empty()) return std::nullopt;
  if (address.port_num == 0 || address.port_num > ports_.size()) return std::nullopt;
  return way_to(address, ports_[address.port_num - 1U], host_.addresses());
}

std::optional<qp::Path> Junction::path_to(const ibv_ah_attr& address, ibv_mtu mtu) const {
  if (const auto local = local_.path_to(address, mtu)) return local;
  const std::optional<Way> remote = way(address);
  if (!remote || mtu > payload_mtu(remote->ip_mtu)) return std::nullopt;
  host_.network().is_in_use.fetch_or(wire::is_ipv4(remote->path.destination) ? 1 : 2);
  const std::uint32_t segment_bytes = 128U << mtu;
  return qp::Path{.segment_bytes = segment_bytes,
                  .unreliable_segment_bytes = segment_bytes,
                  .window_packets = window_packets,
                  .host = remote->path.destination};
}

bool Junction::has_room(const qp::Destination& destination) {
  return !local_.is_ours(*destination.address) || local_.has_room(destination);
}

void Junction::send(const qp::Outgoing& packet, const ibv_ah_attr& address) {
  const bool is_ours = local_.is_ours(address);
  if (is_ours || link::is_for_group(packet.headers, address)) local_.send(packet, address);
  if (is_ours) return;
  if (const std::optional<Way> remote = way(address)) sender_.add(packet, *remote);
}

// In

bool Junction::poll(link::Sink& sink, std::uint64_t now_ns) {
  const bool moved = local_.poll(sink, now_ns);
  // What was left in the inbox comes before what is still in the sockets.
  if (local_.has_mail()) return moved;
  bool came = empty_group_sockets(&sink);
  if (host_.network().is_in_use.load(std::memory_order_relaxed) != 0) came |= empty_sockets(&sink);
  return came || moved;
}

/// True if something came. One process does it at a time, so that packets stay in their order.
bool Junction::empty_sockets(link::Sink* sink) {
  NetworkMemory& network = host_.network();
  std::uint32_t reader = 0;
  if (!network.reader.compare_exchange_strong(reader, host_.seat() + 1U)) {
    // The one that has the word may have died with it.
    if (++waits_for_reader_ % patience_turns == 0 &&
        !host_.is_alive(static_cast<std::uint16_t>(reader - 1)))
      network.reader.compare_exchange_strong(reader, 0);
    return false;
  }
  std::size_t came = 0;
  for (std::size_t which = 0; which < host_.sockets().size(); ++which)
    if ((network.is_in_use.load(std::memory_order_relaxed) >> which & 1) != 0)
      came += receiver_.receive(which, [&](const Datagram& datagram) { deliver(datagram, sink); });
  network.reader.store(0);
  return came > 0;
}

void Junction::deliver(const Datagram& datagram, link::Sink* sink) {
  const std::optional<wire::Packet> packet = wire::parse(datagram.bytes);
  if (!packet) {
    ++counters_.malformed;
    return;
  }
  if (packet->headers.destination_qp == link::management_number)
    return deliver_to_management(arrival_of(*packet, datagram), sink);
  const std::optional<std::uint16_t> seat = fabric::receiver_of(
      host_, packet->headers, [&](std::uint16_t owner) { return host_.is_alive(owner); });
  if (!seat) {
    ++counters_.dropped;
    return;
  }
  hand_over(arrival_of(*packet, datagram), *seat, sink);
}

/// To each process that takes them.
void Junction::deliver_to_management(const qp::Arrival& arrival, link::Sink* sink) {
  for (std::uint16_t seat = 0; seat < host_.seats_end(); ++seat)
    if (host_.seat_memory(seat).has_management.load() != 0 && host_.is_alive(seat))
      hand_over(arrival, seat, sink);
}

bool Junction::empty_group_sockets(link::Sink* sink) {
  return groups_.receive([&](const Datagram& datagram) { deliver_to_group(datagram, sink); }) > 0;
}

/// What a process of this host has sent is in the inboxes already, and comes back by the system.
void Junction::deliver_to_group(const Datagram& datagram, link::Sink* sink) {
  if (is_one_of(host_.addresses(), datagram.path.source)) return;
  const std::optional<wire::Packet> packet = wire::parse(datagram.bytes);
  if (!packet || !link::is_for_group(packet->headers)) {
    ++counters_.malformed;
    return;
  }
  hand_over(arrival_of(*packet, datagram), host_.seat(), sink);
}

/// To the process on SEAT. SINK: as of empty_sockets().
void Junction::hand_over(const qp::Arrival& arrival, std::uint16_t seat, link::Sink* sink) {
  // Another one may have left packets since, which come first.
  if (sink != nullptr && seat == host_.seat() && !local_.has_mail())
    return sink->on_arrival(arrival);
  const wire::Packet& packet = arrival.packet;
  qp::Outgoing letter;
  letter.headers = packet.headers;
  letter.payload.add(packet.payload.at_hand());
  const std::optional<fabric::Route> route = fabric::route_of(arrival);
  if (!fabric::leave_packet(host_, seat, letter, fabric::copied_form(packet.payload.size()),
                            &*route)) {
    ++counters_.dropped;
    return;
  }
  host_.ring(seat);
}

/// Of InfiniBand the global route header is optional, but for a group, and nothing tells whether
/// the sender wanted it.
qp::Arrival Junction::arrival_of(const wire::Packet& packet, const Datagram& datagram) const {
  qp::Arrival arrival;
  arrival.packet = packet;
  arrival.host = datagram.path.source;
  arrival.is_marked = datagram.is_marked;
  if (packet.headers.opcode.service != wire::Service::unreliable_datagram) return arrival;
  const bool is_ethernet = ports_.front().is_ethernet;
  if (is_ethernet || link::is_multicast(datagram.path.destination))
    arrival.grh =
        route_header(datagram.path, datagram.bytes.size() + wire::icrc_bytes, is_ethernet);
  // An address of IPv6 tells no LID.
  if (!is_ethernet && wire::is_ipv4(datagram.path.source)) {
    std::memcpy(&arrival.source_lid, &datagram.path.source[14], sizeof(arrival.source_lid));
    arrival.source_lid = ntohs(arrival.source_lid);
  }
  return arrival;
}

// Multicast groups

bool Junction::join(const ibv_gid& gid) {
  local_.join(gid);
  const wire::Address group = link::address_of(gid);
  const std::size_t which = wire::is_ipv4(group) ? 0 : 1;
  if (which >= host_.sockets().size() || groups_.join(group, host_.addresses())) return true;
  local_.leave(gid);
  return false;
}

void Junction::leave(const ibv_gid& gid) {
  local_.leave(gid);
  groups_.leave(link::address_of(gid));
}

/// Others may begin to talk to this host, by any of its sockets.
void Junction::open_management() {
  local_.open_management();
  host_.network().is_in_use.fetch_or((1U << host_.sockets().size()) - 1);
}

void Junction::on_socket_ready(std::size_t which) {
  if (which >= host_.sockets().size()) {
    empty_group_sockets(nullptr);
    return;
  }
  // From now on those who poll look at it.
  host_.network().is_in_use.fetch_or(1U << which);
  empty_sockets(nullptr);
}

}  // namespace softrdma::udp
