#include "p2p/waiter.hpp"

#include <gtest/gtest.h>

namespace hawser::p2p {
namespace {

constexpr std::uint64_t spin_ns = 10'000;

/// A round of progress, and a pause, takes 100 ns.
class CountingWaiter final : public Waiter {
 public:
  explicit CountingWaiter(const WaitPolicy& policy) : Waiter(policy) {}
  std::uint64_t time_ns = 1;
  std::uint64_t first_turn_of_others_ns = 0;
  int pauses = 0;
  int turns_of_others = 0;

  [[nodiscard]] std::uint64_t now_ns() const override { return time_ns; }
  void relax() override { ++pauses; }
  void give_way() override {
    if (++turns_of_others == 1) first_turn_of_others_ns = time_ns;
  }
  std::uint32_t prepare() override { return 0; }
  void sleep(std::uint32_t, std::uint64_t, WakeBy) override {}
  void cancel() override {}
  void wake() override {}
};

void wait_in_vain(CountingWaiter& waiter) {
  constexpr std::uint64_t round_ns = 100;
  Patience patience(waiter);
  while (patience.lasts()) waiter.time_ns += round_ns;
  EXPECT_GE(waiter.time_ns, spin_ns);
  EXPECT_LT(waiter.time_ns, 2 * spin_ns);
}

TEST(Patience, GivesWayToProgressThreadsAfterAMoment) {
  CountingWaiter waiter({.spin_ns = spin_ns, .shares_cores = true});
  wait_in_vain(waiter);
  constexpr std::uint64_t moment_ns = 1000;
  EXPECT_LT(waiter.first_turn_of_others_ns, moment_ns);
  // From then on in every round.
  EXPECT_GT(waiter.turns_of_others, 90);
}

TEST(Patience, BeginsAnewWhenSomethingMoves) {
  CountingWaiter waiter({.spin_ns = spin_ns, .shares_cores = true});
  Patience patience(waiter);
  for (int message = 0; message < 100; ++message) {
    for (int round = 0; round < 4; ++round, waiter.time_ns += 100) ASSERT_TRUE(patience.lasts());
    patience.renew();
  }
  EXPECT_EQ(waiter.turns_of_others, 0);
}

TEST(Patience, OthersGetNoTurnWhereNobodyNeedsIt) {
  CountingWaiter alone({.spin_ns = spin_ns});
  wait_in_vain(alone);
  EXPECT_EQ(alone.turns_of_others, 0);
}

TEST(Patience, LastsForAWhileBesideAProgressThread) {
  CountingWaiter waiter({.spin_ns = spin_ns});
  Patience patience(waiter);
  int rounds = 0;
  while (patience.lasts_beside_attendant()) ++rounds;
  EXPECT_EQ(rounds, waiter.pauses + waiter.turns_of_others);
  EXPECT_GT(waiter.pauses, 0);
  EXPECT_GT(waiter.turns_of_others, 0);
  EXPECT_FALSE(patience.lasts_beside_attendant());
  patience.renew();
  EXPECT_TRUE(patience.lasts_beside_attendant());
}

TEST(Patience, DoesNotWatchAProgressThreadWhereOthersNeedTheCore) {
  CountingWaiter crowded({.oversubscribed = true, .yields = 8});
  EXPECT_FALSE(Patience(crowded).lasts_beside_attendant());
  CountingWaiter blocking({.sleeps_at_once = true});
  EXPECT_FALSE(Patience(blocking).lasts_beside_attendant());
}

}  // namespace
}  // namespace hawser::p2p
