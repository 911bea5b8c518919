// Collectives that move data, on intracommunicators: every algorithm, blocking and not, over
// layouts, counts, roots and MPI_IN_PLACE, compared byte by byte with what the standard says.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "tests/support/collective_tester.hpp"

namespace hawser::collective {
namespace {

using namespace test;  // NOLINT

constexpr Count item_counts[] = {0, 1, 7, 300};

std::set<int> roots(int size) { return {0, size / 2, size - 1}; }

TEST(Barrier, no_rank_leaves_before_all_have_entered) {
  for (const int ranks : rank_counts) {
    std::atomic<int> entered{0};
    run_ranks(ranks, ranks % 2 != 0, [&](Rank& rank) {
      const Layouts types;
      Tester t(rank, rank.world(), types);
      int round = 0;
      for (const auto algorithm : forced_and_chosen("barrier")) {
        for (const bool nonblocking : {false, true}) {
          ++entered;
          ++round;
          t.call(nonblocking, barrier, ibarrier, BarrierArguments{.algorithm = algorithm});
          EXPECT_GE(entered.load(), round * ranks);
        }
      }
    });
  }
}

void check_bcast(Tester& t, std::string_view algorithm, bool nonblocking, Datatype& type,
                 Count count, int root) {
  // The root's layout may differ from the others'.
  const Count integers = count * integers_per_item(type);
  const bool is_root = t.rank() == root;
  TypedMemory memory =
      is_root ? TypedMemory(t.types.integer(), integers) : TypedMemory(type, count);
  TypedMemory wanted = memory;
  if (is_root) memory.write(0, samples(root, 0, integers));
  wanted.write(0, samples(root, 0, integers));
  t.call(nonblocking, bcast, ibcast,
         BcastArguments{.buffer = memory.buffer(), .root = root, .algorithm = algorithm});
  EXPECT_TRUE(memory == wanted) << algorithm << " count " << count << " root " << root;
}

TEST(Bcast, all_get_the_roots_items) {
  for_each_form("bcast", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count count : item_counts) {
        for (const int root : roots(t.size())) {
          check_bcast(t, algorithm, nonblocking, *type, count, root);
        }
      }
    }
    // Several segments and blocks that don't divide evenly.
    check_bcast(t, algorithm, nonblocking, t.types.integer(), 50001, t.size() - 1);
    check_bcast(t, algorithm, nonblocking, t.types.gaps(), 20001, 0);
  });
}

TEST(Bcast, long_ones_come_whole_while_their_ways_are_tried) {
  const Layouts types;
  for (const int ranks : {2, 3}) {
    run_ranks(ranks, false, [&](Rank& rank) {
      Tester t(rank, rank.world(), types);
      for (int call = 0; call < 100; ++call)
        check_bcast(t, "", false, types.integer(), 20000 + call, call % ranks);
    });
  }
}

TEST(Gather, blocks_arrive_in_rank_order) {
  for_each_form("gather", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count count : item_counts) {
        for (const int root : roots(t.size())) {
          const Count integers = count * integers_per_item(*type);
          const bool in_place = count % 2 != 0 && t.rank() == root;
          TypedMemory send(t.types.integer(), integers);
          send.write(0, samples(t.rank(), 0, integers));
          TypedMemory receive(*type, count * t.size());
          TypedMemory wanted = receive;
          if (in_place) receive.write(root * count, samples(root, 0, integers));
          for (int rank = 0; rank < t.size() && t.rank() == root; ++rank) {
            wanted.write(rank * count, samples(rank, 0, integers));
          }
          t.call(nonblocking, gather, igather,
                 GatherArguments{.send = in_place ? ConstBuffer{} : send.const_buffer(),
                                 .receive = t.rank() == root ? receive.buffer(count) : Buffer{},
                                 .root = root,
                                 .in_place = in_place,
                                 .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " count " << count << " root " << root;
        }
      }
    }
  });
}

