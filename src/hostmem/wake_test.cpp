#include "hostmem/wake.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "platform/file.hpp"

namespace hawser::hostmem {
namespace {

using namespace std::chrono_literals;

class Wake : public ::testing::TestWithParam<FencePayer> {
 protected:
  void SetUp() override {
    if (GetParam() == FencePayer::sleeper && !platform::register_global_barrier())
      GTEST_SKIP() << "this kernel has no membarrier";
  }
};

TEST_P(Wake, WhoIsWokenBeforeItSleepsDoesNotSleep) {
  WakeWord word{};
  Sleeper sleeper(word, GetParam());
  const std::uint32_t ticket = sleeper.announce();
  EXPECT_TRUE(word.is_asleep());
  Waker(GetParam()).wake(word);
  EXPECT_FALSE(word.is_asleep());
  sleeper.sleep(ticket);
}

TEST_P(Wake, CancellingLeavesTheWordAwake) {
  WakeWord word{};
  Sleeper sleeper(word, GetParam());
  sleeper.announce();
  sleeper.cancel();
  EXPECT_FALSE(word.is_asleep());
}

TEST_P(Wake, ASleeperSleepsUntilItIsWoken) {
  WakeWord word{};
  std::atomic<bool> woke{false};
  std::thread thread([&] {
    Sleeper sleeper(word, GetParam());
    const std::uint32_t ticket = sleeper.announce();
    sleeper.sleep(ticket);
    woke = true;
  });
  while (!word.is_asleep()) ::sched_yield();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(woke);
  // A futex that is woken while its word still says asleep is no wake-up.
  platform::futex_wake_all(word.word);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(woke);
  Waker(GetParam()).wake(word);
  thread.join();
}

TEST_P(Wake, AnotherThreadsAnnouncementHidesNoWakeUp) {
  WakeWord word{};
  Sleeper first(word, GetParam());
  Sleeper second(word, GetParam());
  const std::uint32_t ticket = first.announce();
  Waker::rouse(word);
  second.announce();
  first.sleep(ticket);  // would hang if it took the second announcement for its own
  EXPECT_TRUE(word.is_asleep());
}

TEST_P(Wake, WakingWhoIsAwakeTouchesNothing) {
  WakeWord word{};
  word.knock = 1;
  Waker(GetParam()).wake(word);
  EXPECT_FALSE(word.is_asleep());
  EXPECT_EQ(word.knock, 1U);
}

/// Two processes that hand a token to and fro and sleep in between: a lost wake-up hangs them, and
/// the alarm ends the test.
struct Table {
  WakeWord words[2];
  alignas(64) std::atomic<std::uint32_t> turn;
};

void play(Table& table, std::uint32_t me, std::uint32_t rounds, FencePayer payer) {
  Sleeper sleeper(table.words[me], payer);
  const Waker waker(payer);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const auto is_my_turn = [&] {
      return table.turn.load(std::memory_order_acquire) == 2 * i + me;
    };
    while (!is_my_turn()) {
      const std::uint32_t ticket = sleeper.announce();
      if (is_my_turn()) {
        sleeper.cancel();
      } else {
        sleeper.sleep(ticket);
      }
    }
    table.turn.store(2 * i + me + 1, std::memory_order_release);
    waker.wake(table.words[1 - me]);
  }
}

TEST_P(Wake, TwoProcessesNeverLoseAWakeUp) {
  constexpr std::uint32_t rounds = 20'000;
  constexpr unsigned seconds_max = 60;
  const std::size_t bytes = platform::round_to_pages(sizeof(Table));
  const auto file = platform::create_anonymous_file("test-table", bytes);
  ASSERT_TRUE(file.ok());
  const auto mapping = platform::Mapping::shared(*file, 0, bytes);
  ASSERT_TRUE(mapping.ok());
  Table& table = *reinterpret_cast<Table*>(mapping->data());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds_max);
    platform::register_global_barrier();
    play(table, 1, rounds, GetParam());
    ::_exit(0);
  }
  ::alarm(seconds_max);
  play(table, 0, rounds, GetParam());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::alarm(0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table.turn, 2 * rounds);
}

INSTANTIATE_TEST_SUITE_P(FencePayers, Wake,
                         ::testing::Values(FencePayer::sleeper, FencePayer::waker),
                         [](const auto& instance) {
                           return instance.param == FencePayer::sleeper ? "SleeperPays"
                                                                        : "WakerPays";
                         });

TEST(WakeArea, HasAWordPerProcess) {
  EXPECT_EQ(wake_area_bytes(0), 0U);
  EXPECT_EQ(wake_area_bytes(5), 5U * 64);
}

}  // namespace
}  // namespace hawser::hostmem
