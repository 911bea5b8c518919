#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "p2p/partitioned/partitioner.hpp"
#include "tests/support/thread_backend.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::p2p {
namespace {

using base::ErrorClass;

constexpr int code_of(ErrorClass error_class) { return static_cast<int>(error_class); }

Datatype& byte_type() {
  static const core::TypeTable types;
  return *types.find(0x247);
}

/// What a wait does.
Status wait_for(Engine& engine, Request& request) {
  engine.wait(request);
  Status status = request.status();
  request.finish_status(status);
  request.deactivate();
  return status;
}

std::vector<int> shuffled(int count, std::mt19937& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  return order;
}

/// One rank of a test of partitioned messages.
struct Side {
  explicit Side(test::Rank& self)
      : rank(self.rank),
        engine(self.engine),
        world(self.world()),
        partitioner(engine, byte_type()) {}
  [[nodiscard]] Envelope peer(int tag = 0) const { return {world.get(), 1 - rank, tag}; }

  int rank;
  Engine& engine;
  Ref<Comm> world;
  Partitioner partitioner;
  test::Layouts layouts;
};

/// Rank 0 sends, rank 1 receives; both draw the same script from the seed.
void run_script(Side& side, std::uint32_t seed) {
  std::mt19937 random(seed);
  // The same integers, as items of two types, cut into equal partitions in two ways: a partition of
  // one side may end inside of an item of the other.
  const Count integers = 2 * static_cast<Count>(random() % 5 == 0 ? 0 : 1 + random() % 60);
  struct Cut {
    Datatype* type;
    Count items;
    int partitions;
  };
  const auto draw = [&] {
    Cut cut{side.layouts.all()[random() % 4], 0, 1 + static_cast<int>(random() % 12)};
    cut.items = integers / test::integers_per_item(*cut.type);
    while (cut.items % cut.partitions != 0) --cut.partitions;
    return cut;
  };
  const Cut sent = draw();
  const Cut received = draw();
  const int starts = 1 + static_cast<int>(random() % 4);
  const auto [type_pointer, items, partitions] = side.rank == 0 ? sent : received;
  Datatype& type = *type_pointer;
  const Count items_each = items / partitions;
  std::mt19937 own_random(seed + 1000003U * static_cast<std::uint32_t>(side.rank + 1));

  test::TypedMemory memory(type, items);
  const Envelope peer = side.peer(static_cast<int>(seed % 3));
  const auto made =
      side.rank == 0
          ? side.partitioner.psend_init(memory.const_buffer(items_each), partitions, peer)
          : side.partitioner.precv_init(memory.buffer(items_each), partitions, peer);
  ASSERT_TRUE(made.ok());
  Request& request = **made;
  for (int start = 0; start < starts; ++start) {
    const auto values = test::samples(start, seed, integers);
    if (side.rank == 0) {
      memory.write(0, values);
      ASSERT_TRUE(request.start().ok());
      for (const int partition : shuffled(partitions, own_random)) {
        EXPECT_FALSE(request.is_complete());
        ASSERT_TRUE(pready(request, partition).ok());
      }
      EXPECT_EQ(wait_for(side.engine, request).error, 0);
      continue;
    }
    ASSERT_TRUE(request.start().ok());
    test::TypedMemory expected(type, items);
    expected.write(0, values);
    if (own_random() % 2 == 0) {
      for (const int partition : shuffled(partitions, own_random)) {
        side.engine.wait_until([&] { return *parrived(request, partition); });
      }
      EXPECT_TRUE(memory == expected) << "seed " << seed;
      EXPECT_TRUE(request.is_complete());
    }
    const Status status = wait_for(side.engine, request);
    EXPECT_EQ(status.error, 0);
    EXPECT_EQ(status.source, 0);
    EXPECT_EQ(status.tag, peer.tag);
    EXPECT_EQ(status.bytes, 4 * integers);
    EXPECT_TRUE(memory == expected) << "seed " << seed;
  }
}

TEST(Partitioned, ArrivesWholeHoweverItIsCut) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    for (std::uint32_t seed = 0; seed < 1000; ++seed) {
      run_script(side, seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(Partitioned, TellsWhichPartitionsAreThere) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    Datatype& integer = side.layouts.integer();
    test::TypedMemory memory(integer, 12);
    // 6 partitions of 2 integers become 4 of 3: number 0 needs 0 and 1, number 1 needs 1 and 2, …
    const std::vector<int> order = {1, 4, 0, 5, 3, 2};
    const std::vector<std::vector<int>> arrived_after = {{},     {},        {0},
                                                         {0, 3}, {0, 2, 3}, {0, 1, 2, 3}};
    const auto made = side.rank == 0
                          ? side.partitioner.psend_init(memory.const_buffer(2), 6, side.peer())
                          : side.partitioner.precv_init(memory.buffer(3), 4, side.peer());
    Request& request = **made;
    ASSERT_TRUE(request.start().ok());
    for (std::size_t step = 0; step < order.size(); ++step) {
      if (side.rank == 0) {
        const Count begin = Count{2} * order[step];
        memory.write(begin, test::samples(0, begin, 2));
        ASSERT_TRUE(pready(request, order[step]).ok());
      }
      // A message in each direction: the receiver looks between two partitions.
      char token = 0;
      const Buffer buffer{&token, 1, &byte_type()};
      const ConstBuffer const_buffer{&token, 1, &byte_type()};
      if (side.rank == 0) {
        ASSERT_TRUE(side.engine.send(const_buffer, side.peer(), SendMode::standard).ok());
        ASSERT_TRUE(side.engine.recv(buffer, side.peer(), nullptr).ok());
        continue;
      }
      ASSERT_TRUE(side.engine.recv(buffer, side.peer(), nullptr).ok());
      for (int partition = 0; partition < 4; ++partition) {
        EXPECT_EQ(*parrived(request, partition),
                  std::ranges::count(arrived_after[step], partition) == 1)
            << "step " << step << " partition " << partition;
      }
      ASSERT_TRUE(side.engine.send(const_buffer, side.peer(), SendMode::standard).ok());
    }
    wait_for(side.engine, request);
    if (side.rank == 1) {
      test::TypedMemory expected(integer, 12);
      expected.write(0, test::samples(0, 0, 12));
      EXPECT_TRUE(memory == expected);
      EXPECT_TRUE(*parrived(request, 2));  // inactive
    }
  });
}

