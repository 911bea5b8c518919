#include "softrdma/fabric/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace softrdma::fabric {
namespace {

constexpr std::uint16_t alice = 3;
constexpr std::uint16_t bob = 4;

class InboxTest : public ::testing::Test {
 protected:
  bool leave(std::uint16_t seat, std::uint32_t bytes) {
    const std::optional<Inbox::Claim> claim = inbox_.claim(seat);
    if (!claim) return false;
    claim->slot.head = {};
    claim->slot.head.payload_bytes = bytes;
    inbox_.publish(*claim, seat);
    return true;
  }
  /// What was left as payload_bytes; nothing if no packet is complete.
  std::optional<std::uint32_t> take() {
    const Slot* const slot = inbox_.front();
    if (slot == nullptr) return std::nullopt;
    const std::uint32_t bytes = slot->head.payload_bytes;
    inbox_.pop();
    return bytes;
  }

  // Memory of zeros is an empty inbox.
  std::unique_ptr<InboxMemory> memory_ = std::make_unique<InboxMemory>();
  Inbox inbox_{*memory_};
};

TEST_F(InboxTest, PacketsComeInTheirOrderTurnAfterTurn) {
  EXPECT_EQ(take(), std::nullopt);
  std::uint32_t taken = 0;
  for (std::uint32_t left = 0; left < 5 * slot_count; left += 100) {
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(leave(i % 2 == 0 ? alice : bob, left + i));
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(take(), taken++);
  }
  EXPECT_EQ(take(), std::nullopt);
}

TEST_F(InboxTest, TellsWhoLeftAPacket) {
  leave(bob, 1);
  EXPECT_EQ(sender_of(*inbox_.front()), bob);
}

TEST_F(InboxTest, AFullInboxTakesNoMoreUntilOneIsTaken) {
  for (std::uint32_t i = 0; i < slot_count; ++i) {
    EXPECT_TRUE(inbox_.has_room());
    ASSERT_TRUE(leave(alice, i));
  }
  EXPECT_FALSE(inbox_.has_room());
  EXPECT_FALSE(leave(bob, 0));
  EXPECT_EQ(take(), 0U);
  EXPECT_TRUE(inbox_.has_room());
  EXPECT_TRUE(leave(bob, slot_count));
  EXPECT_FALSE(leave(bob, 0));
}

TEST_F(InboxTest, AnOldHintFindsTheNextFreeSlot) {
  for (std::uint32_t i = 0; i < 10; ++i) leave(alice, i);
  // As another process would leave it that was interrupted before it wrote.
  memory_->tail = 2;
  EXPECT_TRUE(inbox_.has_room());
  leave(bob, 10);
  for (std::uint32_t i = 0; i <= 10; ++i) EXPECT_EQ(take(), i);
}

TEST_F(InboxTest, KnowsWhatWasTaken) {
  const Inbox::Claim first = *inbox_.claim(alice);
  inbox_.publish(first, alice);
  EXPECT_FALSE(inbox_.is_taken(first.position));
  take();
  EXPECT_TRUE(inbox_.is_taken(first.position));
}

TEST_F(InboxTest, WhatTheDeadHaveLeftHalfDoneIsSkipped) {
  inbox_.claim(alice);
  leave(bob, 7);
  EXPECT_EQ(take(), std::nullopt);
  EXPECT_EQ(inbox_.unfinished(), alice);
  inbox_.skip(bob);
  EXPECT_EQ(inbox_.unfinished(), alice) << "bob has claimed nothing";
  inbox_.skip(alice);
  EXPECT_EQ(take(), 7U);
  EXPECT_EQ(inbox_.unfinished(), std::nullopt);
}

TEST_F(InboxTest, TheNextOnADeadSeatFinishesWhatWasHalfDone) {
  const Inbox::Claim half = *inbox_.claim(alice);
  half.slot.head.payload_bytes = 99;
  leave(bob, 7);
  inbox_.adopt(alice);
  EXPECT_EQ(take(), 0U) << "a slot with nothing";
  EXPECT_EQ(take(), 7U);
}

TEST_F(InboxTest, ChunksAreSomebodysUntilTheyAreReleased) {
  std::array<std::uint16_t, chunk_count - 1> most;
  ASSERT_TRUE(inbox_.claim_chunks(alice, most));
  std::ranges::sort(most);
  EXPECT_EQ(std::ranges::adjacent_find(most), most.end()) << "one was claimed twice";
  std::array<std::uint16_t, 2> two;
  EXPECT_FALSE(inbox_.claim_chunks(bob, two));
  std::array<std::uint16_t, 1> one;
  EXPECT_TRUE(inbox_.claim_chunks(bob, one)) << "the failure before kept one";
  inbox_.release_chunks(std::span(most).first(2));
  EXPECT_TRUE(inbox_.claim_chunks(bob, two));
}

TEST_F(InboxTest, ChunksOfTheDeadAreFreeUnlessAPacketNamesThem) {
  std::array<std::uint16_t, chunk_count> all;
  ASSERT_TRUE(inbox_.claim_chunks(alice, all));
  const Inbox::Claim claim = *inbox_.claim(alice);
  claim.slot.head = {};
  claim.slot.head.form = Form::chunks;
  claim.slot.head.count = 1;
  std::memcpy(claim.slot.body.data(), &all[5], sizeof(all[5]));
  inbox_.publish(claim, alice);
  inbox_.adopt(alice);
  std::array<std::uint16_t, chunk_count - 1> others;
  ASSERT_TRUE(inbox_.claim_chunks(bob, others));
  EXPECT_EQ(std::ranges::find(others, all[5]), others.end());
}

TEST_F(InboxTest, ManyLeaveAndOneTakes) {
  constexpr std::uint32_t each = 3000;
  constexpr std::uint16_t senders = 4;
  std::vector<std::thread> threads;
  for (std::uint16_t seat = 0; seat < senders; ++seat) {
    threads.emplace_back([this, seat] {
      for (std::uint32_t i = 0; i < each;) {
        if (leave(seat, seat * each + i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::array<std::uint32_t, senders> next{};
  for (std::uint32_t taken = 0; taken < senders * each;) {
    const std::optional<std::uint32_t> got = take();
    if (!got) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    EXPECT_EQ(*got % each, next[*got / each]++) << "those of one sender are in order";
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(take(), std::nullopt);
}

}  // namespace
}  // namespace softrdma::fabric
