#include "softrdma/fabric/inbox.hpp"

namespace softrdma::fabric {
namespace {

enum class Phase : std::uint8_t { free, claimed, full };

constexpr std::uint64_t state_of(std::uint64_t position, Phase phase, std::uint16_t seat) {
  const std::uint64_t turn = position / slot_count;
  return turn << 32 | std::uint64_t{seat} << 8 | static_cast<std::uint64_t>(phase);
}
constexpr std::uint32_t turn_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> 32);
}
constexpr std::uint16_t seat_of(std::uint64_t state) {
  return static_cast<std::uint16_t>(state >> 8);
}
constexpr Phase phase_of(std::uint64_t state) { return static_cast<Phase>(state & 0xff); }

/// Positive if STATE is of a later turn than POSITION.
constexpr std::int32_t turns_ahead(std::uint64_t state, std::uint64_t position) {
  return static_cast<std::int32_t>(turn_of(state) - turn_of(state_of(position, Phase::free, 0)));
}

}  // namespace

std::optional<Inbox::Claim> Inbox::claim(std::uint16_t seat) {
  std::uint64_t position = memory_.tail.load(std::memory_order_relaxed);
  for (;;) {
    Slot& slot = slot_at(position);
    std::uint64_t state = slot.state.load(std::memory_order_acquire);
    if (turns_ahead(state, position) < 0) return std::nullopt;
    if (state == state_of(position, Phase::free, 0) &&
        slot.state.compare_exchange_strong(state, state_of(position, Phase::claimed, seat),
                                           std::memory_order_acq_rel)) {
      memory_.tail.store(position + 1, std::memory_order_relaxed);
      return Claim{position, slot};
    }
    // Somebody has it: the hint was old.
    ++position;
  }
}

void Inbox::publish(const Claim& claim, std::uint16_t seat) {
  claim.slot.state.store(state_of(claim.position, Phase::full, seat), std::memory_order_release);
}

bool Inbox::has_room() const {
  std::uint64_t position = memory_.tail.load(std::memory_order_relaxed);
  for (;; ++position) {
    const std::uint64_t state = slot_at(position).state.load(std::memory_order_relaxed);
    if (turns_ahead(state, position) < 0) return false;
    if (state == state_of(position, Phase::free, 0)) return true;
  }
}

bool Inbox::claim_chunks(std::uint16_t seat, std::span<std::uint16_t> out) {
  std::size_t claimed = 0;
  for (std::uint16_t number = 0; number < chunk_count && claimed < out.size(); ++number) {
    std::uint32_t nobody = 0;
    if (memory_.chunk_states[number].compare_exchange_strong(nobody, seat + 1U,
                                                             std::memory_order_acquire))
      out[claimed++] = number;
  }
  if (claimed == out.size()) return true;
  release_chunks(out.first(claimed));
  return false;
}

void Inbox::release_chunks(std::span<const std::uint16_t> claimed) {
  for (const std::uint16_t number : claimed)
    memory_.chunk_states[number % chunk_count].store(0, std::memory_order_release);
}

Slot* Inbox::front() {
  const std::uint64_t position = memory_.head.load(std::memory_order_relaxed);
  Slot& slot = slot_at(position);
  const std::uint64_t state = slot.state.load(std::memory_order_acquire);
  return phase_of(state) == Phase::full && turns_ahead(state, position) == 0 ? &slot : nullptr;
}

void Inbox::pop() {
  const std::uint64_t position = memory_.head.load(std::memory_order_relaxed);
  // The head goes first: who finds the slot free may ask whether an older packet was taken.
  memory_.head.store(position + 1, std::memory_order_release);
  slot_at(position).state.store(state_of(position + slot_count, Phase::free, 0),
                                std::memory_order_release);
}

std::optional<std::uint16_t> Inbox::unfinished() const {
  const std::uint64_t position = memory_.head.load(std::memory_order_relaxed);
  const std::uint64_t state = slot_at(position).state.load(std::memory_order_acquire);
  if (phase_of(state) != Phase::claimed || turns_ahead(state, position) != 0) return std::nullopt;
  return seat_of(state);
}

void Inbox::skip(std::uint16_t seat) {
  if (unfinished() == seat) pop();
}

void Inbox::adopt(std::uint16_t seat) {
  for (Slot& slot : memory_.ring) {
    std::uint64_t state = slot.state.load(std::memory_order_acquire);
    if (phase_of(state) != Phase::claimed || seat_of(state) != seat) continue;
    slot.head = {};
    const std::uint64_t full = state - static_cast<std::uint64_t>(Phase::claimed) +
                               static_cast<std::uint64_t>(Phase::full);
    slot.state.compare_exchange_strong(state, full, std::memory_order_acq_rel);
  }
  std::array<bool, chunk_count> is_named{};
  for (const Slot& slot : memory_.ring) {
    const std::uint64_t state = slot.state.load(std::memory_order_acquire);
    if (phase_of(state) != Phase::full || slot.head.form != Form::chunks) continue;
    for (const std::uint16_t number : chunk_numbers(slot)) is_named[number % chunk_count] = true;
  }
  for (std::uint16_t number = 0; number < chunk_count; ++number) {
    std::uint32_t owner = seat + 1U;
    if (!is_named[number])
      memory_.chunk_states[number].compare_exchange_strong(owner, 0, std::memory_order_release);
  }
}

}  // namespace softrdma::fabric
