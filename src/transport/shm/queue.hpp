// The shared receive queue: bounded, many senders, one receiver, in shared memory, without a lock,
// and safe against kill -9 of a sender at any instruction.
//
// A slot goes free(lap) -> claimed(lap, owner) -> ready(lap, owner) -> free(lap + 1).
// Claiming is one compare-and-swap that writes the sender's number into the slot. `tail` is a hint:
// who finds the slot at the tail taken moves the tail on, so a sender that dies between its claim
// and its tail update holds up nobody. A sender that dies between claim and ready leaves a claimed
// slot with its number; the receiver, once it is sure that this sender is dead, frees it.
//
// Ordering: `ready` is stored with release after the frame was written, and loaded with acquire
//           before it is read; `free` is stored with release after the frame was read, and the
//           claiming compare-and-swap acquires it before the next frame is written.
// Hooks:    a test gets control between any two steps (STYLE: interleavings and kills).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "transport/shm/layout.hpp"

namespace hawser::transport::shm {

/// The steps of a send, for tests that stop a process at each of them.
enum class QueueStep : std::uint8_t { start, claimed, tail_moved, written, ready };

struct NoHooks {
  static void at(QueueStep) {}
};

namespace queue_state {

inline constexpr std::uint64_t free = 0;
inline constexpr std::uint64_t claimed = 1;
inline constexpr std::uint64_t ready = 2;
inline constexpr std::uint64_t lap_mask = (1ULL << 30) - 1;

constexpr std::uint64_t make(std::uint64_t phase, std::uint64_t lap, std::uint32_t owner) {
  return phase | ((lap & lap_mask) << 2) | (static_cast<std::uint64_t>(owner) << 32);
}
constexpr std::uint64_t without_owner(std::uint64_t state) { return state & 0xffffffffU; }
constexpr std::uint32_t owner(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> 32);
}

}  // namespace queue_state

/// Where a position that counts up for ever lies in a queue of a power of two slots.
class Laps {
 public:
  explicit Laps(std::uint64_t slot_count = 1)
      : shift_(std::countr_zero(slot_count)), mask_(slot_count - 1) {}
  [[nodiscard]] std::uint64_t lap(std::uint64_t position) const { return position >> shift_; }
  [[nodiscard]] std::uint64_t slot(std::uint64_t position) const { return position & mask_; }

 private:
  int shift_;
  std::uint64_t mask_;
};

/// Makes zeroed memory an empty queue: nothing to do, free(lap 0) is zero.
class QueueSender {
 public:
  QueueSender() = default;
  /// OWNER: our number at the receiver, not 0. SLOTS: a power of two.
  QueueSender(QueueSlot* slots, std::uint64_t slot_count, std::atomic<std::uint64_t>* tail,
              std::uint32_t owner)
      : slots_(slots), laps_(slot_count), tail_(tail), owner_(owner) {}

  /// A claimed slot, or null if the queue is full.
  template <class Hooks = NoHooks>
  QueueSlot* claim(Hooks&& hooks = {}) {
    hooks.at(QueueStep::start);
    // Bounded: each round either claims, or the tail moved on because of somebody else's claim; a
    // reader that lags by a whole lap means full.
    std::uint64_t position = tail_->load(std::memory_order_relaxed);
    for (;;) {
      QueueSlot& slot = slots_[laps_.slot(position)];
      const std::uint64_t lap = laps_.lap(position);
      std::uint64_t state = slot.state.load(std::memory_order_acquire);
      if (state == queue_state::make(queue_state::free, lap, 0)) {
        const std::uint64_t mine = queue_state::make(queue_state::claimed, lap, owner_);
        if (slot.state.compare_exchange_strong(state, mine, std::memory_order_acquire)) {
          hooks.at(QueueStep::claimed);
          advance_tail(position);
          hooks.at(QueueStep::tail_moved);
          claimed_state_ = mine;
          return &slot;
        }
        continue;  // the slot changed under us; look at it again
      }
      if (is_of_lap_before(state, lap)) return nullptr;
      advance_tail(position);
      position = position + 1 > tail_->load(std::memory_order_relaxed)
                     ? position + 1
                     : tail_->load(std::memory_order_relaxed);
    }
  }
  template <class Hooks = NoHooks>
  void publish(QueueSlot& slot, FrameType type, std::size_t frame_bytes, Hooks&& hooks = {}) {
    slot.type = type;
    slot.frame_bytes = static_cast<std::uint16_t>(frame_bytes);
    hooks.at(QueueStep::written);
    slot.state.store(claimed_state_ - queue_state::claimed + queue_state::ready,
                     std::memory_order_release);
    hooks.at(QueueStep::ready);
  }

 private:
  static bool is_of_lap_before(std::uint64_t state, std::uint64_t lap) {
    const std::uint64_t state_lap = (state >> 2) & queue_state::lap_mask;
    return state_lap == ((lap - 1) & queue_state::lap_mask);
  }
  void advance_tail(std::uint64_t position) {
    std::uint64_t expected = position;
    tail_->compare_exchange_strong(expected, position + 1, std::memory_order_relaxed);
  }

  QueueSlot* slots_ = nullptr;
  Laps laps_;
  std::atomic<std::uint64_t>* tail_ = nullptr;
  std::uint32_t owner_ = 0;
  std::uint64_t claimed_state_ = 0;
};

class QueueReceiver {
 public:
  QueueReceiver() = default;
  /// POSITION: where the queue stands; not 0 in tests of the laps' wrap only.
  QueueReceiver(QueueSlot* slots, std::uint64_t slot_count, std::uint64_t position = 0)
      : slots_(slots), laps_(slot_count), position_(position) {}

  enum class Head : std::uint8_t { empty, claimed, ready };
  /// What stands at the head; *slot and *owner are set unless it is empty.
  Head look(QueueSlot** slot, std::uint32_t* owner) {
    QueueSlot& head = slots_[laps_.slot(position_)];
    const std::uint64_t state = head.state.load(std::memory_order_acquire);
    const std::uint64_t lap = laps_.lap(position_);
    const std::uint64_t bare = queue_state::without_owner(state);
    if (bare == queue_state::make(queue_state::free, lap, 0)) return Head::empty;
    *slot = &head;
    *owner = queue_state::owner(state);
    return bare == queue_state::make(queue_state::ready, lap, 0) ? Head::ready : Head::claimed;
  }
  /// Frees the slot at the head, after its frame was read or its owner has died.
  void pop() {
    QueueSlot& head = slots_[laps_.slot(position_)];
    head.state.store(queue_state::make(queue_state::free, laps_.lap(position_) + 1, 0),
                     std::memory_order_release);
    ++position_;
  }

 private:
  QueueSlot* slots_ = nullptr;
  Laps laps_;
  std::uint64_t position_ = 0;  // of the head
};

}  // namespace hawser::transport::shm