TEST(Partitioned, ManyThreadsFillOneSend) {
  constexpr int threads = 4;
  constexpr int partitions = 64;
  constexpr int integers_each = 50;
  test::run_ranks(2, true, [](test::Rank& self) {
    self.engine.set_threaded(true);
    Side side(self);
    test::TypedMemory memory(side.layouts.integer(), Count{partitions} * integers_each);
    const auto made =
        side.rank == 0
            ? side.partitioner.psend_init(memory.const_buffer(integers_each), partitions,
                                          side.peer())
            : side.partitioner.precv_init(memory.buffer(integers_each), partitions, side.peer());
    Request& request = **made;
    for (int start = 0; start < 20; ++start) {
      ASSERT_TRUE(request.start().ok());
      const auto values = test::samples(start, 0, Count{partitions} * integers_each);
      if (side.rank == 0) {
        memory.write(0, values);
        std::vector<std::thread> workers;
        for (int worker = 0; worker < threads; ++worker) {
          workers.emplace_back([&request, worker] {
            for (int i = worker; i < partitions; i += threads) {
              EXPECT_TRUE(pready(request, i).ok());
            }
          });
        }
        wait_for(side.engine, request);
        for (auto& worker : workers) worker.join();
      } else {
        wait_for(side.engine, request);
        test::TypedMemory expected(side.layouts.integer(), Count{partitions} * integers_each);
        expected.write(0, values);
        EXPECT_TRUE(memory == expected);
      }
    }
  });
}

TEST(Partitioned, MatchesInTheOrderOfInitialisationAndNothingElse) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    constexpr int pairs = 5;
    std::vector<std::int32_t> values(pairs);
    std::vector<Ref<Request>> requests;
    for (int i = 0; i < pairs; ++i) {
      auto* const value = &values[static_cast<std::size_t>(i)];
      Datatype& integer = side.layouts.integer();
      if (side.rank == 0) {
        *value = 100 + i;
        requests.push_back(*side.partitioner.psend_init({value, 1, &integer}, 1, side.peer(3)));
      } else {
        requests.push_back(*side.partitioner.precv_init({value, 1, &integer}, 1, side.peer(3)));
      }
    }
    // An ordinary message with the same tag.
    std::int32_t ordinary = 7;
    if (side.rank == 0) {
      ASSERT_TRUE(
          side.engine
              .send({&ordinary, 1, &side.layouts.integer()}, side.peer(3), SendMode::standard)
              .ok());
    }
    // Started in another order on each side.
    for (int i = 0; i < pairs; ++i) {
      const int k = side.rank == 0 ? pairs - 1 - i : (i + 2) % pairs;
      Request& request = *requests[static_cast<std::size_t>(k)];
      ASSERT_TRUE(request.start().ok());
      if (side.rank == 0) {
        ASSERT_TRUE(pready(request, 0).ok());
      }
    }
    for (const auto& request : requests) wait_for(side.engine, *request);
    if (side.rank == 1) {
      EXPECT_EQ(values, (std::vector<std::int32_t>{100, 101, 102, 103, 104}));
      ASSERT_TRUE(
          side.engine.recv({&ordinary, 1, &side.layouts.integer()}, side.peer(3), nullptr).ok());
      EXPECT_EQ(ordinary, 7);
    }
  });
}

