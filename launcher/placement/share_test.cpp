#include "launcher/placement/share.hpp"

#include <gtest/gtest.h>

namespace hawser::launcher {
namespace {

TEST(ShareOf, AutomaticDealsAllCoresOutOnceAndEvenly) {
  for (std::uint32_t cores = 1; cores <= 70; ++cores)
    for (std::uint32_t ranks = 2; ranks <= cores; ++ranks) {
      std::uint32_t next = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto share = share_of(BindTo::automatic, rank, ranks, 1, cores);
        ASSERT_TRUE(share.has_value());
        EXPECT_EQ(share->first, next);
        EXPECT_GE(share->count, cores / ranks);
        EXPECT_LE(share->count, cores / ranks + 1);
        next += share->count;
      }
      EXPECT_EQ(next, cores);
    }
}

TEST(ShareOf, AutomaticBindsNothingIfThereIsNothingToGain) {
  EXPECT_EQ(share_of(BindTo::automatic, 0, 1, 1, 8), std::nullopt);
  EXPECT_EQ(share_of(BindTo::automatic, 0, 9, 1, 8), std::nullopt);
}

TEST(ShareOf, AutomaticLeavesRoomForProgressThreads) {
  EXPECT_EQ(share_of(BindTo::automatic, 1, 2, 2, 4), (CoreShare{2, 2}));
  EXPECT_EQ(share_of(BindTo::automatic, 0, 2, 2, 3), std::nullopt);
}

TEST(ShareOf, CoreGoesRound) {
  EXPECT_EQ(share_of(BindTo::core, 0, 1, 1, 4), (CoreShare{0, 1}));
  EXPECT_EQ(share_of(BindTo::core, 7, 9, 2, 4), (CoreShare{3, 1}));
  EXPECT_EQ(share_of(BindTo::none, 0, 2, 1, 4), std::nullopt);
}

}  // namespace
}  // namespace hawser::launcher
