#include "softrdma/link/identity.hpp"

#include <algorithm>
#include <cstring>

namespace softrdma::link {

bool PortIdentity::has(const ibv_gid& gid) const {
  return std::ranges::any_of(gids, [&](const ibv_gid& own) {
    return std::memcmp(own.raw, gid.raw, sizeof(gid.raw)) == 0;
  });
}

bool PortIdentity::is_addressed_by(const ibv_ah_attr& address) const {
  if (address.is_global != 0) return has(address.grh.dgid);
  return !is_ethernet && address.dlid == lid;
}

}  // namespace softrdma::link
