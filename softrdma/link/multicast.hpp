// Multicast: how packets name a group of queue pairs instead of one (InfiniBand Architecture
// Specification, volume 1, §10.5): by a multicast GID and a queue pair number that nobody has.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

#include "softrdma/qp/context.hpp"
#include "softrdma/wire/icrc.hpp"

namespace softrdma::link {

/// Whether GID is that of a group: a multicast address of IPv6, or of IPv4 as ::ffff:a.b.c.d.
bool is_multicast(const wire::Address& gid);
/// Whether ADDRESS leads to a group; one without GID never does.
bool is_multicast(const ibv_ah_attr& address);
/// Whether HEADERS are of a packet for a group, if its GID is one.
bool is_for_group(const wire::Headers& headers);
/// Whether a packet with HEADERS to ADDRESS is for a group.
inline bool is_for_group(const wire::Headers& headers, const ibv_ah_attr& address) {
  return is_for_group(headers) && is_multicast(address);
}

/// GID as an address of IP.
wire::Address address_of(const ibv_gid& gid);
/// Who a packet with the global route header GRH, as qp::Arrival has it, was for.
wire::Address destination_of(const std::array<std::byte, qp::grh_bytes>& grh);

}  // namespace softrdma::link
