// What a port is called: its addresses in both worlds.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <vector>

namespace softrdma::link {

/// Of a port whose number is INTERFACE, on any network of InfiniBand.
ibv_gid link_local_gid(std::uint64_t interface);

struct PortIdentity {
  bool is_ethernet = false;  // RoCE; else InfiniBand
  std::uint16_t lid = 0;     // 0 on Ethernet
  std::vector<ibv_gid> gids;
  ibv_mtu mtu = IBV_MTU_4096;  // of what it has ways to

  [[nodiscard]] bool has(const ibv_gid& gid) const;
  /// Whether ADDRESS is one of this port: by GID if it has one, else by LID.
  [[nodiscard]] bool is_addressed_by(const ibv_ah_attr& address) const;
};

/// The one of PORTS that packets to ADDRESS leave by; null if it names none, or no GID of it.
[[nodiscard]] const PortIdentity* source_port(std::span<const PortIdentity> ports,
                                              const ibv_ah_attr& address);
/// Whether ADDRESS is that of one of PORTS.
[[nodiscard]] bool is_addressed(std::span<const PortIdentity> ports, const ibv_ah_attr& address);

}  // namespace softrdma::link
