// The collective operations of MPI (MPI-5.0 chapter 6): what the binding and comm_ops call.
//
// x(engine, …) returns when this process may use its buffers again; ix(runner, …) starts the same
// and returns its request. Both work on intra- and intercommunicators where the standard defines
// the operation. Defined in select/, which chooses the algorithms.
//
// Threads: any; of one communicator's collectives, one call at a time (the standard's rule).
// Errors:  the first error of any message of this process. The rest of the pattern is carried out
//          all the same, so that an error here does not hang the others.
#pragma once

#include <string_view>
#include <vector>

#include "collective/arguments.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

class PlanRunner;  // executor/plan_runner.hpp

Result<void> barrier(p2p::Engine&, Comm&, const BarrierArguments&);
Result<void> bcast(p2p::Engine&, Comm&, const BcastArguments&);
Result<void> gather(p2p::Engine&, Comm&, const GatherArguments&);
Result<void> gatherv(p2p::Engine&, Comm&, const GathervArguments&);
Result<void> scatter(p2p::Engine&, Comm&, const ScatterArguments&);
Result<void> scatterv(p2p::Engine&, Comm&, const ScattervArguments&);
Result<void> allgather(p2p::Engine&, Comm&, const AllgatherArguments&);
Result<void> allgatherv(p2p::Engine&, Comm&, const AllgathervArguments&);
Result<void> alltoall(p2p::Engine&, Comm&, const AlltoallArguments&);
Result<void> alltoallv(p2p::Engine&, Comm&, const AlltoallvArguments&);
Result<void> alltoallw(p2p::Engine&, Comm&, const AlltoallwArguments&);
Result<void> reduce(p2p::Engine&, Comm&, const ReduceArguments&);
Result<void> allreduce(p2p::Engine&, Comm&, const AllreduceArguments&);
Result<void> reduce_scatter(p2p::Engine&, Comm&, const ReduceScatterArguments&);
Result<void> reduce_scatter_block(p2p::Engine&, Comm&, const ReduceScatterBlockArguments&);
Result<void> scan(p2p::Engine&, Comm&, const ScanArguments&);
Result<void> exscan(p2p::Engine&, Comm&, const ExscanArguments&);

Result<Ref<Request>> ibarrier(PlanRunner&, Comm&, const BarrierArguments&);
Result<Ref<Request>> ibcast(PlanRunner&, Comm&, const BcastArguments&);
Result<Ref<Request>> igather(PlanRunner&, Comm&, const GatherArguments&);
Result<Ref<Request>> igatherv(PlanRunner&, Comm&, const GathervArguments&);
Result<Ref<Request>> iscatter(PlanRunner&, Comm&, const ScatterArguments&);
Result<Ref<Request>> iscatterv(PlanRunner&, Comm&, const ScattervArguments&);
Result<Ref<Request>> iallgather(PlanRunner&, Comm&, const AllgatherArguments&);
Result<Ref<Request>> iallgatherv(PlanRunner&, Comm&, const AllgathervArguments&);
Result<Ref<Request>> ialltoall(PlanRunner&, Comm&, const AlltoallArguments&);
Result<Ref<Request>> ialltoallv(PlanRunner&, Comm&, const AlltoallvArguments&);
Result<Ref<Request>> ialltoallw(PlanRunner&, Comm&, const AlltoallwArguments&);
Result<Ref<Request>> ireduce(PlanRunner&, Comm&, const ReduceArguments&);
Result<Ref<Request>> iallreduce(PlanRunner&, Comm&, const AllreduceArguments&);
Result<Ref<Request>> ireduce_scatter(PlanRunner&, Comm&, const ReduceScatterArguments&);
Result<Ref<Request>> ireduce_scatter_block(PlanRunner&, Comm&, const ReduceScatterBlockArguments&);
Result<Ref<Request>> iscan(PlanRunner&, Comm&, const ScanArguments&);
Result<Ref<Request>> iexscan(PlanRunner&, Comm&, const ExscanArguments&);

/// The names that `algorithm` may have for a collective ("bcast"); empty if there is no such
/// collective. In the order of its table.
std::vector<std::string_view> algorithms_of(std::string_view collective);

}  // namespace hawser::collective
