#include <gtest/gtest.h>

#include "comm_ops/setup.hpp"
#include "tests/support/comm_tester.hpp"

namespace hawser::comm_ops {
namespace {

using namespace test;  // NOLINT

TEST(CreateGroup, disjoint_groups_at_once_under_one_tag) {
  for_rank_counts([](CommTester& t) {
    std::vector<int> members;
    for (int rank = t.rank % 3; rank < t.size; rank += 3) members.push_back(rank);
    std::ranges::reverse(members);
    // Several in a row: a quick member is a step ahead of the others.
    for (int round = 0; round < 5; ++round) {
      const auto comm = t.made(t.factory.create_group(*t.world, *group_of(members), 4));
      t.expect_intra(*comm, members);
      EXPECT_EQ(&comm->errhandler(), t.errhandler.get());
    }
  });
}

TEST(CreateGroup, needs_nobody_else) {
  for_rank_counts([](CommTester& t) {
    if (t.rank == t.size - 1 && t.size > 1) return;  // never calls
    const auto members = range(0, std::max(t.size - 1, 1));
    t.expect_intra(*t.made(t.factory.create_group(*t.world, *group_of(members), 0)), members);
  });
}

TEST(CreateGroup, outsiders_get_none_and_strangers_are_refused) {
  for_rank_counts([](CommTester& t) {
    if (t.rank != 0) {
      EXPECT_EQ(t.made(t.factory.create_group(*t.world, *group_of({0}), 0)).get(), nullptr);
    }
    const auto comm = t.factory.create_group(*t.world, *group_of({t.size, t.rank}), 0);
    ASSERT_FALSE(comm.ok());
    EXPECT_EQ(comm.error().code(), static_cast<int>(ErrorClass::group));
  });
}

TEST(FromGroup, overlapping_groups_and_tags_are_kept_apart) {
  for_rank_counts([](CommTester& t) {
    const auto handler = base::make_ref<Errhandler>(core::ErrhandlerKind::errors_return);
    core::Object session;
    const auto info = base::make_ref<Info>();
    ASSERT_TRUE(info->set("color", "blue").ok());
    const auto all = range(0, t.size);
    std::vector<int> backwards(all.rbegin(), all.rend());
    for (const auto& members : {all, backwards}) {
      for (const char* tag : {"one", "other", ""}) {
        const auto comm = t.made(
            t.factory.create_from_group(*group_of(members), tag, info.get(), handler, &session));
        t.expect_intra(*comm, members);
        EXPECT_EQ(&comm->errhandler(), handler.get());
        EXPECT_EQ(comm->session(), &session);
        EXPECT_EQ(comm->info()->get("color"), "blue");
        const auto child = t.made(t.factory.dup(*comm, nullptr));
        EXPECT_EQ(child->session(), &session);
      }
    }
    EXPECT_EQ(
        t.made(t.factory.create_from_group(*Group::empty(), "", nullptr, handler, nullptr)).get(),
        nullptr);
  });
}

TEST(FromGroups, intercommunicators_of_uneven_sides) {
  for_rank_counts(
      [](CommTester& t) {
        for (int cut = 1; cut < t.size; ++cut) {
          auto ours = range(0, cut);
          auto theirs = range(cut, t.size);
          if (t.rank >= cut) std::swap(ours, theirs);
          const int leader = static_cast<int>(ours.size()) - 1;
          const bool leads = ours.back() == t.rank;
          const Ref<Group> remote = leads ? group_of(theirs) : nullptr;
          const auto comm = t.made(t.factory.intercomm_create_from_groups(
              *group_of(ours), leader, remote.get(), static_cast<int>(theirs.size()) - 1, "bridge",
              nullptr, t.errhandler, nullptr));
          t.expect_inter(*comm, ours, theirs);
        }
      },
      2);
}

TEST(FromGroups, mistakes_reach_the_whole_group) {
  for_rank_counts(
      [](CommTester& t) {
        const auto code_of = [&](const std::vector<int>& ours, const Ref<Group>& theirs,
                                 int leader) {
          const auto comm = t.factory.intercomm_create_from_groups(
              *group_of(ours), 0, theirs.get(), leader, "x", nullptr, t.errhandler, nullptr);
          return comm.ok() ? 0 : comm.error().code();
        };
        const auto all = range(0, t.size);
        EXPECT_EQ(code_of(all, group_of({0}), 0), static_cast<int>(ErrorClass::group));
        EXPECT_EQ(code_of(all, nullptr, 0), static_cast<int>(ErrorClass::group));
        EXPECT_EQ(code_of(all, group_of({t.size}), 1), static_cast<int>(ErrorClass::rank));
        // The leaders meet, but one of them has another idea of who is there.
        const bool low = t.rank == 0;
        const int code = code_of(low ? range(0, 1) : range(1, t.size),
                                 low ? group_of({1, t.size + 5}) : group_of({0}), 0);
        EXPECT_EQ(code, low ? static_cast<int>(ErrorClass::group) : 0);
      },
      2);
}

TEST(Meeting, clash_of_two_meetings_is_an_error_for_all) {
  // No two agendas whose hashes share 30 bits are at hand, so the message is forged.
  for_rank_counts(
      [](CommTester& t) {
        const auto members = group_of(range(0, t.size));
        const auto agenda = Agenda(Agenda::Kind::create_group).add("one");
        Meeting meeting(t.engine, members, t.rank, agenda, t.errhandler);
        if (t.rank != 1) {
          EXPECT_FALSE(meeting.exchange({7, 8}).ok());
          return;
        }
        struct {
          core::GlobalId hash;
          Numbers numbers;
        } forged{{meeting.hash()[0], meeting.hash()[1] + 1}, {7, 8}};
        const p2p::Envelope first{&meeting.comm(), 0, meeting.tag(), core::Traffic::setup};
        const auto bytes =
            collective::const_byte_buffer(reinterpret_cast<std::byte*>(&forged), sizeof forged);
        ASSERT_TRUE(t.engine.send(bytes, first, p2p::SendMode::standard).ok());
        std::array<std::byte, 24> answer;
        const auto room = collective::byte_buffer(answer.data(), std::ssize(answer));
        EXPECT_TRUE(t.engine.recv(room, first, nullptr).ok());
      },
      2);
}

TEST(Agenda, depends_on_all_that_is_added) {
  const auto hash = [](const char* text, const std::vector<int>& members) {
    return Agenda(Agenda::Kind::from_group).add(text).add(*group_of(members)).hash();
  };
  EXPECT_EQ(hash("a", {1, 2}), hash("a", {1, 2}));
  EXPECT_NE(hash("a", {1, 2}), hash("b", {1, 2}));
  EXPECT_NE(hash("a", {1, 2}), hash("a", {2, 1}));
  EXPECT_NE(hash("a", {1, 2}), hash("a", {1}));
  EXPECT_NE(Agenda(Agenda::Kind::from_group).hash(), Agenda(Agenda::Kind::leaders).hash());
}

}  // namespace
}  // namespace hawser::comm_ops
