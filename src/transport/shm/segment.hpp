// Segment: this process's shared memory: its receive queue, and the rings that it grants.
//
// Ownership: one anonymous file, sealed against shrinking, gone with its last mapping; grown with
//            memory that is really there when a ring is granted, so that running out is an error
//            and no SIGBUS. Charged to the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "platform/file.hpp"
#include "transport/shm/queue.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/settings.hpp"

namespace hawser::transport::shm {

using base::Result;

class Segment {
 public:
  static Result<Segment> create(const Settings& settings, memory::Ledger& ledger);
  Segment(Segment&&) = default;
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  [[nodiscard]] QueueReceiver queue_receiver() const;
  [[nodiscard]] RoomWanted& queue_room() const { return header()->queue_room; }
  /// Seen by all peers. Whoever sets it wakes them.
  void set_away(bool away) { header()->away.store(away ? 1 : 0, std::memory_order_seq_cst); }
  [[nodiscard]] std::uint32_t queue_slots() const { return header()->queue_slots; }
  [[nodiscard]] std::uint64_t window_bytes() const { return mapping_.bytes(); }
  [[nodiscard]] const platform::FileDescriptor& file() const { return file_; }

  struct Ring {
    std::uint64_t offset;  // in the segment
    std::byte* memory;
    RingShape shape;
  };
  /// Memory for one more ring, zeroed; MPI_ERR_NO_MEM if the host or the window has none. The first
  /// whole_rings have all of the bulk area that is set, those of a crowd a quarter.
  Result<Ring> allocate_ring();
  /// Memory for the long area of RING and its cells; the same error.
  Result<void> extend_ring(const Ring& ring);
  /// A ring that nobody uses any more: its memory goes back to the host, its place is used again.
  void free_ring(const Ring& ring, bool is_extended);

 private:
  Segment(platform::FileDescriptor file, platform::Mapping mapping, RingShape shape,
          std::int64_t whole_rings, memory::Ledger& ledger);
  static std::size_t ring_bytes(RingShape shape) { return platform::round_to_pages(shape.bytes()); }
  /// With the long area.
  static std::size_t whole_ring_bytes(RingShape shape) {
    return platform::round_to_pages(shape.whole_bytes());
  }
  /// Every ring's place in the window has room for the largest.
  [[nodiscard]] std::size_t place_bytes() const { return whole_ring_bytes(shape_); }
  [[nodiscard]] RingShape next_shape() const;
  [[nodiscard]] SegmentHeader* header() const {
    return reinterpret_cast<SegmentHeader*>(mapping_.data());
  }

  platform::FileDescriptor file_;
  platform::Mapping mapping_;
  RingShape shape_;
  memory::Ledger* ledger_;
  std::uint64_t next_ring_offset_;
  std::vector<std::uint64_t> free_offsets_;  // of rings that were freed
  std::size_t fixed_bytes_;
  std::int64_t rings_ = 0;  // in use
  std::int64_t whole_rings_;
  std::size_t rings_bytes_ = 0;
};

/// A peer's segment, mapped by us.
class PeerSegment {
 public:
  PeerSegment() = default;
  /// Maps and checks FILE against what the peer's handshake announced.
  static Result<PeerSegment> attach(const platform::FileDescriptor& file, std::uint32_t queue_slots,
                                    std::uint64_t window_bytes);

  [[nodiscard]] QueueSender queue_sender(std::uint32_t owner) const;
  [[nodiscard]] RoomWanted& queue_room() const { return header()->queue_room; }
  [[nodiscard]] bool is_away() const { return header()->away.load(std::memory_order_acquire) != 0; }
  /// Memory of a ring that the peer granted at OFFSET; null if it is not inside the window.
  [[nodiscard]] std::byte* ring_memory(std::uint64_t offset, RingShape shape) const;
  [[nodiscard]] std::size_t window_bytes() const { return mapping_.bytes(); }

 private:
  [[nodiscard]] SegmentHeader* header() const {
    return reinterpret_cast<SegmentHeader*>(mapping_.data());
  }

  platform::Mapping mapping_;
  std::uint32_t queue_slots_ = 0;
};

}  // namespace hawser::transport::shm
