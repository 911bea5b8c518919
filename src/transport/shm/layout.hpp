// What lies in a process's shared-memory segment. Peers map it; nothing in it is trusted: sizes are
// checked once at attach, and indices are computed from the checked copies.
//
//   0            +-----------------------------------------+
//                | SegmentHeader                 (one page) |
//   queue_offset +-----------------------------------------+
//                | QueueSlot × queue_slots                  |  shared receive queue
//   rings_offset +-----------------------------------------+
//                | RingHeader | lines | bulk | long area    |  one per peer that earned it,
//                |            | cells                       |  allocated when granted, long area
//                | …                                        |  and cells when they are earned too
//                +-----------------------------------------+ window_bytes (address space only)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "hostmem/joint_claims.hpp"

namespace hawser::transport::shm {

using base::cache_line_bytes;
inline constexpr std::uint64_t segment_magic = 0x315f474553575348ULL;  // "HSWSEG_1"
inline constexpr std::uint32_t segment_version = 8;

/// Frames of the transport itself share the channels with those of the layer above.
/// Those about rings travel in the shared queue alone, long_data and cell_data in rings.
enum class FrameType : std::uint8_t {
  data = 0,
  ring_ask = 1,
  ring_grant = 2,
  ring_refuse = 3,
  ring_give_back = 4,  // by the sender, after its last frame in the ring
  ring_recall = 5,     // by the receiver
  ring_extend = 6,     // by the sender: many long frames
  ring_extended = 7,   // by the receiver: the ring has a long area now
  long_data = 8,       // data, in the long area of a ring; this and what follows: ring.hpp
  cell_data = 9,       // data, in a cell
};

/// Raised by a sender that waits for room in a channel (room.hpp).
struct alignas(cache_line_bytes) RoomWanted {
  std::atomic<std::uint32_t> word;
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t queue_slots;  // a power of two
  std::uint64_t queue_offset;
  std::uint64_t window_bytes;
  alignas(cache_line_bytes) std::atomic<std::uint64_t> queue_tail;  // a hint: see queue.hpp
  RoomWanted queue_room;
  std::atomic<std::uint32_t> away;  // 1: the owner reads nothing now (Transport::leave)
};

inline constexpr std::size_t queue_slot_bytes = 512;

/// state:  63            32 31                 2 1      0
///        +----------------+--------------------+--------+
///        | owner          | lap                | phase  |
///        +----------------+--------------------+--------+
/// owner: the sender's number at this receiver (0 while free).
struct alignas(cache_line_bytes) QueueSlot {
  std::atomic<std::uint64_t> state;
  std::uint16_t frame_bytes;
  FrameType type;
  std::uint8_t reserved[5];
  std::byte frame[queue_slot_bytes - 16];
};
static_assert(sizeof(QueueSlot) == queue_slot_bytes);
inline constexpr std::size_t queue_frame_bytes_max = sizeof(QueueSlot::frame);

/// control: 63   62   60 59     56 55   53 52               32 31                 0
///         +----+-------+---------+-------+-------------------+-------------------+
///         | 0  | phase |FrameType| head  | bytes             | stamp             |
///         +----+-------+---------+-------+-------------------+-------------------+
/// stamp: the low 32 bits of the line's position + 1, so that a line of an earlier lap never looks
/// new. A frame of at most line_frame_bytes lies in the line: head is 0. Of a longer one the first
/// 8 * head bytes do, and the others, so many bytes, in the bulk area, or, if its type is
/// long_data, in the long area, or, if it is cell_data, in the cell whose name (32 bit, cells.hpp)
/// stands in the line behind room for the longest head; they begin 8 * phase bytes behind the start
/// of a cache line there (Link::reserve_apart).
struct alignas(cache_line_bytes) RingLine {
  std::atomic<std::uint64_t> control;
  std::byte frame[cache_line_bytes - 8];
};
static_assert(sizeof(RingLine) == cache_line_bytes);
inline constexpr std::size_t line_frame_bytes = sizeof(RingLine::frame);
inline constexpr std::size_t head_bytes_max = line_frame_bytes - 8;
inline constexpr std::size_t ring_frame_bytes_max = 0x1fffff;

struct RingHeader {
  /// Lines consumed so far; written by the receiver, read by the sender when it runs out of room.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> consumed;
  /// How long messages that cross are copied: hostmem::OneCopyWord, written by the receiver if it
  /// is the one of the two that measures. Read before each.
  std::atomic<std::uint32_t> one_copy_word;
  RoomWanted room;
  hostmem::JointWords joint;  // about messages that both sides copy
};
static_assert(sizeof(RingHeader) == 4 * cache_line_bytes);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace hawser::transport::shm