TEST(Partitioned, AReceiverThatWaitsForSomethingElseStillReceives) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    // Too large to be buffered: the sender's wait needs the receiver's receives.
    test::TypedMemory memory(side.layouts.integer(), 400);
    std::int32_t token = 0;
    Datatype& integer = side.layouts.integer();
    if (side.rank == 1) {
      const Ref<Request> request = *side.partitioner.precv_init(memory.buffer(200), 2, side.peer());
      ASSERT_TRUE(request->start().ok());
      ASSERT_TRUE(side.engine.recv({&token, 1, &integer}, side.peer(), nullptr).ok());
      EXPECT_TRUE(request->is_complete());
      wait_for(side.engine, *request);
    } else {
      const Ref<Request> request =
          *side.partitioner.psend_init(memory.const_buffer(100), 4, side.peer());
      ASSERT_TRUE(request->start().ok());
      ASSERT_TRUE(pready_range(*request, 0, 3).ok());
      wait_for(side.engine, *request);
      ASSERT_TRUE(side.engine.send({&token, 1, &integer}, side.peer(), SendMode::standard).ok());
    }
  });
}

TEST(Partitioned, AMessageThatIsTooLongIsAnErrorAndAShorterOneIsNot) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    for (const int receive_partitions : {2, 3, 4, 5}) {
      test::TypedMemory memory(side.layouts.gaps(), 10);
      const auto made =
          side.rank == 0
              ? side.partitioner.psend_init(memory.const_buffer(2), 4, side.peer())
              : side.partitioner.precv_init(memory.buffer(2), receive_partitions, side.peer());
      Request& request = **made;
      ASSERT_TRUE(request.start().ok());
      if (side.rank == 0) {
        memory.write(0, test::samples(0, 0, 16));
        ASSERT_TRUE(pready_list(request, std::vector<int>{3, 1, 0, 2}).ok());
      } else {
        for (int i = 0; i < receive_partitions; ++i) {
          side.engine.wait_until([&] { return *parrived(request, i); });
        }
      }
      const Status status = wait_for(side.engine, request);
      if (side.rank == 0) continue;
      test::TypedMemory expected(side.layouts.gaps(), 10);
      expected.write(0, test::samples(0, 0, std::min(receive_partitions * 4, 16)));
      EXPECT_TRUE(memory == expected);
      const bool is_too_long = receive_partitions < 4;
      EXPECT_EQ(status.error, is_too_long ? code_of(ErrorClass::truncate) : 0);
      EXPECT_EQ(request.error() != nullptr, is_too_long);
    }
  });
}

