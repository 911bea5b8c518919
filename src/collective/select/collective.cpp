#include "collective/collective.hpp"

#include <array>

#include "collective/executor/plan_runner.hpp"
#include "collective/select/perform.hpp"
#include "collective/select/tables.hpp"

namespace hawser::collective {
namespace {

template <class Arguments>
Result<void> blocking(const DirectRunner& runner, Comm& comm, const Arguments& arguments) {
  HAWSER_TRY(core::check_not_revoked(comm));
  DirectRun run(runner);
  perform(DirectExecutor(run, comm), arguments);
  return run.finish();
}

template <class Arguments>
Result<Ref<Request>> nonblocking(PlanRunner& runner, Comm& comm, const Arguments& arguments) {
  HAWSER_TRY(core::check_not_revoked(comm));
  PlanBuilder builder = runner.builder();
  perform(RecordingExecutor(builder, comm), arguments);
  return runner.start(builder.finish());
}

}  // namespace

Result<void> barrier(const DirectRunner& runner, Comm& comm, const BarrierArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ibarrier(PlanRunner& runner, Comm& comm, const BarrierArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> bcast(const DirectRunner& runner, Comm& comm, const BcastArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ibcast(PlanRunner& runner, Comm& comm, const BcastArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> gather(const DirectRunner& runner, Comm& comm, const GatherArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> igather(PlanRunner& runner, Comm& comm, const GatherArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> gatherv(const DirectRunner& runner, Comm& comm, const GathervArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> igatherv(PlanRunner& runner, Comm& comm, const GathervArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> scatter(const DirectRunner& runner, Comm& comm, const ScatterArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iscatter(PlanRunner& runner, Comm& comm, const ScatterArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> scatterv(const DirectRunner& runner, Comm& comm, const ScattervArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iscatterv(PlanRunner& runner, Comm& comm, const ScattervArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> allgather(const DirectRunner& runner, Comm& comm, const AllgatherArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iallgather(PlanRunner& runner, Comm& comm, const AllgatherArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> allgatherv(const DirectRunner& runner, Comm& comm, const AllgathervArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iallgatherv(PlanRunner& runner, Comm& comm, const AllgathervArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> alltoall(const DirectRunner& runner, Comm& comm, const AlltoallArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ialltoall(PlanRunner& runner, Comm& comm, const AlltoallArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> alltoallv(const DirectRunner& runner, Comm& comm, const AlltoallvArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ialltoallv(PlanRunner& runner, Comm& comm, const AlltoallvArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> alltoallw(const DirectRunner& runner, Comm& comm, const AlltoallwArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ialltoallw(PlanRunner& runner, Comm& comm, const AlltoallwArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> reduce(const DirectRunner& runner, Comm& comm, const ReduceArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ireduce(PlanRunner& runner, Comm& comm, const ReduceArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> allreduce(const DirectRunner& runner, Comm& comm, const AllreduceArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iallreduce(PlanRunner& runner, Comm& comm, const AllreduceArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> reduce_scatter(const DirectRunner& runner, Comm& comm,
                            const ReduceScatterArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ireduce_scatter(PlanRunner& runner, Comm& comm,
                                     const ReduceScatterArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> reduce_scatter_block(const DirectRunner& runner, Comm& comm,
                                  const ReduceScatterBlockArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> ireduce_scatter_block(PlanRunner& runner, Comm& comm,
                                           const ReduceScatterBlockArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> scan(const DirectRunner& runner, Comm& comm, const ScanArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iscan(PlanRunner& runner, Comm& comm, const ScanArguments& a) {
  return nonblocking(runner, comm, a);
}

Result<void> exscan(const DirectRunner& runner, Comm& comm, const ExscanArguments& a) {
  return blocking(runner, comm, a);
}
Result<Ref<Request>> iexscan(PlanRunner& runner, Comm& comm, const ExscanArguments& a) {
  return nonblocking(runner, comm, a);
}

namespace {

template <class Arguments>
std::vector<std::string_view> names_in_table() {
  std::vector<std::string_view> names;
  for (const auto& rule : table<DirectExecutor>(For<Arguments>{})) names.push_back(rule.algorithm);
  return names;
}

}  // namespace

std::vector<std::string_view> algorithms_of(std::string_view collective) {
  struct Entry {
    std::string_view collective;
    std::vector<std::string_view> (*names)();
  };
  static constexpr auto entries = std::to_array<Entry>({
      {"barrier", names_in_table<BarrierArguments>},
      {"bcast", names_in_table<BcastArguments>},
      {"gather", names_in_table<GatherArguments>},
      {"gatherv", names_in_table<GathervArguments>},
      {"scatter", names_in_table<ScatterArguments>},
      {"scatterv", names_in_table<ScattervArguments>},
      {"allgather", names_in_table<AllgatherArguments>},
      {"allgatherv", names_in_table<AllgathervArguments>},
      {"alltoall", names_in_table<AlltoallArguments>},
      {"alltoallv", names_in_table<AlltoallvArguments>},
      {"alltoallw", names_in_table<AlltoallwArguments>},
      {"reduce", names_in_table<ReduceArguments>},
      {"allreduce", names_in_table<AllreduceArguments>},
      {"reduce_scatter", names_in_table<ReduceScatterArguments>},
      {"reduce_scatter_block", names_in_table<ReduceScatterArguments>},
      {"scan", names_in_table<ScanArguments>},
      {"exscan", names_in_table<ExscanArguments>},
  });
  for (const Entry& entry : entries) {
    if (entry.collective == collective) return entry.names();
  }
  return {};
}

}  // namespace hawser::collective
