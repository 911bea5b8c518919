#include "sim/scheduler.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::sim {
namespace {

/// Notes its end; what an unwound fiber must run too.
struct Ended {
  int* ends;
  ~Ended() { ++*ends; }
};

TEST(Fiber, GoesOnWhereItWasSuspended) {
  std::vector<int> steps;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    for (int i = 0; i < 3; ++i) {
      steps.push_back(i);
      self->suspend();
    }
  });
  self = &fiber;
  for (int i = 0; i < 3; ++i) {
    fiber.resume();
    EXPECT_EQ(steps.back(), i);
    EXPECT_FALSE(fiber.is_done());
  }
  fiber.resume();
  EXPECT_TRUE(fiber.is_done());
  EXPECT_EQ(steps.size(), 3U);
}

TEST(Fiber, CatchesItsOwnExceptions) {
  int caught = 0;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    try {
      self->suspend();
      throw 7;
    } catch (int value) {
      caught = value;
    }
  });
  self = &fiber;
  fiber.resume();
  fiber.resume();
  EXPECT_TRUE(fiber.is_done());
  EXPECT_EQ(caught, 7);
}

TEST(Scheduler, TimeJumpsToTheNextEventOnceAllSleep) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  scheduler.spawn([&] {
    scheduler.after(1'000'000, [&] { scheduler.wake(0); });
    scheduler.prepare(0);
    scheduler.sleep(0);
    EXPECT_GE(scheduler.now_ns(), 1'000'000U);
    EXPECT_LT(scheduler.now_ns(), 1'010'000U);
  });
  EXPECT_EQ(scheduler.run(), "");
}

TEST(Scheduler, AWakeUpBetweenPrepareAndSleepIsNotLost) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  scheduler.spawn([&] {
    scheduler.prepare(0);
    scheduler.wake(0);
    scheduler.sleep(0);
  });
  EXPECT_EQ(scheduler.run(), "");
}

TEST(Scheduler, ADeadlockNamesWhoWaitsForWhatAndUnwindsThem) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  int ends = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    scheduler.spawn([&, i] {
      const Ended ended{&ends};
      scheduler.set_activity(i == 0 ? "for a letter" : "for the bus");
      scheduler.prepare(i);
      scheduler.sleep(i);
      FAIL() << "woken by nobody";
    });
  }
  EXPECT_EQ(scheduler.run(),
            "deadlock: nothing is on its way, but rank 0 waits (for a letter), "
            "rank 1 waits (for the bus)");
  EXPECT_EQ(ends, 2);
}

TEST(Scheduler, TheFirstFailureIsKeptAndTheOthersAreUnwound) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  int ends = 0;
  scheduler.spawn([&] {
    const Ended ended{&ends};
    scheduler.prepare(0);
    scheduler.sleep(0);
  });
  scheduler.spawn([&] {
    const Ended ended{&ends};
    scheduler.pause();
    scheduler.fail("a check failed");
  });
  EXPECT_EQ(scheduler.run(), "rank 1: a check failed");
  EXPECT_EQ(ends, 2);
}

TEST(Scheduler, TheSeedDecidesWhoRunsNext) {
  const auto order = [](std::uint64_t seed) {
    Trace trace(false);
    Scheduler scheduler(seed, trace);
    std::vector<int> runs;
    for (int i = 0; i < 4; ++i) {
      scheduler.spawn([&, i] {
        for (int round = 0; round < 10; ++round) {
          runs.push_back(i);
          scheduler.pause();
        }
      });
    }
    EXPECT_EQ(scheduler.run(), "");
    return runs;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Scheduler, AKilledFiberEndsWhereItSleepsAndTheOthersGoOn) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  int ends = 0;
  bool has_slept = false;
  scheduler.spawn([&] {
    const Ended ended{&ends};
    scheduler.prepare(0);
    scheduler.sleep(0);
    has_slept = true;
  });
  scheduler.spawn([&] {
    for (int i = 0; i < 10; ++i) scheduler.pause();
    scheduler.kill(0);
    scheduler.pause();
    while (ends == 0) scheduler.pause();
  });
  EXPECT_EQ(scheduler.run(), "");
  EXPECT_FALSE(has_slept);
  EXPECT_TRUE(scheduler.was_killed(0));
  EXPECT_FALSE(scheduler.was_killed(1));
}

}  // namespace
}  // namespace hawser::sim
