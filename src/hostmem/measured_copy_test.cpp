#include "hostmem/measured_copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace hawser::hostmem {
namespace {

constexpr std::size_t run_bytes = 16384;
constexpr std::size_t short_run_bytes = 4096;  // looked at more seldom

/// What a run takes by each way.
struct Paces {
  std::array<std::uint64_t, 3> ns;  // vector, string, past the cache
};
constexpr Paces near{{400, 200, 1500}};                 // cores that share a cache
constexpr Paces far{{3200, 420, 400}};                  // cores that don't
constexpr Paces far_slow_string{{3200, 13'000, 1600}};  // on a processor with slow string stores
constexpr Paces near_slow_string{{640, 13'000, 1600}};

/// What happened in a row of runs.
struct Seen {
  std::array<int, 3> runs{};  // by each way
  int measured = 0;
  std::uint64_t ns = 0;
};

Seen copy(CopyChoice& choice, int runs, const Paces& paces, std::size_t bytes = run_bytes) {
  Seen seen;
  for (int i = 0; i < runs; ++i) {
    const CopyChoice::Next next = choice.next();
    const std::uint64_t ns = paces.ns[static_cast<std::size_t>(next.way)];
    ++seen.runs[static_cast<std::size_t>(next.way)];
    seen.ns += ns;
    if (!next.is_measured) continue;
    ++seen.measured;
    choice.took(bytes, ns);
  }
  return seen;
}

TEST(CopyChoice, IsTheQuickestWay) {
  const auto best = [](const Paces& paces, CopyEnds ends) {
    CopyChoice choice(ends);
    copy(choice, 100, paces);
    return choice.best();
  };
  EXPECT_EQ(best(near, CopyEnds::to_peer), CopyWay::string);
  EXPECT_EQ(best(near_slow_string, CopyEnds::to_peer), CopyWay::vector);
  EXPECT_EQ(best(far_slow_string, CopyEnds::to_peer), CopyWay::past_cache);
  EXPECT_EQ(best(far_slow_string, CopyEnds::from_peer), CopyWay::vector);
  EXPECT_EQ(best(near, CopyEnds::from_peer), CopyWay::string);
}

/// Trials of two ways that are alike find now the one and now the other better.
TEST(CopyChoice, IsNoStringInstructionWhereThatIsLittleQuicker) {
  for (const auto ends : {CopyEnds::to_peer, CopyEnds::from_peer, CopyEnds::from_peer_to_us}) {
    CopyChoice choice(ends);
    copy(choice, 1000, {{1020, 840, 1500}});
    EXPECT_EQ(choice.best(), CopyWay::vector);
    copy(choice, 1000, near);
    EXPECT_EQ(choice.best(), CopyWay::string);
    copy(choice, 10'000, {{380, 380, 1500}});
    EXPECT_EQ(choice.best(), CopyWay::vector) << "nor does it stay";
  }
}

TEST(CopyChoice, PrefersTheEarlierOfTwoThatAreAlike) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 10'000, far);
  EXPECT_EQ(choice.best(), CopyWay::string);
}

/// What goes past the cache takes as long after a move as before: that another way has become
/// quicker is seen in the next survey, which comes anyway, and soon if there was none for long.
TEST(CopyChoice, FollowsAMoveInBothDirections) {
  CopyChoice choice(CopyEnds::to_peer);
  for (int move = 0; move < 5; ++move) {
    copy(choice, 500, far_slow_string);
    EXPECT_EQ(choice.best(), CopyWay::past_cache) << move;
    copy(choice, 5000, near_slow_string);
    EXPECT_EQ(choice.best(), CopyWay::vector) << move;
  }
}

/// Near, what goes past the cache takes its writer no longer than the string instruction, and its
/// reader 700 ns longer.
TEST(CopyChoice, LeavesWhatPassesTheCacheWhereItGainsLessThanItsReaderPays) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 500, {{1850, 1420, 230}});
  EXPECT_EQ(choice.best(), CopyWay::past_cache);
  copy(choice, 1000, {{390, 140, 140}});
  EXPECT_EQ(choice.best(), CopyWay::string);
  copy(choice, 1000, {{1390, 930, 390}});
  EXPECT_EQ(choice.best(), CopyWay::string);
}

/// The first survey met memory that nobody had touched, and then lines that were far away.
TEST(CopyChoice, DoesNotStayPastTheCacheForAFirstImpression) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 6, {{9000, 9000, 0}});
  copy(choice, 3, {{0, 0, 600}});
  ASSERT_EQ(choice.best(), CopyWay::past_cache);
  copy(choice, 100, {{900, 1100, 600}});
  EXPECT_EQ(choice.best(), CopyWay::vector);
}

TEST(CopyChoice, FollowsALateMoveToo) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 100'000, near_slow_string);
  copy(choice, 5000, far_slow_string);
  EXPECT_EQ(choice.best(), CopyWay::past_cache);
}

/// Whatever was found before, and however seldom surveys have become.
TEST(CopyChoice, FollowsAMoveToAFarCoreAtOnce) {
  constexpr std::size_t long_run_bytes = 128 << 10;
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 100'000, near_slow_string, long_run_bytes);
  copy(choice, 40, far_slow_string, long_run_bytes);
  EXPECT_EQ(choice.best(), CopyWay::past_cache);
}

