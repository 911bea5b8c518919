#include "softrdma/device/mishaps.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace softrdma::device {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t step_ns = 1'000'000;

/// When queue pairs fail within SECONDS.
std::vector<std::uint64_t> error_moments(Mishaps mishaps, int seconds) {
  std::vector<std::uint64_t> moments;
  const std::uint64_t end_ns = static_cast<std::uint64_t>(seconds) * second_ns;
  for (std::uint64_t now_ns = 1; now_ns < end_ns; now_ns += step_ns)
    if (mishaps.is_error_due(now_ns)) moments.push_back(now_ns);
  return moments;
}

TEST(Mishaps, ComeAsOftenAsTheyAreToOnAverage) {
  const std::size_t count = error_moments({{.queue_pair_errors = 5}, 1, 3}, 100).size();
  EXPECT_GT(count, 400U);
  EXPECT_LT(count, 600U);
  EXPECT_TRUE(error_moments({{.port_flaps = 5}, 1, 3}, 100).empty());
}

TEST(Mishaps, FollowFromTheSeed) {
  const link::MishapRates rates{.queue_pair_errors = 5};
  EXPECT_EQ(error_moments({rates, 1, 3}, 10), error_moments({rates, 1, 3}, 10));
  EXPECT_NE(error_moments({rates, 1, 3}, 10), error_moments({rates, 1, 4}, 10));
}

TEST(Mishaps, WhatNobodyAskedForHappensOnce) {
  Mishaps mishaps({.queue_pair_errors = 1000}, 1, 3);
  EXPECT_FALSE(mishaps.is_error_due(1));
  EXPECT_TRUE(mishaps.is_error_due(100 * second_ns));
  EXPECT_FALSE(mishaps.is_error_due(100 * second_ns));
}

TEST(Mishaps, APortIsDownForAShareOfTheTimeHoweverSeldomOneLooks) {
  constexpr int looks = 1000;
  constexpr std::uint64_t every_ns = 67'000'000;
  Mishaps mishaps({.port_flaps = 100}, 1, 3);
  int down = 0;
  for (std::uint64_t look = 0; look < looks; ++look) {
    if (!mishaps.port_change(look * every_ns + 1)) continue;
    ++down;
    EXPECT_TRUE(mishaps.port_change(*mishaps.deadline_ns())->is_up);
  }
  // Up for 10 ms on average, and down for as long.
  EXPECT_GT(down, looks * 2 / 5);
  EXPECT_LT(down, looks * 3 / 5);
}

TEST(Mishaps, APortComesUpAgain) {
  constexpr std::uint8_t ports = 3;
  Mishaps mishaps({.port_flaps = 5}, ports, 3);
  std::set<std::uint8_t> flapped;
  for (std::uint64_t now_ns = 1; now_ns < 20 * second_ns; now_ns += step_ns) {
    EXPECT_EQ(mishaps.deadline_ns(), std::nullopt);
    const std::optional<PortChange> down = mishaps.port_change(now_ns);
    if (!down) continue;
    EXPECT_FALSE(down->is_up);
    const std::uint64_t up_ns = mishaps.deadline_ns().value_or(0);
    EXPECT_LE(up_ns, now_ns + flap_ns);
    EXPECT_GT(up_ns, now_ns + flap_ns - step_ns);
    EXPECT_EQ(mishaps.port_change(up_ns - 1), std::nullopt);
    now_ns = up_ns;
    EXPECT_EQ(mishaps.port_change(now_ns), (PortChange{down->port, true}));
    flapped.insert(down->port);
  }
  EXPECT_EQ(flapped, (std::set<std::uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace softrdma::device
