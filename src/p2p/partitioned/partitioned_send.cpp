#include "p2p/partitioned/partitioned_send.hpp"

#include <fmt/format.h>

#include <utility>

#include "p2p/partitioned/partitioner.hpp"

namespace hawser::p2p {

using base::Error;
using base::ErrorClass;

PartitionedSend::PartitionedSend(Partitioner& partitioner, const ConstBuffer& partition,
                                 int partitions, const Envelope& envelope, int first_tag)
    : PartitionedRequest(partitioner, envelope, *partition.type, partition.count, partitions),
      data_(partition.data),
      first_tag_(first_tag),
      is_ready_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(partitions))) {}

PartitionedSend::~PartitionedSend() { partitioner().give_back_tags(first_tag_, partitions()); }

Result<void> PartitionedSend::start() {
  HAWSER_TRY(restart());
  const auto count = static_cast<std::size_t>(partitions());
  for (std::size_t i = 0; i < count; ++i) is_ready_[i].store(false, std::memory_order_relaxed);
  sends_.reset(count);
  failure_.reset();
  ready_count_.store(0, std::memory_order_relaxed);
  return {};
}

Result<void> PartitionedSend::ready(int partition) {
  HAWSER_TRY(check_partition(partition));
  if (!is_active()) {
    return Error(ErrorClass::request,
                 "the partitioned send is not active; start it before its partitions are ready");
  }
  const auto i = static_cast<std::size_t>(partition);
  if (is_ready_[i].exchange(true, std::memory_order_relaxed)) {
    return Error(ErrorClass::arg, fmt::format("partition {} is ready already", partition));
  }
  Result<Ref<Request>> sent = send(partition);
  if (sent) {
    sends_[i] = std::move(*sent);
  } else {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = sent.error();
  }
  // The request may be completed and freed by another thread from here on.
  Engine& engine = this->engine();
  const int count = partitions();
  if (ready_count_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) engine.notify();
  if (!sent) return sent.take_error();
  return {};
}

Result<Ref<Request>> PartitionedSend::send(int partition) {
  if (!has_peer()) return Ref<Request>();
  const ConstBuffer buffer{item_at(data_, partition * items(), type()), items(), &type()};
  const Envelope envelope = part_envelope(first_tag_, partition);
  const LaneLock lock(engine());
  if (engine().backend().try_send(buffer, envelope)) return Ref<Request>();
  return engine().isend(buffer, envelope, SendMode::standard);
}

bool PartitionedSend::are_parts_complete() const {
  return ready_count_.load(std::memory_order_acquire) == partitions() && sends_.are_complete();
}

void PartitionedSend::finish_status(Status& status) {
  if (failure_ && error() == nullptr) fail(*failure_);
  for (std::size_t i = 0; i < sends_.size() && error() == nullptr; ++i) {
    if (sends_[i] && sends_[i]->error() != nullptr) fail(*sends_[i]->error());
  }
  status = this->status();
}

}  // namespace hawser::p2p
