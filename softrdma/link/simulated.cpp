#include "softrdma/link/simulated.hpp"

#include <algorithm>
#include <utility>

#include "softrdma/wire/icrc.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::link {

namespace {

/// Between simulated hosts there is no IP; the checksum is over a path that both ends make up
/// alike.
wire::UdpPath path_between(std::uint16_t from, std::uint16_t to) {
  wire::UdpPath path;
  path.source[14] = static_cast<std::byte>(from >> 8);
  path.source[15] = static_cast<std::byte>(from);
  path.destination[14] = static_cast<std::byte>(to >> 8);
  path.destination[15] = static_cast<std::byte>(to);
  return path;
}

std::uint32_t checksum(std::uint16_t from, std::uint16_t to, std::span<const std::byte> packet) {
  return wire::icrc(path_between(from, to), {&packet, 1});
}

constexpr std::size_t checksum_bytes = wire::icrc_bytes;

}  // namespace

class SimulatedNetwork::Port final : public Link {
 public:
  Port(SimulatedNetwork& network, std::uint16_t lid) : network_(network), lid_(lid) {}

  std::optional<qp::Path> path_to(const ibv_ah_attr& address, ibv_mtu mtu) const override {
    if (!network_.hosts_.contains(address.dlid)) return std::nullopt;
    return qp::Path{.segment_bytes = 128U << mtu,
                    .unreliable_segment_bytes = 128U << mtu,
                    .window_packets = network_.settings_.window_packets,
                    .host = path_between(lid_, address.dlid).destination};
  }
  bool has_room(const qp::Destination& destination) override {
    const ibv_ah_attr& address = *destination.address;
    const auto host = network_.hosts_.find(address.dlid);
    return host == network_.hosts_.end() || host->second.size() < network_.settings_.packets_max;
  }
  void send(const qp::Outgoing& packet, const ibv_ah_attr& address) override {
    std::vector<std::byte> bytes = qp::to_bytes(packet);
    const std::uint32_t sum = checksum(lid_, address.dlid, bytes);
    for (std::size_t i = 0; i < checksum_bytes; ++i)
      bytes.push_back(static_cast<std::byte>(sum >> (8 * i)));
    network_.launch(lid_, address.dlid, std::move(bytes));
  }
  bool poll(Sink& sink, std::uint64_t now_ns) override {
    Flights& flights = network_.hosts_[lid_];
    bool moved = false;
    while (!flights.empty() && flights.begin()->first <= now_ns) {
      const Flying flying = std::move(flights.begin()->second);
      flights.erase(flights.begin());
      take(flying, sink);
      moved = true;
    }
    return moved;
  }

 private:
  void take(const Flying& flying, Sink& sink) const {
    const auto packet_bytes = std::span(flying.bytes).first(flying.bytes.size() - checksum_bytes);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < checksum_bytes; ++i)
      sum |= std::to_integer<std::uint32_t>(flying.bytes[packet_bytes.size() + i]) << (8 * i);
    if (sum != checksum(flying.source_lid, lid_, packet_bytes)) return;
    const std::optional<wire::Packet> packet = wire::parse(packet_bytes);
    if (!packet) return;
    sink.on_arrival({.packet = *packet,
                     .grh = std::nullopt,
                     .source_lid = flying.source_lid,
                     .host = path_between(flying.source_lid, lid_).source});
  }

  SimulatedNetwork& network_;
  const std::uint16_t lid_;
};

std::unique_ptr<Link> SimulatedNetwork::join(std::uint16_t lid) {
  hosts_[lid];
  return std::make_unique<Port>(*this, lid);
}

std::uint64_t SimulatedNetwork::arrival_ns() {
  const std::uint64_t extra = hits(settings_.faults.late) ? random_() % settings_.late_ns_max : 0;
  return now_ns_ + settings_.latency_ns + extra;
}

void SimulatedNetwork::launch(std::uint16_t from, std::uint16_t to, std::vector<std::byte> bytes) {
  const auto host = hosts_.find(to);
  if (host == hosts_.end() || hits(settings_.faults.lost)) return;
  if (hits(settings_.faults.damaged))
    bytes[random_() % bytes.size()] ^= static_cast<std::byte>(1U << random_() % 8);
  if (hits(settings_.faults.repeated)) host->second.insert({arrival_ns(), {from, bytes}});
  host->second.insert({arrival_ns(), {from, std::move(bytes)}});
}

std::optional<std::uint64_t> SimulatedNetwork::next_arrival_ns() const {
  std::optional<std::uint64_t> next;
  for (const auto& [lid, flights] : hosts_) {
    if (flights.empty()) continue;
    const std::uint64_t first = flights.begin()->first;
    next = std::min(next.value_or(first), first);
  }
  return next;
}

}  // namespace softrdma::link
