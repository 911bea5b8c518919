#include "transport/shm/cells.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hawser::transport::shm {
namespace {

/// What the two of a pair know of a pool of COUNT cells in B's segment, which A's ring came with.
struct Pair {
  explicit Pair(std::uint32_t count) : memory(count * cell_bytes) {
    a.open(Cells::Home::theirs, memory.data(), count);
    b.open(Cells::Home::ours, memory.data(), count);
  }
  /// FROM passes its first cell to TO, with a frame of BYTES; where that is.
  static const std::byte* pass(Cells& from, Cells& to, std::size_t bytes = long_cell_frame_bytes) {
    const Cells::Passed cell = from.pass(bytes);
    const std::span<const std::byte> frame = to.look_into(cell.name, bytes, 8);
    EXPECT_EQ(frame.data(), cell.memory + 8);
    EXPECT_EQ(frame.size(), bytes);
    to.take(cell.name, bytes);
    return cell.memory;
  }

  std::vector<std::byte> memory;
  Cells a;
  Cells b;
};

TEST(Cells, OfShortFramesTheOneThatCameLastIsPassedFirst) {
  Pair pair(3);
  const std::byte* const first = Pair::pass(pair.a, pair.b, 100);
  const std::byte* const second = Pair::pass(pair.a, pair.b, 100);
  EXPECT_EQ(Pair::pass(pair.b, pair.a, 100), second);
  EXPECT_EQ(Pair::pass(pair.a, pair.b, 100), second);
  EXPECT_EQ(Pair::pass(pair.b, pair.a, 100), second);
  EXPECT_EQ(Pair::pass(pair.b, pair.a, 100), first);
}

TEST(Cells, WhatLongFramesBroughtInARowGoesBackInItsOrder) {
  Pair pair(4);
  EXPECT_FALSE(pair.b.has_any());
  const std::byte* const first = Pair::pass(pair.a, pair.b);
  const std::byte* const second = Pair::pass(pair.a, pair.b);
  EXPECT_EQ(second, first + cell_bytes);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Pair::pass(pair.b, pair.a), first);
    EXPECT_EQ(Pair::pass(pair.b, pair.a), second);
    EXPECT_FALSE(pair.b.has_any());
    EXPECT_EQ(Pair::pass(pair.a, pair.b), first);
    EXPECT_EQ(Pair::pass(pair.a, pair.b), second);
  }
}

// Else short messages would go round through all that a long one has left behind.
TEST(Cells, AfterThatTheOneThatCameLastIsPassedFirst) {
  Pair pair(3);
  const std::byte* const first = Pair::pass(pair.a, pair.b);
  const std::byte* const second = Pair::pass(pair.a, pair.b);
  const std::byte* const third = Pair::pass(pair.a, pair.b);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), first);
  EXPECT_EQ(Pair::pass(pair.a, pair.b), first);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), first);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), third);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), second);
  EXPECT_FALSE(pair.b.has_any());
}

// Else what one has written last would be written by it again, and cross twice.
TEST(Cells, AFrameGoesBackInTheCellThatBroughtAsMuch) {
  constexpr std::size_t lengths[][3] = {{20000, 4000, 100},  {100, 20000, 4000},
                                        {4000, 100, 20000},  {32768, 20000, 12288},
                                        {12288, 11000, 700}, {20000, 100, 20000}};
  for (const auto& [first, second, third] : lengths) {
    Pair pair(5);
    const std::byte* cells[3] = {};
    for (int i = 0; i < 4; ++i) {
      Cells& from = i % 2 == 0 ? pair.a : pair.b;
      Cells& to = i % 2 == 0 ? pair.b : pair.a;
      for (int k = 0; const std::size_t bytes : {first, second, third}) {
        const std::byte* const cell = Pair::pass(from, to, bytes);
        EXPECT_TRUE(i == 0 || cell == cells[k]) << bytes;
        cells[k++] = cell;
      }
    }
  }
}

TEST(Cells, AShortFrameBeforeALongMessageDoesNotChangeItsOrder) {
  Pair pair(4);
  const std::byte* const first = Pair::pass(pair.a, pair.b);
  const std::byte* const second = Pair::pass(pair.a, pair.b);
  const std::byte* const third = Pair::pass(pair.a, pair.b);
  EXPECT_EQ(Pair::pass(pair.b, pair.a, 100), third);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), first);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), second);
}

TEST(Cells, WhereFramesGoOneWayAllAreSoonAtItsEnd) {
  Pair pair(5);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pair.a.has_any());
    Pair::pass(pair.a, pair.b);
  }
  EXPECT_FALSE(pair.a.has_any());
  EXPECT_TRUE(pair.b.has_any());
}

TEST(Cells, EachHasOneHolderWhateverIsPassed) {
  Pair pair(4);
  std::vector<std::byte> others(3 * cell_bytes);  // in A's segment
  pair.b.open(Cells::Home::theirs, others.data(), 3);
  pair.a.open(Cells::Home::ours, others.data(), 3);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const bool from_a = random() % 2 == 0;
    Cells& from = from_a ? pair.a : pair.b;
    const std::size_t bytes = random() % 3 == 0 ? 100 : long_cell_frame_bytes;
    if (from.has_any()) Pair::pass(from, from_a ? pair.b : pair.a, bytes);
  }
  int held = 0;
  for (Cells* const cells : {&pair.a, &pair.b})
    for (; cells->has_any(); ++held) cells->pass(100);
  EXPECT_EQ(held, 7);
}

TEST(Cells, APoolThatIsClosedCanBeReadButNotTaken) {
  Pair pair(2);
  Pair::pass(pair.a, pair.b);
  const Cells::Passed under_way = pair.b.pass(100);
  pair.a.close(Cells::Home::theirs);
  EXPECT_FALSE(pair.a.has_any());
  EXPECT_EQ(pair.a.look_into(under_way.name, 10, 0).data(), under_way.memory);
  pair.a.take(under_way.name, 10);
  EXPECT_FALSE(pair.a.has_any());
}

TEST(CellsUntrusted, NamesThatThereAreNotAreRefused) {
  Pair pair(2);
  const CellName name = pair.a.pass(100).name;
  EXPECT_FALSE(pair.b.look_into(name, cell_room_bytes, 0).empty());
  EXPECT_TRUE(pair.b.look_into(name, cell_room_bytes, 8).empty()) << "longer than a cell";
  EXPECT_TRUE(pair.b.look_into(name, ~std::size_t{0} / 2, 0).empty());
  EXPECT_TRUE(pair.b.look_into(name + 2, 8, 0).empty()) << "beyond the pool";
  EXPECT_TRUE(pair.b.look_into(name ^ (1U << 31), 8, 0).empty()) << "there is no such pool";
  pair.b.take(name, 8);
  EXPECT_TRUE(pair.b.look_into(name, 8, 0).empty()) << "we have it";
}

}  // namespace
}  // namespace hawser::transport::shm
