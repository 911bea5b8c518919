#include "hostmem/wake.hpp"

#include "platform/bell.hpp"

namespace hawser::hostmem {

void Waker::rouse(WakeWord& word) {
  std::uint32_t value = word.word.load(std::memory_order_relaxed);
  while (!word.word.compare_exchange_weak(value,
                                          (value & ~WakeWord::asleep) + WakeWord::one_wake_up,
                                          std::memory_order_release, std::memory_order_relaxed)) {
  }
  platform::futex_wake_all(word.word);
  if (const std::uint64_t bell = word.bell.load(std::memory_order_relaxed); bell != 0)
    platform::ring_bell(bell);
}

}  // namespace hawser::hostmem
