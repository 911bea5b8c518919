// Collective communication: each blocking call and its nonblocking twin hand the same arguments on.
#include <vector>

#include "binding/calls/show.hpp"
#include "binding/generated/collectives.hpp"
#include "collective/collective.hpp"

namespace hawser::calls {

using core::Comm;

namespace {

using RequestOut = HandleOut<core::Request>;

const collective::DirectRunner& blocking(Runtime& runtime) { return runtime.process()->blocking(); }
collective::PlanRunner& plans(Runtime& runtime) { return runtime.process()->plans(); }
const collective::Tuning& tuning(Runtime& runtime) {
  return runtime.process()->settings().collective;
}

std::vector<core::Datatype*> resolved(const HandleArray<core::Datatype>& handles) {
  std::vector<core::Datatype*> types(static_cast<std::size_t>(handles.size()));
  for (Count i = 0; i < handles.size(); ++i) types[static_cast<std::size_t>(i)] = handles[i];
  return types;
}

}  // namespace

Result<void> barrier(Runtime& runtime, Comm& comm) {
  const collective::BarrierArguments arguments{.algorithm = tuning(runtime).barrier};
  return collective::barrier(blocking(runtime), comm, arguments);
}

Result<void> ibarrier(Runtime& runtime, Comm& comm, RequestOut request) {
  const collective::BarrierArguments arguments{.algorithm = tuning(runtime).barrier};
  return show(collective::ibarrier(plans(runtime), comm, arguments), request);
}

Result<void> bcast(Runtime& runtime, void* buffer, Count count, core::Datatype* datatype, int root,
                   Comm& comm) {
  const collective::BcastArguments arguments{
      .buffer = {buffer, count, datatype}, .root = root, .algorithm = tuning(runtime).bcast};
  return collective::bcast(blocking(runtime), comm, arguments);
}

Result<void> ibcast(Runtime& runtime, void* buffer, Count count, core::Datatype* datatype, int root,
                    Comm& comm, RequestOut request) {
  const collective::BcastArguments arguments{
      .buffer = {buffer, count, datatype}, .root = root, .algorithm = tuning(runtime).bcast};
  return show(collective::ibcast(plans(runtime), comm, arguments), request);
}

Result<void> gather(Runtime& runtime, const void* sendbuf, Count sendcount,
                    core::Datatype* sendtype, void* recvbuf, Count recvcount,
                    core::Datatype* recvtype, int root, Comm& comm) {
  const collective::GatherArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                              .receive = {recvbuf, recvcount, recvtype},
                                              .root = root,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).gather};
  return collective::gather(blocking(runtime), comm, arguments);
}

Result<void> igather(Runtime& runtime, const void* sendbuf, Count sendcount,
                     core::Datatype* sendtype, void* recvbuf, Count recvcount,
                     core::Datatype* recvtype, int root, Comm& comm, RequestOut request) {
  const collective::GatherArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                              .receive = {recvbuf, recvcount, recvtype},
                                              .root = root,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).gather};
  return show(collective::igather(plans(runtime), comm, arguments), request);
}

Result<void> gatherv(Runtime& runtime, const void* sendbuf, Count sendcount,
                     core::Datatype* sendtype, void* recvbuf, CountArray recvcounts,
                     CountArray displs, core::Datatype* recvtype, int root, Comm& comm) {
  const collective::GathervArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                               .receive = {recvbuf, 0, recvtype},
                                               .counts = recvcounts.view(),
                                               .displacements = displs.view(),
                                               .root = root,
                                               .in_place = sendbuf == MPI_IN_PLACE,
                                               .algorithm = tuning(runtime).gatherv};
  return collective::gatherv(blocking(runtime), comm, arguments);
}

