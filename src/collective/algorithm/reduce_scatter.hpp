// Reductions whose result is scattered over an intracommunicator. MPI_Reduce_scatter_block is the
// case of equal counts.
#pragma once

#include <vector>

#include "collective/arguments.hpp"

namespace hawser::collective {

/// Where the items of each of RANKS ranks begin in the whole vector; the last entry is its length.
std::vector<Count> begins_of(const ReduceScatterArguments& a, int ranks);

/// A reduction to rank 0, which scatters the result: few messages, few wake-ups.
template <class Executor>
void reduce_scatter_linear(Executor ex, const ReduceScatterArguments& a);

/// The same along a binomial tree.
template <class Executor>
void reduce_scatter_reduce_scatterv(Executor ex, const ReduceScatterArguments& a);

/// n-1 steps; every process sends each block straight to its owner, who combines in rank order.
template <class Executor>
void reduce_scatter_pairwise(Executor ex, const ReduceScatterArguments& a);

/// log2(n) exchanges of halving size, over the longest distance first: commutative only.
template <class Executor>
void reduce_scatter_recursive_halving(Executor ex, const ReduceScatterArguments& a);

}  // namespace hawser::collective
