#include <gtest/gtest.h>

#include "tests/support/comm_tester.hpp"

namespace hawser::comm_ops {
namespace {

using namespace test;  // NOLINT

TEST(Intercomm, every_cut_and_every_pair_of_leaders) {
  for_rank_counts(
      [](CommTester& t) {
        for (int cut = 1; cut < t.size; ++cut) {
          const bool low = t.rank < cut;
          auto ours = range(0, cut);
          auto theirs = range(cut, t.size);
          if (!low) std::swap(ours, theirs);
          const auto half = t.made(t.factory.split(*t.world, low ? 0 : 1, 0));
          const int leader = t.size % half->size();
          const int remote = theirs[static_cast<std::size_t>(t.size) % theirs.size()];
          const bool leads = half->rank() == leader;
          const auto inter = t.made(t.factory.intercomm_create(
              *half, leader, leads ? t.world.get() : nullptr, leads ? remote : -1, 9));
          t.expect_inter(*inter, ours, theirs);
          t.expect_intra(*half, ours);
          EXPECT_NE(inter->local().context(), half->context());
        }
      },
      2);
}

TEST(Intercomm, setting_up_leaves_the_peer_communicators_messages_alone) {
  for_rank_counts(
      [](CommTester& t) {
        const bool low = t.rank < 1;
        const auto half = t.made(t.factory.split(*t.world, low ? 0 : 1, 0));
        constexpr int tag = 3;
        if (t.rank < 2) t.send(*t.world, 1 - t.rank, tag, 100 + t.rank);
        const auto inter =
            t.made(t.factory.intercomm_create(*half, 0, t.world.get(), low ? 1 : 0, tag));
        if (t.rank < 2) {
          EXPECT_EQ(t.receive(*t.world, 1 - t.rank, tag), 101 - t.rank);
        }
        t.expect_inter(*inter, low ? range(0, 1) : range(1, t.size),
                       low ? range(1, t.size) : range(0, 1));
      },
      2);
}

TEST(Merge, puts_the_low_side_first) {
  for_rank_counts(
      [](CommTester& t) {
        for (int cut = 1; cut < t.size; ++cut) {
          const auto inter = make_inter(t, cut);
          auto swapped = range(cut, t.size);
          for (const int rank : range(0, cut)) swapped.push_back(rank);
          const bool low = t.rank < cut;
          const auto straight = t.made(t.factory.merge(*inter, !low));
          t.expect_intra(*straight, range(0, t.size));
          const auto crossed = t.made(t.factory.merge(*inter, low));
          t.expect_intra(*crossed, swapped);
          for (const bool high : {false, true}) {
            const auto undecided = t.made(t.factory.merge(*inter, high));
            t.expect_intra(*undecided, range(0, t.size));
          }
          t.expect_isolated(*straight, *crossed);
        }
      },
      2);
}

TEST(Merge, of_an_intercommunicator_of_merged_ones) {
  run_ranks(8, true, [](Rank& rank) {
    CommTester t(rank);
    // Two quarters make a half, two halves the world.
    const auto quarter = t.made(t.factory.split(*t.world, t.rank / 2, 0));
    const int half_first = t.rank / 4 * 4;
    const auto pair = t.made(t.factory.intercomm_create(
        *quarter, 0, t.world.get(), t.rank - half_first < 2 ? half_first + 2 : half_first, 1));
    const auto half = t.made(t.factory.merge(*pair, false));
    t.expect_intra(*half, range(half_first, half_first + 4));
    const auto halves =
        t.made(t.factory.intercomm_create(*half, 0, t.world.get(), half_first == 0 ? 4 : 0, 1));
    const auto all = t.made(t.factory.merge(*halves, half_first != 0));
    t.expect_intra(*all, range(0, 8));
  });
}

TEST(Intercomm, inherits_error_handler_and_session) {
  for_rank_counts(
      [](CommTester& t) {
        const auto mine = base::make_ref<Errhandler>(core::ErrhandlerKind::errors_return);
        t.world->set_errhandler(mine);
        const auto inter = make_inter(t, 1);
        EXPECT_EQ(&inter->errhandler(), mine.get());
        EXPECT_EQ(&inter->local().errhandler(), mine.get());
        EXPECT_EQ(&t.made(t.factory.merge(*inter, false))->errhandler(), mine.get());
      },
      2);
}

TEST(IntercommErrors, leaders_mistake_reaches_its_whole_group) {
  for_rank_counts([](CommTester& t) {
    const bool leads = t.rank == t.size - 1;
    const auto code_of = [&](Comm* peer, int remote, int tag) {
      const auto comm =
          t.factory.intercomm_create(*t.world, t.size - 1, leads ? peer : nullptr, remote, tag);
      EXPECT_FALSE(comm.ok());
      return comm.ok() ? 0 : comm.error().code();
    };
    EXPECT_EQ(code_of(t.world.get(), t.size, 0), static_cast<int>(ErrorClass::rank));
    EXPECT_EQ(code_of(t.world.get(), 0, -1), static_cast<int>(ErrorClass::tag));
    EXPECT_EQ(code_of(nullptr, 0, 0), static_cast<int>(ErrorClass::comm));
  });
}

TEST(IntercommErrors, groups_must_be_disjoint) {
  for_rank_counts([](CommTester& t) {
    // The leader of the group finds itself at the other end.
    const auto comm = t.factory.intercomm_create(*t.world, 0, t.world.get(), 0, 0);
    ASSERT_FALSE(comm.ok());
    EXPECT_EQ(comm.error().code(), static_cast<int>(ErrorClass::comm));
    t.expect_intra(*t.world, range(0, t.size));
  });
}

TEST(IntercommErrors, wrong_kinds_of_communicators_and_leaders) {
  for_rank_counts(
      [](CommTester& t) {
        const auto code_of = [](const Result<Ref<Comm>>& comm) {
          return comm.ok() ? 0 : comm.error().code();
        };
        const auto inter = make_inter(t, 1);
        EXPECT_EQ(code_of(t.factory.intercomm_create(*inter, 0, t.world.get(), 0, 0)),
                  static_cast<int>(ErrorClass::comm));
        EXPECT_EQ(code_of(t.factory.intercomm_create(*t.world, t.size, t.world.get(), 0, 0)),
                  static_cast<int>(ErrorClass::rank));
        EXPECT_EQ(code_of(t.factory.merge(*t.world, false)), static_cast<int>(ErrorClass::comm));
        EXPECT_EQ(code_of(t.factory.create_group(*inter, *group_of({t.rank}), 0)),
                  static_cast<int>(ErrorClass::comm));
      },
      2);
}

TEST(IntercommErrors, group_that_disagrees_about_high) {
  run_ranks(4, false, [](Rank& rank) {
    CommTester t(rank);
    const auto inter = make_inter(t, 1);
    const auto comm = t.factory.merge(*inter, t.rank == 2);
    EXPECT_EQ(comm.ok(), t.rank == 0);
  });
}

}  // namespace
}  // namespace hawser::comm_ops
