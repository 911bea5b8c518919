// Spreader: moves the thread that waits to the cores that Spreading says.
//
// Ownership: borrows the wake words. Threads: any number at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "hostmem/crowds.hpp"
#include "p2p/progress/spreading.hpp"
#include "platform/clock.hpp"

namespace hawser::p2p {

class Spreader {
 public:
  /// For the owner of OWN, which is one of WORDS; all of them share so many CORES (>= 1).
  Spreader(hostmem::WakeWord& own, std::span<const hostmem::WakeWord> words, std::uint32_t cores);
  ~Spreader() { hostmem::Crowds::withdraw(own_); }
  Spreader(const Spreader&) = delete;
  Spreader& operator=(const Spreader&) = delete;

  /// The calling thread gave way, and has its core again.
  void note_turn() {
    const Spreading::Step step = spreading_.note_turn([] { return platform::monotonic_ns(); });
    if (step != Spreading::Step::stay) [[unlikely]]
      take(step);
  }
  /// Until it is called again: others have BYTES to move in a turn, each.
  void expect_turns(std::size_t bytes) { spreading_.expect_turns(bytes); }
  /// Moves so far, for statistics.
  [[nodiscard]] std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }

 private:
  void take(Spreading::Step step);
  void look(int core, std::uint64_t now_ns);
  /// Moves the calling thread, and tells; false: it may not run there.
  bool move_to(int core);

  hostmem::WakeWord& own_;
  const hostmem::Crowds crowds_;
  Spreading spreading_;
  std::atomic<std::uint64_t> moves_{0};
};

}  // namespace hawser::p2p
