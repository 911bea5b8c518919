#include "memory/registration/invalidation_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace hawser::memory {
namespace {

class InvalidationQueueTest : public testing::Test {
 protected:
  std::multiset<std::uintptr_t> begins() {
    std::multiset<std::uintptr_t> all;
    queue->drain([&](const AddressRange& range) { all.insert(range.begin); });
    return all;
  }

  std::unique_ptr<InvalidationQueue> queue = std::make_unique<InvalidationQueue>();
};

TEST_F(InvalidationQueueTest, GivesWhatWasNotedOnce) {
  EXPECT_TRUE(queue->is_empty());
  queue->note({4096, 8192});
  queue->note({8192, 12288});
  EXPECT_FALSE(queue->is_empty());
  EXPECT_EQ(begins(), (std::multiset<std::uintptr_t>{4096, 8192}));
  EXPECT_TRUE(queue->is_empty());
  EXPECT_TRUE(begins().empty());
}

TEST_F(InvalidationQueueTest, PlacesAreUsedAgain) {
  for (std::uintptr_t i = 0; i < std::uintptr_t{10} * noted_ranges_max; ++i) {
    queue->note({i, i + 1});
    EXPECT_EQ(begins(), std::multiset<std::uintptr_t>{i});
  }
}

TEST_F(InvalidationQueueTest, WhenItIsFullEverythingHasChanged) {
  for (std::uintptr_t i = 1; i <= noted_ranges_max; ++i) queue->note({i, i + 1});
  EXPECT_EQ(begins().size(), noted_ranges_max);
  for (std::uintptr_t i = 1; i <= noted_ranges_max + 2; ++i) queue->note({i, i + 1});
  std::vector<AddressRange> ranges;
  queue->drain([&](const AddressRange& range) { ranges.push_back(range); });
  EXPECT_EQ(ranges.size(), noted_ranges_max + 1);
  EXPECT_EQ(ranges.front(), whole_address_space);
  // That is over then.
  queue->note({7, 8});
  EXPECT_EQ(begins(), std::multiset<std::uintptr_t>{7});
}

TEST_F(InvalidationQueueTest, WhoDrainsMayNote) {
  queue->note({1, 2});
  queue->note({2, 3});
  queue->drain([&](const AddressRange& range) { queue->note({range.begin + 10, 20}); });
  EXPECT_EQ(begins(), (std::multiset<std::uintptr_t>{11, 12}));
}

// What a thread has noted must not be missed, even by a drain that comes while others are noting.
TEST_F(InvalidationQueueTest, NothingThatManyThreadsNoteIsMissed) {
  constexpr std::uintptr_t noters_count = 4;
  constexpr std::uintptr_t rounds = 5000;
  std::array<std::atomic<std::uintptr_t>, noters_count> begun{};
  std::array<std::atomic<std::uintptr_t>, noters_count> noted{};
  std::vector<std::jthread> noters;
  for (std::uintptr_t number = 0; number < noters_count; ++number) {
    noters.emplace_back([&, number] {
      for (std::uintptr_t round = 1; round <= rounds; ++round) {
        begun[number].store(round, std::memory_order_relaxed);
        queue->note({number, round});
        noted[number].store(round, std::memory_order_release);
        if (round % 16 == 0) std::this_thread::yield();
      }
    });
  }
  std::array<std::uintptr_t, noters_count> drained{};
  std::uintptr_t missed = 0;
  const auto is_over = [&] {
    return std::ranges::all_of(drained, [](std::uintptr_t round) { return round == rounds; });
  };
  while (!is_over() && missed == 0) {
    std::array<std::uintptr_t, noters_count> due{};
    for (std::uintptr_t i = 0; i < noters_count; ++i)
      due[i] = noted[i].load(std::memory_order_acquire);
    queue->drain([&](const AddressRange& range) {
      if (range == whole_address_space) {
        // Also the rounds whose note() was in time for this drain but hasn't returned yet.
        for (std::uintptr_t i = 0; i < noters_count; ++i)
          drained[i] = std::max(drained[i], begun[i].load(std::memory_order_relaxed));
      } else {
        drained[range.begin] = std::max(drained[range.begin], range.end);
      }
    });
    for (std::uintptr_t i = 0; i < noters_count; ++i) missed += drained[i] < due[i] ? 1 : 0;
  }
  EXPECT_EQ(missed, 0U);
}

}  // namespace
}  // namespace hawser::memory
