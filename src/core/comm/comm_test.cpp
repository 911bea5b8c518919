#include "core/comm/comm.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hawser::core {
namespace {

Ref<Group> group_of(std::initializer_list<std::uint32_t> indices) {
  std::vector<Identity> members;
  for (const std::uint32_t index : indices) members.push_back({1, index, 0});
  return Group::of_list(std::move(members));
}

Ref<Comm> make_comm(Ref<Group> group, Ref<Group> remote = {}) {
  Comm::Description description;
  description.group = std::move(group);
  description.remote_group = std::move(remote);
  description.errhandler = base::make_ref<Errhandler>(ErrhandlerKind::errors_return);
  return base::make_ref<Comm>(std::move(description));
}

TEST(Comm, RanksAndSizesOfBothKinds) {
  Comm::Description description;
  description.group = group_of({0, 1, 2});
  description.rank = 2;
  description.id = {5, 6};
  description.context = 7;
  description.contexts = ContextMap({7, 8, 7});
  description.errhandler = base::make_ref<Errhandler>(ErrhandlerKind::errors_return);
  const Ref<Comm> intra = base::make_ref<Comm>(description);
  EXPECT_FALSE(intra->is_inter());
  EXPECT_EQ(intra->rank(), 2);
  EXPECT_EQ(intra->size(), 3);
  EXPECT_EQ(intra->peer_count(), 3);
  EXPECT_EQ(&intra->peer_group(), &intra->group());
  EXPECT_EQ(intra->context(), 7U);
  EXPECT_EQ(intra->peer_context(1), 8U);
  EXPECT_EQ(intra->id(), (GlobalId{5, 6}));

  description.remote_group = group_of({4, 5, 6, 9});
  description.contexts = ContextMap(3);
  description.local = intra;
  const Ref<Comm> inter = base::make_ref<Comm>(description);
  EXPECT_TRUE(inter->is_inter());
  EXPECT_EQ(inter->size(), 3);
  EXPECT_EQ(inter->peer_count(), 4);
  EXPECT_EQ(inter->peer_group().member(3).index, 9U);
  EXPECT_EQ(inter->peer_context(3), 3U);
  EXPECT_EQ(&inter->local(), intra.get());
}

TEST(CommDeathTest, ARankOutsideTheGroupIsABug) {
  Comm::Description description;
  description.group = group_of({0, 1});
  description.rank = 2;
  description.errhandler = base::make_ref<Errhandler>(ErrhandlerKind::errors_return);
  EXPECT_DEATH(Comm{description}, "rank_ < size_");
}

TEST(Comm, CompareIntracommunicators) {
  const Ref<Comm> comm = make_comm(group_of({0, 1, 4}));
  EXPECT_EQ(comm->compare(*comm), Comparison::ident);
  EXPECT_EQ(comm->compare(*make_comm(group_of({0, 1, 4}))), Comparison::congruent);
  EXPECT_EQ(comm->compare(*make_comm(group_of({4, 1, 0}))), Comparison::similar);
  EXPECT_EQ(comm->compare(*make_comm(group_of({0, 1, 5}))), Comparison::unequal);
}

TEST(Comm, CompareIntercommunicatorsBySides) {
  const Ref<Comm> comm = make_comm(group_of({0, 1}), group_of({2, 3}));
  EXPECT_EQ(comm->compare(*comm), Comparison::ident);
  const auto with = [&comm](Ref<Group> local, Ref<Group> remote) {
    return comm->compare(*make_comm(std::move(local), std::move(remote)));
  };
  EXPECT_EQ(with(group_of({0, 1}), group_of({2, 3})), Comparison::congruent);
  EXPECT_EQ(with(group_of({1, 0}), group_of({2, 3})), Comparison::similar);
  EXPECT_EQ(with(group_of({0, 1}), group_of({3, 2})), Comparison::similar);
  EXPECT_EQ(with(group_of({1, 0}), group_of({2, 4})), Comparison::unequal);
  EXPECT_EQ(with(group_of({2, 3}), group_of({0, 1})), Comparison::unequal);
  EXPECT_EQ(with(group_of({0, 1}), {}), Comparison::unequal) << "an intracommunicator";
}

TEST(Comm, CollectiveTagsStayPositive) {
  const Ref<Comm> comm = make_comm(group_of({0}));
  const int first = comm->next_collective_tag();
  const int second = comm->next_collective_tag();
  EXPECT_NE(first, second);
  EXPECT_GE(first, 0);
}

TEST(ContextMap, EqualIndicesAreOneNumber) {
  const ContextMap uniform(std::vector<std::uint32_t>(1000, 9));
  EXPECT_EQ(uniform.footprint_bytes(), 0U);
  EXPECT_EQ(uniform.of(999), 9U);
  const ContextMap mixed({9, 9, 8});
  EXPECT_EQ(mixed.footprint_bytes(), 3 * sizeof(std::uint32_t));
  EXPECT_EQ(mixed.of(1), 9U);
  EXPECT_EQ(mixed.of(2), 8U);
  EXPECT_EQ(ContextMap(std::vector<std::uint32_t>{}).footprint_bytes(), 0U);
}

TEST(PeerCache, FindsWhatWasInserted) {
  for (const int stride : {1, 3, 64, 4096, 1 << 20}) {
    PeerCache cache;
    EXPECT_EQ(cache.find(0), nullptr);
    std::vector<char> peers(1000);
    for (int i = 0; i < 1000; ++i) {
      cache.insert(i * stride, &peers[static_cast<std::size_t>(i)]);
      ASSERT_EQ(cache.find((i + 1) * stride), nullptr);
    }
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(cache.find(i * stride), &peers[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(PeerCache, ReplacesAndForgets) {
  PeerCache cache;
  char old_peer = 0;
  char new_peer = 0;
  for (int rank = 0; rank < 8; ++rank) cache.insert(rank, &old_peer);  // a full table
  const std::size_t footprint = cache.footprint_bytes();
  cache.insert(5, &new_peer);
  EXPECT_EQ(cache.find(5), &new_peer);
  EXPECT_EQ(cache.footprint_bytes(), footprint) << "replacing takes no room";
  cache.clear();
  EXPECT_EQ(cache.find(5), nullptr);
  cache.insert(6, &old_peer);
  EXPECT_EQ(cache.find(6), &old_peer);
  EXPECT_EQ(cache.find(5), nullptr);
}

}  // namespace
}  // namespace hawser::core
