// Limits of transfers without copies, for ZeroCopyReceiver and ZeroCopySender.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hawser::transport::verbs {

struct ZeroCopySettings {
  std::uint32_t queue_pairs_max = 16;  // transfers that may be received at a time
  std::uint32_t receive_depth = 256;   // segments of a batch, at most
  std::uint32_t send_depth = 256;      // segments under way from this process
  std::size_t batches_max = 64;        // that wait to be sent, or are under way
  // Silence after which something counts as lost. The first segment of a batch may wait for a
  // sender that computes; the others follow it at once.
  std::uint64_t first_timeout_ns = 1'000'000'000;
  std::uint64_t next_timeout_ns = 50'000'000;
};

}  // namespace hawser::transport::verbs
