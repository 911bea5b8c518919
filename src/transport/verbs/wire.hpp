// What the verbs transport puts on the wire. All fields are little-endian.
//
// A datagram, behind the 40 bytes that the adapter keeps for the global route:
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------+---------------+---------------+---------------+
//   | version (1)   | type          | MTU           | 0             |
//   +---------------+---------------+---------------+---------------+
//   | index of the sender in its job                                |
//   +---------------------------------------------------------------+
//   | epoch of the sender                                           |
//   +---------------------------------------------------------------+
//   | 0                                                             |
//   +---------------------------------------------------------------+
//   | token (64): keyed hash of who sends this to whom (token.hpp)  |
//   |                                                               |
//   +---------------------------------------------------------------+
//   | a frame                                                       |
//
// type: 1: a frame of the channel ud_send. 2: a connection message. 3: a part of a frame that left
// by a connection, which broke, and is longer than a datagram: behind the header
//   | number of the frame among those sent in parts 32 | offset 32 | bytes of the frame 32 | 0 32 |
// and the bytes from the offset on. 4: a message about XRC. MTU: of the sender's port, as the verbs
// number it. With the 40 bytes a frame begins at a multiple of 64.
//
// A connection message (Handshake says what its kinds mean), behind the header:
//    0                   1                   2                   3
//   +---------------+---------------+---------------+---------------+
//   | kind          | flags         | MTU           | reads         |
//   +---------------+---------------+---------------+---------------+
//   | number of the attempt                                         |
//   +---------------------------------------------------------------+
//   | queue pair of high priority   32 | of low priority         32 |
//   | first packet's number there   32 | and there               32 |
//   | longest eager frame           32 | longest frame           32 |
//   | LID 16 | window 16 | 0 32 | GID 128                           |
//   +---------------------------------------------------------------+
// flags bit 0: it is about the sender's attempt, else about the receiver's; bit 1: the connection
// broke, what is under way is lost. reads: RDMA reads from the sender that may be under way.
// window: frames of high priority that may be on their way to the sender, until acknowledgements
// say otherwise.
//
// A message about XRC (XrcAsker and XrcGranter say what its kinds mean), behind the header:
//    0                   1                   2                   3
//   +---------------+---------------+---------------+---------------+
//   | kind          | flags         | MTU           | 0             |
//   +---------------+---------------+---------------+---------------+
//   | number of the attempt                                         |
//   +---------------------------------------------------------------+
//   | host of the sender 64                                         |
//   | queue pair that sends 32      | first packet's number there 32|
//   | target queue pair 32          | receive queue 32              |
//   | number of the grant 32        | longest frame 32              |
//   | LID 16 | window 16 | GID 128 | 0 32                           |
//   +---------------------------------------------------------------+
// flags bit 0: the queue pair that sends broke. here: the host, 0: there is no XRC. ask: who sends,
// or the target queue pair that serves the host already (0: to be made). grant: target, receive
// queue, grant, longest frame and window of whom it is from. Frames that leave so have the number
// of the grant as immediate data: whose they are. The others: none of that.
//
// What goes over a connection: frames as they are; and, with immediate data that says which, the
// messages of FastPathMessage: 1 ask, 2 grant, 3 refuse, 4 end, 5 recall, 6 drained:
//   | address 64 | key 32 | slots 32 | bytes of a slot 32 | has checksums 32 |
// ask: address and key of a 32-bit word where the receiver writes 1 before it sleeps, 0 afterwards,
// and whether it wants checksums. grant: those of the ring, which has checksums if either wants
// them. The others: all 0. Slots: see fast_ring.hpp.
//
// An address, as a process publishes it:
//   | version (1) 8 | MTU 8 | LID 16 | number of the datagram queue pair 32 | GID 128 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace hawser::transport::verbs {

inline constexpr std::size_t global_route_bytes = 40;

struct DatagramHeader {
  static constexpr std::uint8_t current_version = 1;
  static constexpr std::uint8_t frame = 1;
  static constexpr std::uint8_t connection = 2;
  static constexpr std::uint8_t part = 3;
  static constexpr std::uint8_t xrc = 4;

  std::uint8_t version = current_version;
  std::uint8_t type = frame;
  std::uint8_t mtu = 0;
  std::uint8_t reserved = 0;
  std::uint32_t index = 0;
  std::uint32_t epoch = 0;
  std::uint32_t reserved_too = 0;
  std::uint64_t token = 0;
};
static_assert(sizeof(DatagramHeader) == 24);
static_assert((global_route_bytes + sizeof(DatagramHeader)) % 64 == 0);

struct PortAddress {
  static constexpr std::uint8_t current_version = 1;

  std::uint8_t version = current_version;
  std::uint8_t mtu = 0;
  std::uint16_t lid = 0;
  std::uint32_t queue_pair = 0;
  std::uint8_t gid[16] = {};
};
static_assert(sizeof(PortAddress) == 24);

struct PartHeader {
  std::uint32_t id = 0;
  std::uint32_t offset = 0;
  std::uint32_t total = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PartHeader) == 16);

struct ConnectionMessage {
  static constexpr std::uint8_t is_senders_attempt = 1;
  static constexpr std::uint8_t is_broken = 2;

  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint8_t mtu = 0;
  std::uint8_t reads = 0;
  std::uint32_t attempt = 0;
  std::uint32_t queue_pairs[2] = {};
  std::uint32_t first_packets[2] = {};
  std::uint32_t eager_bytes = 0;
  std::uint32_t large_bytes = 0;
  std::uint16_t lid = 0;
  std::uint16_t window = 0;
  std::uint32_t reserved = 0;
  std::uint8_t gid[16] = {};
};
static_assert(sizeof(ConnectionMessage) == 56);

struct XrcMessage {
  static constexpr std::uint8_t is_broken = 1;

  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint8_t mtu = 0;
  std::uint8_t reserved = 0;
  std::uint32_t attempt = 0;
  std::uint64_t host = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint32_t target = 0;
  std::uint32_t receive_queue = 0;
  std::uint32_t grant = 0;
  std::uint32_t frame_bytes = 0;
  std::uint16_t lid = 0;
  std::uint16_t window = 0;
  std::uint8_t gid[16] = {};
  std::uint32_t reserved_too = 0;
};
static_assert(sizeof(XrcMessage) == 64);

struct FastPathMessage {
  enum class Kind : std::uint32_t { ask = 1, grant, refuse, end, recall, drained };
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  std::uint32_t has_checksums = 0;
};
static_assert(sizeof(FastPathMessage) == 24);

/// Bytes of an MTU as the verbs number it (1: 256 … 5: 4096); 0 for other numbers.
constexpr std::size_t mtu_bytes(std::uint8_t mtu) {
  return mtu >= 1 && mtu <= 5 ? std::size_t{128} << mtu : 0;
}

/// The first bytes of BYTES as a T; nothing if they are too few.
template <class T>
std::optional<T> read(std::span<const std::byte> bytes) {
  T value;
  if (bytes.size() < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// A T at the front of BYTES, of its current version; nothing if there is none.
template <class T>
std::optional<T> parse(std::span<const std::byte> bytes) {
  T value;
  if (bytes.size() < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof(T));
  if (value.version != T::current_version || mtu_bytes(value.mtu) == 0) return std::nullopt;
  return value;
}

}  // namespace hawser::transport::verbs