/// Memory that is touched for the first time takes as long by every way.
TEST(CopyChoice, IsMadeAnewOnceFirstTouchesAreOver) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 32, {{9000, 9000, 9000}});
  copy(choice, 500, near);
  EXPECT_EQ(choice.best(), CopyWay::string);
}

TEST(CopyChoice, IsNotMisledByOneAccident) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 100, near);
  for (int accident = 0; accident < 10; ++accident) {
    while (!choice.next().is_measured) {
    }
    choice.took(run_bytes, 1'000'000);
    EXPECT_EQ(copy(choice, 130, near).runs[1], 130);
  }
}

TEST(CopyChoice, CostsLittleWhereNothingChanges) {
  const auto costs_little = [](std::size_t bytes, int measured_max) {
    CopyChoice choice(CopyEnds::to_peer);
    copy(choice, 10'000, near_slow_string, bytes);
    const Seen seen = copy(choice, 100'000, near_slow_string, bytes);
    EXPECT_LT(seen.measured, measured_max);
    EXPECT_LT(seen.ns, 100'000ULL * near_slow_string.ns[0] * 104 / 100);
  };
  costs_little(short_run_bytes, 700);
  costs_little(run_bytes, 2000);
}

/// Far away each survey is dear: others take many times as long as the way that is used.
TEST(CopyChoice, CostsLittlePastTheCacheToo) {
  CopyChoice choice(CopyEnds::to_peer);
  copy(choice, 10'000, far_slow_string);
  const Seen seen = copy(choice, 100'000, far_slow_string);
  EXPECT_LT(seen.ns, 100'000ULL * far_slow_string.ns[2] * 102 / 100);
}

/// Where that would be measured often: each look costs two readings of the clock.
TEST(CopyChoice, LooksSeldomWhereEveryLookIsStrange) {
  const auto measured_runs = [](std::size_t bytes) {
    CopyChoice choice(CopyEnds::to_peer);
    int measured = 0;
    for (int run = 0; run < 100'000; ++run) {
      const CopyChoice::Next next = choice.next();
      if (!next.is_measured) continue;
      choice.took(bytes, near_slow_string.ns[static_cast<std::size_t>(next.way)] *
                             (measured % 5 == 0 ? 1 : 2));
      ++measured;
    }
    return measured;
  };
  EXPECT_LT(measured_runs(short_run_bytes), 1500);
  EXPECT_LT(measured_runs(run_bytes), 3000);
}

/// Data that is in the cache now and then: no way changes it.
TEST(CopyChoice, CostsLittleWhereEveryRunTakesAnotherTime) {
  CopyChoice choice(CopyEnds::to_peer);
  std::uint64_t ns = 0;
  for (int i = 0; i < 1000; ++i) {
    ns += copy(choice, 50, near_slow_string).ns;
    ns += copy(choice, 50, {{1280, 26'000, 3200}}).ns;
  }
  EXPECT_LT(ns, 100'000ULL * (640 + 1280) / 2 * 108 / 100);
}

/// As a reader finds it whose destination is cold: the way that seems to be quickest isn't.
TEST(CopyChoice, FetchesTheLinesOfAColdPlace) {
  constexpr Paces cold{{720, 500, 0}};
  CopyChoice choice(CopyEnds::from_peer);
  copy(choice, 1000, near);
  ASSERT_EQ(choice.best(), CopyWay::string);
  for (int look = 0; look < 2; ++look) choice.note_place(true);
  EXPECT_EQ(choice.best(), CopyWay::string) << "an interrupt, or a page that was not mapped yet";
  choice.note_place(true);
  EXPECT_EQ(choice.best(), CopyWay::vector);
  copy(choice, 10'000, cold);
  EXPECT_EQ(choice.best(), CopyWay::vector);
  EXPECT_LT(copy(choice, 100'000, cold).measured, 2200) << "nothing changes";
  choice.note_place(false);
  copy(choice, 1000, near);
  EXPECT_EQ(choice.best(), CopyWay::string);
}

TEST(MeasuredCopy, CopiesRunsOfAnyLengthAndPlace) {
  std::vector<std::byte> from(40'000), to(40'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + i / 256);
  for (const auto ends : {CopyEnds::to_peer, CopyEnds::from_peer, CopyEnds::from_peer_to_us}) {
    MeasuredCopy copy(ends);
    constexpr std::array lines{SourceLines::not_asked_for, SourceLines::of_peer,
                               SourceLines::maybe_cold};
    for (int i = 0; i < 600; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(i) * 61 + 1;
      const std::size_t shift = static_cast<std::size_t>(i % 80);
      std::fill(to.begin(), to.end(), std::byte{});
      copy(to.data() + shift, from.data() + i % 3, bytes,
           lines[static_cast<std::size_t>(i) % lines.size()]);
      ASSERT_TRUE(std::equal(to.begin() + static_cast<std::ptrdiff_t>(shift),
                             to.begin() + static_cast<std::ptrdiff_t>(shift + bytes),
                             from.begin() + i % 3))
          << i;
      ASSERT_EQ(to[shift + bytes], std::byte{}) << i;
    }
  }
}

}  // namespace
}  // namespace hawser::hostmem