TEST(Scatter, each_rank_gets_its_block) {
  for_each_form("scatter", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count count : item_counts) {
        for (const int root : roots(t.size())) {
          const Count integers = count * integers_per_item(*type);
          const bool in_place = count % 2 != 0 && t.rank() == root;
          TypedMemory send(t.types.integer(), integers * t.size());
          send.write(0, samples(root, 0, integers * t.size()));
          TypedMemory receive(*type, count);
          TypedMemory wanted = receive;
          if (!in_place) wanted.write(0, samples(root, t.rank() * integers, integers));
          t.call(nonblocking, scatter, iscatter,
                 ScatterArguments{
                     .send = t.rank() == root ? send.const_buffer(integers) : ConstBuffer{},
                     .receive = in_place ? Buffer{} : receive.buffer(),
                     .root = root,
                     .in_place = in_place,
                     .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " count " << count << " root " << root;
        }
      }
    }
  });
}

/// What ragged blocks are multiplied by: of integers also such that some of them, and not others,
/// are too long for a step of a board.
std::vector<Count> scales_for(const Tester& t, const Datatype& type) {
  if (&type != &t.types.integer()) return {0, 1, 30};
  return {0, 1, 30, 2500, 7000};
}

// Block lengths by rank, zero among them.
std::vector<Count> ragged_counts(int size, Count scale) {
  std::vector<Count> counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back((rank * 3 + 1) % 4 * scale);
  return counts;
}

TEST(Gatherv, blocks_arrive_at_their_places) {
  for_each_form("gatherv", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count scale : scales_for(t, *type)) {
        for (const int root : roots(t.size())) {
          const auto counts = ragged_counts(t.size(), scale);
          const auto places = scattered_places(counts);
          const CountArray count_array(counts, nonblocking), place_array(places, nonblocking);
          const Count integers = count_array[t.rank()] * integers_per_item(*type);
          const bool in_place = scale == 1 && t.rank() == root;
          TypedMemory send(t.types.integer(), integers);
          send.write(0, samples(t.rank(), 0, integers));
          TypedMemory receive(*type, scattered_span(counts));
          TypedMemory wanted = receive;
          for (int rank = 0; rank < t.size() && t.rank() == root; ++rank) {
            const auto block = samples(rank, 0, count_array[rank] * integers_per_item(*type));
            wanted.write(place_array[rank], block);
            if (in_place && rank == root) receive.write(place_array[rank], block);
          }
          t.call(nonblocking, gatherv, igatherv,
                 GathervArguments{.send = send.const_buffer(),
                                  .receive = receive.buffer(),
                                  .counts = count_array.view(),
                                  .displacements = place_array.view(),
                                  .root = root,
                                  .in_place = in_place,
                                  .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " scale " << scale << " root " << root;
        }
      }
    }
  });
}

TEST(Scatterv, each_rank_gets_its_block) {
  for_each_form("scatterv", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count scale : scales_for(t, *type)) {
        for (const int root : roots(t.size())) {
          const auto counts = ragged_counts(t.size(), scale);
          const auto places = scattered_places(counts);
          const CountArray count_array(counts, nonblocking), place_array(places, nonblocking);
          const bool in_place = scale == 1 && t.rank() == root;
          TypedMemory send(*type, scattered_span(counts));
          for (int rank = 0; rank < t.size(); ++rank) {
            send.write(place_array[rank],
                       samples(rank + 50, 0, count_array[rank] * integers_per_item(*type)));
          }
          const Count integers = count_array[t.rank()] * integers_per_item(*type);
          TypedMemory receive(t.types.integer(), integers);
          TypedMemory wanted = receive;
          if (!in_place) wanted.write(0, samples(t.rank() + 50, 0, integers));
          t.call(nonblocking, scatterv, iscatterv,
                 ScattervArguments{.send = send.const_buffer(),
                                   .counts = count_array.view(),
                                   .displacements = place_array.view(),
                                   .receive = receive.buffer(),
                                   .root = root,
                                   .in_place = in_place,
                                   .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " scale " << scale << " root " << root;
        }
      }
    }
  });
}

