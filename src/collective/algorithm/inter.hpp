// Collectives on intercommunicators (MPI-5.0 §6.2.3). One algorithm each: what has to be combined
// or spread within a group goes through that group's rank 0, its leader, on comm.local().
//
// Rooted operations: the root passes root_here, its group's other members proc_null (they do
// nothing), the other group the root's rank.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

template <class Executor>
void inter_barrier(Executor ex, const BarrierArguments& a);
template <class Executor>
void inter_bcast(Executor ex, const BcastArguments& a);
template <class Executor>
void inter_gather(Executor ex, const GatherArguments& a);
template <class Executor>
void inter_gatherv(Executor ex, const GathervArguments& a);
template <class Executor>
void inter_scatter(Executor ex, const ScatterArguments& a);
template <class Executor>
void inter_scatterv(Executor ex, const ScattervArguments& a);
template <class Executor>
void inter_allgather(Executor ex, const AllgatherArguments& a);
template <class Executor>
void inter_allgatherv(Executor ex, const AllgathervArguments& a);
template <class Executor>
void inter_alltoall(Executor ex, const AlltoallArguments& a);
template <class Executor>
void inter_alltoallv(Executor ex, const AlltoallvArguments& a);
template <class Executor>
void inter_alltoallw(Executor ex, const AlltoallwArguments& a);
template <class Executor>
void inter_reduce(Executor ex, const ReduceArguments& a);
template <class Executor>
void inter_allreduce(Executor ex, const AllreduceArguments& a);
template <class Executor>
void inter_reduce_scatter(Executor ex, const ReduceScatterArguments& a);

}  // namespace hawser::collective
