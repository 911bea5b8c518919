// Port: an adapter's port that this process uses, opened. Each that is used is a rail.
//
// Ownership: owns the context and its protection domain; what is made in it goes before it.
// Errors:    say which device was wanted, what there is, and what would help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/verbs/handles.hpp"
#include "transport/verbs/settings.hpp"
#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

using base::Error;
using base::ErrorClass;
using base::Result;

/// The adapter has just refused WHAT, and errno says why.
Error refusal(std::string_view what);

struct Port {
  std::string device;
  Context context;
  ProtectionDomain protection_domain;
  std::uint8_t number = 1;
  std::uint8_t mtu = 0;  // as the verbs number it
  std::uint16_t lid = 0;
  std::uint8_t gid_index = 0;
  ibv_gid gid{};
  bool is_ethernet = false;
  std::uint64_t bits_per_second = 0;
  std::uint8_t reads_max = 1;      // RDMA reads of one queue pair that the adapter has under way
  bool has_xrc = false;            // queue pairs that processes share
  bool keeps_write_order = false;  // the last bytes of an RDMA write are seen last

  /// The active ports of the devices that SETTINGS name, or of all: the nearest to this CPU first,
  /// and no more than they allow; one at least.
  static Result<std::vector<Port>> open_all(const Settings& settings);
  /// The first of them.
  static Result<Port> open(const Settings& settings);

  /// Takes QUEUE_PAIR, a new one for datagrams or one that was reset, to where it receives what
  /// has QUEUE_KEY and can send.
  [[nodiscard]] Result<void> open_datagram_queue_pair(ibv_qp& queue_pair,
                                                      std::uint32_t queue_key) const;
  /// Where PEER is.
  [[nodiscard]] ibv_ah_attr route_to(const PortAddress& peer) const;
  /// How PEER is reached; null where the adapter refuses.
  [[nodiscard]] AddressHandle make_address_handle(const PortAddress& peer) const;
  /// How the sender of a datagram is reached, from its completion and the route in front of it.
  [[nodiscard]] AddressHandle make_address_handle(ibv_wc& completion, std::byte* route) const;
};

}  // namespace hawser::transport::verbs