TEST(Allgather, all_get_all_blocks) {
  for_each_form("allgather", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count count : item_counts) {
        for (const bool in_place : {false, true}) {
          const Count integers = count * integers_per_item(*type);
          TypedMemory send(t.types.integer(), integers);
          send.write(0, samples(t.rank(), 0, integers));
          TypedMemory receive(*type, count * t.size());
          TypedMemory wanted = receive;
          if (in_place) receive.write(t.rank() * count, samples(t.rank(), 0, integers));
          for (int rank = 0; rank < t.size(); ++rank) {
            wanted.write(rank * count, samples(rank, 0, integers));
          }
          t.call(nonblocking, allgather, iallgather,
                 AllgatherArguments{.send = in_place ? ConstBuffer{} : send.const_buffer(),
                                    .receive = receive.buffer(count),
                                    .in_place = in_place,
                                    .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " count " << count << " " << in_place;
        }
      }
    }
  });
}

void check_allgatherv(Tester& t, std::string_view algorithm, bool nonblocking, Datatype& type,
                      const std::vector<Count>& counts, bool in_place) {
  const auto places = scattered_places(counts);
  const CountArray count_array(counts, nonblocking), place_array(places, nonblocking);
  const auto block = [&](int rank) {
    return samples(rank, 0, count_array[rank] * integers_per_item(type));
  };
  TypedMemory send(t.types.integer(), static_cast<Count>(block(t.rank()).size()));
  send.write(0, block(t.rank()));
  TypedMemory receive(type, scattered_span(counts));
  TypedMemory wanted = receive;
  if (in_place) receive.write(place_array[t.rank()], block(t.rank()));
  for (int rank = 0; rank < t.size(); ++rank) wanted.write(place_array[rank], block(rank));
  t.call(nonblocking, allgatherv, iallgatherv,
         AllgathervArguments{.send = in_place ? ConstBuffer{} : send.const_buffer(),
                             .receive = receive.buffer(),
                             .counts = count_array.view(),
                             .displacements = place_array.view(),
                             .in_place = in_place,
                             .algorithm = algorithm});
  EXPECT_TRUE(receive == wanted) << algorithm << " of the first " << counts[0] << " " << in_place;
}

TEST(Allgatherv, all_get_all_blocks_at_their_places) {
  for_each_form("allgatherv", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all())
      for (const Count scale : scales_for(t, *type))
        for (const bool in_place : {false, true})
          check_allgatherv(t, algorithm, nonblocking, *type, ragged_counts(t.size(), scale),
                           in_place);
    // Blocks of several rounds beside empty ones, and beside short ones.
    check_allgatherv(t, algorithm, nonblocking, t.types.integer(), ragged_counts(t.size(), 20001),
                     false);
    std::vector<Count> one_long(static_cast<std::size_t>(t.size()), 1);
    one_long.back() = 20001;
    check_allgatherv(t, algorithm, nonblocking, t.types.gaps(), one_long, true);
  });
}

// What rank FROM sends to rank TO.
std::vector<std::int32_t> letter(int from, int to, Count integers) {
  return samples(from * 64 + to, 0, integers);
}

TEST(Alltoall, block_j_of_rank_i_becomes_block_i_of_rank_j) {
  for_each_form("alltoall", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count count : item_counts) {
        for (const bool in_place : {false, true}) {
          const Count integers = count * integers_per_item(*type);
          TypedMemory send(t.types.integer(), integers * t.size());
          TypedMemory receive(*type, count * t.size());
          TypedMemory wanted = receive;
          for (int rank = 0; rank < t.size(); ++rank) {
            send.write(rank * integers, letter(t.rank(), rank, integers));
            if (in_place) receive.write(rank * count, letter(t.rank(), rank, integers));
            wanted.write(rank * count, letter(rank, t.rank(), integers));
          }
          t.call(nonblocking, alltoall, ialltoall,
                 AlltoallArguments{.send = in_place ? ConstBuffer{} : send.const_buffer(integers),
                                   .receive = receive.buffer(count),
                                   .in_place = in_place,
                                   .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " count " << count << " " << in_place;
        }
      }
    }
  });
}

