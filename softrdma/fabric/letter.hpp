// A packet into an inbox: what HostLink and what came by UDP have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/inbox.hpp"
#include "softrdma/qp/context.hpp"

namespace softrdma::fabric {

/// Most bytes of a payload in Form::chunks.
inline constexpr std::size_t chunked_bytes_max = 64U << 10;

/// The form of a payload of BYTES that is copied.
constexpr Form copied_form(std::size_t bytes) {
  return bytes <= body_bytes ? Form::body : Form::chunks;
}

/// What is known of the way of an arrival.
void tell_of(const Route& route, qp::Arrival* arrival);
/// The way of ARRIVAL as tell_of() had it; nothing of one that has none.
std::optional<Route> route_of(const qp::Arrival& arrival);

/// Leaves PACKET, its payload in FORM, in the inbox of SEAT; ROUTE: null if there is nothing to
/// tell. Returns its position there, or nothing if there is no room. Nobody is woken.
std::optional<std::uint64_t> leave_packet(const Host& host, std::uint16_t seat,
                                          const qp::Outgoing& packet, Form form,
                                          const Route* route);

}  // namespace softrdma::fabric
