// Reductions to all ranks of an intracommunicator. Only the ring demands that the operation
// commutes; the others combine neighbours in rank order.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// Combined at rank 0, which sends to everyone: few messages, few wake-ups.
template <class Executor>
void allreduce_linear(Executor ex, const AllreduceArguments& a);

/// Two binomial trees, by way of rank 0.
template <class Executor>
void allreduce_reduce_bcast(Executor ex, const AllreduceArguments& a);

/// log2(n) exchanges of the whole vector.
template <class Executor>
void allreduce_recursive_doubling(Executor ex, const AllreduceArguments& a);

/// Rabenseifner: a reduce-scatter by halving, then an allgather by doubling; every process sends
/// and receives about two vectors in 2 log2(n) steps.
template <class Executor>
void allreduce_rabenseifner(Executor ex, const AllreduceArguments& a);

/// The same volume in 2(n-1) steps between neighbours. Commutative operations only.
template <class Executor>
void allreduce_ring(Executor ex, const AllreduceArguments& a);

}  // namespace hawser::collective
