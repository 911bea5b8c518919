// SharedLock: a word in the shared block that one process has at a time. It is taken from the dead.
//
// What it protects may be half done if its holder has died, and has to be such that this does no
// harm. Threads: of one process only one asks at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/clock.hpp"
#include "softrdma/fabric/host.hpp"

namespace softrdma::fabric {

class SharedLock {
 public:
  SharedLock(const Host& host, std::atomic<std::uint32_t>& word) : word_(word) {
    const std::uint32_t ours = host.seat() + 1U;
    const std::uint64_t give_up_ns = hawser::platform::monotonic_ns() + limit_ns;
    for (std::uint32_t holder = 0; !word_.compare_exchange_strong(holder, ours);) {
      const bool is_dead = !host.is_alive(static_cast<std::uint16_t>(holder - 1));
      if (hawser::platform::monotonic_ns() > give_up_ns) return;
      if (is_dead) continue;  // and it is exchanged, if it has not changed since
      holder = 0;
      hawser::platform::yield_cpu();
    }
    is_ours_ = true;
  }
  ~SharedLock() {
    if (is_ours_) word_.store(0);
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

  /// False: who has it has not given it back for a second, and lives (it is stopped, perhaps).
  [[nodiscard]] bool is_ours() const { return is_ours_; }

 private:
  static constexpr std::uint64_t limit_ns = 1'000'000'000;

  std::atomic<std::uint32_t>& word_;
  bool is_ours_ = false;
};

}  // namespace softrdma::fabric
