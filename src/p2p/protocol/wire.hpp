// The frames of host-side point-to-point. Each follows the eight bytes of channel::FramePrefix; all
// fields are little-endian; lengths are checked before anything is used.
//
// eager, rendezvous and stream (sequenced; these are what is matched):
//    0                   1                   2                   3
//   +---------------------------------------------------------------+
//   | context: the receiver's index << 2 | kind of traffic          |
//   +---------------------------------------------------------------+
//   | source: the sender's rank in the communicator                 |
//   +---------------------------------------------------------------+
//   | tag                                                           |
//   +---------------------------------------------------------------+
//   | payload bytes in this frame                                   |
//   +---------------------------------------------------------------+
//   eager:      payload
//   rendezvous: | token (64): the sender's request                  |
//               | total (64): bytes of the message                  |
//               | address (64): of the packed data in the sender's  |
//               |   memory, or 0 if it can't be had from there      |
//               | offer (16): see below | rails (16)                |
//               | check (16) | keys (16)                            |
//               if keys is 1: | key (4 * 32): for RDMA reads, one for each rail |
//               if check is 1: | CRC32C of all the packed data (32) | 0 (32) |
//               first payload, if any; without all of these it takes one cache line of a ring
//   stream:     | token (64): the sender's request | total (64): bytes of the message |
//               first payload; the rest follows unasked in frames of its own
//
// offer (a rendezvous has check 0 unless that way, or a part of it, is checked): how the receiver
// may get the rest, besides asking for frames: 1: copy it out of the sender's memory; 2: read it by
// RDMA, or over TCP, by rails of which each bit of `rails` names one; 3: have it written into its
// own memory by RDMA; 4: have it cross without copies by datagrams. With 2 and 3 it may copy a part
// as well; with 3 it says finished if it has.
//
// stream_data (sequenced; the next bytes of a stream):   | sender token (64) | payload
// clear_to_send (receiver to sender: send me the rest by frames):
//   | sender token (64) | receiver token (64) | offset (64): where to go on |
//   | bytes (64): of them; 0: all there are, and no finished will follow |
// data:           | receiver token (64) | offset (64) | payload
// clear_to_put (receiver to sender: write these bytes into my memory; address 0: by data frames):
//   | sender token (64) | receiver token (64) | offset (64) | bytes (64) | address (64) | key (32)
//   | rail of the key (32) |
// put_done (behind what was written there):
//   | receiver token (64) | offset (64) | CRC32C of the block (32) | 1: it is one, or 0 (32) |
// A block that is not what its checksum says is asked for with another clear_to_put, without an
// address: it comes by frames then.
// clear_to_cross (receiver to sender: send this part of what begins at the offset without copies):
//   | sender token (64) | receiver token (64) | offset (64) | rail to send it by (32) | 0 (32)
//   | clearance, of the receiver's link by that rail |
// not_crossed (sender to receiver: some of that does not come):   | receiver token (64) |
// join_copy (receiver to sender: write these bytes into my memory at that address, if you can take
// the claim, while I read the others; transport/joint_copies.hpp):
//   | sender token (64) | receiver token (64) | offset (64) | bytes (64) | address (64) | claim
//   (32) | 1: I want to know how long it takes, or 0 (32) |
// part_copied (sender to receiver: so many of them are there, and took so long, or 0: unknown):
//   | receiver token (64) | bytes (64) | ns (64) |
// finished (receiver to sender: I have all of it):   | sender token (64) |
// credit (receiver to sender: eager payload consumed): | bytes (64) |
// refused (receiver to sender: nobody will receive it, its communicator is revoked):
//   | sender token (64) |
// active (a part of a message that is not matched; not sequenced: a part says where it belongs):
//   | class (32) | number of the message (32) | its bytes (32) | offset of the part (32) | payload
// Neither credit nor a message that waits for its turn holds back an active message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "channel/frame.hpp"
#include "p2p/backend.hpp"
#include "transport/transport.hpp"

