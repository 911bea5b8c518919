#include "p2p/partitioned/partitioned_request.hpp"

#include <fmt/format.h>

#include "p2p/partitioned/partitioner.hpp"

namespace hawser::p2p {
namespace {

using base::Error;
using base::ErrorClass;

Result<PartitionedRequest*> as_partitioned(Request& request) {
  if (request.kind() == core::RequestKind::partitioned) [[likely]] {
    return static_cast<PartitionedRequest*>(&request);
  }
  return Error(ErrorClass::request, "the request is not of a partitioned send or receive");
}

}  // namespace

PartitionedRequest::PartitionedRequest(Partitioner& partitioner, const Envelope& envelope,
                                       Datatype& type, Count items, int partitions)
    : Request(core::RequestKind::partitioned, /*persistent=*/true, core::Completion::derived),
      partitioner_(partitioner),
      envelope_(envelope),
      comm_(Ref<Comm>::share(envelope.comm)),
      type_(Ref<Datatype>::share(&type)),
      items_(items),
      partitions_(partitions) {
  set_inactive();
}

Engine& PartitionedRequest::engine() const { return partitioner_.engine(); }

Envelope PartitionedRequest::part_envelope(int first_tag, int i) const {
  return {envelope_.comm, envelope_.peer, first_tag + i, Traffic::partitioned};
}

Result<void> PartitionedRequest::check_partition(int partition) const {
  if (partition >= 0 && partition < partitions_) [[likely]]
    return {};
  return Error(ErrorClass::arg,
               fmt::format("partition {} is not in [0,{})", partition, partitions_));
}

Result<void> PartitionedRequest::ready(int) {
  return Error(ErrorClass::request,
               "the request is of a partitioned receive; partitions of sends become ready");
}

Result<bool> PartitionedRequest::arrived(int) {
  return Error(ErrorClass::request,
               "the request is of a partitioned send; partitions of receives arrive");
}

Result<void> pready(Request& request, int partition) {
  Result<PartitionedRequest*> partitioned = as_partitioned(request);
  if (!partitioned) return partitioned.take_error();
  return (*partitioned)->ready(partition);
}

Result<void> pready_range(Request& request, int first, int last) {
  if (first > last) {
    return Error(
        ErrorClass::arg,
        fmt::format("the range of partitions begins at {}, beyond its end {}", first, last));
  }
  for (int partition = first;; ++partition) {
    HAWSER_TRY(pready(request, partition));
    if (partition == last) return {};
  }
}

Result<void> pready_list(Request& request, std::span<const int> partitions) {
  for (const int partition : partitions) HAWSER_TRY(pready(request, partition));
  return {};
}

Result<bool> parrived(Request& request, int partition) {
  Result<PartitionedRequest*> partitioned = as_partitioned(request);
  if (!partitioned) return partitioned.take_error();
  return (*partitioned)->arrived(partition);
}

}  // namespace hawser::p2p
