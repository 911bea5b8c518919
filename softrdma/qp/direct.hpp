// Direct access: a write or read of a reliable connection that the requester's process carries out
// itself, in the memory of a peer on the same host, instead of asking for it by packets. Nothing on
// either side's sequence of packets shows it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softrdma/memory/scatter_gather.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::qp {

/// Longer ones go by packets: meanwhile the device would do nothing else.
inline constexpr std::uint32_t direct_bytes_max = 1U << 20;

/// What is copied, from local parts to the remote range (a write) or back. The last eight bytes of
/// a write are stored after all others.
struct DirectCopy {
  bool is_write = false;
  memory::Parts local;
  wire::RemoteRange remote;
};

/// What a connected queue pair lets its peer do.
struct PeerAccess {
  std::uint32_t queue_pair = 0;
  std::uint32_t peer = 0;    // the queue pair that it is connected to
  std::uint32_t domain = 0;  // of protection
  unsigned access = 0;       // ibv_access_flags
};

}  // namespace softrdma::qp
