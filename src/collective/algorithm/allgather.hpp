// Allgathers on intracommunicators. Blocks travel in the receive buffer's own layout, but for
// Bruck's algorithm, which keeps them packed in turned order.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// Gathered at rank 0 and sent to everyone: few messages, few wake-ups.
template <class Executor>
void allgather_linear(Executor ex, const AllgatherArguments& a);

/// n-1 steps between neighbours; every byte travels once.
template <class Executor>
void allgather_ring(Executor ex, const AllgatherArguments& a);

/// log2(n) exchanges of doubling size. Only for a number of ranks that is a power of two.
template <class Executor>
void allgather_recursive_doubling(Executor ex, const AllgatherArguments& a);

/// log2(n) rounds for any number of ranks.
template <class Executor>
void allgather_bruck(Executor ex, const AllgatherArguments& a);

template <class Executor>
void allgatherv_linear(Executor ex, const AllgathervArguments& a);
template <class Executor>
void allgatherv_ring(Executor ex, const AllgathervArguments& a);

}  // namespace hawser::collective
