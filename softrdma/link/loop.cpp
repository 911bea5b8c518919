#include "softrdma/link/loop.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace softrdma::link {
namespace {

constexpr std::uint32_t segment_bytes = 64U << 10;  // whatever the MTU: nothing is cut on this way
constexpr std::uint32_t window_packets = 16;
constexpr std::size_t packets_max = 256;

}  // namespace

const PortIdentity* Loop::port_of(const ibv_ah_attr& address) const {
  if (address.port_num == 0 || address.port_num > ports_.size()) return nullptr;
  const PortIdentity& port = ports_[address.port_num - 1U];
  return address.grh.sgid_index < port.gids.size() ? &port : nullptr;
}

std::optional<qp::Path> Loop::path_to(const ibv_ah_attr& address, ibv_mtu /*mtu*/) const {
  if (port_of(address) == nullptr) return std::nullopt;
  const bool is_ours = std::ranges::any_of(
      ports_, [&](const PortIdentity& port) { return port.is_addressed_by(address); });
  if (!is_ours) return std::nullopt;
  return qp::Path{.segment_bytes = segment_bytes, .window_packets = window_packets};
}

bool Loop::has_room(const ibv_ah_attr& /*address*/) const { return waiting_.size() < packets_max; }

void Loop::send(const qp::Outgoing& packet, const ibv_ah_attr& address) {
  if (!path_to(address, IBV_MTU_4096)) return;
  Waiting& waiting = waiting_.emplace_back(Waiting{packet.headers, {}, address});
  packet.payload.append_to(&waiting.payload);
}

/// As it would be on the wire of InfiniBand (IBA §8.3).
std::array<std::byte, qp::grh_bytes> Loop::route_header(const Waiting& waiting) const {
  constexpr std::uint8_t next_header = 0x1b;
  const ibv_global_route& route = waiting.address.grh;
  ibv_grh header{};
  header.version_tclass_flow =
      htonl(6U << 28 | std::uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xfffff));
  header.paylen = htons(static_cast<std::uint16_t>(waiting.payload.size()));
  header.next_hdr = next_header;
  header.hop_limit = route.hop_limit;
  header.sgid = port_of(waiting.address)->gids[route.sgid_index];
  header.dgid = route.dgid;
  std::array<std::byte, qp::grh_bytes> out;
  static_assert(sizeof(header) == qp::grh_bytes);
  std::memcpy(out.data(), &header, out.size());
  return out;
}

bool Loop::poll(Sink& sink, std::uint64_t /*now_ns*/) {
  // What is sent meanwhile waits for the next time.
  const std::size_t arrived = waiting_.size();
  for (std::size_t i = 0; i < arrived; ++i) {
    const Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    qp::Arrival arrival;
    arrival.packet = {waiting.headers, *wire::shape_of(waiting.headers.opcode), waiting.payload};
    if (waiting.address.is_global != 0) arrival.grh = route_header(waiting);
    arrival.source_lid = port_of(waiting.address)->lid;
    arrival.service_level = waiting.address.sl;
    sink.on_arrival(arrival);
  }
  return arrived > 0;
}

}  // namespace softrdma::link
