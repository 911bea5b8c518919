// What the tests of comm_ops share: a rank with a factory, and a look at whether a communicator
// works.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "collective/algorithm/buffers.hpp"
#include "collective/collective.hpp"
#include "collective/executor/direct.hpp"
#include "comm_ops/comm_factory.hpp"
#include "tests/support/thread_backend.hpp"

namespace hawser::test {

using base::Identity;
using core::Group;

inline constexpr int rank_counts[] = {1, 2, 3, 4, 7, 8};

/// Ranks 0, 1, … fill one host after the other.
class Hosts final : public comm_ops::Locality {
 public:
  Hosts(int self, int ranks_per_host) : host_(self / ranks_per_host), per_host_(ranks_per_host) {}
  [[nodiscard]] bool is_same_host(const Identity& process) const override {
    return static_cast<int>(process.index) / per_host_ == host_;
  }

 private:
  const int host_;
  const int per_host_;
};

inline Identity identity(int rank) { return {1, static_cast<std::uint32_t>(rank), 0}; }

/// Members are named by their ranks in the world throughout.
inline Ref<Group> group_of(const std::vector<int>& ranks) {
  std::vector<Identity> members;
  for (const int rank : ranks) members.push_back(identity(rank));
  return Group::of_list(std::move(members));
}
inline std::vector<int> ranks_of(const Group& group) {
  std::vector<int> ranks;
  for (int i = 0; i < group.size(); ++i) ranks.push_back(static_cast<int>(group.member(i).index));
  return ranks;
}
inline std::vector<int> range(int begin, int end) {
  std::vector<int> ranks(static_cast<std::size_t>(end - begin));
  std::iota(ranks.begin(), ranks.end(), begin);
  return ranks;
}

class CommTester {
 public:
  explicit CommTester(Rank& self, int ranks_per_host = 1000)
      : rank(self.rank),
        size(self.size),
        engine(self.engine),
        runner(self.engine),
        hosts(self.rank, ranks_per_host),
        factory(self.engine, runner, identity(self.rank), hosts),
        errhandler(base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return)),
        world(factory.make_world(self.size, errhandler)) {
    // The ranks' numbers must not be in step, as they aren't in a program that has run for a while.
    const auto alone = factory.make_self(errhandler);
    for (int i = 0; i < (rank * 5) % 3; ++i) EXPECT_TRUE(factory.dup(*alone, nullptr).ok());
  }

  /// The value of RESULT; an error fails the test.
  static Ref<Comm> made(Result<Ref<Comm>> result) {
    EXPECT_TRUE(result.ok()) << result.error().sentence();
    return result.ok() ? *result : nullptr;
  }

  /// The same communicator for all MEMBERS, in that order; messages reach whom they should.
  void expect_intra(Comm& comm, const std::vector<int>& members) {
    ASSERT_FALSE(comm.is_inter());
    ASSERT_EQ(ranks_of(comm.group()), members);
    ASSERT_EQ(members[static_cast<std::size_t>(comm.rank())], rank);
    EXPECT_EQ(gathered(comm, comm.size()), members);
    expect_messages(comm, members);
  }

  void expect_inter(Comm& comm, const std::vector<int>& ours, const std::vector<int>& theirs) {
    ASSERT_TRUE(comm.is_inter());
    ASSERT_EQ(ranks_of(comm.group()), ours);
    ASSERT_EQ(ranks_of(comm.peer_group()), theirs);
    ASSERT_EQ(ours[static_cast<std::size_t>(comm.rank())], rank);
    EXPECT_EQ(gathered(comm, comm.peer_count()), theirs);
    expect_messages(comm, theirs);
    expect_intra(comm.local(), ours);
  }

  /// What PARENT and CHILD carry under one tag is kept apart, whichever is received first.
  void expect_isolated(Comm& parent, Comm& child) {
    EXPECT_NE(parent.context(), child.context());
    EXPECT_NE(parent.id(), child.id());
    const int to_self = 5;
    for (Comm* comm : {&parent, &child})
      send(*comm, comm->rank(), to_self, comm == &parent ? 1 : 2);
    EXPECT_EQ(receive(child, child.rank(), to_self), 2);
    EXPECT_EQ(receive(parent, parent.rank(), to_self), 1);
  }

  void send(Comm& comm, int to, int tag, int value) {
    const auto buffer =
        collective::const_byte_buffer(reinterpret_cast<const std::byte*>(&value), sizeof value);
    EXPECT_TRUE(engine.send(buffer, {&comm, to, tag}, p2p::SendMode::standard).ok());
  }
  int receive(Comm& comm, int from, int tag) {
    int value = -1;
    const auto buffer = collective::byte_buffer(reinterpret_cast<std::byte*>(&value), sizeof value);
    EXPECT_TRUE(engine.recv(buffer, {&comm, from, tag}, nullptr).ok());
    return value;
  }

  const int rank;
  const int size;
  p2p::Engine& engine;
  collective::PlanRunner runner;
  const Hosts hosts;
  comm_ops::CommFactory factory;
  Ref<core::Errhandler> errhandler;
  Ref<Comm> world;

 private:
  std::vector<int> gathered(Comm& comm, int count) {
    std::vector<int> all(static_cast<std::size_t>(count), -1);
    const auto result =
        collective::allgather(collective::DirectRunner(engine), comm,
                              {.send = {&rank, sizeof rank, &collective::byte_type()},
                               .receive = {all.data(), sizeof rank, &collective::byte_type()}});
    EXPECT_TRUE(result.ok());
    return all;
  }
  void expect_messages(Comm& comm, const std::vector<int>& peers) {
    for (int peer = 0; peer < comm.peer_count(); ++peer) send(comm, peer, 7, rank);
    for (int peer = 0; peer < comm.peer_count(); ++peer) {
      EXPECT_EQ(receive(comm, peer, 7), peers[static_cast<std::size_t>(peer)]);
    }
  }
};

/// Runs TEST(tester) on every rank, for every number of ranks.
template <class Test>
void for_rank_counts(Test test, int minimum = 1) {
  for (const int ranks : rank_counts) {
    if (ranks < minimum) continue;
    run_ranks(ranks, ranks % 2 != 0, [&](Rank& rank) {
      CommTester tester(rank);
      test(tester);
    });
    if (testing::Test::HasFailure()) return;
  }
}

/// Between the world's ranks [0, split) and [split, size).
inline Ref<Comm> make_inter(CommTester& t, int split) {
  const bool low = t.rank < split;
  const auto half = t.made(t.factory.split(*t.world, low ? 0 : 1, t.rank));
  return t.made(t.factory.intercomm_create(*half, 0, t.world.get(), low ? split : 0, 3));
}

}  // namespace hawser::test
