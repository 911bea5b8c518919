#include "softrdma/link/identity.hpp"

#include <algorithm>
#include <cstring>

namespace softrdma::link {

ibv_gid link_local_gid(std::uint64_t interface) {
  ibv_gid gid{};
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  for (std::size_t i = 0; i < 8; ++i)
    gid.raw[8 + i] = static_cast<std::uint8_t>(interface >> (56 - 8 * i));
  return gid;
}

bool PortIdentity::has(const ibv_gid& gid) const {
  return std::ranges::any_of(gids, [&](const ibv_gid& own) {
    return std::memcmp(own.raw, gid.raw, sizeof(gid.raw)) == 0;
  });
}

bool PortIdentity::is_addressed_by(const ibv_ah_attr& address) const {
  if (address.is_global != 0) return has(address.grh.dgid);
  return !is_ethernet && address.dlid == lid;
}

const PortIdentity* source_port(std::span<const PortIdentity> ports, const ibv_ah_attr& address) {
  if (address.port_num == 0 || address.port_num > ports.size()) return nullptr;
  const PortIdentity& port = ports[address.port_num - 1U];
  return address.grh.sgid_index < port.gids.size() ? &port : nullptr;
}

bool is_addressed(std::span<const PortIdentity> ports, const ibv_ah_attr& address) {
  return source_port(ports, address) != nullptr &&
         std::ranges::any_of(
             ports, [&](const PortIdentity& port) { return port.is_addressed_by(address); });
}

}  // namespace softrdma::link
