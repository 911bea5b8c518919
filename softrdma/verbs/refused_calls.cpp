// What this device does not have, or not yet: each says EOPNOTSUPP.
#include <cerrno>

#include "softrdma/verbs/calls.hpp"

namespace softrdma::verbs {

SOFTRDMA_EXPORT ibv_context* ibv_import_device(int) { return refuse(EOPNOTSUPP); }
SOFTRDMA_EXPORT ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) { return refuse(EOPNOTSUPP); }
SOFTRDMA_EXPORT void ibv_unimport_pd(ibv_pd*) {}
SOFTRDMA_EXPORT ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) { return refuse(EOPNOTSUPP); }
SOFTRDMA_EXPORT void ibv_unimport_mr(ibv_mr*) {}
SOFTRDMA_EXPORT ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) { return refuse(EOPNOTSUPP); }
SOFTRDMA_EXPORT void ibv_unimport_dm(ibv_dm*) {}
SOFTRDMA_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int,
                                          int) {
  return refuse(EOPNOTSUPP);
}
SOFTRDMA_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }
SOFTRDMA_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }
SOFTRDMA_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*,
                                                std::uint16_t*) {
  errno = EOPNOTSUPP;
  return -1;
}

}  // namespace softrdma::verbs
