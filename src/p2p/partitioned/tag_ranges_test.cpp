#include "p2p/partitioned/tag_ranges.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hawser::p2p {
namespace {

TEST(TagRanges, GoRoundBeforeTheyAreUsedAgain) {
  TagRanges tags(10);
  EXPECT_EQ(tags.take(4), 0);
  EXPECT_EQ(tags.take(4), 4);
  tags.give_back(0, 4);
  EXPECT_EQ(tags.take(2), 8);
  EXPECT_EQ(tags.take(3), 0);
  EXPECT_EQ(tags.take(2), std::nullopt);
  EXPECT_EQ(tags.take(1), 3);
  EXPECT_EQ(tags.take(1), std::nullopt);
  EXPECT_EQ(tags.take(0), 0);
  EXPECT_EQ(tags.take(11), std::nullopt);
}

TEST(TagRanges, NeverOverlapAndUseEveryGap) {
  constexpr int end = 40;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    TagRanges tags(end);
    std::vector<bool> taken(end, false);
    std::vector<std::pair<int, int>> ranges;
    const auto mark = [&](int first, int count, bool value) {
      for (int i = first; i < first + count; ++i) {
        ASSERT_NE(taken[static_cast<std::size_t>(i)], value);
        taken[static_cast<std::size_t>(i)] = value;
      }
    };
    for (int step = 0; step < 60; ++step) {
      if (random() % 2 == 0 && !ranges.empty()) {
        const auto chosen = ranges.begin() + static_cast<std::ptrdiff_t>(random() % ranges.size());
        tags.give_back(chosen->first, chosen->second);
        mark(chosen->first, chosen->second, false);
        ranges.erase(chosen);
        continue;
      }
      const int count = 1 + static_cast<int>(random() % 9);
      const std::optional<int> first = tags.take(count);
      if (first) {
        ASSERT_LE(*first + count, end);
        mark(*first, count, true);
        ranges.emplace_back(*first, count);
        continue;
      }
      int gap = 0;
      for (const bool tag : taken) {
        gap = tag ? 0 : gap + 1;
        ASSERT_LT(gap, count) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace hawser::p2p
