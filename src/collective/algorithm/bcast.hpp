// Broadcasts on intracommunicators. All work on the root's and receivers' own layouts; those that
// cut the message do so in its packed bytes, since counts and types may differ between processes.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// The root sends to everyone.
template <class Executor>
void bcast_linear(Executor ex, const BcastArguments& a);

/// A binomial tree: log2(n) steps of the whole message.
template <class Executor>
void bcast_binomial(Executor ex, const BcastArguments& a);

/// From neighbour to neighbour in segments, receiving one while sending another.
template <class Executor>
void bcast_pipelined_chain(Executor ex, const BcastArguments& a);

/// Scatters n blocks along a binomial tree, then passes them around a ring: every process sends and
/// receives the message about once.
template <class Executor>
void bcast_scatter_allgather(Executor ex, const BcastArguments& a);

}  // namespace hawser::collective
