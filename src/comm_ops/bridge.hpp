// How two groups become the two sides of an intercommunicator: their leaders tell each other who is
// there, and each tells its group.
//
// Ownership: a Bridge borrows; it matters at the leader only.
// Invariant: a leader that fails tells its group so; nobody of it waits in vain.
#pragma once

#include "comm_ops/assemble.hpp"

namespace hawser::comm_ops {

/// The leader's way to the other group's leader.
struct Bridge {
  Comm* comm = nullptr;
  int peer = 0;
  int tag = 0;
  core::GlobalId hash{};            // both leaders must name the same
  const Group* expected = nullptr;  // the other group, if it is known
};

/// Collective over the group of OURS, where this process is rank RANK; BRIDGE is the leader's, or
/// why it has none.
Result<Ref<Comm>> connect(p2p::Engine& engine, const Side& ours, int rank, int leader,
                          Result<Bridge> bridge, const Heritage& heritage);

}  // namespace hawser::comm_ops