// Items between two ranks; the same both ways, as MPI_IN_PLACE demands.
Count letter_items(int a, int b, Count scale) { return (a + b) % 3 * scale; }

TEST(Alltoallv, ragged_blocks_arrive_at_their_places) {
  for_each_form("alltoallv", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (Datatype* type : t.types.all()) {
      for (const Count scale : scales_for(t, *type)) {
        for (const bool in_place : {false, true}) {
          std::vector<Count> counts;
          for (int rank = 0; rank < t.size(); ++rank) {
            counts.push_back(letter_items(t.rank(), rank, scale));
          }
          const CountArray count_array(counts, nonblocking);
          const CountArray place_array(scattered_places(counts), nonblocking);
          TypedMemory send(*type, scattered_span(counts));
          TypedMemory receive = send;
          TypedMemory wanted = receive;
          for (int rank = 0; rank < t.size(); ++rank) {
            const Count integers = count_array[rank] * integers_per_item(*type);
            auto& source = in_place ? receive : send;
            source.write(place_array[rank], letter(t.rank(), rank, integers));
            wanted.write(place_array[rank], letter(rank, t.rank(), integers));
          }
          t.call(nonblocking, alltoallv, ialltoallv,
                 AlltoallvArguments{.send = send.const_buffer(),
                                    .send_counts = count_array.view(),
                                    .send_displacements = place_array.view(),
                                    .receive = receive.buffer(),
                                    .receive_counts = count_array.view(),
                                    .receive_displacements = place_array.view(),
                                    .in_place = in_place,
                                    .algorithm = algorithm});
          EXPECT_TRUE(receive == wanted) << algorithm << " scale " << scale << " " << in_place;
        }
      }
    }
  });
}

TEST(Alltoallw, every_pair_has_types_of_its_own) {
  for_each_form("alltoallw", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for (const bool in_place : {false, true}) {
      // Blocks of 0, 2 or 4 integers at distances of 256 bytes, in layouts that vary by peer.
      std::vector<Datatype*> types;
      std::vector<Count> counts, places;
      for (int rank = 0; rank < t.size(); ++rank) {
        const Count integers = letter_items(t.rank(), rank, 2);
        types.push_back(t.types.all()[static_cast<std::size_t>(t.rank() + 2 * rank) % 4]);
        counts.push_back(integers / integers_per_item(*types.back()));
        places.push_back(256 * rank + 64);
      }
      const CountArray count_array(counts, nonblocking), place_array(places, nonblocking);
      TypedMemory send(t.types.integer(), 64 * t.size() + 64);
      TypedMemory receive = send;
      TypedMemory wanted = receive;
      const auto write = [&](TypedMemory& memory, int rank,
                             const std::vector<std::int32_t>& values) {
        const auto i = static_cast<std::size_t>(rank);
        const Count bytes = counts[i] * types[i]->size();
        if (bytes == 0) return;
        types[i]->unpack(static_cast<std::byte*>(memory.data()) + places[i], counts[i], 0,
                         values.data(), bytes);
      };
      for (int rank = 0; rank < t.size(); ++rank) {
        const Count integers = letter_items(t.rank(), rank, 2);
        write(in_place ? receive : send, rank, letter(t.rank(), rank, integers));
        write(wanted, rank, letter(rank, t.rank(), integers));
      }
      t.call(nonblocking, alltoallw, ialltoallw,
             AlltoallwArguments{.send = send.data(),
                                .send_counts = count_array.view(),
                                .send_displacements = place_array.view(),
                                .send_types = types.data(),
                                .receive = receive.data(),
                                .receive_counts = count_array.view(),
                                .receive_displacements = place_array.view(),
                                .receive_types = types.data(),
                                .in_place = in_place,
                                .algorithm = algorithm});
      EXPECT_TRUE(receive == wanted) << algorithm << " " << in_place;
    }
  });
}

}  // namespace
}  // namespace hawser::collective
