// Where a process is to be reached: what it publishes, which of its interfaces' addresses that
// names, and in which order a peer tries them.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------+---------------+---------------+---------------+
//   | version (1)   | addresses     | port                          |
//   +---------------+---------------+---------------+---------------+
//   | host mark 64: whom its loopback addresses are for; 0: nobody  |
//   +---------------------------------------------------------------+
//   | for each address: 4 or 6, its version; 4 or 16 bytes          |
//   +---------------------------------------------------------------+
//
// Nothing that is published is believed: an address may be another host's as well, and so is tried
// until one proves to be the peer (Dialer).
// Threads: any; pure functions over what platform/ip_address.hpp tells.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "platform/ip_address.hpp"
#include "transport/tcp/settings.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::tcp {

using platform::InterfaceAddress;
using platform::IpAddress;

struct Address {
  static constexpr std::size_t bytes_max = 255;

  std::uint16_t port = 0;
  std::uint64_t host_mark = 0;
  std::vector<IpAddress> addresses;
};

/// As many addresses as bytes_max has room for.
std::vector<std::byte> bytes_of(const Address& address);
/// Nothing if BYTES are no address of this version.
std::optional<Address> parse_address(std::span<const std::byte> bytes);

/// Those of ALL that SETTINGS let others use, in the order in which they are published: addresses
/// that are valid on one link alone only where there are no others, and loopback last.
/// MPI_ERR_ARG: the settings make no sense, or leave none.
Result<std::vector<InterfaceAddress>> choose_addresses(const std::vector<InterfaceAddress>& all,
                                                       const Settings& settings);

/// PEER's addresses in the order in which a process of HOST_MARK with the addresses OWN tries them:
/// those in a subnet of our own first, loopback last, and only on the same host.
std::vector<IpAddress> order_candidates(const Address& peer,
                                        const std::vector<InterfaceAddress>& own,
                                        std::uint64_t host_mark);

}  // namespace hawser::transport::tcp
