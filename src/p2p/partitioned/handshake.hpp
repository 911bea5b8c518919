// Handshake: the one message that introduces a partitioned send to its receive.
//
//    0        8          12           16
//   +--------+----------+------------+
//   | bytes  |  count   | first tag  |   of the sender's partitions; native byte order
//   +--------+----------+------------+
//
// It travels as Traffic::setup under the user's tag when the send is initialised, and is received
// when the receive is: so sends and receives match in the order of their initialisation. Afterwards
// partition i travels as Traffic::partitioned under tag first_tag + i, once per start.
// Ownership: the Partitioner keeps it until its message is complete, the receive as long as it
//            needs it.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "core/request/request.hpp"

namespace hawser::p2p {

struct PartitionLayout {
  std::uint64_t partition_bytes = 0;
  std::uint32_t partitions = 0;
  std::uint32_t first_tag = 0;
};
static_assert(sizeof(PartitionLayout) == 16);

struct Handshake : base::RefCounted {
  PartitionLayout layout;
  base::Ref<core::Request> request;

  /// Of one that was received: whether its sender can be trusted to have meant it.
  [[nodiscard]] base::Result<void> check() const;
};

}  // namespace hawser::p2p