namespace hawser::p2p::wire {

enum class FrameClass : std::uint8_t {
  eager = 1,
  rendezvous = 2,
  clear_to_send = 3,
  data = 4,
  finished = 5,
  credit = 6,
  stream = 7,
  stream_data = 8,
  clear_to_put = 9,
  put_done = 10,
  clear_to_cross = 11,
  not_crossed = 12,
  refused = 13,
  active = 14,
  join_copy = 15,
  part_copied = 16,
};
constexpr std::uint8_t class_byte(FrameClass frame_class) {
  return static_cast<std::uint8_t>(frame_class);
}

enum class Offer : std::uint16_t {
  frames = 0,
  single_copy = 1,
  get = 2,
  put = 3,
  zero_copy = 4,
  frames_or_single_copy = 5,  // as the receiver finds better
};

struct MatchHeader {
  std::uint32_t context;
  std::int32_t source;
  std::int32_t tag;
  std::uint32_t payload_bytes;
};
static_assert(sizeof(MatchHeader) == 16);

struct RendezvousHeader {
  std::uint64_t token;
  std::uint64_t total;
  std::uint64_t address;
  Offer offer;
  std::uint16_t rails;
  std::uint16_t is_checked;
  std::uint16_t has_keys;
  // Only if it has them:
  std::array<std::uint32_t, transport::rails_max> keys;
  // Only if it is checked:
  std::uint32_t checksum;
  std::uint32_t reserved;
};
static_assert(sizeof(RendezvousHeader) == 56);
/// Of a header without keys and checksum.
inline constexpr std::size_t rendezvous_bytes_min = offsetof(RendezvousHeader, keys);
/// Of one with what is said.
constexpr std::size_t rendezvous_bytes(bool has_keys, bool is_checked) {
  constexpr std::size_t key_bytes =
      offsetof(RendezvousHeader, checksum) - offsetof(RendezvousHeader, keys);
  constexpr std::size_t check_bytes =
      sizeof(RendezvousHeader) - offsetof(RendezvousHeader, checksum);
  return rendezvous_bytes_min + (has_keys ? key_bytes : 0) + (is_checked ? check_bytes : 0);
}

struct StreamHeader {
  std::uint64_t token;
  std::uint64_t total;
};
struct ClearToSend {
  std::uint64_t sender_token;
  std::uint64_t receiver_token;
  std::uint64_t offset;
  std::uint64_t bytes;
};
struct DataHeader {
  std::uint64_t receiver_token;
  std::uint64_t offset;
};
struct StreamDataHeader {
  std::uint64_t sender_token;
};
struct ClearToPut {
  std::uint64_t sender_token;
  std::uint64_t receiver_token;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t address;
  std::uint32_t key;
  std::uint32_t rail;
};
struct PutDone {
  std::uint64_t receiver_token;
  std::uint64_t offset;
  std::uint32_t checksum;
  std::uint32_t is_checked;
};
struct ClearToCross {
  std::uint64_t sender_token;
  std::uint64_t receiver_token;
  std::uint64_t offset;
  std::uint32_t rail;
  std::uint32_t reserved;
};
struct NotCrossed {
  std::uint64_t receiver_token;
};
struct JoinCopy {
  std::uint64_t sender_token;
  std::uint64_t receiver_token;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t address;
  std::uint32_t claim;
  std::uint32_t is_timed;
};
static_assert(sizeof(JoinCopy) == 48);
struct PartCopied {
  std::uint64_t receiver_token;
  std::uint64_t bytes;
  std::uint64_t ns;
};
struct Finished {
  std::uint64_t sender_token;
};
struct Credit {
  std::uint64_t bytes;
};
struct Refused {
  std::uint64_t sender_token;
};
struct ActiveHeader {
  std::uint32_t message_class;
  std::uint32_t number;  // the sender's, of its messages to this peer
  std::uint32_t total;
  std::uint32_t offset;
};
static_assert(sizeof(ActiveHeader) == 16);

inline constexpr std::size_t eager_overhead = sizeof(channel::FramePrefix) + sizeof(MatchHeader);
/// At most: see rendezvous_bytes().
inline constexpr std::size_t rendezvous_overhead_max = eager_overhead + sizeof(RendezvousHeader);
inline constexpr std::size_t stream_overhead = eager_overhead + sizeof(StreamHeader);
inline constexpr std::size_t data_overhead = sizeof(channel::FramePrefix) + sizeof(DataHeader);
inline constexpr std::size_t stream_data_overhead =
    sizeof(channel::FramePrefix) + sizeof(StreamDataHeader);

/// Takes a T off the front of BYTES; nothing if they are too few.
template <class T>
std::optional<T> take(std::span<const std::byte>& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}
/// Writes VALUE and returns where the next field goes.
template <class T>
std::byte* put(std::byte* out, const T& value) {
  std::memcpy(out, &value, sizeof(T));
  return out + sizeof(T);
}

inline std::byte* put_rendezvous(std::byte* out, const RendezvousHeader& header) {
  std::memcpy(out, &header, rendezvous_bytes_min);
  out += rendezvous_bytes_min;
  if (header.has_keys != 0) out = put(out, header.keys);
  if (header.is_checked != 0) out = put(put(out, header.checksum), header.reserved);
  return out;
}
inline std::optional<RendezvousHeader> take_rendezvous(std::span<const std::byte>& bytes) {
  RendezvousHeader header{};
  if (bytes.size() < rendezvous_bytes_min) return std::nullopt;
  std::memcpy(&header, bytes.data(), rendezvous_bytes_min);
  if (header.is_checked > 1 || header.has_keys > 1 ||
      bytes.size() < rendezvous_bytes(header.has_keys != 0, header.is_checked != 0))
    return std::nullopt;
  bytes = bytes.subspan(rendezvous_bytes_min);
  if (header.has_keys != 0) header.keys = *take<decltype(header.keys)>(bytes);
  if (header.is_checked != 0) {
    header.checksum = *take<std::uint32_t>(bytes);
    header.reserved = *take<std::uint32_t>(bytes);
  }
  return header;
}

/// A StreamHeader: what is known of a message that is not offered, but comes.
inline std::optional<RendezvousHeader> take_stream(std::span<const std::byte>& bytes) {
  const std::optional<StreamHeader> stream = take<StreamHeader>(bytes);
  if (!stream) return std::nullopt;
  RendezvousHeader header{};
  header.token = stream->token;
  header.total = stream->total;
  return header;
}

/// Behind its header, which is taken off its head, BODY is payload alone.
inline std::span<const std::byte> payload_of(const transport::FrameView& body) {
  return body.head.empty() ? body.payload : body.head;
}

/// An eager message, checked: all of it is there.
struct EagerArrival {
  MatchHeader match;
  std::span<const std::byte> payload;
};
/// BODY: what follows the prefix. Nothing if the frame is malformed.
[[gnu::always_inline]] inline std::optional<EagerArrival> parse_eager(transport::FrameView body) {
  const std::optional<MatchHeader> match = take<MatchHeader>(body.head);
  const std::span<const std::byte> payload = payload_of(body);
  if (!match || payload.size() != match->payload_bytes || (match->source | match->tag) < 0)
    return std::nullopt;
  return EagerArrival{*match, payload};
}

/// A frame that is matched, and not eager, checked.
struct Arrival {
  FrameClass frame_class = FrameClass::rendezvous;  // or stream
  MatchHeader match{};
  RendezvousHeader rendezvous{};
  std::span<const std::byte> payload;
};
/// FRAME_CLASS: rendezvous or stream. Nothing if the frame is malformed.
inline std::optional<Arrival> parse_arrival(FrameClass frame_class, transport::FrameView body) {
  const std::optional<MatchHeader> match = take<MatchHeader>(body.head);
  if (!match) return std::nullopt;
  const std::optional<RendezvousHeader> rendezvous =
      frame_class == FrameClass::stream ? take_stream(body.head) : take_rendezvous(body.head);
  const std::span<const std::byte> payload = payload_of(body);
  if (!rendezvous || rendezvous->total < match->payload_bytes ||
      payload.size() != match->payload_bytes || (match->source | match->tag) < 0)
    return std::nullopt;
  return Arrival{frame_class, *match, *rendezvous, payload};
}

/// A part of an active message, checked.
struct ActivePart {
  ActiveHeader header{};
  std::span<const std::byte> payload;
};
/// BODY: what follows the prefix. Nothing if the frame is malformed.
inline std::optional<ActivePart> parse_active(std::span<const std::byte> body) {
  const std::optional<ActiveHeader> header = take<ActiveHeader>(body);
  if (!header || header->total > active_bytes_max || header->offset > header->total ||
      body.size() > header->total - header->offset || (body.empty() && header->total > 0))
    return std::nullopt;
  return ActivePart{*header, body};
}

}  // namespace hawser::p2p::wire
