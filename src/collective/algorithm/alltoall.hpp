// Complete exchanges on intracommunicators. In place, the outgoing blocks are packed aside first.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// All messages at once, each process beginning with another peer.
template <class Executor>
void alltoall_linear(Executor ex, const AlltoallArguments& a);
template <class Executor>
void alltoallv_linear(Executor ex, const AlltoallvArguments& a);
template <class Executor>
void alltoallw_linear(Executor ex, const AlltoallwArguments& a);

/// n-1 steps, one peer to send to and one to receive from in each: bounded memory for large blocks.
template <class Executor>
void alltoall_pairwise(Executor ex, const AlltoallArguments& a);
template <class Executor>
void alltoallv_pairwise(Executor ex, const AlltoallvArguments& a);
template <class Executor>
void alltoallw_pairwise(Executor ex, const AlltoallwArguments& a);

/// log2(n) messages of about half the blocks each; for small blocks and many ranks.
template <class Executor>
void alltoall_bruck(Executor ex, const AlltoallArguments& a);

}  // namespace hawser::collective
