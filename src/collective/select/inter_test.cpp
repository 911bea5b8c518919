// Collectives on intercommunicators, between groups of unequal sizes.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/collective_tester.hpp"
#include "tests/support/operations.hpp"

namespace hawser::collective {
namespace {

using namespace test;  // NOLINT

struct Side {
  Tester& t;
  bool is_low;  // of the world's first ranks
  int remote_size;
  int remote_begin;  // the world rank of the remote group's rank 0
  int world_rank;
  bool nonblocking;

  // What a rooted operation's root argument is when the root is rank 1 (or 0) of the low group.
  [[nodiscard]] int low_root() const { return (is_low ? t.size() : remote_size) - 1; }
  [[nodiscard]] int root_argument() const {
    if (!is_low) return low_root();
    return t.rank() == low_root() ? root_here : p2p::proc_null;
  }
  [[nodiscard]] bool is_root() const { return is_low && t.rank() == low_root(); }
};

template <class Test>
void for_each_split(Test test) {
  const Layouts types;
  for (const auto& [ranks, split] :
       std::vector<std::pair<int, int>>{{2, 1}, {3, 1}, {4, 3}, {7, 3}, {8, 4}}) {
    run_ranks(ranks, ranks % 2 != 0, [&, ranks = ranks, split = split](Rank& rank) {
      Tester t(rank, rank.inter(9, split), types);
      const bool is_low = rank.rank < split;
      for (const bool nonblocking : {false, true}) {
        Side side{t,         is_low,     is_low ? ranks - split : split, is_low ? split : 0,
                  rank.rank, nonblocking};
        test(side);
      }
    });
    if (testing::Test::HasFailure()) return;
  }
}

constexpr Count items = 40;  // of two integers: above and below what the test network buffers

TEST(Intercommunicator, barrier_waits_for_the_other_group) {
  const Layouts types;
  for (const bool nonblocking : {false, true}) {
    std::atomic<int> entered{0};
    run_ranks(7, false, [&](Rank& rank) {
      Tester t(rank, rank.inter(9, 3), types);
      for (int round = 1; round <= 5; ++round) {
        ++entered;
        t.call(nonblocking, barrier, ibarrier, BarrierArguments{});
        EXPECT_GE(entered.load(), 7 * round);
      }
    });
  }
}

TEST(Intercommunicator, bcast_and_gather_and_scatter) {
  for_each_split([](Side& s) {
    Datatype& type = s.t.types.gaps();
    for (const Count count : {Count{0}, Count{1}, items}) {
      TypedMemory memory(type, count);
      if (s.is_root()) memory.write(0, samples(99, 0, 2 * count));
      TypedMemory wanted(type, count);
      if (s.is_root() || !s.is_low) wanted.write(0, samples(99, 0, 2 * count));
      s.t.call(s.nonblocking, bcast, ibcast,
               BcastArguments{.buffer = memory.buffer(), .root = s.root_argument()});
      EXPECT_TRUE(memory == wanted);

      TypedMemory mine(type, count);
      mine.write(0, samples(s.t.rank(), 0, 2 * count));
      TypedMemory all(type, count * s.remote_size);
      TypedMemory all_wanted = all;
      for (int r = 0; r < s.remote_size; ++r) all_wanted.write(r * count, samples(r, 0, 2 * count));
      s.t.call(s.nonblocking, gather, igather,
               GatherArguments{.send = mine.const_buffer(),
                               .receive = all.buffer(count),
                               .root = s.root_argument()});
      EXPECT_TRUE(all == (s.is_root() ? all_wanted : TypedMemory(type, count * s.remote_size)));

      TypedMemory part(type, count);
      s.t.call(s.nonblocking, scatter, iscatter,
               ScatterArguments{.send = all_wanted.const_buffer(count),
                                .receive = part.buffer(),
                                .root = s.root_argument()});
      EXPECT_TRUE(part == (s.is_low ? TypedMemory(type, count) : mine));
    }
  });
}

TEST(Intercommunicator, gatherv_and_scatterv) {
  for_each_split([](Side& s) {
    Datatype& type = s.t.types.integer();
    std::vector<Count> counts;
    for (int r = 0; r < s.remote_size; ++r) counts.push_back(r * 11 % 30);
    const CountArray count_array(counts, s.nonblocking);
    const CountArray place_array(scattered_places(counts), s.nonblocking);
    const Count own_count = s.t.rank() * 11 % 30;
    TypedMemory mine(type, own_count);
    mine.write(0, samples(s.t.rank(), 0, own_count));
    TypedMemory all(type, scattered_span(counts));
    TypedMemory wanted = all;
    for (int r = 0; r < s.remote_size; ++r) {
      wanted.write(place_array[r], samples(r, 0, count_array[r]));
    }
    s.t.call(s.nonblocking, gatherv, igatherv,
             GathervArguments{.send = mine.const_buffer(),
                              .receive = all.buffer(),
                              .counts = count_array.view(),
                              .displacements = place_array.view(),
                              .root = s.root_argument()});
    EXPECT_TRUE(all == (s.is_root() ? wanted : TypedMemory(type, scattered_span(counts))));
    TypedMemory part(type, own_count);
    s.t.call(s.nonblocking, scatterv, iscatterv,
             ScattervArguments{.send = wanted.const_buffer(),
                               .counts = count_array.view(),
                               .displacements = place_array.view(),
                               .receive = part.buffer(),
                               .root = s.root_argument()});
    EXPECT_TRUE(part == (s.is_low ? TypedMemory(type, own_count) : mine));
    // Everyone gets everything of the other group.
    TypedMemory everything(type, scattered_span(counts));
    s.t.call(s.nonblocking, allgatherv, iallgatherv,
             AllgathervArguments{.send = mine.const_buffer(),
                                 .receive = everything.buffer(),
                                 .counts = count_array.view(),
                                 .displacements = place_array.view()});
    EXPECT_TRUE(everything == wanted);
  });
}

TEST(Intercommunicator, allgather_with_data_in_one_direction_only) {
  for_each_split([](Side& s) {
    Datatype& type = s.t.types.gaps();
    const Count sent = s.is_low ? items : 0;
    const Count received = s.is_low ? 0 : items;
    TypedMemory mine(type, sent);
    mine.write(0, samples(s.world_rank, 0, 2 * sent));
    TypedMemory all(type, received * s.remote_size);
    TypedMemory wanted = all;
    for (int r = 0; r < s.remote_size; ++r) {
      wanted.write(r * received, samples(s.remote_begin + r, 0, 2 * received));
    }
    s.t.call(s.nonblocking, allgather, iallgather,
             AllgatherArguments{.send = mine.const_buffer(), .receive = all.buffer(received)});
    EXPECT_TRUE(all == wanted);
  });
}

TEST(Intercommunicator, alltoall_in_all_kinds) {
  for_each_split([](Side& s) {
    Datatype& type = s.t.types.gaps();
    TypedMemory send(type, items * s.remote_size), receive = send, wanted = send;
    std::vector<Count> counts, places, byte_places;
    std::vector<Datatype*> types;
    for (int r = 0; r < s.remote_size; ++r) {
      send.write(r * items, samples(100 * s.world_rank + s.remote_begin + r, 0, 2 * items));
      wanted.write(r * items, samples(100 * (s.remote_begin + r) + s.world_rank, 0, 2 * items));
      counts.push_back(items);
      places.push_back(r * items);
      byte_places.push_back(r * items * type.extent());
      types.push_back(&type);
    }
    const CountArray n(counts, s.nonblocking), at(places, s.nonblocking),
        bytes_at(byte_places, s.nonblocking);
    const TypedMemory untouched = receive;
    s.t.call(s.nonblocking, alltoall, ialltoall,
             AlltoallArguments{.send = send.const_buffer(items), .receive = receive.buffer(items)});
    EXPECT_TRUE(receive == wanted);
    receive = untouched;
    s.t.call(s.nonblocking, alltoallv, ialltoallv,
             AlltoallvArguments{.send = send.const_buffer(),
                                .send_counts = n.view(),
                                .send_displacements = at.view(),
                                .receive = receive.buffer(),
                                .receive_counts = n.view(),
                                .receive_displacements = at.view()});
    EXPECT_TRUE(receive == wanted);
    receive = untouched;
    s.t.call(s.nonblocking, alltoallw, ialltoallw,
             AlltoallwArguments{.send = send.data(),
                                .send_counts = n.view(),
                                .send_displacements = bytes_at.view(),
                                .send_types = types.data(),
                                .receive = receive.data(),
                                .receive_counts = n.view(),
                                .receive_displacements = bytes_at.view(),
                                .receive_types = types.data()});
    EXPECT_TRUE(receive == wanted);
  });
}

TEST(Intercommunicator, reductions_combine_the_other_group) {
  for_each_split([](Side& s) {
    for (const Reduction& r : reductions(s.t.types)) {
      const Count per_item = integers_per_item(*r.type);
      const int remote_last = s.remote_begin + s.remote_size - 1;
      const auto contribution = [&](Count count) {
        TypedMemory memory(*r.type, count);
        memory.write(0, samples(s.world_rank, 0, count * per_item));
        return memory;
      };
      TypedMemory send = contribution(items);
      TypedMemory receive(*r.type, items), wanted = receive;
      if (s.is_root()) wanted.write(0, r.expected(s.remote_begin, remote_last, 0, items));
      s.t.call(s.nonblocking, reduce, ireduce,
               ReduceArguments{.send = send.data(),
                               .receive = receive.data(),
                               .count = items,
                               .type = r.type,
                               .op = r.op.get(),
                               .root = s.root_argument()});
      EXPECT_TRUE(receive == wanted) << r.name;

      wanted.write(0, r.expected(s.remote_begin, remote_last, 0, items));
      s.t.call(s.nonblocking, allreduce, iallreduce,
               AllreduceArguments{.send = send.data(),
                                  .receive = receive.data(),
                                  .count = items,
                                  .type = r.type,
                                  .op = r.op.get()});
      EXPECT_TRUE(receive == wanted) << r.name;

      // Both groups reduce the same number of items: one that both sizes divide.
      const Count total = Count{6} * s.t.size() * s.remote_size;
      const Count share = total / s.t.size();
      TypedMemory whole = contribution(total);
      TypedMemory part(*r.type, share), part_wanted = part;
      part_wanted.write(0, r.expected(s.remote_begin, remote_last, s.t.rank() * share, share));
      s.t.call(s.nonblocking, reduce_scatter_block, ireduce_scatter_block,
               ReduceScatterBlockArguments{.send = whole.data(),
                                           .receive = part.data(),
                                           .count = share,
                                           .type = r.type,
                                           .op = r.op.get()});
      EXPECT_TRUE(part == part_wanted) << r.name;
    }
  });
}

TEST(Intercommunicator, scans_are_refused) {
  for_each_split([](Side& s) {
    std::int32_t value = 0;
    const auto sum = base::make_ref<Op>(core::OpCode::sum);
    const auto result = scan(s.t.direct, *s.t.comm,
                             ScanArguments{.send = &value,
                                           .receive = &value,
                                           .count = 1,
                                           .type = &s.t.types.integer(),
                                           .op = sum.get()});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::comm));
  });
}

}  // namespace
}  // namespace hawser::collective
