// Between a user's buffer and frames: the peer's link knows how long runs are copied.
//
// BYTES of the packed buffer, from OFFSET on. Threads: the lane lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy.hpp"
#include "channel/endpoint/endpoint.hpp"
#include "p2p/backend.hpp"

namespace hawser::p2p {

/// Packs them into a frame for PEER, at OUT.
[[gnu::always_inline]] inline void pack_frame(channel::Endpoint& peer, const ConstBuffer& buffer,
                                              std::uint64_t offset, std::byte* out,
                                              std::size_t bytes) {
  if (bytes < peer.link().copy_in_bytes_min()) {
    pack(buffer, static_cast<Count>(offset), out, static_cast<Count>(bytes));
    return;
  }
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t length) {
    peer.link().copy_in(to, from, length);
  };
  pack_by(copy, buffer, static_cast<Count>(offset), out, static_cast<Count>(bytes));
}

/// Unpacks them; in a frame of PEER they stand at IN, a part of a message of MESSAGE_BYTES.
[[gnu::always_inline]] inline void unpack_frame(channel::Endpoint& peer, const Buffer& buffer,
                                                std::uint64_t offset, const std::byte* in,
                                                std::size_t bytes, std::uint64_t message_bytes) {
  if (bytes < base::long_copy_bytes) {
    unpack(buffer, static_cast<Count>(offset), in, static_cast<Count>(bytes));
    return;
  }
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t length) {
    peer.link().copy_out(to, from, length, message_bytes);
  };
  unpack_by(copy, buffer, static_cast<Count>(offset), in, static_cast<Count>(bytes));
}

}  // namespace hawser::p2p
