// The states of a queue pair, and which attributes a change between two of them needs and allows
// (InfiniBand Architecture Specification, volume 1, §10.3.1 and table 91; annex A14 for XRC).
#pragma once

#include <infiniband/verbs.h>

namespace softrdma::qp {

/// What is wrong with a change of state; masks of ibv_qp_attr_mask.
struct TransitionCheck {
  bool exists = false;  // there is such a change
  int missing = 0;      // attributes that it needs
  int excess = 0;       // attributes that it does not allow

  [[nodiscard]] bool ok() const { return exists && missing == 0 && excess == 0; }
};

/// MASK: what the caller sets, IBV_QP_STATE (which every change may name) included.
TransitionCheck check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

}  // namespace softrdma::qp
