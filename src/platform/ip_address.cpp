#include "platform/ip_address.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "platform/file.hpp"
#include "platform/file_identity.hpp"

namespace hawser::platform {

namespace {

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

/// Nothing for what is neither version 4 nor 6.
std::optional<IpAddress> address_of(const sockaddr* from) {
  if (from == nullptr) return std::nullopt;
  IpAddress address;
  if (from->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, from, sizeof(v4));
    std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof(v4.sin_addr));
    return address;
  }
  if (from->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6;
  std::memcpy(&v6, from, sizeof(v6));
  std::memcpy(address.bytes.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
  address.is_v6 = true;
  address.scope = v6.sin6_scope_id;
  return address;
}

unsigned bits_of(const IpAddress& mask) {
  unsigned bits = 0;
  for (const std::uint8_t byte : mask.significant())
    bits += static_cast<unsigned>(std::popcount(byte));
  return bits;
}

}  // namespace

bool IpAddress::is_loopback() const {
  if (!is_v6) return bytes[0] == 127;
  IpAddress loopback{.is_v6 = true};
  loopback.bytes[15] = 1;
  return bytes == loopback.bytes;
}

bool IpAddress::is_link_local() const {
  return is_v6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string text_of(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.is_v6 ? AF_INET6 : AF_INET, address.bytes.data(), text.data(), text.size());
  return address.scope == 0 ? std::string(text.data())
                            : fmt::format("{}%{}", text.data(), address.scope);
}

std::optional<IpAddress> parse_ip_address(std::string_view text) {
  const std::string terminated(text);
  IpAddress address;
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.is_v6 = true;
  return address;
}

bool are_in_one_subnet(const IpAddress& a, const IpAddress& b, unsigned prefix_bits) {
  if (a.is_v6 != b.is_v6) return false;
  const unsigned bits = std::min(prefix_bits, a.is_v6 ? 128U : 32U);
  const unsigned whole = bits / 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest)) == 0;
}

base::Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return Error(ErrorClass::other, fmt::format("the host does not tell its network interfaces: {}",
                                                std::strerror(errno)));
  const std::unique_ptr<ifaddrs, FreeInterfaces> list(first);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    const std::optional<IpAddress> address = address_of(each->ifa_addr);
    if (!address || (each->ifa_flags & IFF_UP) == 0) continue;
    const std::optional<IpAddress> mask = address_of(each->ifa_netmask);
    addresses.push_back({each->ifa_name, *address, mask ? bits_of(*mask) : 0});
  }
  return addresses;
}

std::optional<std::uint64_t> interface_bits_per_second(const std::string& name) {
  constexpr std::int64_t bits_per_megabit = 1'000'000;
  std::ifstream file(fmt::format("/sys/class/net/{}/speed", name));
  std::int64_t megabits_per_second = 0;
  if (!(file >> megabits_per_second) || megabits_per_second <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(megabits_per_second * bits_per_megabit);
}

std::optional<std::uint64_t> network_identity() {
  const FileDescriptor name_space(
      ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));  // NOLINT(*-vararg)
  return file_identity(name_space.get());
}

}  // namespace hawser::platform
