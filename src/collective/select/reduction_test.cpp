// Reductions on intracommunicators: every algorithm, blocking and not, with predefined and user
// operations. Operations that do not commute show any deviation from rank order.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/collective_tester.hpp"
#include "tests/support/operations.hpp"

namespace hawser::collective {
namespace {

using namespace test;  // NOLINT

constexpr Count reduced_counts[] = {0, 1, 5, 400};

// Calls TEST(reduction, count, in_place).
template <class Test>
void for_each_reduction(const Tester& t, Test test) {
  for (const Reduction& reduction : reductions(t.types)) {
    for (const Count count : reduced_counts) {
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message() << reduction.name << ", " << count << " items"
                                        << (in_place ? ", in place" : ""));
        test(reduction, count, in_place);
      }
    }
  }
}

// Memory with this rank's items, or untouched.
TypedMemory contribution(const Tester& t, const Reduction& r, Count count, bool filled = true) {
  TypedMemory memory(*r.type, count);
  if (filled) memory.write(0, samples(t.rank(), 0, count * integers_per_item(*r.type)));
  return memory;
}

TEST(Reduce, the_root_gets_all_items_combined_in_rank_order) {
  for_each_form("reduce", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for_each_reduction(t, [&](const Reduction& r, Count count, bool in_place) {
      for (const int root : std::set<int>{0, t.size() / 2, t.size() - 1}) {
        const bool is_root = t.rank() == root;
        TypedMemory send = contribution(t, r, count);
        TypedMemory receive = contribution(t, r, count, in_place && is_root);
        TypedMemory wanted = receive;
        if (is_root) wanted.write(0, r.expected(0, t.size() - 1, 0, count));
        t.call(nonblocking, reduce, ireduce,
               ReduceArguments{.send = in_place && is_root ? nullptr : send.data(),
                               .receive = is_root ? receive.data() : nullptr,
                               .count = count,
                               .type = r.type,
                               .op = r.op.get(),
                               .root = root,
                               .in_place = in_place && is_root,
                               .algorithm = algorithm});
        EXPECT_TRUE(receive == wanted) << algorithm << " root " << root;
        EXPECT_TRUE(send == contribution(t, r, count)) << algorithm << " root " << root;
      }
    });
  });
}

TEST(Allreduce, all_get_all_items_combined_in_rank_order) {
  for_each_form("allreduce", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for_each_reduction(t, [&](const Reduction& r, Count count, bool in_place) {
      TypedMemory send = contribution(t, r, count);
      TypedMemory receive = contribution(t, r, count, in_place);
      TypedMemory wanted = receive;
      wanted.write(0, r.expected(0, t.size() - 1, 0, count));
      t.call(nonblocking, allreduce, iallreduce,
             AllreduceArguments{.send = in_place ? nullptr : send.data(),
                                .receive = receive.data(),
                                .count = count,
                                .type = r.type,
                                .op = r.op.get(),
                                .in_place = in_place,
                                .algorithm = algorithm});
      EXPECT_TRUE(receive == wanted) << algorithm;
      EXPECT_TRUE(send == contribution(t, r, count)) << algorithm;
    });
  });
}

TEST(Reduce_scatter, each_rank_gets_its_items_of_the_result) {
  for_each_form("reduce_scatter", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for_each_reduction(t, [&](const Reduction& r, Count scale, bool in_place) {
      std::vector<Count> counts;
      for (int rank = 0; rank < t.size(); ++rank) counts.push_back((rank + 1) % 3 * scale);
      const CountArray count_array(counts, nonblocking);
      const Count total = std::accumulate(counts.begin(), counts.end(), Count{0});
      const Count begin = std::accumulate(counts.begin(), counts.begin() + t.rank(), Count{0});
      TypedMemory send = contribution(t, r, total);
      TypedMemory receive = contribution(t, r, total, in_place);
      TypedMemory wanted = receive;
      wanted.write(0, r.expected(0, t.size() - 1, begin, count_array[t.rank()]));
      t.call(nonblocking, reduce_scatter, ireduce_scatter,
             ReduceScatterArguments{.send = in_place ? nullptr : send.data(),
                                    .receive = receive.data(),
                                    .counts = count_array.view(),
                                    .type = r.type,
                                    .op = r.op.get(),
                                    .in_place = in_place,
                                    .algorithm = algorithm});
      EXPECT_TRUE(receive == wanted) << algorithm;
      EXPECT_TRUE(send == contribution(t, r, total)) << algorithm;
    });
  });
}

TEST(Reduce_scatter_block, each_rank_gets_equally_many_items) {
  for_each_form("reduce_scatter_block",
                [](Tester& t, std::string_view algorithm, bool nonblocking) {
                  for_each_reduction(t, [&](const Reduction& r, Count count, bool in_place) {
                    const Count total = count * t.size();
                    TypedMemory send = contribution(t, r, total);
                    TypedMemory receive = contribution(t, r, total, in_place);
                    TypedMemory wanted = receive;
                    wanted.write(0, r.expected(0, t.size() - 1, t.rank() * count, count));
                    t.call(nonblocking, reduce_scatter_block, ireduce_scatter_block,
                           ReduceScatterBlockArguments{.send = in_place ? nullptr : send.data(),
                                                       .receive = receive.data(),
                                                       .count = count,
                                                       .type = r.type,
                                                       .op = r.op.get(),
                                                       .in_place = in_place,
                                                       .algorithm = algorithm});
                    EXPECT_TRUE(receive == wanted) << algorithm;
                  });
                });
}

TEST(Scan, rank_r_gets_the_items_of_ranks_up_to_r) {
  for_each_form("scan", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for_each_reduction(t, [&](const Reduction& r, Count count, bool in_place) {
      TypedMemory send = contribution(t, r, count);
      TypedMemory receive = contribution(t, r, count, in_place);
      TypedMemory wanted = receive;
      wanted.write(0, r.expected(0, t.rank(), 0, count));
      t.call(nonblocking, scan, iscan,
             ScanArguments{.send = in_place ? nullptr : send.data(),
                           .receive = receive.data(),
                           .count = count,
                           .type = r.type,
                           .op = r.op.get(),
                           .in_place = in_place,
                           .algorithm = algorithm});
      EXPECT_TRUE(receive == wanted) << algorithm;
    });
  });
}

TEST(Exscan, rank_r_gets_the_items_of_ranks_below_r) {
  for_each_form("exscan", [](Tester& t, std::string_view algorithm, bool nonblocking) {
    for_each_reduction(t, [&](const Reduction& r, Count count, bool in_place) {
      TypedMemory send = contribution(t, r, count);
      TypedMemory receive = contribution(t, r, count, in_place);
      TypedMemory wanted = receive;  // rank 0's buffer stays as it was
      if (t.rank() > 0) wanted.write(0, r.expected(0, t.rank() - 1, 0, count));
      t.call(nonblocking, exscan, iexscan,
             ExscanArguments{.send = in_place ? nullptr : send.data(),
                             .receive = receive.data(),
                             .count = count,
                             .type = r.type,
                             .op = r.op.get(),
                             .in_place = in_place,
                             .algorithm = algorithm});
      EXPECT_TRUE(receive == wanted) << algorithm;
    });
  });
}

}  // namespace
}  // namespace hawser::collective
