// PartitionedReceive: a persistent receive that tells which of its partitions are there. The sender
// may have cut the same data into other partitions, as its handshake says.
//
// Each of the sender's partitions is received where its bytes belong: straight into the user's
// buffer, or, where it begins or ends inside of an item of a layout with gaps, into a temporary
// that is unpacked before the partition counts as arrived.
// Threads: posting and unpacking are guarded by the lane lock.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "p2p/partitioned/handshake.hpp"
#include "p2p/partitioned/partitioned_request.hpp"

namespace hawser::p2p {

class PartitionedReceive final : public PartitionedRequest {
 public:
  /// HANDSHAKE is null if there is no peer.
  PartitionedReceive(Partitioner& partitioner, const Buffer& partition, int partitions,
                     const Envelope& envelope, Ref<Handshake> handshake)
      : PartitionedRequest(partitioner, envelope, *partition.type, partition.count, partitions),
        data_(partition.data),
        handshake_(std::move(handshake)) {}

  Result<void> start() override;
  Result<bool> arrived(int partition) override;
  void finish_status(Status& status) override;
  Result<void> detach() override;

  /// Posts the receives of this start, if the handshake is there. Under the lane lock.
  bool try_post();

 private:
  /// Bytes [offset, offset + bytes) of the user's buffer, packed.
  struct Range {
    Count offset = 0;
    Count bytes = 0;
  };
  struct Temporary {
    Range range;
    std::unique_ptr<std::byte[]> data;
  };

  [[nodiscard]] bool are_parts_complete() const override {
    return is_posted_.load(std::memory_order_acquire) && receives_.are_complete();
  }
  Result<void> post();
  /// Where the sender's partition I belongs, cut to the buffer's end.
  [[nodiscard]] Range range_of(std::size_t i) const;
  Buffer place_for(std::size_t i);
  void unpack(std::size_t i);
  [[nodiscard]] bool has_arrived(int partition);

  void* const data_;
  const Ref<Handshake> handshake_;
  std::atomic<bool> is_posted_{false};  // release: publishes what follows
  core::Parts receives_;                // by the sender's partitions
  std::vector<Temporary> temporaries_;  // likewise; empty if none needs one
  std::optional<base::Error> failure_;  // to post
};

}  // namespace hawser::p2p
