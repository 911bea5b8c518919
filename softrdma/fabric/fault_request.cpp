#include "softrdma/fabric/fault_request.hpp"

#include <unistd.h>

#include "platform/clock.hpp"

namespace softrdma::fabric {
namespace {

enum class FaultState : std::uint8_t { free = 0, asked = 1, done = 2, refused = 3 };

constexpr std::uint64_t answer_ns_max = 1'000'000'000;
constexpr useconds_t look_every_us = 1000;
constexpr unsigned state_shift = 56;
constexpr unsigned kind_shift = 48;
constexpr unsigned asker_shift = 32;

FaultState state_of(std::uint64_t word) { return static_cast<FaultState>(word >> state_shift); }

std::uint64_t with_state(std::uint64_t word, FaultState state) {
  constexpr std::uint64_t rest = (std::uint64_t{1} << state_shift) - 1;
  return (word & rest) | static_cast<std::uint64_t>(state) << state_shift;
}

std::uint64_t word_of(const FaultRequest& request, std::uint16_t asker) {
  return with_state(static_cast<std::uint64_t>(request.kind) << kind_shift |
                        (asker + std::uint64_t{1}) << asker_shift | request.number,
                    FaultState::asked);
}

/// Whether nobody lives who waits for what WORD says.
bool is_free(const Host& host, std::uint64_t word) {
  if (state_of(word) == FaultState::free) return true;
  const auto asker = static_cast<std::uint16_t>(word >> asker_shift);
  return asker == 0 || asker > seat_count || asker - 1 == host.seat() ||
         !host.is_alive(static_cast<std::uint16_t>(asker - 1));
}

bool leave_request(const Host& host, std::atomic<std::uint64_t>& fault, std::uint64_t request,
                   std::uint64_t give_up_ns) {
  do {
    std::uint64_t word = fault.load();
    if (is_free(host, word) && fault.compare_exchange_strong(word, request)) return true;
    ::usleep(look_every_us);
  } while (hawser::platform::monotonic_ns() < give_up_ns);
  return false;
}

}  // namespace

std::optional<FaultRequest> pending_fault(const SeatMemory& seat) {
  const std::uint64_t word = seat.fault.load(std::memory_order_relaxed);
  if (state_of(word) != FaultState::asked) [[likely]]
    return std::nullopt;
  return FaultRequest{.kind = static_cast<FaultKind>(word >> kind_shift & 0xff),
                      .number = static_cast<std::uint32_t>(word)};
}

void answer_fault(SeatMemory& seat, bool was_done) {
  std::uint64_t word = seat.fault.load();
  // Who has given up meanwhile does not wait for an answer.
  if (state_of(word) == FaultState::asked)
    seat.fault.compare_exchange_strong(
        word, with_state(word, was_done ? FaultState::done : FaultState::refused));
}

FaultAnswer ask_for_fault(const Host& host, std::uint16_t seat, const FaultRequest& request) {
  const std::uint64_t give_up_ns = hawser::platform::monotonic_ns() + answer_ns_max;
  std::atomic<std::uint64_t>& fault = host.seat_memory(seat).fault;
  const std::uint64_t asked = word_of(request, host.seat());
  if (!leave_request(host, fault, asked, give_up_ns)) return FaultAnswer::busy;
  std::uint64_t word = asked;
  while (word == asked && hawser::platform::monotonic_ns() < give_up_ns) {
    // Again and again: a thread that is about to sleep may miss it.
    host.ring(seat);
    ::usleep(look_every_us);
    word = fault.load();
  }
  // Ours while we live: taken back, or its answer taken, whichever it is.
  while (!fault.compare_exchange_weak(word, 0)) {
  }
  switch (state_of(word)) {
    case FaultState::done:
      return FaultAnswer::done;
    case FaultState::refused:
      return FaultAnswer::unknown_number;
    default:
      return FaultAnswer::silence;
  }
}

}  // namespace softrdma::fabric
