// The headers of tag matching, with which a message begins: to the transport they are payload. The
// layouts are those of <infiniband/tm_types.h>, all fields big-endian.
//
//    0               1               2               3
//   +---------------+-----------------------------------------------+
//   | operation     | reserved                                      |
//   +---------------+-----------------------------------------------+
//   | the sender's own data                                         |
//   +---------------------------------------------------------------+
//   | tag (64)                                                      |
//   +---------------------------------------------------------------+  a rendezvous goes on with
//   | address of the sender's buffer (64)                           |
//   +---------------------------------------------------------------+
//   | its remote key                                                |
//   +---------------------------------------------------------------+
//   | its length                                                    |
//   +---------------------------------------------------------------+
//
// Threads: values.
#pragma once

#include <endian.h>
#include <infiniband/tm_types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "softrdma/wire/packet.hpp"

namespace softrdma::wire {

/// Before the data of an eager message.
inline constexpr std::size_t tag_header_bytes = sizeof(ibv_tmh);
/// A whole request for a rendezvous, with what its sender may add for the program.
inline constexpr std::size_t rendezvous_bytes_max = 64;

/// As it is on the wire. Bytes that a shorter message does not have are 0.
struct TagHeader {
  ibv_tmh match{};
  ibv_rvh buffer{};

  /// An ibv_tmh_op, or a number that is none.
  [[nodiscard]] std::uint8_t operation() const { return match.opcode; }
  [[nodiscard]] std::uint32_t sender_data() const { return be32toh(match.app_ctx); }
  [[nodiscard]] std::uint64_t tag() const { return be64toh(match.tag); }
  [[nodiscard]] RemoteRange range() const {
    return {be64toh(buffer.va), be32toh(buffer.rkey), be32toh(buffer.len)};
  }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(this, 1)); }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(this, 1));
  }
};
static_assert(sizeof(TagHeader) == 32 && tag_header_bytes == 16);

}  // namespace softrdma::wire
