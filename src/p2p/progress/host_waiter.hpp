// HostWaiter: how a real process waits (DESIGN §6): it polls for a while where cores are free, then
// sleeps on its wake word in the host's shared memory.
//
// Ownership: borrows the wake word. Threads: see Waiter.
#pragma once

#include <atomic>
#include <cstdint>

#include "hostmem/wake.hpp"
#include "p2p/waiter.hpp"
#include "platform/clock.hpp"

namespace hawser::p2p {

class HostWaiter final : public Waiter {
 public:
  HostWaiter(hostmem::WakeWord& word, hostmem::FencePayer payer, std::uint64_t spin_ns)
      : word_(word), sleeper_(word, payer), spin_ns_(spin_ns) {}

  [[nodiscard]] std::uint64_t spin_ns() const override { return spin_ns_; }
  [[nodiscard]] std::uint64_t now_ns() const override { return platform::monotonic_ns(); }
  void relax() override { platform::cpu_relax(); }
  std::uint32_t prepare() override { return sleeper_.announce(); }
  void sleep(std::uint32_t ticket) override {
    sleeps_.fetch_add(1, std::memory_order_relaxed);
    sleeper_.sleep(ticket);
  }
  void cancel() override { sleeper_.cancel(); }
  void wake() override { hostmem::Waker::rouse(word_); }

  /// Times that this process went to sleep, for statistics.
  [[nodiscard]] std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

 private:
  hostmem::WakeWord& word_;
  hostmem::Sleeper sleeper_;
  const std::uint64_t spin_ns_;
  std::atomic<std::uint64_t> sleeps_{0};
};

}  // namespace hawser::p2p
