// Crowds: on which cores the processes of a host are, as far as they tell, and which of these cores
// one more would be better off on.
//
// Each tells in its wake word now and then, while it waits, where it runs. Who is awake and has
// told nothing for a while computes: nobody is better off beside it, whatever else is there.
//
// A guess, and used for nothing but waiting: who computes may have been moved since.
//
// Ownership: borrows the words of all processes. Threads: any number at a time.
#pragma once

#include <optional>
#include <span>

#include "hostmem/wake.hpp"
#include "platform/process.hpp"

namespace hawser::hostmem {

class Crowds {
 public:
  /// Of the owners of WORDS; each of CORES may be better than another.
  Crowds(std::span<const WakeWord> words, const platform::CoreSet& cores)
      : words_(words), cores_(cores) {}

  /// The owner of WORD, which waits, is on CORE (>= 0) at NOW_NS.
  static void tell(WakeWord& word, int core, std::uint64_t now_ns) {
    word.core_told.store(static_cast<std::uint32_t>(core) + 1, std::memory_order_relaxed);
    word.told_ns.store(now_ns, std::memory_order_relaxed);
  }
  /// It is nowhere from now on.
  static void withdraw(WakeWord& word) { word.core_told.store(0, std::memory_order_relaxed); }

  /// The core with the fewest who are awake, none of whom computes, if CORE would still have more
  /// once one of it had gone there; of several the nearest by number.
  [[nodiscard]] std::optional<int> better_core(int core, std::uint64_t now_ns) const;

  /// Who waits tells more often.
  static constexpr std::uint64_t silent_ns_max = 6'000'000;

 private:
  std::span<const WakeWord> words_;
  const platform::CoreSet cores_;
};

}  // namespace hawser::hostmem
