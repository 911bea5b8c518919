#include "p2p/waiter.hpp"

#include <gtest/gtest.h>

namespace hawser::p2p {
namespace {

constexpr std::uint64_t spin_ns = 10'000;

/// A round of progress, and a pause, takes 100 ns.
class CountingWaiter final : public Waiter {
 public:
  explicit CountingWaiter(bool shares_cores)
      : Waiter({.spin_ns = spin_ns, .shares_cores = shares_cores}) {}
  std::uint64_t time_ns = 1;
  std::uint64_t first_turn_of_others_ns = 0;

  [[nodiscard]] std::uint64_t now_ns() const override { return time_ns; }
  void relax() override {}
  void give_way() override {
    if (first_turn_of_others_ns == 0) first_turn_of_others_ns = time_ns;
  }
  std::uint32_t prepare() override { return 0; }
  void sleep(std::uint32_t, std::uint64_t, WakeBy) override {}
  void cancel() override {}
  void wake() override {}
};

void wait_in_vain(CountingWaiter& waiter, bool wants_peer) {
  constexpr std::uint64_t round_ns = 100;
  Patience patience(waiter, wants_peer);
  while (patience.lasts()) waiter.time_ns += round_ns;
  EXPECT_GE(waiter.time_ns, spin_ns);
  EXPECT_LT(waiter.time_ns, 2 * spin_ns);
}

TEST(Patience, WhoWantsAPeerGivesWayToItsThreadAfterAWhile) {
  CountingWaiter waiter(/*shares_cores=*/true);
  wait_in_vain(waiter, /*wants_peer=*/true);
  EXPECT_GE(waiter.first_turn_of_others_ns, spin_ns / 2);
  EXPECT_LT(waiter.first_turn_of_others_ns, waiter.time_ns);
}

TEST(Patience, OthersGetNoTurnWhereNobodyNeedsIt) {
  CountingWaiter sharing(/*shares_cores=*/true);
  wait_in_vain(sharing, /*wants_peer=*/false);
  EXPECT_EQ(sharing.first_turn_of_others_ns, 0U);
  CountingWaiter alone(/*shares_cores=*/false);
  wait_in_vain(alone, /*wants_peer=*/true);
  EXPECT_EQ(alone.first_turn_of_others_ns, 0U);
}

}  // namespace
}  // namespace hawser::p2p
