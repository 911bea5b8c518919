// PartitionedSend: a persistent send whose partitions travel one by one as the user fills them.
//
// Threads: ready() may be called by any number of threads at a time, for different partitions; it
//          counts them, and the last of them makes their sends visible to those that wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "p2p/partitioned/partitioned_request.hpp"

namespace hawser::p2p {

class PartitionedSend final : public PartitionedRequest {
 public:
  /// DATA has PARTITIONS times ITEMS items of TYPE; partition i travels under FIRST_TAG + i.
  PartitionedSend(Partitioner& partitioner, const ConstBuffer& partition, int partitions,
                  const Envelope& envelope, int first_tag);
  ~PartitionedSend() override;

  Result<void> start() override;
  Result<void> ready(int partition) override;
  void finish_status(Status& status) override;

 private:
  [[nodiscard]] bool are_parts_complete() const override;
  /// Null if the send is complete already.
  Result<Ref<Request>> send(int partition);

  const void* const data_;
  const int first_tag_;
  std::unique_ptr<std::atomic<bool>[]> is_ready_;  // by partition
  core::Parts sends_;                              // likewise
  std::atomic<int> ready_count_{0};                // release: publishes sends_ and failure_
  std::mutex failure_mutex_;
  std::optional<base::Error> failure_;  // of the first send that could not be started
};

}  // namespace hawser::p2p
