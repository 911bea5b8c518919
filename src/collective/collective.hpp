// The collective operations of MPI (MPI-5.0 chapter 6): what the binding and comm_ops call.
//
// x(runner, …) returns when this process may use its buffers again; ix(runner, …) starts the same
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

class DirectRunner;  // executor/direct.hpp
class PlanRunner;    // executor/plan_runner.hpp

Result<void> barrier(const DirectRunner&, Comm&, const BarrierArguments&);
Result<void> bcast(const DirectRunner&, Comm&, const BcastArguments&);
Result<void> gather(const DirectRunner&, Comm&, const GatherArguments&);
Result<void> gatherv(const DirectRunner&, Comm&, const GathervArguments&);
Result<void> scatter(const DirectRunner&, Comm&, const ScatterArguments&);
Result<void> scatterv(const DirectRunner&, Comm&, const ScattervArguments&);
Result<void> allgather(const DirectRunner&, Comm&, const AllgatherArguments&);
Result<void> allgatherv(const DirectRunner&, Comm&, const AllgathervArguments&);
Result<void> alltoall(const DirectRunner&, Comm&, const AlltoallArguments&);
Result<void> alltoallv(const DirectRunner&, Comm&, const AlltoallvArguments&);
Result<void> alltoallw(const DirectRunner&, Comm&, const AlltoallwArguments&);
Result<void> reduce(const DirectRunner&, Comm&, const ReduceArguments&);
Result<void> allreduce(const DirectRunner&, Comm&, const AllreduceArguments&);
Result<void> reduce_scatter(const DirectRunner&, Comm&, const ReduceScatterArguments&);
Result<void> reduce_scatter_block(const DirectRunner&, Comm&, const ReduceScatterBlockArguments&);
Result<void> scan(const DirectRunner&, Comm&, const ScanArguments&);
Result<void> exscan(const DirectRunner&, Comm&, const ExscanArguments&);

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
