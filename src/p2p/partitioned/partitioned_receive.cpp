#include "p2p/partitioned/partitioned_receive.hpp"

#include <algorithm>
#include <utility>

#include "p2p/partitioned/partitioner.hpp"

namespace hawser::p2p {

Result<void> PartitionedReceive::start() {
  HAWSER_TRY(restart());
  const LaneLock lock(engine());
  is_posted_.store(false, std::memory_order_relaxed);
  receives_.reset(0);
  temporaries_.clear();
  failure_.reset();
  if (!try_post()) partitioner().post_later(*this);
  return {};
}

bool PartitionedReceive::try_post() {
  if (handshake_ && !handshake_->request->is_complete()) return false;
  if (handshake_) {
    Result<void> posted = post();
    if (!posted) failure_ = posted.take_error();
  }
  is_posted_.store(true, std::memory_order_release);
  return true;
}

Result<void> PartitionedReceive::post() {
  HAWSER_TRY(handshake_->check());
  const auto first_tag = static_cast<int>(handshake_->layout.first_tag);
  const std::size_t count = handshake_->layout.partitions;
  receives_.reset(count);
  for (std::size_t i = 0; i < count; ++i) {
    Result<Ref<Request>> receive =
        engine().irecv(place_for(i), part_envelope(first_tag, static_cast<int>(i)));
    if (!receive) return receive.take_error();
    receives_[i] = std::move(*receive);
  }
  return {};
}

PartitionedReceive::Range PartitionedReceive::range_of(std::size_t i) const {
  const auto bytes = static_cast<Count>(handshake_->layout.partition_bytes);
  const Count capacity = partitions() * partition_bytes();
  const Count offset = std::min(static_cast<Count>(i) * bytes, capacity);
  return {offset, std::min(bytes, capacity - offset)};
}

Buffer PartitionedReceive::place_for(std::size_t i) {
  const Range range = range_of(i);
  Datatype& byte_type = partitioner().byte_type();
  if (range.bytes == 0) return {data_, 0, &byte_type};
  if (type().is_dense()) {
    return {first_byte(data_, type()) + range.offset, range.bytes, &byte_type};
  }
  const Count item_bytes = type().size();
  if (range.offset % item_bytes == 0 && range.bytes % item_bytes == 0) {
    return {item_at(data_, range.offset / item_bytes, type()), range.bytes / item_bytes, &type()};
  }
  temporaries_.resize(receives_.size());
  temporaries_[i] = {
      range, std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(range.bytes))};
  return {temporaries_[i].data.get(), range.bytes, &byte_type};
}

void PartitionedReceive::unpack(std::size_t i) {
  if (i >= temporaries_.size() || temporaries_[i].data == nullptr) return;
  Temporary& temporary = temporaries_[i];
  type().unpack(data_, partitions() * items(), temporary.range.offset, temporary.data.get(),
                temporary.range.bytes);
  temporary.data.reset();
}

Result<bool> PartitionedReceive::arrived(int partition) {
  HAWSER_TRY(check_partition(partition));
  if (!is_active() || has_arrived(partition)) return true;
  engine().progress();
  if (has_arrived(partition)) return true;
  engine().waiter().relax();
  return false;
}

bool PartitionedReceive::has_arrived(int partition) {
  const LaneLock lock(engine());
  if (!is_posted_.load(std::memory_order_relaxed)) return false;
  // Those of the sender's partitions that overlap this one. With empty ones on either side, or
  // beyond the end of a shorter message, there may be none: then it is all or nothing.
  const std::size_t count = receives_.size();
  std::size_t first = 0;
  std::size_t end = count;
  const auto sent_bytes = handshake_ ? static_cast<Count>(handshake_->layout.partition_bytes) : 0;
  if (sent_bytes > 0 && partition_bytes() > 0) {
    const Count offset = partition * partition_bytes();
    first = static_cast<std::size_t>(offset / sent_bytes);
    end = static_cast<std::size_t>((offset + partition_bytes() - 1) / sent_bytes) + 1;
    if (first >= count) first = 0;
    end = std::min(end, count);
  }
  for (std::size_t i = first; i < end; ++i) {
    if (!receives_.is_complete(i)) return false;
  }
  for (std::size_t i = first; i < end; ++i) unpack(i);
  return true;
}

void PartitionedReceive::finish_status(Status& status) {
  const LaneLock lock(engine());
  Status final;
  final.source = envelope().peer;
  if (has_peer()) final.tag = envelope().tag;
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    if (!receives_[i]) continue;
    unpack(i);
    final.bytes += receives_[i]->status().bytes;
    if (!failure_ && receives_[i]->error() != nullptr) failure_ = *receives_[i]->error();
  }
  mutable_status() = final;
  if (failure_) fail(*failure_);
  status = this->status();
}

Result<void> PartitionedReceive::detach() {
  if (is_active() && !is_complete()) partitioner().orphans().keep(Ref<Request>::share(this));
  return {};
}

}  // namespace hawser::p2p