Result<void> igatherv(Runtime& runtime, const void* sendbuf, Count sendcount,
                      core::Datatype* sendtype, void* recvbuf, CountArray recvcounts,
                      CountArray displs, core::Datatype* recvtype, int root, Comm& comm,
                      RequestOut request) {
  const collective::GathervArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                               .receive = {recvbuf, 0, recvtype},
                                               .counts = recvcounts.view(),
                                               .displacements = displs.view(),
                                               .root = root,
                                               .in_place = sendbuf == MPI_IN_PLACE,
                                               .algorithm = tuning(runtime).gatherv};
  return show(collective::igatherv(plans(runtime), comm, arguments), request);
}

Result<void> scatter(Runtime& runtime, const void* sendbuf, Count sendcount,
                     core::Datatype* sendtype, void* recvbuf, Count recvcount,
                     core::Datatype* recvtype, int root, Comm& comm) {
  const collective::ScatterArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                               .receive = {recvbuf, recvcount, recvtype},
                                               .root = root,
                                               .in_place = recvbuf == MPI_IN_PLACE,
                                               .algorithm = tuning(runtime).scatter};
  return collective::scatter(blocking(runtime), comm, arguments);
}

Result<void> iscatter(Runtime& runtime, const void* sendbuf, Count sendcount,
                      core::Datatype* sendtype, void* recvbuf, Count recvcount,
                      core::Datatype* recvtype, int root, Comm& comm, RequestOut request) {
  const collective::ScatterArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                               .receive = {recvbuf, recvcount, recvtype},
                                               .root = root,
                                               .in_place = recvbuf == MPI_IN_PLACE,
                                               .algorithm = tuning(runtime).scatter};
  return show(collective::iscatter(plans(runtime), comm, arguments), request);
}

Result<void> scatterv(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                      CountArray displs, core::Datatype* sendtype, void* recvbuf, Count recvcount,
                      core::Datatype* recvtype, int root, Comm& comm) {
  const collective::ScattervArguments arguments{.send = {sendbuf, 0, sendtype},
                                                .counts = sendcounts.view(),
                                                .displacements = displs.view(),
                                                .receive = {recvbuf, recvcount, recvtype},
                                                .root = root,
                                                .in_place = recvbuf == MPI_IN_PLACE,
                                                .algorithm = tuning(runtime).scatterv};
  return collective::scatterv(blocking(runtime), comm, arguments);
}

Result<void> iscatterv(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                       CountArray displs, core::Datatype* sendtype, void* recvbuf, Count recvcount,
                       core::Datatype* recvtype, int root, Comm& comm, RequestOut request) {
  const collective::ScattervArguments arguments{.send = {sendbuf, 0, sendtype},
                                                .counts = sendcounts.view(),
                                                .displacements = displs.view(),
                                                .receive = {recvbuf, recvcount, recvtype},
                                                .root = root,
                                                .in_place = recvbuf == MPI_IN_PLACE,
                                                .algorithm = tuning(runtime).scatterv};
  return show(collective::iscatterv(plans(runtime), comm, arguments), request);
}

Result<void> allgather(Runtime& runtime, const void* sendbuf, Count sendcount,
                       core::Datatype* sendtype, void* recvbuf, Count recvcount,
                       core::Datatype* recvtype, Comm& comm) {
  const collective::AllgatherArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                 .receive = {recvbuf, recvcount, recvtype},
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).allgather};
  return collective::allgather(blocking(runtime), comm, arguments);
}

Result<void> iallgather(Runtime& runtime, const void* sendbuf, Count sendcount,
                        core::Datatype* sendtype, void* recvbuf, Count recvcount,
                        core::Datatype* recvtype, Comm& comm, RequestOut request) {
  const collective::AllgatherArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                 .receive = {recvbuf, recvcount, recvtype},
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).allgather};
  return show(collective::iallgather(plans(runtime), comm, arguments), request);
}

