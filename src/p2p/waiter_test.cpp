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
  SpinRecord spins;
  Patience patience(waiter, spins);
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
  SpinRecord spins;
  Patience patience(waiter, spins);
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
  SpinRecord spins;
  Patience patience(waiter, spins);
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
  SpinRecord spins;
  EXPECT_FALSE(Patience(crowded, spins).lasts_beside_attendant());
  CountingWaiter blocking({.sleeps_at_once = true});
  EXPECT_FALSE(Patience(blocking, spins).lasts_beside_attendant());
}

class BriefSpin : public testing::Test {
 protected:
  /// A wait that finds something in the round ARRIVAL, or never; whether others had a turn before.
  bool lets_others_run(int arrival) {
    const int turns_before = waiter_.pauses;
    Patience patience(waiter_, spins_);
    for (int round = 1; patience.lasts(); ++round, waiter_.time_ns += 100) {
      if (round != arrival) continue;
      patience.renew();
      break;
    }
    return waiter_.pauses > turns_before;
  }
  int waits_that_spin(int waits, int arrival) {
    int spins = 0;
    for (int wait = 0; wait < waits; ++wait)
      if (!lets_others_run(arrival)) ++spins;
    return spins;
  }

  static constexpr std::uint64_t brief_spin_ns = 3000;
  static constexpr int never = 1000;
  static constexpr int soon = 10;  // within the spin
  CountingWaiter waiter_{{.oversubscribed = true, .brief_spin_ns = brief_spin_ns, .yields = 8}};
  SpinRecord spins_;
};

TEST_F(BriefSpin, IsTriedNowAndThenWhereItDoesNotPay) {
  // Each that is tried waits 3 us before others have their turn, those between them not at all.
  constexpr int waits = 10'000;
  const std::uint64_t began = waiter_.time_ns;
  EXPECT_EQ(waits_that_spin(waits, never), 0) << "others have a turn in the end";
  constexpr std::uint64_t others_ns = std::uint64_t{8} * 100;
  const std::uint64_t spun_ns = waiter_.time_ns - began - waits * others_ns;
  EXPECT_GE(spun_ns, brief_spin_ns * (waits / SpinRecord::trial_interval_max));
  EXPECT_LE(spun_ns, brief_spin_ns * 20);
}

TEST_F(BriefSpin, GoesOnWhereItPays) {
  constexpr int until_first_trial = SpinRecord::trial_interval_min - 1;
  EXPECT_EQ(waits_that_spin(until_first_trial, soon), 0);
  EXPECT_EQ(waits_that_spin(100, soon), 100);
}

TEST_F(BriefSpin, EndsAfterAsManyInVainAsHaveGainedLast) {
  waits_that_spin(100, soon);
  waits_that_spin(SpinRecord::credit_max, never);
  EXPECT_EQ(waits_that_spin(SpinRecord::trial_interval_min - 1, soon), 0);
  EXPECT_EQ(waits_that_spin(1, soon), 1);
}

TEST_F(BriefSpin, GainsNothingWhereOthersHaveATurnAllTheSame) {
  // Two of three messages come while it spins, as from ranks that run elsewhere; the third is that
  // of a rank that waits for this core.
  const auto wait_for_three = [&] {
    Patience patience(waiter_, spins_);
    for (int message = 1; message <= 3; ++message) {
      for (int round = 1; patience.lasts(); ++round, waiter_.time_ns += 100)
        if (round == (message < 3 ? soon : 40)) break;
      patience.renew();
    }
  };
  waits_that_spin(100, soon);
  for (std::uint32_t wait = 0; wait < SpinRecord::credit_max; ++wait) wait_for_three();
  const int turns_before = waiter_.pauses;
  EXPECT_EQ(waits_that_spin(SpinRecord::trial_interval_min - 1, soon), 0);
  EXPECT_GT(waiter_.pauses, turns_before);
}

TEST_F(BriefSpin, IsNotThereUnlessAskedFor) {
  CountingWaiter waiter({.oversubscribed = true, .yields = 8});
  for (int wait = 0; wait < 100; ++wait) {
    Patience patience(waiter, spins_);
    ASSERT_TRUE(patience.lasts());
    ASSERT_EQ(waiter.pauses, wait + 1);
  }
}

}  // namespace
}  // namespace hawser::p2p
