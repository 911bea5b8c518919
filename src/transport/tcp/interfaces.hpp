// Interface: one of this host's, with the addresses that a process may use there: connections of
// one link may leave by several.
//
// Values; pure functions but for what platform tells of speeds. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/tcp/address.hpp"

namespace hawser::transport::tcp {

struct Interface {
  std::string name;
  std::vector<InterfaceAddress> addresses;
  std::uint64_t bits_per_second = 0;  // 0: nobody knows

  [[nodiscard]] bool has(const IpAddress& address) const;
  /// Its own address for packets to ADDRESS: of the same subnet, or of the same version; null if
  /// there is none.
  [[nodiscard]] const IpAddress* address_towards(const IpAddress& address) const;
  /// ADDRESS is in a subnet of this interface.
  [[nodiscard]] bool is_near(const IpAddress& address) const;
};

/// Those that CHOSEN addresses belong to, in their order; the loopback interface only where there
/// is no other.
std::vector<Interface> interfaces_of(const std::vector<InterfaceAddress>& chosen);

/// The number of the one of INTERFACES by which packets from LOCAL to REMOTE leave: that has REMOTE
/// in its subnets, or else the one that has LOCAL; nothing if there is none.
std::optional<std::size_t> interface_between(const std::vector<Interface>& interfaces,
                                             const IpAddress& local, const IpAddress& remote);

/// PEER's addresses in the order in which a process of HOST_MARK with the addresses OWN tries them
/// from its interface FROM, those that are TAKEN by other connections last: those in its subnets
/// alone, if there are any, since hosts answer for all of their addresses by each interface. None
/// that could lead to this host, unless PEER is here.
std::vector<IpAddress> order_candidates_from(const Interface& from, const Address& peer,
                                             const std::vector<IpAddress>& taken,
                                             const std::vector<InterfaceAddress>& own,
                                             std::uint64_t host_mark);

}  // namespace hawser::transport::tcp
