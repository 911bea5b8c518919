// What makes a simulation worth running: it repeats itself, and it finds what is wrong.
#include "sim/simulation.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hawser::sim {
namespace {

TEST(Simulation, OneSeedGivesOneTrace) {
  for (const WorkloadEntry& workload : workloads()) {
    for (const std::uint64_t seed : {3U, 4U, 5U}) {
      const Outcome first = simulate({.seed = seed, .workload = &workload});
      const Outcome second = simulate({.seed = seed, .workload = &workload});
      EXPECT_EQ(first.failure, "") << workload.name << " " << seed;
      EXPECT_EQ(first.trace_hash, second.trace_hash) << workload.name << " " << seed;
      EXPECT_EQ(first.events, second.events);
      EXPECT_EQ(first.simulated_ns, second.simulated_ns);
    }
  }
}

TEST(Simulation, SeedsDiffer) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    hashes.insert(simulate({.seed = seed, .workload = find_workload("messages")}).trace_hash);
  EXPECT_EQ(hashes.size(), 20U);
}

TEST(Simulation, ALostFrameIsFound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto lose_first = [](NetworkSettings& settings) { settings.lost_frame = 0; };
    const Outcome outcome = simulate(
        {.seed = seed, .workload = find_workload("ring"), .adjust_network = lose_first});
    EXPECT_NE(outcome.failure.find("deadlock"), std::string::npos) << seed << outcome.failure;
    EXPECT_NE(outcome.failure.find("rank 0 waits"), std::string::npos) << seed << outcome.failure;
  }
}

TEST(Simulation, ATransportThatWakesNobodyWhenItHasRoomAgainIsFound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto forget = [](NetworkSettings& settings) {
      settings.forgets_refused = true;
      settings.no_room_one_in = 0;
      settings.queue_slots = 2;
      settings.ring_slots = 2;
    };
    if (!simulate({.seed = seed, .workload = find_workload("messages"), .adjust_network = forget})
             .failure.empty())
      ++found;
  }
  EXPECT_GT(found, 0);
}

/// Receives what rank 0 sends, but checks for something else.
class Wrong final : public Workload {
 public:
  void run(Rank& self) override {
    self.check(self.rank != 1, "planted in rank {}", self.rank);
  }
};

TEST(Simulation, AFailedCheckIsReportedWithItsRank) {
  const WorkloadEntry wrong{"wrong", "fails",
                            [](Random&, int, const core::TypeTable&) -> std::unique_ptr<Workload> {
                              return std::make_unique<Wrong>();
                            }};
  EXPECT_EQ(simulate({.seed = 1, .workload = &wrong, .ranks = 3}).failure,
            "rank 1: planted in rank 1");
}

}  // namespace
}  // namespace hawser::sim
