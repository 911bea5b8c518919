#include "p2p/engine.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/manual_backend.hpp"

namespace hawser::p2p {
namespace {

/// Sleeps at once; something comes while the process announces its sleep.
class LateWaiter final : public Waiter {
 public:
  LateWaiter() : Waiter({.sleeps_at_once = true}) {}
  bool has_come = false;
  int sleeps = 0;

  [[nodiscard]] std::uint64_t now_ns() const override { return 0; }
  void relax() override {}
  std::uint32_t prepare() override {
    has_come = !std::exchange(is_announced_, true);
    return 0;
  }
  void sleep(std::uint32_t, std::uint64_t, WakeBy) override {
    ++sleeps;
    has_come = true;
  }
  void cancel() override {}
  void wake() override {}

 private:
  bool is_announced_ = false;
};

TEST(Engine, WhatAWaitHasTakenIsNotAskedForAgain) {
  test::ManualBackend backend;
  LateWaiter waiter;
  Engine engine(backend, waiter);
  int taken = 0;
  engine.wait_until([&] {
    if (!std::exchange(waiter.has_come, false)) return false;
    ++taken;
    return true;
  });
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(waiter.sleeps, 0);
}

/// Tries ten rounds before it sleeps, where ranks outnumber cores. Time passes in sleeps alone: the
/// first three last until their deadline, the fourth until somebody wakes it.
class TimedWaiter final : public Waiter {
 public:
  static constexpr std::uint32_t rounds = 10;
  TimedWaiter() : Waiter({.oversubscribed = true, .yields = rounds}) {}
  std::vector<int> turns_before_sleep;
  [[nodiscard]] bool is_woken() const { return turns_before_sleep.size() == 4; }

  [[nodiscard]] std::uint64_t now_ns() const override { return now_ns_; }
  void relax() override { ++turns_; }
  std::uint32_t prepare() override { return 0; }
  void sleep(std::uint32_t, std::uint64_t deadline_ns, WakeBy) override {
    turns_before_sleep.push_back(std::exchange(turns_, 0));
    now_ns_ = is_woken() ? deadline_ns - 1 : deadline_ns;
  }
  void cancel() override {}
  void wake() override {}
  [[nodiscard]] int turns() const { return turns_; }

 private:
  std::uint64_t now_ns_ = 1;
  int turns_ = 0;
};

TEST(Engine, WhoWakesByItsDeadlineDoesNotStayAwake) {
  test::ManualBackend backend;
  TimedWaiter waiter;
  backend.deadline = [&] { return waiter.now_ns() + 1000; };
  Engine engine(backend, waiter);
  // Who was woken stays awake again, for half of its rounds here.
  engine.wait_until([&] { return waiter.is_woken() && waiter.turns() == TimedWaiter::rounds / 2; });
  EXPECT_EQ(waiter.turns_before_sleep, (std::vector<int>{TimedWaiter::rounds, 0, 0, 0}));
}

/// Where the program was when a progress thread was last asked to take over; negative: never.
int core_of_handing_over(void (*prepare)(test::ManualRequest&)) {
  test::ManualBackend backend;
  backend.on_send = prepare;
  LateWaiter waiter;
  Engine engine(backend, waiter);
  engine.set_threaded(true);
  engine.attendance().set_attended(true);
  const auto request = engine.isend({}, {.peer = 0}, SendMode::synchronous);
  EXPECT_TRUE(request.ok());
  return engine.attendance().program_core();
}

TEST(Engine, ProgressThreadsTakeOverWhatNeedsSomebodyHere) {
  EXPECT_GE(core_of_handing_over([](test::ManualRequest&) {}), 0);
  EXPECT_LT(core_of_handing_over([](test::ManualRequest& request) { request.finish(); }), 0);
  EXPECT_LT(core_of_handing_over([](test::ManualRequest& request) { request.leave_to_peer(); }), 0);
}

}  // namespace
}  // namespace hawser::p2p
