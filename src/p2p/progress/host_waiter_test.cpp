#include "p2p/progress/host_waiter.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "platform/file.hpp"

namespace hawser::p2p {
namespace {

constexpr std::uint64_t far_ns = 20'000'000'000;  // a deadline that only who is not woken meets
constexpr std::uint64_t near_ns = 30'000'000;

class HostWaiterTest : public testing::Test {
 protected:
  /// Whether it was woken before the deadline.
  bool sleeps_less_than(std::uint64_t time_ns, WakeBy by) {
    const std::uint64_t deadline_ns = waiter_.now_ns() + time_ns;
    waiter_.sleep(waiter_.prepare(), deadline_ns, by);
    return waiter_.now_ns() < deadline_ns;
  }

  platform::FileDescriptor arrivals_{::eventfd(0, EFD_NONBLOCK)};
  platform::FileDescriptor departures_{::eventfd(0, EFD_NONBLOCK)};
  hostmem::WakeWord word_{};
  HostWaiter waiter_{word_, hostmem::FencePayer::waker, WaitPolicy{}};
};

TEST_F(HostWaiterTest, OneWakeUpReachesAllWhoSleepOnDescriptors) {
  ASSERT_TRUE(waiter_.add_descriptor(arrivals_.get(), WakeBy::anything).ok());
  constexpr int rounds = 500, sleepers = 3;
  std::atomic<int> prepared{0}, woken{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < sleepers; ++number) {
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        const std::uint32_t ticket = waiter_.prepare();
        prepared.fetch_add(1);
        const std::uint64_t deadline_ns = waiter_.now_ns() + far_ns;
        // Early returns are allowed; only the wake-up ends a round.
        while (prepared.load() < (round + 1) * sleepers) std::this_thread::yield();
        waiter_.sleep(ticket, deadline_ns, WakeBy::anything);
        EXPECT_LT(waiter_.now_ns(), deadline_ns);
        woken.fetch_add(1);
        while (woken.load() < (round + 1) * sleepers) std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    while (prepared.load() < (round + 1) * sleepers) std::this_thread::yield();
    if (round % 2 == 0) std::this_thread::yield();  // some sleep already
    waiter_.wake();
    while (woken.load() < (round + 1) * sleepers) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HostWaiterTest, WhatHasLeftWakesOnlyThoseWhoWaitForIt) {
  ASSERT_TRUE(waiter_.add_descriptor(arrivals_.get(), WakeBy::arrivals).ok());
  ASSERT_TRUE(waiter_.add_descriptor(departures_.get(), WakeBy::departures).ok());
  EXPECT_TRUE(waiter_.tells_departures());
  ::eventfd_write(departures_.get(), 1);
  EXPECT_TRUE(sleeps_less_than(far_ns, WakeBy::departures));
  EXPECT_TRUE(sleeps_less_than(far_ns, WakeBy::anything));
  EXPECT_FALSE(sleeps_less_than(near_ns, WakeBy::arrivals));
  ::eventfd_write(arrivals_.get(), 1);
  EXPECT_TRUE(sleeps_less_than(far_ns, WakeBy::arrivals));
}

TEST_F(HostWaiterTest, WhatIsNotToldApartCountsAsArrived) {
  ASSERT_TRUE(waiter_.add_descriptor(arrivals_.get(), WakeBy::anything).ok());
  EXPECT_FALSE(waiter_.tells_departures());
  ::eventfd_write(arrivals_.get(), 1);
  EXPECT_TRUE(sleeps_less_than(far_ns, WakeBy::arrivals));
}

}  // namespace
}  // namespace hawser::p2p
