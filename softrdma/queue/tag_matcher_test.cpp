#include "softrdma/queue/tag_matcher.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace softrdma::queue {
namespace {

constexpr std::uint64_t whole = ~std::uint64_t{0};

class Tags : public testing::Test {
 protected:
  std::uint32_t add(std::uint64_t id, std::uint64_t tag, std::uint64_t mask = whole) {
    const ibv_sge entry{.addr = 100 * id, .length = 10, .lkey = 1};
    return matcher_.add(id, tag, mask, {&entry, 1});
  }
  /// The id of the buffer that a message gets.
  std::optional<std::uint64_t> take(std::uint64_t tag) {
    std::uint64_t id = 0;
    std::vector<ibv_sge> entries;
    if (!matcher_.take(tag, &id, &entries)) return std::nullopt;
    EXPECT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries.at(0).addr, 100 * id);
    return id;
  }
  TagMatcher matcher_{4};
};

TEST_F(Tags, AMessageGetsTheFirstBufferThatMatches) {
  add(1, 7);
  add(2, 5);
  add(3, 5);
  EXPECT_EQ(take(5), 2U);
  EXPECT_EQ(take(5), 3U);
  EXPECT_EQ(take(5), std::nullopt);
  EXPECT_EQ(take(7), 1U);
}

TEST_F(Tags, BitsOutsideTheMaskAreNotCompared) {
  add(1, 0x1200, 0xff00);
  EXPECT_EQ(take(0x1334), std::nullopt);
  EXPECT_EQ(take(0x1234), 1U);
  add(2, 0x12ff, 0xff00);
  EXPECT_EQ(take(0x1234), 2U) << "also those of the buffer's own tag";
  add(3, 0, 0);
  EXPECT_EQ(take(whole), 3U);
}

TEST_F(Tags, WhatIsRemovedIsNotMatchedAndNotRemovedTwice) {
  const std::uint32_t first = add(1, 5);
  const std::uint32_t second = add(2, 5);
  EXPECT_TRUE(matcher_.remove(first));
  EXPECT_FALSE(matcher_.remove(first));
  EXPECT_EQ(take(5), 2U);
  EXPECT_FALSE(matcher_.remove(second));
  // Its place is another one's now, its handle is not.
  add(3, 5);
  EXPECT_FALSE(matcher_.remove(first));
  EXPECT_FALSE(matcher_.remove(second));
  EXPECT_EQ(take(5), 3U);
}

TEST_F(Tags, ThereAreAsManyAsWereAskedFor) {
  for (std::uint64_t id = 1; id <= 4; ++id) {
    EXPECT_FALSE(matcher_.is_full());
    add(id, id);
  }
  EXPECT_TRUE(matcher_.is_full());
  take(2);
  EXPECT_FALSE(matcher_.is_full());
  matcher_.begin_transfer();
  EXPECT_TRUE(matcher_.is_full()) << "its data is still to come";
  matcher_.end_transfer();
  EXPECT_FALSE(matcher_.is_full());
}

TEST_F(Tags, AfterAnUnexpectedMessageNewBuffersWait) {
  add(1, 5);
  matcher_.count_unexpected();
  EXPECT_FALSE(matcher_.is_synchronized());
  add(2, 6);
  add(3, 5);
  EXPECT_EQ(take(6), std::nullopt);
  EXPECT_EQ(take(5), 1U) << "it was there before";
  EXPECT_EQ(take(5), std::nullopt);
  matcher_.synchronize(1);
  EXPECT_TRUE(matcher_.is_synchronized());
  EXPECT_EQ(take(6), 2U);
  EXPECT_EQ(take(5), 3U);
}

TEST_F(Tags, ABufferThatWaitsMayBeRemoved) {
  matcher_.count_unexpected();
  const std::uint32_t first = add(1, 5);
  add(2, 6);
  EXPECT_TRUE(matcher_.remove(first));
  EXPECT_EQ(take(6), std::nullopt) << "the next waits as well";
  matcher_.synchronize(1);
  EXPECT_EQ(take(5), std::nullopt);
  EXPECT_EQ(take(6), 2U);
}

TEST_F(Tags, OnlyTheRightCountSynchronizes) {
  matcher_.count_unexpected();
  matcher_.count_unexpected();
  add(1, 5);
  for (const std::uint32_t count : {0U, 1U, 3U}) {
    matcher_.synchronize(count);
    EXPECT_EQ(take(5), std::nullopt) << count;
  }
  matcher_.synchronize(2);
  EXPECT_EQ(take(5), 1U);
}

TEST_F(Tags, AProgramThatIsFarBehindIsAskedToSynchronize) {
  int counted = 1;
  while (!matcher_.count_unexpected() && counted < 1 << 20) ++counted;
  EXPECT_EQ(counted, (1 << 14) + 1);
  matcher_.synchronize(static_cast<std::uint32_t>(counted));
  EXPECT_FALSE(matcher_.count_unexpected());
}

// A program may count in 16 bits or in 32.
TEST_F(Tags, CountsGoRound) {
  constexpr std::uint32_t round = 1 << 16;
  for (std::uint32_t i = 1; i <= round + 5; ++i) {
    matcher_.count_unexpected();
    matcher_.synchronize(i);
    ASSERT_TRUE(matcher_.is_synchronized());
  }
  matcher_.synchronize(5);
  EXPECT_TRUE(matcher_.is_synchronized());
}

}  // namespace
}  // namespace softrdma::queue
