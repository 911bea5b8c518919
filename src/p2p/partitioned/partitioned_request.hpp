// PartitionedRequest: what the two sides of a partitioned operation have in common
// (MPI-5.0 chapter 4).
//
// Ownership: communicator and datatype are retained, the user's buffer is borrowed.
#pragma once

#include <cstdint>
#include <span>

#include "core/request/parts.hpp"
#include "p2p/engine.hpp"

namespace hawser::p2p {

class Partitioner;

/// Where item I of TYPE at DATA is. By integers, since DATA may be MPI_BOTTOM.
inline void* item_at(const void* data, Count i, const Datatype& type) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) +
                                 static_cast<std::uintptr_t>(i * type.extent()));
}

class PartitionedRequest : public Request {
 public:
  [[nodiscard]] core::Object* error_object() const override { return comm_.get(); }
  [[nodiscard]] int partitions() const { return partitions_; }

  /// Of a send: its data may travel. Thread-safe.
  virtual Result<void> ready(int partition);
  /// Of a receive: its data is there. Thread-safe.
  virtual Result<bool> arrived(int partition);

 protected:
  PartitionedRequest(Partitioner& partitioner, const Envelope& envelope, Datatype& type,
                     Count items, int partitions);

  /// MPI_ERR_ARG unless there is such a partition.
  [[nodiscard]] Result<void> check_partition(int partition) const;
  [[nodiscard]] Partitioner& partitioner() const { return partitioner_; }
  [[nodiscard]] Engine& engine() const;
  /// The user's envelope.
  [[nodiscard]] const Envelope& envelope() const { return envelope_; }
  [[nodiscard]] bool has_peer() const { return envelope_.peer != proc_null; }
  /// Under which partition number I of the sender travels.
  [[nodiscard]] Envelope part_envelope(int first_tag, int i) const;
  [[nodiscard]] Datatype& type() const { return *type_; }
  /// Of one partition.
  [[nodiscard]] Count items() const { return items_; }
  [[nodiscard]] Count partition_bytes() const { return items_ * type_->size(); }

 private:
  Partitioner& partitioner_;
  const Envelope envelope_;
  const Ref<Comm> comm_;
  const Ref<Datatype> type_;
  const Count items_;
  const int partitions_;
};

// For any request: MPI_ERR_REQUEST unless it is a partitioned one of the right side.
Result<void> pready(Request& request, int partition);
/// FIRST to LAST, both included.
Result<void> pready_range(Request& request, int first, int last);
Result<void> pready_list(Request& request, std::span<const int> partitions);
/// True for an inactive request.
Result<bool> parrived(Request& request, int partition);

}  // namespace hawser::p2p
