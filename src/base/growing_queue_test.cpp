#include "base/growing_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace hawser::base {
namespace {

TEST(GrowingQueue, HasNoMemoryUntilItIsUsed) {
  GrowingQueue<int> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.capacity(), 0U);
}

TEST(GrowingQueue, IsADequeWhateverItsLength) {
  GrowingQueue<int> queue;
  std::deque<int> model;
  int next = 0;
  // Longer and longer, with what is first moving through the memory.
  for (int round = 1; round < 40; ++round) {
    for (int i = 0; i < round; ++i) {
      queue.push_back(next);
      model.push_back(next++);
    }
    for (int i = 0; i < round / 2; ++i) {
      queue.pop_front();
      model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.front(), model.front());
    ASSERT_EQ(queue.back(), model.back());
    for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(queue[i], model[i]);
  }
}

TEST(GrowingQueue, AnEmptyOneKeepsLittle) {
  GrowingQueue<int> queue;
  for (int i = 0; i < 1000; ++i) queue.push_back(i);
  EXPECT_GE(queue.capacity(), 1000U);
  queue.clear();
  EXPECT_EQ(queue.capacity(), 0U);
  for (std::uint32_t i = 0; i < GrowingQueue<int>::kept_if_empty; ++i) queue.push_back(1);
  queue.clear();
  EXPECT_EQ(queue.capacity(), GrowingQueue<int>::kept_if_empty);
}

TEST(GrowingQueue, WhatLeavesEndsAtOnce) {
  const auto counted = std::make_shared<int>();
  GrowingQueue<std::shared_ptr<int>> queue;
  for (int i = 0; i < 6; ++i) queue.push_back(counted);
  queue.pop_front();
  EXPECT_EQ(counted.use_count(), 6);
  GrowingQueue<std::shared_ptr<int>> taken = std::move(queue);
  EXPECT_EQ(taken.size(), 5U);
  EXPECT_EQ(counted.use_count(), 6);
  taken = {};
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace hawser::base
