// The handshake by which two processes of a host map each other's segments.
//
// One packet each way over an abstract Unix socket, with the sender's segment attached as a file
// descriptor. Both ends are vouched for by the kernel (SO_PEERCRED) and show the job's key; a
// packet that doesn't is dropped before anything in it is used. Symmetric: when both connect at
// once, each hello serves as the other's answer.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------------------------------------------------------+
//   | magic "HWSHELO1" (64 bit, little-endian as all that follows)  |
//   |                                                               |
//   +-------------------------------+-------------------------------+
//   | version                       | kind: 1 hello, 2 welcome      |
//   +-------------------------------+-------------------------------+
//   | local_rank: index of the wake word in the host's wake area    |
//   +---------------------------------------------------------------+
//   | job (64)  | index (32) | epoch (32)                           |
//   +---------------------------------------------------------------+
//   | key (256): the job's key                                      |
//   +---------------------------------------------------------------+
//   | owner (32): the number you have at my queue                   |
//   | queue_slots (32)                                              |
//   | window_bytes (64)                                             |
//   | cookie_address (64): where cookie (64) stands in my memory    |
//   +---------------------------------------------------------------+
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/constant_time.hpp"
#include "base/ids.hpp"

namespace hawser::transport::shm {

struct AttachPacket {
  static constexpr std::uint64_t magic_value = 0x314f4c4548535748ULL;  // "HWSHELO1"
  static constexpr std::uint16_t version_value = 1;
  static constexpr std::uint16_t hello = 1;
  static constexpr std::uint16_t welcome = 2;

  std::uint64_t magic = magic_value;
  std::uint16_t version = version_value;
  std::uint16_t kind = hello;
  std::uint32_t local_rank = 0;
  base::Identity identity;
  std::byte key[32] = {};
  std::uint32_t owner = 0;
  std::uint32_t queue_slots = 0;
  std::uint64_t window_bytes = 0;
  std::uint64_t cookie_address = 0;
  std::uint64_t cookie = 0;
};
static_assert(sizeof(AttachPacket) == 96);

/// The packet, if BYTES is one of our version and its key is KEY; compared in constant time.
inline std::optional<AttachPacket> parse_attach_packet(std::span<const std::byte> bytes,
                                                       std::span<const std::byte, 32> key) {
  AttachPacket packet;
  if (bytes.size() != sizeof(packet)) return std::nullopt;
  std::memcpy(&packet, bytes.data(), sizeof(packet));
  if (packet.magic != AttachPacket::magic_value) return std::nullopt;
  if (packet.version != AttachPacket::version_value) return std::nullopt;
  if (packet.kind != AttachPacket::hello && packet.kind != AttachPacket::welcome)
    return std::nullopt;
  if (!base::equal_in_constant_time(packet.key, key)) return std::nullopt;
  return packet;
}

}  // namespace hawser::transport::shm
