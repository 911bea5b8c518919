// What tests set to bring a queue pair up, as the InfiniBand specification asks for it.
#pragma once

#include <infiniband/verbs.h>

namespace softrdma::qp {

inline constexpr int connected_to_init =
    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int ud_to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
inline constexpr int uc_to_rtr =
    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
inline constexpr int rc_to_rtr = uc_to_rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int unreliable_to_rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
inline constexpr int rc_to_rts = unreliable_to_rts | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

}  // namespace softrdma::qp
