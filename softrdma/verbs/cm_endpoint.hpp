// IpEndpoint: an address of IP and a port, between sockaddr of the program and our own form.
//
// Ownership: values. Threads: any.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/wire/icrc.hpp"

namespace softrdma::verbs {

struct IpEndpoint {
  wire::Address address{};
  std::uint16_t port = 0;
  sa_family_t family = AF_UNSPEC;

  [[nodiscard]] bool is_given() const { return family != AF_UNSPEC; }
  /// Whether it stands for all addresses of the host.
  [[nodiscard]] bool is_any() const;
  [[nodiscard]] bool is_loopback() const;
};

/// BYTES: a sockaddr_in or sockaddr_in6, and maybe more. Nothing if they are none.
std::optional<IpEndpoint> endpoint_from(std::span<const std::byte> bytes);
IpEndpoint endpoint_of(const wire::Address& address, std::uint16_t port);
/// Writes a sockaddr to OUT, which has room for a sockaddr_in6 and holds zeros; nothing if none is
/// given. Returns its size.
std::size_t write_endpoint(const IpEndpoint& endpoint, std::span<std::byte> out);

}  // namespace softrdma::verbs
