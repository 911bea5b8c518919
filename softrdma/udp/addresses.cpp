#include "softrdma/udp/addresses.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "platform/file.hpp"
#include "softrdma/link/multicast.hpp"

namespace softrdma::udp {

using fabric::NetworkAddress;
using hawser::base::Error;
using hawser::base::ErrorClass;
using hawser::base::Result;
using wire::Address;

namespace {

/// IPv6 header, UDP header, the longest headers of a packet, padding and checksum.
constexpr std::uint32_t overhead_bytes =
    40 + 8 + wire::headers_bytes_max + wire::padding_bytes_max + wire::icrc_bytes;
constexpr std::uint32_t usual_mtu = 1500;

Address address_of_number(std::uint32_t ipv4) { return address_of(in_addr{htonl(ipv4)}); }

bool is_link_local(const Address& address) {
  return address[0] == std::byte{0xfe} && (address[1] & std::byte{0xc0}) == std::byte{0x80};
}

std::uint32_t mtu_of(const char* interface) {
  const hawser::platform::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof(request.ifr_name) - 1);
  if (::ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return usual_mtu;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

struct Found {
  NetworkAddress address;
  bool is_loopback;
};

std::vector<Found> find_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<Found> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    NetworkAddress address;
    if (entry->ifa_addr->sa_family == AF_INET) {
      address.address = address_of(reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      address.address = address_of(reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr);
    } else {
      continue;
    }
    address.interface = ::if_nametoindex(entry->ifa_name);
    address.mtu = mtu_of(entry->ifa_name);
    found.push_back({address, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

std::optional<Address> parse(const std::string& text) {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return address_of(ipv4);
  if (::inet_pton(AF_INET6, text.c_str(), &ipv6) == 1) return address_of(ipv6);
  return std::nullopt;
}

/// With its interface; one of loopback's many needs not be listed.
NetworkAddress located(const Address& address, const std::vector<Found>& known) {
  NetworkAddress out{address, 0, usual_mtu};
  const std::byte first_of_loopback{127};
  for (const Found& candidate : known) {
    const bool is_it = candidate.address.address == address;
    const bool is_loopback = candidate.is_loopback && wire::is_ipv4(address) &&
                             address[12] == first_of_loopback &&
                             wire::is_ipv4(candidate.address.address);
    if (!is_it && !is_loopback) continue;
    out.interface = candidate.address.interface;
    out.mtu = candidate.address.mtu;
    if (is_it) break;
  }
  return out;
}

}  // namespace

Address address_of(const in_addr& ipv4) {
  Address out{};
  out[10] = out[11] = std::byte{0xff};
  std::memcpy(&out[12], &ipv4, sizeof(ipv4));
  return out;
}
Address address_of(const in6_addr& ipv6) {
  Address out;
  std::memcpy(out.data(), &ipv6, sizeof(ipv6));
  return out;
}

ibv_gid gid_of(const Address& address) {
  ibv_gid gid;
  std::memcpy(gid.raw, address.data(), address.size());
  return gid;
}

std::vector<NetworkAddress> addresses_of_host() {
  std::vector<Found> found = find_addresses();
  const bool has_others =
      std::ranges::any_of(found, [](const Found& one) { return !one.is_loopback; });
  if (has_others) std::erase_if(found, [](const Found& one) { return one.is_loopback; });
  const auto rank = [](const Found& one) {
    if (wire::is_ipv4(one.address.address)) return 0;
    return is_link_local(one.address.address) ? 2 : 1;
  };
  std::ranges::stable_sort(found, {}, rank);
  std::vector<NetworkAddress> out;
  for (const Found& one : found) out.push_back(one.address);
  return out;
}

Result<std::vector<NetworkAddress>> parse_addresses(std::string_view text) {
  const std::vector<Found> known = find_addresses();
  std::vector<NetworkAddress> out;
  while (!text.empty()) {
    const std::string one(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::optional<Address> address = parse(one);
    if (!address)
      return Error(ErrorClass::other,
                   fmt::format("softrdma: the addresses have '{}', which is no IP address", one));
    out.push_back(located(*address, known));
  }
  return out;
}

ibv_mtu payload_mtu(std::uint32_t ip_mtu) {
  for (const ibv_mtu mtu : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512})
    if ((128U << mtu) + overhead_bytes <= ip_mtu) return mtu;
  return IBV_MTU_256;
}

bool is_one_of(std::span<const NetworkAddress> addresses, const Address& address) {
  return std::ranges::find(addresses, address, &NetworkAddress::address) != addresses.end();
}

std::uint32_t ipv4_number(const Address& address) {
  std::uint32_t number;
  std::memcpy(&number, &address[12], sizeof(number));
  return ntohl(number);
}

std::optional<std::uint32_t> ipv4_of(std::span<const NetworkAddress> addresses) {
  for (const NetworkAddress& address : addresses)
    if (wire::is_ipv4(address.address)) return ipv4_number(address.address);
  return std::nullopt;
}

namespace {

/// Of IPv6, on the interface that has the address OWN of IPv4, or any; zeros if there is none.
Address neighbour_of_ipv6(std::uint32_t own, std::span<const NetworkAddress> addresses) {
  const auto is_ipv6 = [](const NetworkAddress& one) { return !wire::is_ipv4(one.address); };
  const auto ipv4 = std::ranges::find(addresses, address_of_number(own), &NetworkAddress::address);
  auto found = std::ranges::find_if(addresses, [&](const NetworkAddress& one) {
    return is_ipv6(one) && one.interface == ipv4->interface;
  });
  if (found == addresses.end()) found = std::ranges::find_if(addresses, is_ipv6);
  return found == addresses.end() ? Address{} : found->address;
}

/// The addresses of both ends, or nothing.
std::optional<wire::UdpPath> path_of(const ibv_ah_attr& address, const link::PortIdentity& port,
                                     std::span<const NetworkAddress> addresses) {
  wire::UdpPath path;
  path.source_port = wire::roce_port;
  const ibv_gid& remote = address.grh.dgid;
  if (port.is_ethernet) {
    if (address.is_global == 0 || address.grh.sgid_index >= port.gids.size()) return std::nullopt;
    std::memcpy(path.source.data(), port.gids[address.grh.sgid_index].raw, path.source.size());
    std::memcpy(path.destination.data(), remote.raw, path.destination.size());
    return path;
  }
  const std::optional<std::uint32_t> own = ipv4_of(addresses);
  if (!own) return std::nullopt;
  if (link::is_multicast(address)) {
    path.destination = link::address_of(remote);
    path.source = wire::is_ipv4(path.destination) ? address_of_number(*own)
                                                  : neighbour_of_ipv6(*own, addresses);
    return path;
  }
  std::uint32_t destination = (*own & 0xffff0000) | address.dlid;
  if (address.is_global != 0) {
    std::memcpy(&destination, &remote.raw[12], sizeof(destination));
    destination = ntohl(destination);
  }
  path.source = address_of_number(*own);
  path.destination = address_of_number(destination);
  return path;
}

}  // namespace

std::optional<Way> way_to(const ibv_ah_attr& address, const link::PortIdentity& port,
                          std::span<const NetworkAddress> addresses) {
  const std::optional<wire::UdpPath> path = path_of(address, port, addresses);
  if (!path || wire::is_ipv4(path->source) != wire::is_ipv4(path->destination)) return std::nullopt;
  if (path->destination == Address{}) return std::nullopt;
  const auto found = std::ranges::find(addresses, path->source, &NetworkAddress::address);
  if (found == addresses.end()) return std::nullopt;
  Way way{*path, found->interface, found->mtu, std::nullopt};
  // One that is for a single host has its way without that.
  const std::uint8_t hops = address.grh.hop_limit;
  if (link::is_multicast(path->destination) && hops != 0) way.hops = hops;
  return way;
}

}  // namespace softrdma::udp
