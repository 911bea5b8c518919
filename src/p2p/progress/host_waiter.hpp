// HostWaiter: how a real process waits (DESIGN §6): for a while it polls, or lets others run where
// ranks outnumber cores; then it sleeps on its wake word in the host's shared memory, or, where
// something else may wake it too, on descriptors.
//
// Ownership: borrows the wake word. Threads: see Waiter.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hostmem/wake.hpp"
#include "p2p/progress/spreader.hpp"
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
      give_way();
    } else {
      platform::cpu_relax();
    }
  }
  void give_way() override {
    platform::yield_cpu();
    if (spreader_) spreader_->note_turn();
  }
  void expect_turns(std::size_t bytes) override {
    if (spreader_) spreader_->expect_turns(bytes);
  }
  std::uint32_t prepare() override { return sleeper_.announce(); }
  void sleep(std::uint32_t ticket, std::uint64_t deadline_ns, WakeBy by) override {
    sleeps_.fetch_add(1, std::memory_order_relaxed);
    if (sleeps_on_descriptors_.load(std::memory_order_acquire)) {
      sleep_on_descriptors(ticket, deadline_ns, by);
    } else if (deadline_ns == never_ns) {
      sleeper_.sleep(ticket);
    } else if (const std::uint64_t now = now_ns(); now < deadline_ns) {
      sleeper_.sleep_for(ticket, deadline_ns - now);
    }
  }
  [[nodiscard]] bool tells_departures() const override { return tells_departures_; }
  /// From now on sleeping ends when DESCRIPTOR is readable, too, which tells of TOLD: all things,
  /// or one of two, until it is removed. Who sleeps at the moment does not know of it.
  base::Result<void> add_descriptor(int descriptor, WakeBy told);
  void remove_descriptor(int descriptor);
  void cancel() override { sleeper_.cancel(); }
  void wake() override { hostmem::Waker::rouse(word_); }

  /// From now on its threads move to less crowded cores (Spreading), of those that the owners of
  /// WORDS share. Before any of them waits.
  void spread_among(std::span<const hostmem::WakeWord> words, std::uint32_t cores) {
    spreader_.emplace(word_, words, cores);
  }

  /// Times that this process went to sleep, and that a thread of it moved; for statistics.
  [[nodiscard]] std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t core_moves() const { return spreader_ ? spreader_->moves() : 0; }

 private:
  void sleep_on_descriptors(std::uint32_t ticket, std::uint64_t deadline_ns, WakeBy by);
  [[nodiscard]] std::vector<int>& descriptors(WakeBy by) {
    return descriptors_[static_cast<std::size_t>(by)];
  }

  hostmem::WakeWord& word_;
  hostmem::Sleeper sleeper_;
  std::optional<Spreader> spreader_;
  std::optional<platform::Bell> bell_;  // there once sleeps_on_descriptors_ says so
  std::atomic<bool> sleeps_on_descriptors_{false};
  std::array<std::vector<int>, 3> descriptors_;  // by what wakes a sleeper; the bell's first
  bool tells_departures_ = false;
  // Several threads hear one bell. It is silenced when none is listening, lest one of them takes
  // away what rings for another. Guards the lists of descriptors, too.
  std::mutex listening_;
  int listeners_ = 0;
  std::atomic<std::uint64_t> sleeps_{0};
};

}  // namespace hawser::p2p
