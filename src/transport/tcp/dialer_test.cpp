#include "transport/tcp/dialer.hpp"

#include <gtest/gtest.h>

namespace hawser::transport::tcp {
namespace {

using Kind = Dialer::Action::Kind;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t timeout_ns = 15 * second_ns;

std::vector<platform::IpAddress> addresses(int count) {
  std::vector<platform::IpAddress> all;
  for (int i = 0; i < count; ++i)
    all.push_back(*platform::parse_ip_address("10.0.0." + std::to_string(i + 1)));
  return all;
}

class TcpDialer : public ::testing::Test {
 protected:
  void SetUp() override { dialer.begin(now); }
  void expect_start(std::size_t candidate) {
    const Dialer::Action action = dialer.next(now);
    EXPECT_EQ(action.kind, Kind::start);
    EXPECT_EQ(action.candidate, candidate);
  }
  void expect_nothing() { EXPECT_EQ(dialer.next(now).kind, Kind::none); }

  std::uint64_t now = 100 * second_ns;
  Dialer dialer{addresses(2), 77, timeout_ns};
};

TEST_F(TcpDialer, TriesTheNextOneWithoutWaitingForTheOneBefore) {
  expect_start(0);
  expect_nothing();
  EXPECT_EQ(dialer.deadline_ns(), now + Dialer::stagger_ns);
  now += Dialer::stagger_ns;
  expect_start(1);
  expect_nothing();
}

TEST_F(TcpDialer, AFailureStartsTheNextOneAtOnceAndARoundIsFollowedByAGrowingPause) {
  expect_start(0);
  dialer.on_failed(0, "refused", now);
  expect_start(1);
  dialer.on_failed(1, "refused", now);
  for (std::uint64_t pause = Dialer::pause_ns_initial; pause < 4 * Dialer::pause_ns_initial;
       pause *= 2) {
    expect_nothing();
    EXPECT_EQ(dialer.deadline_ns(), now + pause);
    now += pause;
    expect_start(0);
    dialer.on_failed(0, "refused", now);
    expect_start(1);
    dialer.on_failed(1, "refused", now);
  }
}

TEST_F(TcpDialer, AHostThatDoesNotAnswerIsAbandonedAndTriedAgain) {
  expect_start(0);
  now += Dialer::stagger_ns;
  expect_start(1);
  now += Dialer::answer_ns;
  EXPECT_EQ(dialer.next(now).kind, Kind::abandon);
  EXPECT_EQ(dialer.next(now).kind, Kind::abandon);
  expect_nothing();
  now = dialer.deadline_ns();
  expect_start(0);
}

TEST_F(TcpDialer, GivesUpWhenNothingWasReachedForTheTimeAndSaysWhatItTried) {
  while (now < 100 * second_ns + timeout_ns) {
    const Dialer::Action action = dialer.next(now);
    if (action.kind == Kind::start)
      dialer.on_failed(action.candidate, action.candidate == 0 ? "refused" : "no route", now);
    else
      now = dialer.deadline_ns();
  }
  EXPECT_EQ(dialer.next(now).kind, Kind::give_up);
  EXPECT_FALSE(dialer.is_dialing());
  EXPECT_EQ(dialer.deadline_ns(), never_ns);
  EXPECT_EQ(dialer.report(), "tried 10.0.0.1 port 77: refused; 10.0.0.2 port 77: no route");
}

TEST_F(TcpDialer, WaitsAsLongAsItTakesForWhoAcceptsAndIsBusy) {
  expect_start(0);
  dialer.on_reached(0);
  now += Dialer::stagger_ns;
  expect_start(1);
  dialer.on_failed(1, "refused", now);
  EXPECT_EQ(dialer.deadline_ns(), never_ns);
  now += 10 * timeout_ns;
  expect_nothing();
  dialer.on_failed(0, "it closed the connection", now);
  now = dialer.deadline_ns();
  expect_start(0);
}

TEST(TcpDialerWithoutAddresses, GivesUpInTheEnd) {
  Dialer dialer({}, 1, timeout_ns);
  dialer.begin(0);
  EXPECT_EQ(dialer.next(1).kind, Kind::none);
  EXPECT_EQ(dialer.next(dialer.deadline_ns()).kind, Kind::give_up);
}

}  // namespace
}  // namespace hawser::transport::tcp
