// The ring of a fast path: slots in the receiver's memory that one peer writes frames into by RDMA,
// and that the receiver polls. No completion tells of them.
//
// A slot of 64 * n bytes, filled from its end:
//
//   | …  | frame, padded to a multiple of 8 | checksum 32 | 0 32 | bytes 32 | turn 32 |
//
// The receiver looks at the last eight bytes of the next slot alone: `turn` counts how often the
// slot has been filled, so nothing has to be cleared. Where the adapter keeps the order of what it
// writes, they are there last; elsewhere the checksum (CRC32C of the frame) tells a frame that is
// not all there yet. A small frame with its trailer is one cache line.
//
// Pure: the writer says what to write where, the reader looks at memory. The writer fills a slot
// again once its frame was released, that is, acknowledged by the layer above, so there are no
// credits of the ring's own. Ownership: borrow. Threads: the lane lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/checksum.hpp"
#include "transport/verbs/settings.hpp"

namespace hawser::transport::verbs {

struct SlotTrailer {
  std::uint32_t checksum = 0;
  std::uint32_t reserved = 0;
  std::uint32_t bytes = 0;  // of the frame
  std::uint32_t turn = 0;
};
static_assert(sizeof(SlotTrailer) == 16);

constexpr std::size_t round_to_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
/// Of a slot for frames of at most FRAME_BYTES.
constexpr std::size_t slot_bytes_for(std::size_t frame_bytes) {
  return (round_to_words(frame_bytes) + sizeof(SlotTrailer) + 63) / 64 * 64;
}

/// The writer's side of a ring.
class RingWriter {
 public:
  /// A ring of SLOTS (at most ring_slots_max) of SLOT_BYTES at ADDRESS, for which KEY stands.
  struct Ring {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t slots = 0;
    std::uint32_t slot_bytes = 0;
  };
  RingWriter(const Ring& ring, bool is_checked) : ring_(ring), is_checked_(is_checked) {}

  [[nodiscard]] std::size_t frame_bytes_max() const {
    return ring_.slot_bytes - sizeof(SlotTrailer);
  }
  [[nodiscard]] std::uint32_t key() const { return ring_.key; }
  /// The next slot is free.
  [[nodiscard]] bool has_room() const { return (taken_ >> next_ & 1) == 0; }
  /// What to write, and where.
  struct Write {
    std::uint32_t slot;
    std::size_t bytes;  // from the frame's first on
    std::uint64_t to;
  };
  /// Takes the next slot for FRAME of BYTES, behind which there is room for the trailer.
  Write take(std::byte* frame, std::size_t bytes) {
    const std::size_t padded = round_to_words(bytes);
    const SlotTrailer trailer{
        .checksum = is_checked_ ? base::checksum_of({frame, bytes}) : 0,
        .bytes = static_cast<std::uint32_t>(bytes),
        .turn = turn_,
    };
    std::memcpy(frame + padded, &trailer, sizeof(trailer));
    const std::uint32_t slot = next_;
    const std::size_t written = padded + sizeof(trailer);
    taken_ |= std::uint64_t{1} << slot;
    if (++next_ == ring_.slots) {
      next_ = 0;
      ++turn_;
    }
    return {slot, written, ring_.address + (slot + 1) * std::uint64_t{ring_.slot_bytes} - written};
  }
  /// The frame in SLOT was released.
  void free(std::uint32_t slot) { taken_ &= ~(std::uint64_t{1} << slot); }

 private:
  const Ring ring_;
  const bool is_checked_;
  std::uint64_t taken_ = 0;  // bit i: slot i
  std::uint32_t next_ = 0;
  std::uint32_t turn_ = 1;
};

/// The receiver's side.
class RingReader {
 public:
  RingReader(std::span<std::byte> memory, std::uint32_t slots, bool is_checked)
      : memory_(memory),
        slots_(slots),
        slot_bytes_(memory.size() / slots),
        is_checked_(is_checked) {}

  /// The next frame if it is there, or an empty one; valid until pop().
  [[nodiscard]] std::span<const std::byte> front() const {
    std::byte* const end = memory_.data() + (next_ + 1) * slot_bytes_;
    auto* const last = reinterpret_cast<std::uint64_t*>(end - sizeof(std::uint64_t));
    const std::uint64_t bytes_and_turn =
        std::atomic_ref<std::uint64_t>(*last).load(std::memory_order_acquire);
    if (bytes_and_turn >> 32 != turn_) return {};
    return checked(end, static_cast<std::uint32_t>(bytes_and_turn));
  }
  void pop() {
    if (++next_ < slots_) return;
    next_ = 0;
    ++turn_;
  }

 private:
  [[nodiscard]] std::span<const std::byte> checked(const std::byte* end, std::size_t bytes) const {
    // The peer's word for it: no more than a slot holds.
    if (bytes > slot_bytes_ - sizeof(SlotTrailer)) return {};
    const std::byte* const trailer = end - sizeof(SlotTrailer);
    const std::span frame(trailer - round_to_words(bytes), bytes);
    if (!is_checked_) return frame;
    std::uint32_t checksum;
    std::memcpy(&checksum, trailer, sizeof(checksum));
    return checksum == base::checksum_of(frame) ? frame : std::span<const std::byte>();
  }

  const std::span<std::byte> memory_;
  const std::uint32_t slots_;
  const std::size_t slot_bytes_;
  const bool is_checked_;
  std::uint32_t next_ = 0;
  std::uint32_t turn_ = 1;
};

}  // namespace hawser::transport::verbs
