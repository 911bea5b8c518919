// IP addressing of connections (InfiniBand Architecture Specification, volume 1, annex A11): ports
// are services, and requests begin their private data with the addresses of both ends, 36 bytes:
//    0               1               2               3
//   +-------+-------+-------+-------+-------------------------------+
//   | major | minor | IP    | 0     | port of the requester         |
//   +-------+-------+-------+-------+-------------------------------+
//   | address of the requester (128), of IPv4 in the last 32 bits   |
//   +---------------------------------------------------------------+
//   | address of the listener (128)                                 |
//   +---------------------------------------------------------------+
//
// Ownership: values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/wire/icrc.hpp"

namespace softrdma::cm {

inline constexpr std::size_t ip_header_bytes = 36;

struct IpHeader {
  std::uint16_t source_port = 0;
  wire::Address source{};  // of both the family is the same
  wire::Address destination{};
};

/// The service that who listens on PORT offers; SPACE: as rdma_ucm_port_space.
constexpr std::uint64_t service_of(std::uint16_t space, std::uint16_t port) {
  return std::uint64_t{space} << 16 | port;
}
constexpr std::uint16_t port_of(std::uint64_t service) {
  return static_cast<std::uint16_t>(service);
}

/// Nothing if PRIVATE_DATA does not begin with one.
std::optional<IpHeader> parse_ip_header(std::span<const std::byte> private_data);
void build_ip_header(const IpHeader& header, std::span<std::byte, ip_header_bytes> out);

}  // namespace softrdma::cm