Result<void> allgatherv(Runtime& runtime, const void* sendbuf, Count sendcount,
                        core::Datatype* sendtype, void* recvbuf, CountArray recvcounts,
                        CountArray displs, core::Datatype* recvtype, Comm& comm) {
  const collective::AllgathervArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                  .receive = {recvbuf, 0, recvtype},
                                                  .counts = recvcounts.view(),
                                                  .displacements = displs.view(),
                                                  .in_place = sendbuf == MPI_IN_PLACE,
                                                  .algorithm = tuning(runtime).allgatherv};
  return collective::allgatherv(blocking(runtime), comm, arguments);
}

Result<void> iallgatherv(Runtime& runtime, const void* sendbuf, Count sendcount,
                         core::Datatype* sendtype, void* recvbuf, CountArray recvcounts,
                         CountArray displs, core::Datatype* recvtype, Comm& comm,
                         RequestOut request) {
  const collective::AllgathervArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                  .receive = {recvbuf, 0, recvtype},
                                                  .counts = recvcounts.view(),
                                                  .displacements = displs.view(),
                                                  .in_place = sendbuf == MPI_IN_PLACE,
                                                  .algorithm = tuning(runtime).allgatherv};
  return show(collective::iallgatherv(plans(runtime), comm, arguments), request);
}

Result<void> alltoall(Runtime& runtime, const void* sendbuf, Count sendcount,
                      core::Datatype* sendtype, void* recvbuf, Count recvcount,
                      core::Datatype* recvtype, Comm& comm) {
  const collective::AlltoallArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                .receive = {recvbuf, recvcount, recvtype},
                                                .in_place = sendbuf == MPI_IN_PLACE,
                                                .algorithm = tuning(runtime).alltoall};
  return collective::alltoall(blocking(runtime), comm, arguments);
}

Result<void> ialltoall(Runtime& runtime, const void* sendbuf, Count sendcount,
                       core::Datatype* sendtype, void* recvbuf, Count recvcount,
                       core::Datatype* recvtype, Comm& comm, RequestOut request) {
  const collective::AlltoallArguments arguments{.send = {sendbuf, sendcount, sendtype},
                                                .receive = {recvbuf, recvcount, recvtype},
                                                .in_place = sendbuf == MPI_IN_PLACE,
                                                .algorithm = tuning(runtime).alltoall};
  return show(collective::ialltoall(plans(runtime), comm, arguments), request);
}

Result<void> alltoallv(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                       CountArray sdispls, core::Datatype* sendtype, void* recvbuf,
                       CountArray recvcounts, CountArray rdispls, core::Datatype* recvtype,
                       Comm& comm) {
  const collective::AlltoallvArguments arguments{.send = {sendbuf, 0, sendtype},
                                                 .send_counts = sendcounts.view(),
                                                 .send_displacements = sdispls.view(),
                                                 .receive = {recvbuf, 0, recvtype},
                                                 .receive_counts = recvcounts.view(),
                                                 .receive_displacements = rdispls.view(),
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).alltoallv};
  return collective::alltoallv(blocking(runtime), comm, arguments);
}

Result<void> ialltoallv(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                        CountArray sdispls, core::Datatype* sendtype, void* recvbuf,
                        CountArray recvcounts, CountArray rdispls, core::Datatype* recvtype,
                        Comm& comm, RequestOut request) {
  const collective::AlltoallvArguments arguments{.send = {sendbuf, 0, sendtype},
                                                 .send_counts = sendcounts.view(),
                                                 .send_displacements = sdispls.view(),
                                                 .receive = {recvbuf, 0, recvtype},
                                                 .receive_counts = recvcounts.view(),
                                                 .receive_displacements = rdispls.view(),
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).alltoallv};
  return show(collective::ialltoallv(plans(runtime), comm, arguments), request);
}

