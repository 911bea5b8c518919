// Inbox: where the processes of a host leave packets for one of them: a ring of slots in shared
// memory that any number fill and one empties.
//
// A slot is claimed by one compare-and-swap that writes who claims it, so that the owner of the
// inbox can skip what a dead process has left half done. Its state is one word, little-endian:
//
//   63                     32 31         16 15          8 7           0
//   +------------------------+-------------+-------------+-------------+
//   | turn                   | 0           | who         | phase       |   who: 16 bits, 8 to 23
//   +------------------------+-------------+-------------+-------------+
//
// The slot of position P is P mod slots, its turn P / slots; memory of zeros is an empty inbox.
// Payloads that must be copied and are too long for a slot lie in chunks beside the ring.
//
// Ownership: a view of shared memory. Threads: leave() any number, in any process; take() and
// release() one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/memory/scatter_gather.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::fabric {

inline constexpr std::uint32_t slot_count = 512;
inline constexpr std::uint32_t chunk_count = 128;
inline constexpr std::size_t chunk_bytes = 4096;
inline constexpr std::size_t body_bytes = 512;

/// Where the payload of a packet is.
enum class Form : std::uint8_t {
  body,    // in the slot
  chunks,  // in chunks, whose numbers are in the slot
  pieces,  // in the sender's memory, at addresses that are in the slot
};

/// A piece of the sender's memory.
struct FarPiece {
  std::uint64_t address;
  std::uint64_t bytes;
};
static_assert(memory::entries_max * sizeof(FarPiece) <= body_bytes);

/// The first line of a slot, behind its state.
struct SlotHead {
  std::uint32_t payload_bytes;
  std::uint32_t epoch;  // pieces: that of the sender's memory
  Form form;
  std::uint8_t count;  // of chunks or pieces
  std::uint8_t header_bytes;
  bool has_route;  // beside the body
  std::array<std::byte, wire::headers_bytes_max> headers;
};

/// What the receiver is told of the way of a datagram, or of any packet from another host.
struct Route {
  std::uint16_t source_lid;
  std::uint8_t service_level;
  bool has_grh;
  std::array<std::byte, qp::grh_bytes> grh;
  bool is_marked;  // by a switch that has too much to carry
  bool has_host;   // another one than this
  wire::Address host;
};

struct alignas(64) Slot {
  std::atomic<std::uint64_t> state;
  SlotHead head;
  std::array<std::byte, body_bytes> body;
  alignas(64) Route route;
};
static_assert(offsetof(Slot, body) == 64 && sizeof(Slot) == 640);

/// The seat of the process that left the packet in SLOT.
inline std::uint16_t sender_of(const Slot& slot) {
  return static_cast<std::uint16_t>(slot.state.load(std::memory_order_relaxed) >> 8);
}
/// The chunks that hold the payload of a packet, in their order.
inline std::span<const std::uint16_t> chunk_numbers(const Slot& slot) {
  constexpr std::size_t most = body_bytes / sizeof(std::uint16_t);
  return {reinterpret_cast<const std::uint16_t*>(slot.body.data()),
          std::min<std::size_t>(slot.head.count, most)};
}

struct InboxMemory {
  alignas(64) std::atomic<std::uint64_t> tail;  // about: where the next is left
  alignas(64) std::atomic<std::uint64_t> head;  // where the next is taken
  alignas(64) std::array<std::atomic<std::uint32_t>, chunk_count> chunk_states;
  std::array<Slot, slot_count> ring;
  alignas(4096) std::array<std::array<std::byte, chunk_bytes>, chunk_count> chunk_memory;
};

class Inbox {
 public:
  /// A slot that is being filled.
  struct Claim {
    std::uint64_t position;
    Slot& slot;
  };

  explicit Inbox(InboxMemory& memory) : memory_(memory) {}

  // Those who leave packets
  /// The next free slot, claimed for SEAT; nothing if all are taken. It has to be published soon:
  /// what comes after it waits.
  std::optional<Claim> claim(std::uint16_t seat);
  void publish(const Claim& claim, std::uint16_t seat);
  /// Whether claim() would find a slot.
  [[nodiscard]] bool has_room() const;
  /// OUT.size() free chunks, claimed for SEAT. False, and none is claimed, if there are fewer.
  bool claim_chunks(std::uint16_t seat, std::span<std::uint16_t> out);
  void release_chunks(std::span<const std::uint16_t> claimed);
  [[nodiscard]] std::span<std::byte> chunk(std::uint16_t number) const {
    return memory_.chunk_memory[number % chunk_count];
  }
  /// Whether what was left at POSITION has been taken.
  [[nodiscard]] bool is_taken(std::uint64_t position) const {
    return position < memory_.head.load(std::memory_order_acquire);
  }

  // The one who takes them
  /// The oldest packet; null if none is complete.
  [[nodiscard]] Slot* front();
  /// Gives back the slot that front() returned.
  void pop();
  /// Who has claimed the oldest slot and not published it.
  [[nodiscard]] std::optional<std::uint16_t> unfinished() const;
  /// Goes past a slot that SEAT, which is dead, has claimed.
  void skip(std::uint16_t seat);

  /// What a dead process has left half done on SEAT is done with, for the one that has it now: its
  /// slots count as filled, with nothing; its chunks that no packet names are free.
  void adopt(std::uint16_t seat);

 private:
  [[nodiscard]] Slot& slot_at(std::uint64_t position) const {
    return memory_.ring[position % slot_count];
  }

  InboxMemory& memory_;
};

}  // namespace softrdma::fabric
