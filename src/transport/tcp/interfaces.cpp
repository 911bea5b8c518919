#include "transport/tcp/interfaces.hpp"

#include <algorithm>

namespace hawser::transport::tcp {

bool Interface::has(const IpAddress& address) const {
  return std::ranges::any_of(addresses,
                             [&](const InterfaceAddress& each) { return each.address == address; });
}

bool Interface::is_near(const IpAddress& address) const {
  return std::ranges::any_of(addresses, [&](const InterfaceAddress& each) {
    return platform::are_in_one_subnet(each.address, address, each.prefix_bits);
  });
}

const IpAddress* Interface::address_towards(const IpAddress& address) const {
  const IpAddress* found = nullptr;
  for (const InterfaceAddress& each : addresses) {
    if (platform::are_in_one_subnet(each.address, address, each.prefix_bits)) return &each.address;
    if (found == nullptr && each.address.is_v6 == address.is_v6) found = &each.address;
  }
  return found;
}

std::vector<Interface> interfaces_of(const std::vector<InterfaceAddress>& chosen) {
  const bool has_others = std::ranges::any_of(
      chosen, [](const InterfaceAddress& each) { return !each.address.is_loopback(); });
  std::vector<Interface> interfaces;
  for (const InterfaceAddress& each : chosen) {
    if (has_others && each.address.is_loopback()) continue;
    auto found = std::ranges::find(interfaces, each.interface, &Interface::name);
    if (found == interfaces.end()) {
      interfaces.push_back(
          {each.interface, {}, platform::interface_bits_per_second(each.interface).value_or(0)});
      found = interfaces.end() - 1;
    }
    found->addresses.push_back(each);
  }
  return interfaces;
}

std::optional<std::size_t> interface_between(const std::vector<Interface>& interfaces,
                                             const IpAddress& local, const IpAddress& remote) {
  for (std::size_t i = 0; i < interfaces.size(); ++i)
    if (interfaces[i].is_near(remote)) return i;
  for (std::size_t i = 0; i < interfaces.size(); ++i)
    if (interfaces[i].has(local)) return i;
  return std::nullopt;
}

std::vector<IpAddress> order_candidates_from(const Interface& from, const Address& peer,
                                             const std::vector<IpAddress>& taken,
                                             const std::vector<InterfaceAddress>& own,
                                             std::uint64_t host_mark) {
  const bool is_here = host_mark != 0 && host_mark == peer.host_mark;
  std::vector<IpAddress> candidates;
  for (const IpAddress& each : peer.addresses) {
    const bool is_own = std::ranges::find(own, each, &InterfaceAddress::address) != own.end();
    const bool has_version = std::ranges::any_of(from.addresses, [&](const InterfaceAddress& one) {
      return one.address.is_v6 == each.is_v6;
    });
    // By whatever interface: within a host all goes by the loopback interface.
    const bool leads_there = is_here ? each.is_loopback() && from.is_near(each)
                                     : !is_own && !each.is_loopback() && !each.is_link_local();
    if (has_version && leads_there) candidates.push_back(each);
  }
  std::ranges::stable_partition(candidates, [&](const IpAddress& each) {
    return std::ranges::find(taken, each) == taken.end();
  });
  const auto is_near = [&](const IpAddress& each) { return from.is_near(each); };
  if (std::ranges::any_of(candidates, is_near))
    std::erase_if(candidates, [&](const IpAddress& each) { return !is_near(each); });
  return candidates;
}

}  // namespace hawser::transport::tcp
