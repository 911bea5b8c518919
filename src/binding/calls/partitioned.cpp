// Partitioned communication (MPI-5.0 chapter 4).
#include "binding/generated/partitioned.hpp"

#include "binding/calls/show.hpp"
#include "p2p/partitioned/partitioner.hpp"

namespace hawser::calls {

using core::Request;

namespace {

p2p::Partitioner& partitioner(Runtime& runtime) { return runtime.process()->partitioner(); }

}  // namespace

Result<void> psend_init(Runtime& runtime, const void* buf, int partitions, Count count,
                        core::Datatype& datatype, int dest, int tag, core::Comm& comm, core::Info*,
                        HandleOut<Request> request) {
  return show(
      partitioner(runtime).psend_init({buf, count, &datatype}, partitions, {&comm, dest, tag}),
      request);
}

Result<void> precv_init(Runtime& runtime, void* buf, int partitions, Count count,
                        core::Datatype& datatype, int source, int tag, core::Comm& comm,
                        core::Info*, HandleOut<Request> request) {
  return show(
      partitioner(runtime).precv_init({buf, count, &datatype}, partitions, {&comm, source, tag}),
      request);
}

Result<void> pready(Runtime&, int partition, Request& request) {
  return p2p::pready(request, partition);
}

Result<void> pready_range(Runtime&, int partition_low, int partition_high, Request& request) {
  return p2p::pready_range(request, partition_low, partition_high);
}

Result<void> pready_list(Runtime&, std::span<const int> array_of_partitions, Request& request) {
  return p2p::pready_list(request, array_of_partitions);
}

Result<void> parrived(Runtime&, Request& request, int partition, int& flag) {
  const Result<bool> arrived = p2p::parrived(request, partition);
  if (!arrived) return arrived.error();
  flag = *arrived ? 1 : 0;
  return {};
}

}  // namespace hawser::calls
