// Scheduler: fibers and a virtual clock; which fiber runs next, and what happens when, follows from
// the seed.
//
// Time stands still while a fiber runs, passes a little with every switch, and jumps to the next
// event when all fibers sleep. Nothing runnable and no event is a deadlock, and fails the
// simulation with the names of those who wait.
// Ownership: owns fibers and events; outlives both.
// Threads:   one.
// Errors:    fail() throws Failure, which ends the fiber; the first one is kept. The other fibers
//            are then unwound (Unwinding is thrown where they sleep), so that their destructors
//            run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "p2p/waiter.hpp"
#include "sim/fiber.hpp"
#include "sim/random.hpp"
#include "sim/trace.hpp"

namespace hawser::sim {

/// Why a simulation failed. Not an exception of the standard's: nothing must catch it by accident.
struct Failure {
  std::string sentence;
};
struct Unwinding {};

class Scheduler {
 public:
  /// More switches than this are taken for a livelock. Who waits gives way after nearly every look,
  /// so a job of ten ranks that all wait for one has some millions of them.
  static constexpr std::uint64_t switches_max = 20'000'000;

  Scheduler(std::uint64_t seed, Trace& trace) : random_(seed, 1), trace_(trace) {}

  /// Adds a fiber; they are numbered from 0.
  void spawn(std::function<void()> body);
  /// ACTION runs in DELAY_NS, outside of any fiber; those of one moment in the order of the calls.
  void after(std::uint64_t delay_ns, std::function<void()> action);
  /// Runs until all fibers have ended; the sentence of the first failure, or an empty one.
  std::string run();

  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  [[nodiscard]] Trace& trace() { return trace_; }
  template <class... Numbers>
  void note(std::string_view format, Numbers... numbers) {
    trace_.note(now_ns_, format, {static_cast<std::uint64_t>(numbers)...});
  }

  // By the running fiber:
  /// Another one may run; time passes.
  void pause();
  /// Once in N times.
  void maybe_pause(std::uint64_t n) {
    if (random_.one_in(n)) pause();
  }
  /// What it is about to do, for the report of a deadlock.
  void set_activity(std::string activity);
  [[noreturn]] void fail(std::string sentence);

  // By number; see p2p::Waiter.
  void prepare(std::size_t fiber) { tasks_[fiber].woken = false; }
  void sleep(std::size_t fiber, std::uint64_t deadline_ns = base::never_ns);
  void wake(std::size_t fiber);
  /// FIBER ends where it sleeps or waits for its turn; only its destructors run.
  void kill(std::size_t fiber);
  /// FIBER may be killed; what it holds in operations in flight is then left behind.
  void expect_kill(std::size_t fiber) { may_be_killed_ = fiber; }
  [[nodiscard]] bool was_killed(std::size_t fiber) const { return tasks_[fiber].was_killed; }

 private:
  enum class State : std::uint8_t { runnable, asleep, done };
  struct Task {
    std::unique_ptr<Fiber> fiber;
    State state = State::runnable;
    bool woken = false;       // since prepare()
    bool was_killed = false;  // and ends when it runs next
    bool has_ended = false;   // by that
    std::string activity{};
  };
  struct Event {
    std::uint64_t time_ns;
    std::uint64_t number;
    std::function<void()> action;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
    }
  };

  void run_body(const std::function<void()>& body);
  void make_runnable(std::size_t fiber);
  void suspend();
  void run_due_events();
  void switch_to_one();
  void keep(std::string sentence);
  [[nodiscard]] std::string describe_deadlock() const;
  void unwind();

  Random random_;
  Trace& trace_;
  std::uint64_t now_ns_ = 1;
  std::vector<Task> tasks_;
  std::vector<std::size_t> runnable_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t events_made_ = 0;
  std::uint64_t switches_ = 0;
  std::size_t running_ = 0;
  std::size_t live_ = 0;
  std::optional<std::size_t> may_be_killed_;
  bool unwinding_ = false;
  bool failed_ = false;
  std::string failure_;
};

/// How a simulated process waits: it never spins, and asleep it lets the others run.
class SimWaiter final : public p2p::Waiter {
 public:
  SimWaiter(Scheduler& scheduler, std::size_t fiber, bool oversubscribed)
      : Waiter({.oversubscribed = oversubscribed}), scheduler_(scheduler), fiber_(fiber) {}

  [[nodiscard]] std::uint64_t now_ns() const override { return scheduler_.now_ns(); }
  void relax() override { scheduler_.pause(); }
  std::uint32_t prepare() override {
    scheduler_.prepare(fiber_);
    return 0;
  }
  void sleep(std::uint32_t, std::uint64_t deadline_ns, p2p::WakeBy) override {
    scheduler_.sleep(fiber_, deadline_ns);
  }
  void cancel() override {}
  void wake() override { scheduler_.wake(fiber_); }

 private:
  Scheduler& scheduler_;
  const std::size_t fiber_;
};

}  // namespace hawser::sim