Result<void> alltoallw(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                       CountArray sdispls, HandleArray<core::Datatype> sendtypes, void* recvbuf,
                       CountArray recvcounts, CountArray rdispls,
                       HandleArray<core::Datatype> recvtypes, Comm& comm) {
  const std::vector<core::Datatype*> send_types = resolved(sendtypes);
  const std::vector<core::Datatype*> receive_types = resolved(recvtypes);
  const collective::AlltoallwArguments arguments{.send = sendbuf,
                                                 .send_counts = sendcounts.view(),
                                                 .send_displacements = sdispls.view(),
                                                 .send_types = send_types.data(),
                                                 .receive = recvbuf,
                                                 .receive_counts = recvcounts.view(),
                                                 .receive_displacements = rdispls.view(),
                                                 .receive_types = receive_types.data(),
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).alltoallw};
  return collective::alltoallw(blocking(runtime), comm, arguments);
}

Result<void> ialltoallw(Runtime& runtime, const void* sendbuf, CountArray sendcounts,
                        CountArray sdispls, HandleArray<core::Datatype> sendtypes, void* recvbuf,
                        CountArray recvcounts, CountArray rdispls,
                        HandleArray<core::Datatype> recvtypes, Comm& comm, RequestOut request) {
  const std::vector<core::Datatype*> send_types = resolved(sendtypes);
  const std::vector<core::Datatype*> receive_types = resolved(recvtypes);
  const collective::AlltoallwArguments arguments{.send = sendbuf,
                                                 .send_counts = sendcounts.view(),
                                                 .send_displacements = sdispls.view(),
                                                 .send_types = send_types.data(),
                                                 .receive = recvbuf,
                                                 .receive_counts = recvcounts.view(),
                                                 .receive_displacements = rdispls.view(),
                                                 .receive_types = receive_types.data(),
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).alltoallw};
  return show(collective::ialltoallw(plans(runtime), comm, arguments), request);
}

Result<void> reduce(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                    core::Datatype* datatype, core::Op& op, int root, Comm& comm) {
  const collective::ReduceArguments arguments{.send = sendbuf,
                                              .receive = recvbuf,
                                              .count = count,
                                              .type = datatype,
                                              .op = &op,
                                              .root = root,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).reduce};
  return collective::reduce(blocking(runtime), comm, arguments);
}

Result<void> ireduce(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                     core::Datatype* datatype, core::Op& op, int root, Comm& comm,
                     RequestOut request) {
  const collective::ReduceArguments arguments{.send = sendbuf,
                                              .receive = recvbuf,
                                              .count = count,
                                              .type = datatype,
                                              .op = &op,
                                              .root = root,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).reduce};
  return show(collective::ireduce(plans(runtime), comm, arguments), request);
}

Result<void> allreduce(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                       core::Datatype* datatype, core::Op& op, Comm& comm) {
  const collective::AllreduceArguments arguments{.send = sendbuf,
                                                 .receive = recvbuf,
                                                 .count = count,
                                                 .type = datatype,
                                                 .op = &op,
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).allreduce};
  return collective::allreduce(blocking(runtime), comm, arguments);
}

Result<void> iallreduce(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                        core::Datatype* datatype, core::Op& op, Comm& comm, RequestOut request) {
  const collective::AllreduceArguments arguments{.send = sendbuf,
                                                 .receive = recvbuf,
                                                 .count = count,
                                                 .type = datatype,
                                                 .op = &op,
                                                 .in_place = sendbuf == MPI_IN_PLACE,
                                                 .algorithm = tuning(runtime).allreduce};
  return show(collective::iallreduce(plans(runtime), comm, arguments), request);
}

Result<void> reduce_scatter(Runtime& runtime, const void* sendbuf, void* recvbuf,
                            CountArray recvcounts, core::Datatype* datatype, core::Op& op,
                            Comm& comm) {
  const collective::ReduceScatterArguments arguments{.send = sendbuf,
                                                     .receive = recvbuf,
                                                     .counts = recvcounts.view(),
                                                     .type = datatype,
                                                     .op = &op,
                                                     .in_place = sendbuf == MPI_IN_PLACE,
                                                     .algorithm = tuning(runtime).reduce_scatter};
  return collective::reduce_scatter(blocking(runtime), comm, arguments);
}

