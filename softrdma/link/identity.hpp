// What a port is called: its addresses in both worlds.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

namespace softrdma::link {

struct PortIdentity {
  bool is_ethernet = false;  // RoCE; else InfiniBand
  std::uint16_t lid = 0;     // 0 on Ethernet
  std::vector<ibv_gid> gids;
  ibv_mtu mtu = IBV_MTU_4096;  // of what it has ways to

  [[nodiscard]] bool has(const ibv_gid& gid) const;
  /// Whether ADDRESS is one of this port: by GID if it has one, else by LID.
  [[nodiscard]] bool is_addressed_by(const ibv_ah_attr& address) const;
};

}  // namespace softrdma::link
