// Wake words: how the processes of one host wake each other (DESIGN §6).
//
// WakeArea: one WakeWord per local process, in memory that all of them share from the start.
// Sleeper:  announce() stores `asleep`; then it looks for work once more; then sleep() waits on the
//           futex until somebody stored `awake`.
// Waker:    makes its message visible, then wake(): if the word says `asleep`, store `awake` and
//           wake the futex.
// Ordering: the waker's message store must not pass its load of the word, nor the sleeper's store
// of
//           the word its look for work. One side pays for the fence, job-wide, fixed at start:
//           the sleeper (membarrier) where cores are free, so that a send costs no fence; the
//           waker where ranks outnumber cores and sleeping is the common case.
// Crash safety: a word of a dead process is only ever stored to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/futex.hpp"

namespace hawser::hostmem {

enum class FencePayer : std::uint8_t { sleeper, waker };

struct alignas(64) WakeWord {
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t asleep = 1;

  std::atomic<std::uint32_t> word;
  /// Raised by a process that knocks at this one's door (a connection waits to be accepted), so
  /// that polling needs no system call. Cleared by the owner before it looks.
  std::atomic<std::uint32_t> knock;
};
static_assert(sizeof(WakeWord) == 64);

/// Bytes of a WakeArea for PROCESSES local processes.
constexpr std::size_t wake_area_bytes(std::uint32_t processes) {
  return sizeof(WakeWord) * processes;
}

class Sleeper {
 public:
  Sleeper(WakeWord& word, FencePayer payer) : word_(word), payer_(payer) {}

  void announce() {
    word_.word.store(WakeWord::asleep, std::memory_order_relaxed);
    if (payer_ == FencePayer::sleeper) {
      platform::global_barrier();
    } else {
      // Not a seq_cst store alone: that would not order the loads of the look behind it.
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  void sleep() {
    while (word_.word.load(std::memory_order_acquire) == WakeWord::asleep)
      platform::futex_wait(word_.word, WakeWord::asleep);
  }
  void cancel() { word_.word.store(WakeWord::awake, std::memory_order_relaxed); }

 private:
  WakeWord& word_;
  const FencePayer payer_;
};

class Waker {
 public:
  explicit Waker(FencePayer payer) : payer_(payer) {}
  [[nodiscard]] FencePayer payer() const { return payer_; }

  /// After the message is visible: wakes the owner of WORD if it sleeps.
  void wake(WakeWord& word) const {
    if (payer_ == FencePayer::waker) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      // The sleeper's membarrier orders us; the compiler must not.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    if (word.word.load(std::memory_order_relaxed) == WakeWord::asleep) [[unlikely]]
      rouse(word);
  }
  /// Wakes whatever the word says; for knocks and for threads of one process.
  static void rouse(WakeWord& word);

 private:
  const FencePayer payer_;
};

}  // namespace hawser::hostmem
