#include "delivery/reorder/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace hawser::delivery {
namespace {

using Verdict = ReorderBuffer::Verdict;

/// A frame that says which one it is, of a length of its own.
std::vector<std::byte> frame_of(std::uint32_t sequence) {
  std::vector<std::byte> frame(sizeof(sequence) + sequence % 7);
  std::memcpy(frame.data(), &sequence, sizeof(sequence));
  return frame;
}

std::uint32_t number_of(std::span<const std::byte> frame) {
  std::uint32_t sequence = 0;
  std::memcpy(&sequence, frame.data(), sizeof(sequence));
  return sequence;
}

class Reorder : public ::testing::Test {
 protected:
  /// Feeds the frame SEQUENCE as an endpoint does; what becomes deliverable goes to `delivered`.
  Verdict feed(std::uint32_t sequence) {
    const std::vector<std::byte> frame = frame_of(sequence);
    const Verdict verdict = buffer.accept(sequence, frame);
    if (verdict == Verdict::in_order) {
      delivered.push_back(sequence);
      while (const auto next = buffer.take_next()) {
        EXPECT_EQ(*next, frame_of(number_of(*next)));
        delivered.push_back(number_of(*next));
      }
    }
    return verdict;
  }
  std::int64_t charged() const { return ledger.current_bytes(memory::Account::reorder); }

  memory::Ledger ledger;
  ReorderBuffer buffer{ledger};
  std::vector<std::uint32_t> delivered;
};

using Sequences = std::vector<std::uint32_t>;

TEST_F(Reorder, FramesInOrderAreNeverKept) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(feed(i), Verdict::in_order);
    EXPECT_FALSE(buffer.has_early());
  }
  EXPECT_EQ(buffer.expected(), 100U);
  EXPECT_EQ(ledger.peak_bytes(memory::Account::reorder), 0);
}

TEST_F(Reorder, WhatIsGivenUpIsNotKept) {
  feed(1);
  feed(3);
  EXPECT_GT(charged(), 0);
  buffer.clear();
  EXPECT_EQ(charged(), 0);
  EXPECT_FALSE(buffer.has_early());
  EXPECT_EQ(buffer.arrived().early_bits, 0U);
  EXPECT_EQ(feed(0), Verdict::in_order);
  EXPECT_EQ(delivered, Sequences{0});
}

TEST_F(Reorder, EarlyFramesWaitForTheirTurn) {
  EXPECT_EQ(feed(2), Verdict::early);
  EXPECT_EQ(feed(1), Verdict::early);
  EXPECT_FALSE(buffer.take_next());
  EXPECT_TRUE(delivered.empty());
  EXPECT_EQ(feed(0), Verdict::in_order);
  EXPECT_EQ(delivered, (Sequences{0, 1, 2}));
  EXPECT_FALSE(buffer.has_early());
}

TEST_F(Reorder, TheShortWayIsForWhatStandsAlone) {
  EXPECT_FALSE(buffer.accept_plain(1)) << "not its turn";
  EXPECT_TRUE(buffer.accept_plain(0));
  EXPECT_FALSE(buffer.accept_plain(0)) << "it was here";
  feed(2);
  EXPECT_FALSE(buffer.accept_plain(1)) << "another is to be delivered behind it";
  EXPECT_EQ(feed(1), Verdict::in_order);
  EXPECT_EQ(delivered, (Sequences{1, 2}));
  EXPECT_TRUE(buffer.accept_plain(3));
}

TEST_F(Reorder, AGapHoldsUpWhatIsBehindIt) {
  feed(1);
  feed(3);
  feed(0);
  EXPECT_EQ(delivered, (Sequences{0, 1}));
  EXPECT_TRUE(buffer.has_early());
  feed(2);
  EXPECT_EQ(delivered, (Sequences{0, 1, 2, 3}));
}

/// Somebody may be told while what was behind the gap is still to be delivered.
TEST_F(Reorder, WhatHasComeCountsBeforeItIsTaken) {
  for (const std::uint32_t early : {1U, 2U, 4U}) feed(early);
  EXPECT_EQ(buffer.arrived().missing, 0U);
  EXPECT_EQ(buffer.arrived().early_bits, 0b1011U);
  EXPECT_EQ(buffer.accept(0, frame_of(0)), Verdict::in_order);
  EXPECT_EQ(buffer.expected(), 1U);
  EXPECT_EQ(buffer.arrived().missing, 3U);
  EXPECT_EQ(buffer.arrived().early_bits, 0b1U);
  while (buffer.take_next()) {
  }
  EXPECT_EQ(buffer.expected(), buffer.arrived().missing);
}

TEST_F(Reorder, DuplicatesAreRefused) {
  EXPECT_EQ(feed(0), Verdict::in_order);
  EXPECT_EQ(feed(0), Verdict::refused);
  EXPECT_EQ(feed(2), Verdict::early);
  const std::int64_t before = charged();
  EXPECT_EQ(feed(2), Verdict::refused);
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(feed(1), Verdict::in_order);
  EXPECT_EQ(feed(1), Verdict::refused);
  EXPECT_EQ(feed(2), Verdict::refused);
  EXPECT_EQ(delivered, (Sequences{0, 1, 2}));
}

TEST_F(Reorder, TheWindowEndsWhereItSays) {
  EXPECT_EQ(feed(ReorderBuffer::window), Verdict::early);
  EXPECT_EQ(feed(ReorderBuffer::window + 1), Verdict::refused);
  feed(0);
  EXPECT_EQ(feed(ReorderBuffer::window + 1), Verdict::early);
  EXPECT_EQ(feed(ReorderBuffer::window + 2), Verdict::refused);
}

