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
  /// FROM passes its first cell to TO; where that is.
  static const std::byte* pass(Cells& from, Cells& to) {
    const std::byte* const cell = from.front();
    const CellName name = from.pass_front();
    const std::span<const std::byte> frame = to.look_into(name, 100, 8);
    EXPECT_EQ(frame.data(), cell + 8);
    EXPECT_EQ(frame.size(), 100U);
    to.take(name);
    return cell;
  }

  std::vector<std::byte> memory;
  Cells a;
  Cells b;
};

TEST(Cells, TheOneThatCameLastIsPassedFirst) {
  Pair pair(3);
  EXPECT_FALSE(pair.b.has_any());
  const std::byte* const first = Pair::pass(pair.a, pair.b);
  const std::byte* const second = Pair::pass(pair.a, pair.b);
  EXPECT_NE(first, second);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), second);
  EXPECT_EQ(Pair::pass(pair.a, pair.b), second);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), second);
  EXPECT_EQ(Pair::pass(pair.b, pair.a), first);
  EXPECT_FALSE(pair.b.has_any());
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
    if (from.has_any()) Pair::pass(from, from_a ? pair.b : pair.a);
  }
  int held = 0;
  for (Cells* const cells : {&pair.a, &pair.b})
    for (; cells->has_any(); ++held) cells->pass_front();
  EXPECT_EQ(held, 7);
}

TEST(Cells, APoolThatIsClosedCanBeReadButNotTaken) {
  Pair pair(2);
  Pair::pass(pair.a, pair.b);
  const std::byte* const cell = pair.b.front();
  const CellName under_way = pair.b.pass_front();
  pair.a.close(Cells::Home::theirs);
  EXPECT_FALSE(pair.a.has_any());
  EXPECT_EQ(pair.a.look_into(under_way, 10, 0).data(), cell);
  pair.a.take(under_way);
  EXPECT_FALSE(pair.a.has_any());
}

TEST(CellsUntrusted, NamesThatThereAreNotAreRefused) {
  Pair pair(2);
  const CellName name = pair.a.pass_front();
  EXPECT_FALSE(pair.b.look_into(name, cell_bytes, 0).empty());
  EXPECT_TRUE(pair.b.look_into(name, cell_bytes, 8).empty()) << "longer than a cell";
  EXPECT_TRUE(pair.b.look_into(name, ~std::size_t{0} / 2, 0).empty());
  EXPECT_TRUE(pair.b.look_into(name + 2, 8, 0).empty()) << "beyond the pool";
  EXPECT_TRUE(pair.b.look_into(name ^ (1U << 31), 8, 0).empty()) << "there is no such pool";
  pair.b.take(name);
  EXPECT_TRUE(pair.b.look_into(name, 8, 0).empty()) << "we have it";
}

}  // namespace
}  // namespace hawser::transport::shm
