// CoreTurns: which of those that share a core have had their turn on it.
//
// Members of a board that outnumber the cores take turns. One that has arrived at a step and waits
// gives its core to others, as long as they have to arrive as well. Once all that share the core
// have, the rest happens on other cores: whoever gives way then gets nothing for it but two more
// turns of the scheduler, and is late when the step is over.
//
//   a word per core:  latest step (32 bits) | who share the core (16) | arrivals at it (16)
//
// A guess, and used for nothing but waiting: as many share a core as have arrived there at one of
// the last steps. Members that have moved, two that add at a time (one was interrupted), or cores
// beyond cores_max that share a word make it wrong for some steps. Who runs ahead begins the next
// step's count; those who come to the earlier one later do not count, and nothing is said of it.
//
// Ownership: borrows the memory, zeroed, of all members.
// Threads:   one of each process at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/cache_line.hpp"

namespace hawser::hostmem {

class CoreTurns {
 public:
  static constexpr std::uint32_t cores_max = 64;

  struct alignas(base::cache_line_bytes) Core {
    std::atomic<std::uint64_t> word;
  };

  explicit CoreTurns(Core* cores) : cores_(cores) {}

  /// A member that runs on CORE (any number) arrives at STEP.
  void note_arrival(std::uint64_t step, int core) {
    std::atomic<std::uint64_t>& word = cores_[place(core)].word;
    const std::uint64_t old = word.load(std::memory_order_relaxed);
    const auto now = static_cast<std::uint32_t>(step);
    const std::uint32_t ahead = now - step_of(old);
    if (ahead > std::numeric_limits<std::uint32_t>::max() / 2) return;
    std::uint64_t sharers = sharers_of(old);
    std::uint64_t arrivals = arrivals_of(old);
    if (ahead > 0) {
      const bool is_remembered = now / steps_remembered == step_of(old) / steps_remembered;
      sharers = is_remembered ? std::max(sharers, arrivals) : arrivals;
      arrivals = 0;
    }
    arrivals = std::min(arrivals + 1, count_mask);
    word.store(step << step_shift | sharers << sharers_shift | arrivals, std::memory_order_relaxed);
  }
  /// Whether all who share CORE seem to have arrived at STEP.
  [[nodiscard]] bool seem_complete(std::uint64_t step, int core) const {
    const std::uint64_t word = cores_[place(core)].word.load(std::memory_order_relaxed);
    return step_of(word) == static_cast<std::uint32_t>(step) &&
           arrivals_of(word) >= sharers_of(word);
  }

 private:
  static constexpr int step_shift = 32;
  static constexpr int sharers_shift = 16;
  static constexpr std::uint64_t count_mask = 0xffff;
  /// After so many, who has moved away is forgotten.
  static constexpr std::uint32_t steps_remembered = 64;

  static std::uint32_t place(int core) { return static_cast<std::uint32_t>(core) % cores_max; }
  static std::uint32_t step_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> step_shift);
  }
  static std::uint64_t sharers_of(std::uint64_t word) { return word >> sharers_shift & count_mask; }
  static std::uint64_t arrivals_of(std::uint64_t word) { return word & count_mask; }

  Core* cores_;
};

}  // namespace hawser::hostmem
