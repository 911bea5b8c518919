// The addresses of this host, and of those that packets go to.
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/wire/icrc.hpp"

namespace softrdma::udp {

wire::Address address_of(const in_addr& ipv4);
wire::Address address_of(const in6_addr& ipv6);
/// What RoCE calls a port with that address.
ibv_gid gid_of(const wire::Address& address);

/// Of all interfaces that are up: those of IPv4, then those of IPv6, the link's own last. Of
/// loopback only if there are no others.
std::vector<fabric::NetworkAddress> addresses_of_host();
/// Those that TEXT lists, with commas between them. Errors: a sentence.
hawser::base::Result<std::vector<fabric::NetworkAddress>> parse_addresses(std::string_view text);

/// Whether ADDRESS is among ADDRESSES.
bool is_one_of(std::span<const fabric::NetworkAddress> addresses, const wire::Address& address);

/// The largest payload that fits into IP packets of BYTES.
ibv_mtu payload_mtu(std::uint32_t ip_mtu);

// InfiniBand knows no IP addresses: what a port of it is called tells the IPv4 address of its host.

/// ADDRESS, which is of IPv4, as a number.
std::uint32_t ipv4_number(const wire::Address& address);
/// The first of ADDRESSES that is of IPv4, as a number.
std::optional<std::uint32_t> ipv4_of(std::span<const fabric::NetworkAddress> addresses);
/// The LID of a host: the low half of its address.
constexpr std::uint16_t lid_of(std::uint32_t ipv4) { return static_cast<std::uint16_t>(ipv4); }

/// Where a packet goes, and from where.
struct Way {
  wire::UdpPath path;
  std::uint32_t interface = 0;
  std::uint32_t ip_mtu = 0;
  std::optional<std::uint8_t> hops;  // how many, if not as many as is usual
};

/// From PORT, of a host with ADDRESSES, to ADDRESS. Nothing if it leads nowhere.
std::optional<Way> way_to(const ibv_ah_attr& address, const link::PortIdentity& port,
                          std::span<const fabric::NetworkAddress> addresses);

}  // namespace softrdma::udp
