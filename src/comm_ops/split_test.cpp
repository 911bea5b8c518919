#include <gtest/gtest.h>

#include <random>

#include "tests/support/comm_tester.hpp"

namespace hawser::comm_ops {
namespace {

using namespace test;  // NOLINT
using core::undefined_rank;

struct Wish {
  int color;
  int key;
};

/// Colours in [0, COLORS) or undefined, and keys with ties: equal on all ranks for equal SEEDs.
std::vector<Wish> random_wishes(unsigned seed, std::size_t number, int colors) {
  std::mt19937 random(seed);
  std::vector<Wish> wishes(number);
  for (Wish& wish : wishes) {
    wish.color = std::uniform_int_distribution(-1, colors - 1)(random);
    if (wish.color < 0) wish.color = undefined_rank;
    wish.key = std::uniform_int_distribution(-3, 3)(random);
  }
  return wishes;
}

/// The naive model of splitting MEMBERS.
std::vector<int> expected_members(const std::vector<int>& members, const std::vector<Wish>& wishes,
                                  int color) {
  std::vector<std::array<int, 3>> chosen;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (wishes[i].color == color)
      chosen.push_back({wishes[i].key, static_cast<int>(i), members[i]});
  }
  std::ranges::sort(chosen);
  std::vector<int> ranks;
  for (const auto& entry : chosen) ranks.push_back(entry[2]);
  return ranks;
}

/// Splits PARENT, then the part that this process got, and so on.
void split_down(CommTester& t, Comm& parent, const std::vector<int>& members, unsigned seed,
                int depth) {
  const auto wishes = random_wishes(seed, members.size(), 3);
  const Wish mine = wishes[static_cast<std::size_t>(parent.rank())];
  const auto child = t.made(t.factory.split(parent, mine.color, mine.key));
  ASSERT_EQ(child.get() == nullptr, mine.color == undefined_rank);
  if (!child) return;
  const auto expected = expected_members(members, wishes, mine.color);
  t.expect_intra(*child, expected);
  t.expect_isolated(parent, *child);
  if (depth > 0) split_down(t, *child, expected, seed * 4 + 1, depth - 1);
}

TEST(Split, random_nested_splits_are_those_of_the_model) {
  for_rank_counts([](CommTester& t) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      split_down(t, *t.world, range(0, t.size), seed, 2);
    }
  });
}

TEST(Split, random_splits_of_intercommunicators) {
  for_rank_counts(
      [](CommTester& t) {
        for (unsigned seed = 0; seed < 12; ++seed) {
          const int cut = 1 + static_cast<int>(seed) % (t.size - 1);
          const auto inter = make_inter(t, cut);
          const auto wishes = random_wishes(seed, static_cast<std::size_t>(t.size), 2);
          const auto first_high = wishes.begin() + cut;
          const Wish mine = wishes[static_cast<std::size_t>(t.rank)];
          auto ours = expected_members(range(0, cut), {wishes.begin(), first_high}, mine.color);
          auto theirs =
              expected_members(range(cut, t.size), {first_high, wishes.end()}, mine.color);
          if (t.rank >= cut) std::swap(ours, theirs);
          const auto child = t.made(t.factory.split(*inter, mine.color, mine.key));
          const bool none = mine.color == undefined_rank || theirs.empty();
          ASSERT_EQ(child.get() == nullptr, none);
          if (child) t.expect_inter(*child, ours, theirs);
        }
      },
      2);
}

TEST(Split, negative_color_is_refused_and_hangs_nobody) {
  for_rank_counts([](CommTester& t) {
    const auto child = t.factory.split(*t.world, t.rank == 0 ? -7 : 0, 0);
    EXPECT_EQ(child.ok(), t.rank != 0);
    if (t.rank == 0) {
      EXPECT_EQ(child.error().code(), static_cast<int>(ErrorClass::arg));
      EXPECT_EQ(child.error().sentence(),
                "the color is -7; it must be 0 or more, or MPI_UNDEFINED");
    } else {
      t.expect_intra(**child, range(1, t.size));
    }
  });
}

TEST(Create, disjoint_groups_in_any_order) {
  for_rank_counts([](CommTester& t) {
    // The odd ranks downwards and the even ones upwards; the last rank passes the empty group.
    std::vector<int> members;
    for (int rank = t.rank % 2; rank < t.size - 1; rank += 2) members.push_back(rank);
    if (t.rank % 2 != 0) std::ranges::reverse(members);
    if (t.rank == t.size - 1) members.clear();
    const auto child = t.made(t.factory.create(*t.world, *group_of(members)));
    ASSERT_EQ(child.get() == nullptr, members.empty());
    if (child) t.expect_intra(*child, members);
  });
}

TEST(Create, others_than_the_members_get_none) {
  for_rank_counts([](CommTester& t) {
    const auto child = t.made(t.factory.create(*t.world, *group_of({0})));
    ASSERT_EQ(child.get() == nullptr, t.rank != 0);
    if (child) t.expect_intra(*child, {0});
    EXPECT_EQ(t.made(t.factory.create(*t.world, *Group::empty())).get(), nullptr);
  });
}

TEST(Create, of_an_intercommunicator) {
  for_rank_counts(
      [](CommTester& t) {
        const auto inter = make_inter(t, 2);
        const bool low = t.rank < 2;
        const std::vector<int> lows{1, 0};
        const std::vector<int> highs{t.size - 1};
        const auto child = t.made(t.factory.create(*inter, *group_of(low ? lows : highs)));
        const bool member = low || t.rank == t.size - 1;
        ASSERT_EQ(child.get() != nullptr, member);
        if (child) t.expect_inter(*child, low ? lows : highs, low ? highs : lows);
        // One side without members: no communicator.
        const auto none = t.made(t.factory.create(*inter, low ? *group_of(lows) : *Group::empty()));
        EXPECT_EQ(none.get(), nullptr);
      },
      3);
}

