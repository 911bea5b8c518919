#include "hostmem/wake.hpp"

namespace hawser::hostmem {

void Waker::rouse(WakeWord& word) {
  word.word.store(WakeWord::awake, std::memory_order_release);
  platform::futex_wake_all(word.word);
}

}  // namespace hawser::hostmem
