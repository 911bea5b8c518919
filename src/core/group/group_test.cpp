#include "core/group/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hawser::core {
namespace {

using Members = std::vector<Identity>;

Members members_of(const Group& group) {
  Members members;
  for (int rank = 0; rank < group.size(); ++rank) members.push_back(group.member(rank));
  return members;
}

Members indices(std::initializer_list<std::uint32_t> list) {
  Members members;
  for (const std::uint32_t index : list) members.push_back({1, index, 0});
  return members;
}

bool contains(const Members& members, const Identity& identity) {
  return std::find(members.begin(), members.end(), identity) != members.end();
}

bool is_compressed(const Group& group) { return group.footprint_bytes() == sizeof(Group); }

TEST(Group, EmptyHasNoMembers) {
  const Ref<Group> empty = Group::empty();
  EXPECT_EQ(empty->size(), 0);
  EXPECT_EQ(empty->rank_of({0, 0, 0}), undefined_rank);
  EXPECT_EQ(empty->compare(*Group::of_list({})), Comparison::ident);
  EXPECT_EQ(empty->compare(*Group::of_stride(1, 5, 3, 0)), Comparison::ident);
  EXPECT_EQ(empty->compare(*Group::of_stride(1, 0, 1, 1)), Comparison::unequal);
}

TEST(Group, StrideAnswersByArithmetic) {
  const Ref<Group> group = Group::of_stride(1, 100, -10, 11);
  EXPECT_EQ(members_of(*group), indices({100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0}));
  EXPECT_EQ(group->rank_of({1, 100, 0}), 0);
  EXPECT_EQ(group->rank_of({1, 0, 0}), 10);
  EXPECT_EQ(group->rank_of({1, 110, 0}), undefined_rank);
  EXPECT_EQ(group->rank_of({1, 95, 0}), undefined_rank);
  EXPECT_EQ(group->rank_of({2, 100, 0}), undefined_rank);
  EXPECT_EQ(group->rank_of({1, 100, 1}), undefined_rank) << "another life of the same index";
}

TEST(Group, StrideReachesTheLastIndex) {
  const std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  const Ref<Group> group = Group::of_stride(1, last, -1, 3);
  EXPECT_EQ(group->rank_of({1, last - 2, 0}), 2);
  EXPECT_EQ(group->rank_of({1, 0, 0}), undefined_rank) << "indices do not wrap around";
}

TEST(GroupDeathTest, StrideBelowZeroIsABug) {
  EXPECT_DEATH((void)Group::of_stride(1, 1, -1, 3), "is_index");
}

TEST(GroupDeathTest, RepeatedMemberIsABug) {
  const Ref<Group> group = Group::of_list(indices({4, 7, 4}));
  EXPECT_DEATH((void)group->rank_of({1, 7, 0}), "slot < 0");
}

TEST(Group, ListsThatAreStridesAreCompressed) {
  EXPECT_TRUE(is_compressed(*Group::of_list(indices({7}))));
  EXPECT_TRUE(is_compressed(*Group::of_list(indices({0, 1, 2, 3}))));
  EXPECT_TRUE(is_compressed(*Group::of_list(indices({9, 6, 3, 0}))));
  EXPECT_FALSE(is_compressed(*Group::of_list(indices({0, 1, 3}))));
  EXPECT_FALSE(is_compressed(*Group::of_list({{1, 0, 0}, {2, 1, 0}}))) << "two jobs";
  EXPECT_FALSE(is_compressed(*Group::of_list({{1, 0, 0}, {1, 1, 1}}))) << "another epoch";
  EXPECT_FALSE(is_compressed(*Group::of_list({{1, 0, 3}})));
  EXPECT_FALSE(is_compressed(*Group::of_list(indices({0, 0xffffffffU})))) << "too wide a stride";
}

TEST(Group, EqualStridesOfOneMemberAreIdentical) {
  EXPECT_EQ(Group::of_stride(1, 4, 2, 1)->compare(*Group::of_stride(1, 4, -3, 1)),
            Comparison::ident);
  EXPECT_EQ(Group::of_stride(1, 4, 2, 1)->compare(*Group::of_stride(2, 4, 2, 1)),
            Comparison::unequal);
}

TEST(Group, CompareStrides) {
  const Ref<Group> up = Group::of_stride(1, 0, 2, 1'000'000'000);
  const Ref<Group> down = Group::of_stride(1, 1'999'999'998, -2, 1'000'000'000);
  EXPECT_EQ(up->compare(*up), Comparison::ident);
  EXPECT_EQ(up->compare(*down), Comparison::similar);
  EXPECT_EQ(up->compare(*Group::of_stride(1, 1, 2, 1'000'000'000)), Comparison::unequal);
  EXPECT_EQ(up->compare(*Group::of_stride(1, 0, 1, 1'000'000'000)), Comparison::unequal);
}

TEST(Group, UnionKeepsTheOrderOfTheFirstAndAppendsTheNew) {
  const Ref<Group> first = Group::of_list(indices({5, 1, 9}));
  const Ref<Group> second = Group::of_list(indices({2, 9, 0, 5}));
  EXPECT_EQ(members_of(*first->union_with(*second)), indices({5, 1, 9, 2, 0}));
  EXPECT_EQ(members_of(*first->intersection_with(*second)), indices({5, 9}));
  EXPECT_EQ(members_of(*first->difference_with(*second)), indices({1}));
  EXPECT_EQ(first->difference_with(*first)->size(), 0);
}

TEST(Group, IncludeAndExclude) {
  const Ref<Group> world = Group::of_stride(1, 0, 1, 6);
  const std::vector<int> ranks{4, 0, 3};
  EXPECT_EQ(members_of(**world->include(ranks)), indices({4, 0, 3}));
  EXPECT_EQ(members_of(**world->exclude(ranks)), indices({1, 2, 5}));
  EXPECT_EQ((*world->include({}))->size(), 0);
  EXPECT_EQ((*world->exclude({}))->compare(*world), Comparison::ident);
}

TEST(Group, RanksOutsideOrRepeatedAreRefused) {
  const Ref<Group> world = Group::of_stride(1, 0, 1, 6);
  for (const std::vector<int>& ranks :
       {std::vector<int>{6}, {-1}, {1, 2, 1}, {std::numeric_limits<int>::min()}}) {
    const auto included = world->include(ranks);
    ASSERT_FALSE(included.ok());
    EXPECT_EQ(included.error().code(), static_cast<int>(ErrorClass::rank));
    EXPECT_FALSE(world->exclude(ranks).ok());
  }
  EXPECT_EQ(world->include(std::vector<int>{7}).error().sentence(),
            "rank 7 is not in [0,6) of the group");
}

TEST(Group, RangesStopAtTheLastRankTheyReach) {
  const Ref<Group> world = Group::of_stride(1, 0, 1, 10);
  const std::vector<Group::Range> ranges{{1, 6, 2}, {9, 7, -1}, {0, 0, 4}};
  EXPECT_EQ(members_of(**world->include_ranges(ranges)), indices({1, 3, 5, 9, 8, 7, 0}));
  EXPECT_EQ(members_of(**world->exclude_ranges(ranges)), indices({2, 4, 6}));
  // The last rank bounds the range, but is no member of it: it may be outside the group.
  EXPECT_EQ(members_of(**world->include_ranges(std::vector<Group::Range>{{8, 11, 4}})),
            indices({8}));
}

TEST(Group, WrongRangesAreRefused) {
  const Ref<Group> world = Group::of_stride(1, 0, 1, 10);
  const int max = std::numeric_limits<int>::max();
  const int min = std::numeric_limits<int>::min();
  const auto code = [&world](std::vector<Group::Range> ranges) {
    const auto group = world->include_ranges(ranges);
    EXPECT_EQ(group.ok(), world->exclude_ranges(ranges).ok());
    return group.ok() ? 0 : group.error().code();
  };
  EXPECT_EQ(code({{0, 5, 0}}), static_cast<int>(ErrorClass::arg));
  EXPECT_EQ(code({{5, 0, 1}}), static_cast<int>(ErrorClass::arg));
  EXPECT_EQ(code({{0, 5, -1}}), static_cast<int>(ErrorClass::arg));
  EXPECT_EQ(code({{0, 10, 1}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{0, max, 1}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{max, min, -1}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{-1, 3, 1}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{0, 5, 1}, {9, 5, -2}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{0, max, max}}), static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(code({{9, 0, min}}), 0);
}

TEST(Group, WorldOfAMillionCostsNothing) {
  const Ref<Group> world = Group::of_stride(1, 0, 1, 1'000'000);
  EXPECT_LE(world->footprint_bytes(), 128U);
  const std::vector<Group::Range> odd{{1, 999'999, 2}};
  EXPECT_TRUE(is_compressed(**world->include_ranges(odd)));
  EXPECT_TRUE(is_compressed(**world->exclude_ranges(odd)));
}

TEST(Group, FootprintOfAListDoesNotChangeWithItsIndex) {
  const Ref<Group> group = Group::of_list(indices({3, 1, 4, 5, 9}));
  const std::size_t before = group->footprint_bytes();
  EXPECT_EQ(group->rank_of({1, 9, 0}), 4);
  EXPECT_EQ(group->footprint_bytes(), before);
}

TEST(Group, ManyThreadsMayBuildTheIndex) {
  Members members;
  for (std::uint32_t i = 0; i < 1000; ++i) members.push_back({1, i * i, 0});
  const Ref<Group> group = Group::of_list(members);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&group] {
      for (std::uint32_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(group->rank_of({1, i * i, 0}), static_cast<int>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A naive reference: groups as plain vectors, every question by linear search.
class GroupProperty : public testing::TestWithParam<std::uint32_t> {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  /// A stride or a list, out of few identities, so that groups overlap.
  Members random_members() {
    Members members;
    if (below(2) == 0) {
      const int size = below(8);
      const int step = 1 + below(3);
      const std::int64_t stride = below(2) == 0 ? step : -step;
      const std::int64_t first = stride < 0 ? -stride * size + below(4) : below(12);
      const std::uint64_t job = 1 + static_cast<std::uint64_t>(below(4) == 0);
      for (int i = 0; i < size; ++i) {
        members.push_back({job, static_cast<std::uint32_t>(first + stride * i), 0});
      }
    } else {
      for (std::uint32_t index = 0; index < 16; ++index) {
        if (below(3) != 0) continue;
        members.push_back({1 + static_cast<std::uint64_t>(below(8) == 0), index,
                           static_cast<std::uint32_t>(below(8) == 0)});
      }
      std::shuffle(members.begin(), members.end(), random_);
    }
    return members;
  }

  std::mt19937 random_{GetParam()};
};

Members naive_filter(const Members& a, const Members& b, bool in_b) {
  Members result;
  std::copy_if(a.begin(), a.end(), std::back_inserter(result),
               [&](const Identity& identity) { return contains(b, identity) == in_b; });
  return result;
}

Comparison naive_compare(const Members& a, const Members& b) {
  if (a == b) return Comparison::ident;
  return std::set<Identity>(a.begin(), a.end()) == std::set<Identity>(b.begin(), b.end())
             ? Comparison::similar
             : Comparison::unequal;
}

TEST_P(GroupProperty, SetOperationsAgreeWithVectors) {
  for (int round = 0; round < 200; ++round) {
    const Members a = random_members();
    Members b = random_members();
    if (below(4) == 0) {  // also pairs that are similar, and with luck identical
      b = a;
      std::shuffle(b.begin(), b.end(), random_);
    } else if (below(4) == 0) {
      b.assign(a.rbegin(), a.rend());
    }
    const Ref<Group> group_a = Group::of_list(a);
    const Ref<Group> group_b = Group::of_list(b);
    ASSERT_EQ(members_of(*group_a), a);
    for (const Members& all : {a, b}) {
      for (const Identity& identity : all) {
        const auto found = std::find(a.begin(), a.end(), identity);
        const int expected =
            found == a.end() ? undefined_rank : static_cast<int>(found - a.begin());
        ASSERT_EQ(group_a->rank_of(identity), expected);
      }
    }
    Members both = a;
    const Members fresh = naive_filter(b, a, false);
    both.insert(both.end(), fresh.begin(), fresh.end());
    ASSERT_EQ(members_of(*group_a->union_with(*group_b)), both);
    ASSERT_EQ(members_of(*group_a->intersection_with(*group_b)), naive_filter(a, b, true));
    ASSERT_EQ(members_of(*group_a->difference_with(*group_b)), naive_filter(a, b, false));
    ASSERT_EQ(group_a->compare(*group_b), naive_compare(a, b));
    ASSERT_EQ(group_b->compare(*group_a), naive_compare(b, a));
  }
}

TEST_P(GroupProperty, RangesAgreeWithTheirExpansion) {
  for (int round = 0; round < 200; ++round) {
    const Members members = random_members();
    const Ref<Group> group = Group::of_list(members);
    const int size = group->size();
    std::vector<Group::Range> ranges;
    std::vector<int> ranks;
    for (int i = below(3); i >= 0; --i) {
      const Group::Range range{below(9) - 1, below(9) - 1,
                               below(2) == 0 ? 1 + below(3) : -1 - below(3)};
      if ((range.last - range.first) * range.stride < 0) continue;
      ranges.push_back(range);
      for (int rank = range.first; range.stride > 0 ? rank <= range.last : rank >= range.last;
           rank += range.stride) {
        ranks.push_back(rank);
      }
    }
    const std::set<int> distinct(ranks.begin(), ranks.end());
    const bool valid = distinct.size() == ranks.size() &&
                       (ranks.empty() || (*distinct.begin() >= 0 && *distinct.rbegin() < size));
    const auto included = group->include_ranges(ranges);
    const auto excluded = group->exclude_ranges(ranges);
    ASSERT_EQ(included.ok(), valid);
    ASSERT_EQ(excluded.ok(), valid);
    ASSERT_EQ(group->include(ranks).ok(), valid);
    if (!valid) continue;
    Members chosen;
    for (const int rank : ranks) chosen.push_back(members[static_cast<std::size_t>(rank)]);
    ASSERT_EQ(members_of(**included), chosen);
    ASSERT_EQ(members_of(**excluded), naive_filter(members, chosen, false));
    ASSERT_EQ(members_of(**group->exclude(ranks)), naive_filter(members, chosen, false));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroupProperty, testing::Range(1U, 9U));

}  // namespace
}  // namespace hawser::core
