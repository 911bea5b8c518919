#include "softrdma/queue/work_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "softrdma/queue/work.hpp"

namespace softrdma::queue {
namespace {

TEST(WorkRing, GivesWhatItGotWithWhatCameWithIt) {
  constexpr std::uint32_t capacity = 3, entries_max = 2;
  ReceiveQueue queue(capacity, entries_max);
  for (std::uint64_t id = 0; id < 10; ++id) {
    EXPECT_TRUE(queue.is_empty());
    for (std::uint64_t i = 0; i < capacity; ++i) {
      ASSERT_FALSE(queue.is_full());
      ReceiveWork& work = queue.next();
      work = {.id = 10 * id + i, .entries = entries_max};
      queue.entries(work)[0] = {.addr = id, .length = 1, .lkey = 2};
      queue.entries(work)[1] = {.addr = i, .length = 3, .lkey = 4};
      queue.push();
    }
    EXPECT_TRUE(queue.is_full());
    for (std::uint64_t i = 0; i < capacity; ++i, queue.pop()) {
      ReceiveWork& work = queue.front();
      EXPECT_EQ(work.id, 10 * id + i);
      EXPECT_EQ(queue.entries(work)[0].addr, id);
      EXPECT_EQ(queue.entries(work)[1].addr, i);
      EXPECT_EQ(queue.entries(work)[1].lkey, 4U);
    }
  }
}

TEST(SendQueue, KeepsAddressEntriesAndInlineDataApart) {
  SendQueue queue(2, 1, 40, true);
  SendWork& first = queue.next();
  first = {};
  first.entries = 1;
  queue.address(first).dlid = 7;
  queue.entries(first)[0] = {.addr = 1, .length = 2, .lkey = 3};
  queue.push();
  SendWork& second = queue.next();
  second = {};
  second.is_inline = true;
  second.bytes = 40;
  queue.address(second).dlid = 8;
  std::ranges::fill(queue.inline_data(second), std::byte{0xff});
  queue.push();

  EXPECT_EQ(queue.address(queue.at(0)).dlid, 7);
  EXPECT_EQ(queue.entries(queue.at(0))[0].lkey, 3U);
  EXPECT_EQ(queue.address(queue.at(1)).dlid, 8);
  EXPECT_EQ(std::ranges::count(queue.inline_data(queue.at(1)), std::byte{0xff}), 40);
}

// An adapter with thousands of queue pairs has room for what was asked for, and little else.
TEST(SendQueue, AnEntryIsSmall) { EXPECT_LE(sizeof(SendWork), 96U); }

}  // namespace
}  // namespace softrdma::queue