TEST(ReorderStart, AFrameInTwoPiecesIsKeptInOne) {
  memory::Ledger ledger;
  ReorderBuffer buffer(ledger);
  const std::vector<std::byte> frame = frame_of(13);
  EXPECT_EQ(buffer.accept(1, std::span(frame).first(5), std::span(frame).subspan(5)),
            Verdict::early);
  EXPECT_EQ(buffer.accept(0, frame_of(0)), Verdict::in_order);
  EXPECT_EQ(buffer.take_next(), frame);
  EXPECT_EQ(ledger.current_bytes(memory::Account::reorder), 0);
}

TEST(ReorderStart, WhatIsBehindIsRefusedHoweverFar) {
  memory::Ledger ledger;
  ReorderBuffer buffer(ledger, 100'000);
  for (const std::uint32_t behind : {99'999U, 0U, 0x8000'0000U, 0xffff'ffffU})
    EXPECT_EQ(buffer.accept(behind, frame_of(behind)), Verdict::refused);
  EXPECT_FALSE(buffer.has_early());
}

TEST(ReorderStart, TheWindowReachesAcrossTheWrap) {
  memory::Ledger ledger;
  ReorderBuffer buffer(ledger, 0xffff'fff0U);
  EXPECT_EQ(buffer.accept(ReorderBuffer::window - 16, frame_of(1)), Verdict::early);
  EXPECT_EQ(buffer.accept(ReorderBuffer::window - 15, frame_of(1)), Verdict::refused);
}

TEST_F(Reorder, RefusingTheFirstEarlyFrameKeepsNothing) {
  EXPECT_EQ(feed(ReorderBuffer::window + 1), Verdict::refused);
  EXPECT_FALSE(buffer.has_early());
  EXPECT_EQ(charged(), 0);
}

TEST_F(Reorder, TheLedgerShowsWhatIsKept) {
  feed(3);
  feed(5);
  EXPECT_EQ(charged(), static_cast<std::int64_t>(frame_of(3).size() + frame_of(5).size()));
  for (const std::uint32_t i : {0U, 1U, 2U}) feed(i);
  EXPECT_EQ(charged(), static_cast<std::int64_t>(frame_of(5).size()));
  feed(4);
  EXPECT_EQ(charged(), 0);
}

TEST(ReorderLifetime, RefundsWhatWasNeverDelivered) {
  memory::Ledger ledger;
  {
    ReorderBuffer buffer(ledger);
    EXPECT_EQ(buffer.accept(7, frame_of(7)), Verdict::early);
    EXPECT_EQ(buffer.accept(9, frame_of(9)), Verdict::early);
    EXPECT_GT(ledger.current_bytes(memory::Account::reorder), 0);
  }
  EXPECT_EQ(ledger.current_bytes(memory::Account::reorder), 0);
}

/// Where the property test starts: at 0, and so that the numbers wrap inside of it.
class ReorderProperty : public ::testing::TestWithParam<std::uint32_t> {};

/// Frames over a network that delays, duplicates and keeps within the window, against what a
/// receiver must see: every frame once, in order.
TEST_P(ReorderProperty, DeliversEveryFrameOnceAndInOrder) {
  constexpr std::uint32_t frames = 3000;
  const std::uint32_t first = GetParam();
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::uint32_t> arrivals;
    for (std::uint32_t i = 0; i < frames; ++i) {
      arrivals.push_back(first + i);
      if (random() % 8 == 0) arrivals.push_back(first + i);
    }
    // Shuffling blocks bounds how early a frame comes; every other block is the whole lot.
    const std::size_t block = seed % 2 == 0 ? arrivals.size() : 1 + random() % 100;
    for (std::size_t i = 0; i < arrivals.size(); i += block) {
      const auto begin = arrivals.begin() + static_cast<std::ptrdiff_t>(i);
      std::shuffle(begin, begin + static_cast<std::ptrdiff_t>(std::min(block, arrivals.size() - i)),
                   random);
    }
    memory::Ledger ledger;
    ReorderBuffer buffer(ledger, first);
    std::uint32_t delivered = 0;
    std::uint32_t refused = 0;
    std::int64_t kept_bytes = 0;
    for (const std::uint32_t sequence : arrivals) {
      const std::vector<std::byte> frame = frame_of(sequence);
      const Verdict verdict = buffer.accept(sequence, frame);
      if (verdict == Verdict::refused) ++refused;
      if (verdict == Verdict::early) kept_bytes += static_cast<std::int64_t>(frame.size());
      if (verdict == Verdict::in_order) {
        ASSERT_EQ(sequence, first + delivered++);
        while (const auto next = buffer.take_next()) {
          kept_bytes -= static_cast<std::int64_t>(next->size());
          ASSERT_EQ(*next, frame_of(first + delivered++));
        }
      }
      ASSERT_EQ(ledger.current_bytes(memory::Account::reorder), kept_bytes);
    }
    EXPECT_EQ(delivered, frames) << "seed " << seed;
    EXPECT_EQ(refused, arrivals.size() - frames) << "seed " << seed;
    EXPECT_FALSE(buffer.has_early());
    EXPECT_EQ(kept_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(FromZeroAndAroundTheWrap, ReorderProperty,
                         ::testing::Values(0U, 0xffff'ffffU - 1500U, 0xffff'ffffU));

}  // namespace
}  // namespace hawser::delivery
