// Wake words: how the processes of one host wake each other (DESIGN §6).
//
// WakeArea: one WakeWord per local process, in memory that all of them share from the start.
// Sleeper:  announce() raises the word's `asleep` bit and takes the word as its ticket. Then it
//           looks for work once more, and sleep()s: on the futex, while the word is the ticket.
// Waker:    makes its message visible, then wake(): if the bit is up, lower it, count one wake-up
//           more in the rest of the word, and wake the futex.
// Bell:     an owner that also waits for descriptors can't sleep on a futex. It leaves the number
// of
//           its bell in the word, which the waker rings as well.
// Threads:  several threads of a process may sleep on its word. The count keeps one of them from
//           sleeping through a wake-up because another has raised the bit again since.
// Ordering: the waker's message store must not pass its load of the word, nor the sleeper's change
//           of the word its look for work. One side pays for the fence, job-wide, fixed at start:
//           the sleeper (membarrier) where cores are free, so that a send costs no fence; the
//           waker where ranks outnumber cores and sleeping is the common case.
// Crash safety: a word of a dead process is only ever stored to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cache_line.hpp"
#include "platform/futex.hpp"

namespace hawser::hostmem {

enum class FencePayer : std::uint8_t { sleeper, waker };

/// Between a sleeper's store that says "I am about to sleep" and its last look for work.
inline void sleeper_fence(FencePayer payer) {
  if (payer == FencePayer::sleeper) {
    platform::global_barrier();
  } else {
    // Not a seq_cst store alone: that would not order the loads of the look behind it.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

/// Between a waker's store that makes work visible and its look whether somebody sleeps.
inline void waker_fence(FencePayer payer) {
  if (payer == FencePayer::waker) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    // The sleeper's membarrier orders us; the compiler must not.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

struct alignas(base::cache_line_bytes) WakeWord {
  static constexpr std::uint32_t asleep = 1;
  static constexpr std::uint32_t one_wake_up = 2;

  /// 31 bits of wake-ups so far, wrapping; bit 0: asleep.
  std::atomic<std::uint32_t> word;
  [[nodiscard]] bool is_asleep(std::memory_order order = std::memory_order_relaxed) const {
    return (word.load(order) & asleep) != 0;
  }
  /// Raised by a process that knocks at this one's door (a connection waits to be accepted), so
  /// that polling needs no system call. Cleared by the owner before it looks.
  std::atomic<std::uint32_t> knock;
  /// The number of the bell (platform/bell.hpp) by which the owner is woken, because it sleeps on
  /// descriptors too; 0: it sleeps on the word alone.
  std::atomic<std::uint64_t> bell;
  /// When the owner last told where it runs (hostmem/crowds.hpp), by the host's monotonic clock,
  /// and the number of that core, plus 1; 0: nowhere.
  std::atomic<std::uint64_t> told_ns;
  std::atomic<std::uint32_t> core_told;
};
static_assert(sizeof(WakeWord) == base::cache_line_bytes);

/// Bytes of a WakeArea for PROCESSES local processes.
constexpr std::size_t wake_area_bytes(std::uint32_t processes) {
  return sizeof(WakeWord) * processes;
}

class Sleeper {
 public:
  Sleeper(WakeWord& word, FencePayer payer) : word_(word), payer_(payer) {}

  std::uint32_t announce() {
    const std::uint32_t ticket =
        word_.word.fetch_or(WakeWord::asleep, std::memory_order_seq_cst) | WakeWord::asleep;
    sleeper_fence(payer_);
    return ticket;
  }
  void sleep(std::uint32_t ticket) {
    while (word_.word.load(std::memory_order_acquire) == ticket)
      platform::futex_wait(word_.word, ticket);
  }
  /// The same for at most TIMEOUT_NS (not 0), perhaps less.
  void sleep_for(std::uint32_t ticket, std::uint64_t timeout_ns) {
    if (word_.word.load(std::memory_order_acquire) == ticket)
      platform::futex_wait(word_.word, ticket, timeout_ns);
  }
  /// Nobody has woken the owner since announce().
  [[nodiscard]] bool is_current(std::uint32_t ticket) const {
    return word_.word.load(std::memory_order_acquire) == ticket;
  }
  /// Of a process that sleeps in one thread only; with several, rouse() them afterwards.
  void cancel() { word_.word.fetch_and(~WakeWord::asleep, std::memory_order_relaxed); }

 private:
  WakeWord& word_;
  const FencePayer payer_;
};

class Waker {
 public:
  explicit Waker(FencePayer payer) : payer_(payer) {}
  [[nodiscard]] FencePayer payer() const { return payer_; }

  /// After the message is visible: wakes the owner of WORD if it sleeps; true if it did.
  bool wake(WakeWord& word) const {
    waker_fence(payer_);
    if (!word.is_asleep()) [[likely]]
      return false;
    rouse(word);
    return true;
  }
  /// The same for all of WORDS.
  void wake_all(std::span<WakeWord* const> words) const {
    waker_fence(payer_);
    for (WakeWord* word : words)
      if (word->is_asleep()) [[unlikely]]
        rouse(*word);
  }
  /// Wakes whatever the word says; for knocks and for threads of one process.
  static void rouse(WakeWord& word);

 private:
  const FencePayer payer_;
};

}  // namespace hawser::hostmem
