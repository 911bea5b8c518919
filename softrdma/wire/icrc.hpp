// ICRC: the checksum over what no router changes of a RoCEv2 packet (InfiniBand Architecture
// Specification, volume 1, §7.8.1 and annex A17.3.3): CRC-32 as of Ethernet over eight bytes of
// ones, the IP and UDP headers and the packet, with the fields that may change on the way set to
// ones. It follows the packet, low byte first.
//
// A program that sends by a socket never sees those headers; what they say is computed here: no IP
// options, identification 0 and "don't fragment" (which a socket can't set, but an unconnected one
// with IP_PMTUDISC_DO gets).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace softrdma::wire {

inline constexpr std::uint16_t roce_port = 4791;
inline constexpr std::size_t icrc_bytes = 4;

/// 16 bytes, as IPv6 writes them; an IPv4 address as ::ffff:a.b.c.d. The GID of RoCEv2 is the same.
using Address = std::array<std::byte, 16>;

/// The path of a UDP datagram to roce_port. Both addresses are of one family.
struct UdpPath {
  Address source{};
  Address destination{};
  std::uint16_t source_port = 0;
};

bool is_ipv4(const Address& address);

/// PACKET: from the base header to the padding, in one or more PIECES, the first of which holds the
/// whole base header.
std::uint32_t icrc(const UdpPath& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace softrdma::wire
