// HostWaiter: how a real process waits (DESIGN §6): for a while it polls, or lets others run where
// ranks outnumber cores; then it sleeps on its wake word in the host's shared memory, or, where
// something else may wake it too, on descriptors.
//
// Ownership: borrows the wake word. Threads: see Waiter.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "hostmem/wake.hpp"
#include "p2p/waiter.hpp"
#include "platform/bell.hpp"
#include "platform/clock.hpp"

namespace hawser::p2p {

class HostWaiter final : public Waiter {
 public:
  HostWaiter(hostmem::WakeWord& word, hostmem::FencePayer payer, const WaitPolicy& policy)
      : Waiter(policy), word_(word), sleeper_(word, payer) {}

  [[nodiscard]] std::uint64_t now_ns() const override { return platform::monotonic_ns(); }
  void relax() override {
    if (policy().oversubscribed) {
      platform::yield_cpu();
    } else {
      platform::cpu_relax();
    }
  }
  std::uint32_t prepare() override { return sleeper_.announce(); }
  void sleep(std::uint32_t ticket, std::uint64_t deadline_ns) override {
    sleeps_.fetch_add(1, std::memory_order_relaxed);
    if (!descriptors_.empty()) {
      sleep_on_descriptors(ticket, deadline_ns);
    } else if (deadline_ns == never_ns) {
      sleeper_.sleep(ticket);
    } else if (const std::uint64_t now = now_ns(); now < deadline_ns) {
      sleeper_.sleep_for(ticket, deadline_ns - now);
    }
  }
  /// From now on sleeping ends when DESCRIPTOR is readable, too. It must outlive this.
  base::Result<void> add_descriptor(int descriptor);
  void cancel() override { sleeper_.cancel(); }
  void wake() override { hostmem::Waker::rouse(word_); }

  /// Times that this process went to sleep, for statistics.
  [[nodiscard]] std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

 private:
  void sleep_on_descriptors(std::uint32_t ticket, std::uint64_t deadline_ns);

  hostmem::WakeWord& word_;
  hostmem::Sleeper sleeper_;
  std::optional<platform::Bell> bell_;
  std::vector<int> descriptors_;  // the bell's first
  std::atomic<std::uint64_t> sleeps_{0};
};

}  // namespace hawser::p2p
