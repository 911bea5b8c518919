#include "hostmem/stores.hpp"

#include <gtest/gtest.h>

namespace hawser::hostmem {
namespace {

constexpr std::size_t run_bytes = 4096;
constexpr std::uint64_t quick_ns = 240;
constexpr std::uint64_t slow_ns = 1000;

/// Copies RUNS times, where plain stores take NS; the number that went past the cache.
int copy(Stores& stores, int runs, std::uint64_t ns) {
  int past = 0;
  for (int i = 0; i < runs; ++i) {
    const Stores::Choice choice = stores.next(run_bytes);
    EXPECT_FALSE(choice.past_cache && choice.is_measured);
    if (choice.is_measured) stores.took(run_bytes, ns);
    past += choice.past_cache ? 1 : 0;
  }
  return past;
}

TEST(Stores, ArePlainWhereThatIsQuick) {
  Stores stores;
  EXPECT_EQ(copy(stores, 10'000, quick_ns), 0);
}

TEST(Stores, GoPastTheCacheWherePlainOnesAreSlow) {
  Stores stores;
  EXPECT_GT(copy(stores, 1000, slow_ns), 950);
  EXPECT_TRUE(stores.are_past_cache());
}

TEST(Stores, FollowAMoveInBothDirections) {
  Stores stores;
  for (int move = 0; move < 5; ++move) {
    copy(stores, 200, slow_ns);
    EXPECT_TRUE(stores.are_past_cache()) << move;
    copy(stores, 200, quick_ns);
    EXPECT_FALSE(stores.are_past_cache()) << move;
  }
}

TEST(Stores, AreNotMisledByOneAccident) {
  Stores stores;
  copy(stores, 100, quick_ns);
  while (!stores.next(run_bytes).is_measured) {
  }
  stores.took(run_bytes, 1'000'000);
  EXPECT_EQ(copy(stores, 1000, quick_ns), 0);
}

TEST(Stores, OfShortRunsArePlainAndTellNothing) {
  Stores stores;
  copy(stores, 1000, slow_ns);
  for (int i = 0; i < 1000; ++i) {
    const Stores::Choice choice = stores.next(run_bytes - 1);
    EXPECT_FALSE(choice.past_cache || choice.is_measured);
  }
}

TEST(Stores, AreLookedAtSeldom) {
  Stores stores;
  copy(stores, 1000, slow_ns);
  int measured = 0;
  for (int i = 0; i < 6400; ++i) {
    const Stores::Choice choice = stores.next(run_bytes);
    if (!choice.is_measured) continue;
    ++measured;
    stores.took(run_bytes, slow_ns);
  }
  EXPECT_EQ(measured, 100);
}

}  // namespace
}  // namespace hawser::hostmem
