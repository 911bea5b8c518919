#include "softrdma/verbs/cm_endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "softrdma/udp/addresses.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::size_t ipv4_at = 12;  // in an address of ours

}  // namespace

bool IpEndpoint::is_any() const {
  const std::span<const std::byte> bytes(address);
  return std::ranges::all_of(family == AF_INET ? bytes.subspan(ipv4_at) : bytes,
                             [](std::byte byte) { return byte == std::byte{0}; });
}

bool IpEndpoint::is_loopback() const {
  constexpr std::byte first_of_loopback{127};
  if (family == AF_INET) return address[ipv4_at] == first_of_loopback;
  return address == udp::address_of(in6addr_loopback);
}

std::optional<IpEndpoint> endpoint_from(std::span<const std::byte> bytes) {
  sockaddr_in6 ipv6{};
  sockaddr_in ipv4{};
  if (bytes.size() < sizeof(ipv4)) return std::nullopt;
  std::memcpy(&ipv4, bytes.data(), sizeof(ipv4));
  if (ipv4.sin_family == AF_INET)
    return IpEndpoint{udp::address_of(ipv4.sin_addr), ntohs(ipv4.sin_port), AF_INET};
  if (ipv4.sin_family != AF_INET6 || bytes.size() < sizeof(ipv6)) return std::nullopt;
  std::memcpy(&ipv6, bytes.data(), sizeof(ipv6));
  const wire::Address address = udp::address_of(ipv6.sin6_addr);
  return IpEndpoint{address, ntohs(ipv6.sin6_port),
                    static_cast<sa_family_t>(wire::is_ipv4(address) ? AF_INET : AF_INET6)};
}

IpEndpoint endpoint_of(const wire::Address& address, std::uint16_t port) {
  return {address, port, static_cast<sa_family_t>(wire::is_ipv4(address) ? AF_INET : AF_INET6)};
}

std::size_t write_endpoint(const IpEndpoint& endpoint, std::span<std::byte> out) {
  if (endpoint.family == AF_INET) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(endpoint.port);
    std::memcpy(&ipv4.sin_addr, &endpoint.address[ipv4_at], sizeof(ipv4.sin_addr));
    std::memcpy(out.data(), &ipv4, sizeof(ipv4));
    return sizeof(ipv4);
  }
  if (endpoint.family != AF_INET6) return 0;
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(endpoint.port);
  std::memcpy(&ipv6.sin6_addr, endpoint.address.data(), endpoint.address.size());
  std::memcpy(out.data(), &ipv6, sizeof(ipv6));
  return sizeof(ipv6);
}

}  // namespace softrdma::verbs