TEST(Create, group_must_be_a_subset) {
  for_rank_counts([](CommTester& t) {
    const auto child = t.factory.create(*t.world, *group_of({0, t.size}));
    ASSERT_FALSE(child.ok());
    EXPECT_EQ(child.error().code(), static_cast<int>(ErrorClass::group));
  });
}

TEST(Create, member_whose_group_is_not_the_others_is_told) {
  run_ranks(3, false, [](Rank& rank) {
    CommTester t(rank);
    const std::vector<int> members = t.rank == 2 ? std::vector{0, 2} : std::vector{0, 1, 2};
    const auto child = t.factory.create(*t.world, *group_of(members));
    EXPECT_EQ(child.ok(), t.rank != 2);
    if (!child.ok()) {
      EXPECT_EQ(child.error().code(), static_cast<int>(ErrorClass::group));
    }
  });
}

class SplitType : public testing::Test {
 protected:
  static constexpr int per_host = 3;
  static Ref<Info> hint(const char* key, const char* value) {
    auto info = base::make_ref<Info>();
    EXPECT_TRUE(info->set(key, value).ok());
    return info;
  }
  /// Runs TEST(tester, the ranks on this host) on 7 ranks of 3 hosts.
  template <class Test>
  static void run(Test test) {
    run_ranks(7, false, [&](Rank& rank) {
      CommTester t(rank, per_host);
      const int first = t.rank / per_host * per_host;
      test(t, range(first, std::min(first + per_host, t.size)));
    });
  }
  static Result<Ref<Comm>> split(CommTester& t, Comm& comm, comm_ops::SplitType type,
                                 const Ref<Info>& info = nullptr) {
    return t.factory.split_type(comm, static_cast<int>(type), 0, info.get());
  }
};

TEST_F(SplitType, shared_and_guided_by_shared_memory_give_the_hosts) {
  run([](CommTester& t, const std::vector<int>& here) {
    using enum comm_ops::SplitType;
    t.expect_intra(*t.made(split(t, *t.world, shared)), here);
    const auto memory = hint("mpi_hw_resource_type", "mpi_shared_memory");
    t.expect_intra(*t.made(split(t, *t.world, hw_guided, memory)), here);
    t.expect_intra(*t.made(split(t, *t.world, resource_guided, memory)), here);
  });
}

TEST_F(SplitType, unguided_divides_until_a_host_is_left) {
  run([](CommTester& t, const std::vector<int>& here) {
    using enum comm_ops::SplitType;
    const auto host = t.made(split(t, *t.world, hw_unguided));
    t.expect_intra(*host, here);
    EXPECT_EQ(t.made(split(t, *host, hw_unguided)).get(), nullptr);
  });
}

TEST_F(SplitType, process_sets) {
  run([](CommTester& t, const std::vector<int>&) {
    using enum comm_ops::SplitType;
    const auto world =
        t.made(split(t, *t.world, resource_guided, hint("mpi_pset_name", "mpi://WORLD")));
    t.expect_intra(*world, range(0, t.size));
    const auto self =
        t.made(split(t, *t.world, resource_guided, hint("mpi_pset_name", "mpi://SELF")));
    t.expect_intra(*self, {t.rank});
  });
}

TEST_F(SplitType, unknown_resources_give_none_and_unknown_types_an_error) {
  run([](CommTester& t, const std::vector<int>&) {
    using enum comm_ops::SplitType;
    EXPECT_EQ(t.made(split(t, *t.world, hw_guided)).get(), nullptr);
    EXPECT_EQ(t.made(split(t, *t.world, hw_guided, hint("mpi_hw_resource_type", "moon"))).get(),
              nullptr);
    EXPECT_EQ(t.made(split(t, *t.world, resource_guided)).get(), nullptr);
    EXPECT_EQ(t.made(t.factory.split_type(*t.world, undefined_rank, 0, nullptr)).get(), nullptr);
    const auto unknown = t.factory.split_type(*t.world, 99, 0, nullptr);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code(), static_cast<int>(ErrorClass::arg));
  });
}

TEST_F(SplitType, some_may_stay_out) {
  run([](CommTester& t, const std::vector<int>& here) {
    const bool out = t.rank % 3 == 0;
    const int type = out ? undefined_rank : static_cast<int>(comm_ops::SplitType::shared);
    const auto comm = t.made(t.factory.split_type(*t.world, type, -t.rank, nullptr));
    ASSERT_EQ(comm.get() == nullptr, out);
    if (!comm) return;
    std::vector<int> expected(here.rbegin(), here.rend() - 1);
    t.expect_intra(*comm, expected);
  });
}

TEST_F(SplitType, both_sides_of_an_intercommunicator_agree) {
  run([](CommTester& t, const std::vector<int>& here) {
    const auto inter = make_inter(t, 5);  // cuts the second host
    const auto comm = t.made(split(t, *inter, comm_ops::SplitType::shared));
    ASSERT_EQ(comm.get() != nullptr, here.front() == per_host);
    if (!comm) return;
    t.rank < 5 ? t.expect_inter(*comm, {3, 4}, {5}) : t.expect_inter(*comm, {5}, {3, 4});
  });
}

}  // namespace
}  // namespace hawser::comm_ops
