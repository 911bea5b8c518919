#include "comm_ops/death_notices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hawser::comm_ops {
namespace {

TEST(DeathNotices, GoToThoseAPowerOfTwoAway) {
  EXPECT_EQ(DeathNotices::neighbours_of(0, 8), (std::vector<std::uint32_t>{1, 2, 4, 6, 7}));
  EXPECT_EQ(DeathNotices::neighbours_of(4, 5), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(DeathNotices::neighbours_of(1, 2), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(DeathNotices::neighbours_of(0, 1).empty());
}

/// From one process, as long as fewer are dead than tell each.
TEST(DeathNotices, ReachEverybodyThoughOthersInBetweenAreDead) {
  for (const std::uint32_t processes : {3U, 8U, 17U, 64U, 100U}) {
    const std::set<std::uint32_t> dead{1, processes / 2};
    std::set<std::uint32_t> told{0};
    std::vector<std::uint32_t> last{0};
    for (int step = 0; !last.empty(); ++step) {
      ASSERT_LT(step, 10);
      std::vector<std::uint32_t> next;
      for (const std::uint32_t each : last)
        for (const std::uint32_t other : DeathNotices::neighbours_of(each, processes))
          if (!dead.contains(other) && told.insert(other).second) next.push_back(other);
      last = std::move(next);
    }
    EXPECT_EQ(told.size() + dead.size(), processes);
  }
}

}  // namespace
}  // namespace hawser::comm_ops
