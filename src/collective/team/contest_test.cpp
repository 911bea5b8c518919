#include "collective/team/contest.hpp"

#include <gtest/gtest.h>

namespace hawser::collective {
namespace {

/// CALLS calls of two members who take as many nanoseconds each; how many of them were by reading.
std::uint32_t call(Contest& contest, std::uint32_t calls, std::uint32_t otherwise_ns,
                   std::uint32_t reading_ns) {
  std::uint32_t read = 0;
  for (std::uint32_t i = 0; i < calls; ++i) {
    const Contest::Turn turn = contest.next();
    read += turn.reads ? 1 : 0;
    if (turn.is_timed) contest.took(turn.reads, turn.reads ? reading_ns : otherwise_ns);
    if (contest.is_over())
      contest.decide(
          {2 * std::uint64_t{contest.paces()[0]}, 2 * std::uint64_t{contest.paces()[1]}});
  }
  return read;
}

constexpr std::uint32_t first_calls = Contest::first_gap + Contest::trial_calls;

TEST(Contest, NothingIsTriedInTheFirstCalls) {
  Contest contest;
  EXPECT_EQ(call(contest, Contest::first_gap, 100, 10), 0U);
}

TEST(Contest, TheQuickerWayIsUsed) {
  Contest contest;
  EXPECT_EQ(call(contest, first_calls, 100, 60), Contest::trial_calls);
  EXPECT_EQ(call(contest, Contest::gap_min, 100, 60), Contest::gap_min);
}

TEST(Contest, WhatIsAsQuickChangesNothing) {
  Contest contest;
  call(contest, first_calls, 100, 97);
  EXPECT_EQ(call(contest, Contest::first_gap, 100, 97), 0U);
}

TEST(Contest, TrialsThatChangeNothingBecomeRare) {
  Contest contest;
  call(contest, 10000, 100, 130);
  EXPECT_LE(call(contest, 1000, 100, 130), Contest::trial_calls);
  // But they never end: the members may have moved nearer to each other, or farther away.
  EXPECT_EQ(call(contest, Contest::gap_max + Contest::trial_calls, 100, 130), Contest::trial_calls);
}

TEST(Contest, TheFirstCallsOfATrialDoNotCount) {
  Contest contest;
  call(contest, Contest::first_gap, 100, 60);
  for (std::uint32_t i = 0; i < Contest::trial_calls; ++i)
    EXPECT_EQ(contest.next().is_timed, i >= Contest::warming_calls);
}

TEST(Contest, OneInterruptDoesNotCount) {
  Contest contest;
  call(contest, Contest::first_gap, 100, 60);
  for (std::uint32_t i = 0; i < Contest::trial_calls; ++i)
    if (contest.next().is_timed) contest.took(true, i == Contest::trial_calls - 1 ? 10000 : 60);
  ASSERT_TRUE(contest.is_over());
  EXPECT_LT(contest.paces()[1], contest.paces()[0]);
}

TEST(Contest, AnotherWayMayBecomeQuicker) {
  Contest contest;
  call(contest, first_calls, 100, 60);
  call(contest, 10000, 100, 150);
  EXPECT_LE(call(contest, 1000, 100, 150), Contest::trial_calls);
}

}  // namespace
}  // namespace hawser::collective
