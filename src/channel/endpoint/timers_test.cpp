#include "channel/endpoint/timers.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/endpoint.hpp"

namespace hawser::channel {
namespace {

class TimersTest : public ::testing::Test {
 protected:
  /// One round in which the endpoint says that it is next due at NEXT.
  bool run(std::uint64_t next) {
    return timers.run([this](Endpoint&) -> TimerState& { return state; },
                      [&](Endpoint&, std::uint64_t) {
                        ++served;
                        return next;
                      });
  }

  std::uint64_t now_ns = 1;
  Timers timers{[this] { return now_ns; }};
  memory::Ledger ledger;
  Endpoint endpoint{{}, false, ledger};
  TimerState state;
  int served = 0;
};

TEST_F(TimersTest, WhoHasNothingToDoIsNotServed) {
  EXPECT_EQ(timers.deadline_ns(), never_ns);
  timers.expect(endpoint, state, never_ns);
  EXPECT_FALSE(run(never_ns));
  timers.expect(endpoint, state, now_ns + 100);
  EXPECT_FALSE(run(never_ns));
  EXPECT_EQ(served, 0);
}

/// A process that waits until its peers have what it sent, or are gone, sleeps if nothing moved.
TEST_F(TimersTest, WhoseTimeHasComeMoves) {
  timers.expect(endpoint, state, now_ns + 100);
  now_ns += 100;
  EXPECT_TRUE(run(never_ns));
  EXPECT_EQ(served, 1);
  EXPECT_EQ(timers.deadline_ns(), never_ns);
  timers.expect(endpoint, state, 0);
  EXPECT_TRUE(run(now_ns + 100));
}

TEST_F(TimersTest, WhoFindsNoRoomHasMovedNothingAndIsServedAgain) {
  timers.expect(endpoint, state, 0);
  EXPECT_FALSE(run(0));
  EXPECT_EQ(timers.deadline_ns(), 0U);
  EXPECT_TRUE(run(never_ns));
  EXPECT_EQ(timers.deadline_ns(), never_ns);
}

TEST_F(TimersTest, TheClockIsReadInFewRoundsWhereNothingIsUrgent) {
  const auto looks_in = [this](std::uint32_t rounds) {
    std::uint32_t looks = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) looks += timers.wants_look() ? 1 : 0;
    return looks;
  };
  EXPECT_EQ(looks_in(8), 0U);
  timers.expect(endpoint, state, now_ns + 100);
  EXPECT_EQ(looks_in(8), 8U);  // who waits may be about to sleep
  looks_in(Timers::rounds_often);
  EXPECT_EQ(looks_in(10 * Timers::rounds_per_look), 10U);
  timers.look_often();
  EXPECT_EQ(looks_in(8), 8U);
  looks_in(Timers::rounds_often);
  timers.expect(endpoint, state, 0);
  EXPECT_EQ(looks_in(8), 8U);
}

TEST_F(TimersTest, WhoIsForgottenIsNotServed) {
  timers.expect(endpoint, state, 0);
  timers.expect(endpoint, state, now_ns + 1);
  timers.forget(endpoint, state);
  EXPECT_EQ(timers.deadline_ns(), never_ns);
}

}  // namespace
}  // namespace hawser::channel
