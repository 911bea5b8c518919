#include "p2p/progress/spreading.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace hawser::p2p {
namespace {

using Step = Spreading::Step;

constexpr std::uint64_t soon_ns = 2000;
/// Of 8 ranks on 2 cores: later than all on one of them could be at it.
constexpr std::uint64_t late_ns = 100'000;
static_assert(late_ns * Spreading::turns_per_look < Spreading::interval_min_ns);

class SpreadingTest : public testing::Test {
 protected:
  /// A turn that comes APART_NS after the last one.
  Step turn(std::uint64_t apart_ns) {
    now_ns_ += apart_ns;
    return spreading_.note_turn([&] {
      ++clock_looks_;
      return now_ns_;
    });
  }
  /// The first step that is not `stay`, of so many turns.
  Step turns(std::uint64_t count, std::uint64_t apart_ns) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (const Step step = turn(apart_ns); step != Step::stay) return step;
    return Step::stay;
  }
  /// How long it takes until it looks for a better core.
  std::uint64_t time_to_look() {
    const std::uint64_t begin_ns = now_ns_;
    while (turn(soon_ns) != Step::look && now_ns_ < begin_ns + 10 * Spreading::interval_max_ns) {
    }
    return now_ns_ - begin_ns;
  }
  void move() { spreading_.note_move(3, now_ns_); }

  Spreading spreading_{8, 2};
  std::uint64_t now_ns_ = 1'000'000'000'000;
  int clock_looks_ = 0;
};

TEST_F(SpreadingTest, LooksOnceInAnIntervalWhileNobodyComputes) {
  time_to_look();
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t time_ns = time_to_look();
    EXPECT_GE(time_ns, Spreading::interval_min_ns);
    EXPECT_LE(time_ns, Spreading::interval_min_ns + Spreading::turns_per_look * soon_ns);
  }
}

TEST_F(SpreadingTest, OnlyTellsWhileSomebodyComputes) {
  turns(Spreading::turns_per_look, soon_ns);
  int told = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Step step = turn(late_ns);
    EXPECT_TRUE(step == Step::stay || step == Step::tell);
    told += step == Step::tell ? 1 : 0;
  }
  // At every second look, since one comes in 1.6 ms.
  EXPECT_EQ(told, 10'000 / (2 * static_cast<int>(Spreading::turns_per_look)));
}

TEST_F(SpreadingTest, OneTurnThatTookLongIsEnough) {
  time_to_look();
  for (int i = 0; i < 100; ++i) {
    now_ns_ += 3'000'000;  // the slice of one who computes
    EXPECT_EQ(turns(Spreading::turns_per_look, soon_ns), Step::tell);
  }
}

TEST_F(SpreadingTest, TurnsOfAllRanksOnOneCoreAreNotLate) {
  const auto looks = [](std::uint32_t ranks) {
    Spreading spreading(ranks, 2);
    std::uint64_t now_ns = 1'000'000'000'000;
    bool has_looked = false;
    for (int i = 0; i < 1000; ++i) {
      now_ns += 32 * soon_ns;
      has_looked |= spreading.note_turn([&] { return now_ns; }) == Step::look;
    }
    return has_looked;
  };
  EXPECT_TRUE(looks(32));
  EXPECT_FALSE(looks(3));
}

TEST_F(SpreadingTest, TurnsInWhichOthersMoveMuchAreNotLate) {
  time_to_look();
  spreading_.expect_turns(256 << 10);
  std::uint64_t looks = 0;
  for (int i = 0; i < 1000; ++i) looks += turn(late_ns) == Step::look ? 1 : 0;
  // At the interval's end, and the few turns' until one looks.
  EXPECT_GE(looks, 1000 * late_ns / (Spreading::interval_min_ns + 4 * late_ns));
  move();
  EXPECT_EQ(turns(Spreading::turns_per_look, late_ns), Step::stay);
  // So long only somebody computes.
  for (int i = 0; i < 1000; ++i) EXPECT_NE(turn(1'000'000), Step::look);
  spreading_.expect_turns(0);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(turn(late_ns), Step::look);
}

TEST_F(SpreadingTest, GoesBackAtTheFirstLateTurn) {
  time_to_look();
  move();
  EXPECT_EQ(turn(soon_ns), Step::stay);
  EXPECT_EQ(turn(late_ns), Step::go_back);
  EXPECT_EQ(spreading_.origin(), 3);
}

TEST_F(SpreadingTest, TriesInVainBecomeRare) {
  std::uint64_t last_ns = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t time_ns = time_to_look();
    EXPECT_GE(time_ns, i == 0 ? 0 : std::min(last_ns, Spreading::interval_max_ns)) << i;
    last_ns = time_ns;
    move();
    EXPECT_EQ(turn(late_ns), Step::go_back);
  }
  EXPECT_GE(last_ns, Spreading::interval_max_ns);
  EXPECT_LE(last_ns, Spreading::interval_max_ns + 2 * Spreading::interval_min_ns);
}

TEST_F(SpreadingTest, OneThatPaidOffMakesThemFrequent) {
  for (int i = 0; i < 10; ++i) {
    time_to_look();
    move();
    turn(late_ns);
  }
  time_to_look();
  move();
  EXPECT_EQ(turns(Spreading::turns_per_look, soon_ns), Step::stay);
  time_to_look();
  EXPECT_LE(time_to_look(), Spreading::interval_min_ns + Spreading::turns_per_look * soon_ns);
}

TEST_F(SpreadingTest, ATrialThatTwoThreadsEndIsOver) {
  time_to_look();
  move();
  EXPECT_EQ(turns(Spreading::turns_per_look - 1, soon_ns), Step::stay);
  now_ns_ += soon_ns;
  const Step step = spreading_.note_turn([&] {
    EXPECT_EQ(turn(0), Step::stay);  // of another thread, meanwhile
    return now_ns_;
  });
  EXPECT_EQ(step, Step::stay);
  time_to_look();
  EXPECT_LE(time_to_look(), Spreading::interval_min_ns + Spreading::turns_per_look * soon_ns);
}

TEST_F(SpreadingTest, MostTurnsReadNoClock) {
  turns(1000 * Spreading::turns_per_look, soon_ns / 100);
  EXPECT_LE(clock_looks_, 1000);
}

}  // namespace
}  // namespace hawser::p2p