Result<void> ireduce_scatter(Runtime& runtime, const void* sendbuf, void* recvbuf,
                             CountArray recvcounts, core::Datatype* datatype, core::Op& op,
                             Comm& comm, RequestOut request) {
  const collective::ReduceScatterArguments arguments{.send = sendbuf,
                                                     .receive = recvbuf,
                                                     .counts = recvcounts.view(),
                                                     .type = datatype,
                                                     .op = &op,
                                                     .in_place = sendbuf == MPI_IN_PLACE,
                                                     .algorithm = tuning(runtime).reduce_scatter};
  return show(collective::ireduce_scatter(plans(runtime), comm, arguments), request);
}

Result<void> reduce_scatter_block(Runtime& runtime, const void* sendbuf, void* recvbuf,
                                  Count recvcount, core::Datatype* datatype, core::Op& op,
                                  Comm& comm) {
  const collective::ReduceScatterBlockArguments arguments{
      .send = sendbuf,
      .receive = recvbuf,
      .count = recvcount,
      .type = datatype,
      .op = &op,
      .in_place = sendbuf == MPI_IN_PLACE,
      .algorithm = tuning(runtime).reduce_scatter_block};
  return collective::reduce_scatter_block(blocking(runtime), comm, arguments);
}

Result<void> ireduce_scatter_block(Runtime& runtime, const void* sendbuf, void* recvbuf,
                                   Count recvcount, core::Datatype* datatype, core::Op& op,
                                   Comm& comm, RequestOut request) {
  const collective::ReduceScatterBlockArguments arguments{
      .send = sendbuf,
      .receive = recvbuf,
      .count = recvcount,
      .type = datatype,
      .op = &op,
      .in_place = sendbuf == MPI_IN_PLACE,
      .algorithm = tuning(runtime).reduce_scatter_block};
  return show(collective::ireduce_scatter_block(plans(runtime), comm, arguments), request);
}

Result<void> scan(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                  core::Datatype* datatype, core::Op& op, Comm& comm) {
  const collective::ScanArguments arguments{.send = sendbuf,
                                            .receive = recvbuf,
                                            .count = count,
                                            .type = datatype,
                                            .op = &op,
                                            .in_place = sendbuf == MPI_IN_PLACE,
                                            .algorithm = tuning(runtime).scan};
  return collective::scan(blocking(runtime), comm, arguments);
}

Result<void> iscan(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                   core::Datatype* datatype, core::Op& op, Comm& comm, RequestOut request) {
  const collective::ScanArguments arguments{.send = sendbuf,
                                            .receive = recvbuf,
                                            .count = count,
                                            .type = datatype,
                                            .op = &op,
                                            .in_place = sendbuf == MPI_IN_PLACE,
                                            .algorithm = tuning(runtime).scan};
  return show(collective::iscan(plans(runtime), comm, arguments), request);
}

Result<void> exscan(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                    core::Datatype* datatype, core::Op& op, Comm& comm) {
  const collective::ExscanArguments arguments{.send = sendbuf,
                                              .receive = recvbuf,
                                              .count = count,
                                              .type = datatype,
                                              .op = &op,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).exscan};
  return collective::exscan(blocking(runtime), comm, arguments);
}

Result<void> iexscan(Runtime& runtime, const void* sendbuf, void* recvbuf, Count count,
                     core::Datatype* datatype, core::Op& op, Comm& comm, RequestOut request) {
  const collective::ExscanArguments arguments{.send = sendbuf,
                                              .receive = recvbuf,
                                              .count = count,
                                              .type = datatype,
                                              .op = &op,
                                              .in_place = sendbuf == MPI_IN_PLACE,
                                              .algorithm = tuning(runtime).exscan};
  return show(collective::iexscan(plans(runtime), comm, arguments), request);
}

}  // namespace hawser::calls
