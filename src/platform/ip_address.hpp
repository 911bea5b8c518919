// IpAddress: an address of version 4 or 6, and the interfaces of this host that have some.
//
// Threads: any; values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hawser::platform {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // the first 4 of version 4
  bool is_v6 = false;
  std::uint32_t scope = 0;  // the interface's number, where the address means nothing without

  [[nodiscard]] std::span<const std::uint8_t> significant() const {
    return std::span(bytes).first(is_v6 ? 16 : 4);
  }
  [[nodiscard]] bool is_loopback() const;
  /// Of version 6, and valid on one link alone.
  [[nodiscard]] bool is_link_local() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// As people write it: "10.0.0.1", "fe80::1%3".
std::string text_of(const IpAddress& address);
/// Nothing unless TEXT is an address and no more.
std::optional<IpAddress> parse_ip_address(std::string_view text);

/// The first PREFIX_BITS of A and B, of one version, are equal.
bool are_in_one_subnet(const IpAddress& a, const IpAddress& b, unsigned prefix_bits);

/// An address of an interface that is up.
struct InterfaceAddress {
  std::string interface;
  IpAddress address;
  unsigned prefix_bits = 0;  // of its subnet
};
/// In the kernel's order; an interface stands there once for each of its addresses.
base::Result<std::vector<InterfaceAddress>> interface_addresses();

/// What interface NAME of this host says that it carries; nothing if it does not tell.
std::optional<std::uint64_t> interface_bits_per_second(const std::string& name);

/// A number that all processes of one kernel and network name space have in common, and hardly any
/// others: who shares it reaches this process by loopback addresses. Nothing where the host does
/// not tell.
std::optional<std::uint64_t> network_identity();

}  // namespace hawser::platform
