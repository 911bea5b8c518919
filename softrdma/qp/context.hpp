// What both halves of a connected queue pair know of it, and the packets that they give out.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "softrdma/memory/region_table.hpp"
#include "softrdma/memory/scatter_gather.hpp"
#include "softrdma/wire/icrc.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::qp {

/// Most reads and atomics of one queue pair on their way; what the device says as max_qp_rd_atom.
inline constexpr std::size_t reads_limit = 16;

/// Attributes, as modify_qp set them; units as in the InfiniBand specification.
struct Context {
  wire::Service service = wire::Service::reliable_connection;
  std::uint32_t number = 0;
  std::uint32_t destination_qp = 0;
  std::uint32_t domain = 0;     // of protection
  std::uint32_t queue_key = 0;  // of datagrams
  std::uint16_t partition_key = 0xffff;
  unsigned access = 0;               // ibv_access_flags that peers have
  std::uint32_t segment_bytes = 0;   // payload of every packet of a message but the last
  std::uint32_t window_packets = 0;  // at most on their way, of what we send
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;  // 7: without end
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t reads_max = 0;           // read and atomic requests that we have on their way
  std::uint8_t incoming_reads_max = 0;  // that the peer has; of both at most reads_limit

  [[nodiscard]] bool is_reliable() const { return wire::is_reliable(service); }
  [[nodiscard]] memory::Owner owner(const memory::RegionTable& regions) const {
    return {regions, domain, number};
  }
  /// Packets of a message of BYTES; an empty one has one too.
  [[nodiscard]] std::uint32_t packets_of(std::uint32_t bytes) const {
    return bytes == 0 ? 1 : (bytes - 1) / segment_bytes + 1;
  }
};

/// Who a packet is for.
struct Destination {
  const ibv_ah_attr* address = nullptr;
  std::uint32_t queue_pair = 0;
};

/// A packet to be sent. Its payload lies in the sender's memory and is read at once, by whoever
/// was given it.
struct Outgoing {
  wire::Headers headers;
  memory::Pieces payload;
  /// The payload is a copy that lasts until the next packet is made: Link::send() and, after it,
  /// Link::flush() are the last to read it.
  bool is_copy = false;
  const ibv_ah_attr* address = nullptr;  // where it goes
};

/// PACKET as it is on the wire, without the ICRC.
std::vector<std::byte> to_bytes(const Outgoing& packet);

inline constexpr std::size_t grh_bytes = 40;

/// A packet that came, and what its link knows of the way.
struct Arrival {
  wire::Packet packet;
  /// The global route header: of IPv6 its header, of IPv4 20 bytes and its header.
  std::optional<std::array<std::byte, grh_bytes>> grh;
  std::uint16_t source_lid = 0;
  std::uint8_t service_level = 0;
  /// The host that it came from; nothing: this one.
  std::optional<wire::Address> host = std::nullopt;
  bool is_marked = false;  // by a switch on the way that has too much to carry
};

}  // namespace softrdma::qp
