#include "bootstrap/pmix/rank_list.hpp"

#include <gtest/gtest.h>

namespace hawser::bootstrap {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST(PmixRankList, ComesOutInOrderAndOnce) {
  EXPECT_EQ(parse_rank_list("3"), Ranks{3});
  EXPECT_EQ(parse_rank_list("2,0,10,1"), (Ranks{0, 1, 2, 10}));
  EXPECT_EQ(parse_rank_list("1,0,1"), (Ranks{0, 1}));
}

TEST(PmixRankList, IsRefusedIfItIsNone) {
  for (const char* text : {"x", "1,", ",1", "1, 2", "-1", "1-3", "4294967296"})
    EXPECT_EQ(parse_rank_list(text), std::nullopt) << text;
}

}  // namespace
}  // namespace hawser::bootstrap