TEST(Partitioned, RefusesWhatMakesNoSense) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    test::TypedMemory memory(side.layouts.integer(), 8);
    const auto code = [](const auto& result) { return result.ok() ? 0 : result.error().code(); };
    Partitioner& partitioner = side.partitioner;
    EXPECT_EQ(code(partitioner.psend_init(memory.const_buffer(2), -1, side.peer())),
              code_of(ErrorClass::arg));
    EXPECT_EQ(code(partitioner.psend_init(memory.const_buffer(Count{1} << 60), 8, side.peer())),
              code_of(ErrorClass::count));
    EXPECT_EQ(code(partitioner.precv_init(memory.buffer(2), 4, {side.world.get(), any_source, 0})),
              code_of(ErrorClass::rank));
    EXPECT_EQ(code(partitioner.precv_init(memory.buffer(2), 4, side.peer(any_tag))),
              code_of(ErrorClass::tag));

    const auto made = side.rank == 0
                          ? partitioner.psend_init(memory.const_buffer(2), 4, side.peer())
                          : partitioner.precv_init(memory.buffer(2), 4, side.peer());
    Request& request = **made;
    EXPECT_EQ(code(request.cancel()), code_of(ErrorClass::request));
    if (side.rank == 0) {
      EXPECT_EQ(code(pready(request, 0)), code_of(ErrorClass::request));  // inactive
      ASSERT_TRUE(request.start().ok());
      EXPECT_EQ(code(request.start()), code_of(ErrorClass::request));
      EXPECT_EQ(code(pready(request, -1)), code_of(ErrorClass::arg));
      EXPECT_EQ(code(pready(request, 4)), code_of(ErrorClass::arg));
      EXPECT_EQ(code(pready_range(request, 2, 1)), code_of(ErrorClass::arg));
      EXPECT_EQ(code(parrived(request, 0)), code_of(ErrorClass::request));
      EXPECT_EQ(code(pready_list(request, std::vector<int>{0, 1, 0})), code_of(ErrorClass::arg));
      EXPECT_TRUE(pready_range(request, 2, 3).ok());
    } else {
      EXPECT_TRUE(*parrived(request, 3));  // inactive
      ASSERT_TRUE(request.start().ok());
      EXPECT_EQ(code(pready(request, 0)), code_of(ErrorClass::request));
      EXPECT_EQ(code(parrived(request, 4)), code_of(ErrorClass::arg));
    }
    wait_for(side.engine, request);
    test::ThreadRequest other(core::RequestKind::send);
    EXPECT_EQ(code(pready(other, 0)), code_of(ErrorClass::request));
    EXPECT_EQ(code(parrived(other, 0)), code_of(ErrorClass::request));
  });
}

TEST(Partitioned, WithNoOneOrNothing) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    test::TypedMemory memory(side.layouts.integer(), 8);
    const Envelope no_one{side.world.get(), proc_null, 0};
    const Ref<Request> send = *side.partitioner.psend_init(memory.const_buffer(2), 4, no_one);
    const Ref<Request> receive = *side.partitioner.precv_init(memory.buffer(2), 4, no_one);
    for (int start = 0; start < 2; ++start) {
      ASSERT_TRUE(send->start().ok());
      ASSERT_TRUE(receive->start().ok());
      EXPECT_FALSE(send->is_complete());
      EXPECT_TRUE(*parrived(*receive, 1));
      ASSERT_TRUE(pready_range(*send, 0, 3).ok());
      wait_for(side.engine, *send);
      EXPECT_EQ(wait_for(side.engine, *receive).source, proc_null);
    }
    // No partitions at all.
    const auto none = side.rank == 0
                          ? side.partitioner.psend_init(memory.const_buffer(2), 0, side.peer())
                          : side.partitioner.precv_init(memory.buffer(2), 0, side.peer());
    ASSERT_TRUE((*none)->start().ok());
    EXPECT_EQ(wait_for(side.engine, **none).bytes, 0);
  });
}

TEST(Partitioned, AFreedReceiveStillTakesItsMessage) {
  test::run_ranks(2, true, [](test::Rank& self) {
    Side side(self);
    test::TypedMemory memory(side.layouts.gaps(), 6);
    std::int32_t token = 0;
    Datatype& integer = side.layouts.integer();
    if (side.rank == 1) {
      // Partitions of 4 bytes end inside of the items: they go through temporaries.
      Ref<Request> request = *side.partitioner.precv_init(memory.buffer(6), 1, side.peer());
      ASSERT_TRUE(request->start().ok());
      ASSERT_TRUE(request->detach().ok());
      request = nullptr;
      ASSERT_TRUE(side.engine.send({&token, 1, &integer}, side.peer(), SendMode::standard).ok());
      ASSERT_TRUE(side.engine.recv({&token, 1, &integer}, side.peer(), nullptr).ok());
      // All is there; if the token came before the wait for it looked, nothing was posted yet.
      self.engine.progress();
      EXPECT_EQ(side.partitioner.orphans().size(), 1U);
    } else {
      ASSERT_TRUE(side.engine.recv({&token, 1, &integer}, side.peer(), nullptr).ok());
      std::vector<std::int32_t> data(12);
      Ref<Request> request =
          *side.partitioner.psend_init({data.data(), 1, &integer}, 12, side.peer());
      ASSERT_TRUE(request->start().ok());
      ASSERT_TRUE(pready_range(*request, 0, 11).ok());
      wait_for(side.engine, *request);
      ASSERT_TRUE(side.engine.send({&token, 1, &integer}, side.peer(), SendMode::standard).ok());
    }
  });
}

}  // namespace
}  // namespace hawser::p2p
