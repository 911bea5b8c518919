// The functions of ibv_qp_ex: ibv_wr_post(3).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "softrdma/verbs/objects.hpp"

namespace softrdma::verbs {

/// Whether a queue pair of TYPE can have all of OPERATIONS (ibv_qp_create_send_ops_flags).
bool is_extended_type(ibv_qp_type type, std::uint64_t operations);
/// Gives QP the functions of ibv_qp_ex.
void extend(QueuePair& qp);

}  // namespace softrdma::verbs
