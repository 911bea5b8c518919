// What nonblocking collectives have beyond their results: many at a time, any order of waiting,
// steps of the caller's own, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "collective/select/perform.hpp"
#include "tests/support/collective_tester.hpp"
#include "tests/support/operations.hpp"

namespace hawser::collective {
namespace {

using namespace test;  // NOLINT

TEST(Nonblocking, many_at_a_time_complete_in_any_order_of_waits) {
  const Layouts types;
  for (const int ranks : rank_counts) {
    run_ranks(ranks, false, [&](Rank& rank) {
      Tester t(rank, rank.world(), types);
      const auto sum = base::make_ref<Op>(core::OpCode::sum);
      constexpr int number = 24;
      std::vector<std::vector<std::int32_t>> in, out;
      std::vector<Ref<Request>> requests;
      for (int i = 0; i < number; ++i) {
        in.push_back(samples(rank.rank, i, 50));
        out.emplace_back(50);
      }
      for (std::size_t i = 0; i < number; ++i) {
        if (i % 3 == 0) {
          requests.push_back(*ibarrier(t.runner, *t.comm, {}));
        } else {
          requests.push_back(*iallreduce(t.runner, *t.comm,
                                         {.send = in[i].data(),
                                          .receive = out[i].data(),
                                          .count = 50,
                                          .type = &types.integer(),
                                          .op = sum.get()}));
        }
      }
      // Each rank waits in an order of its own.
      for (std::size_t i = 0; i < number; ++i) {
        t.engine.wait(*requests[(i * 7 + static_cast<std::size_t>(rank.rank) * 5) % number]);
      }
      const Reduction reduction{"sum", sum, &types.integer(), add};
      for (std::size_t i = 0; i < number; ++i) {
        if (i % 3 != 0) {
          EXPECT_EQ(out[i], reduction.expected(0, ranks - 1, static_cast<Count>(i), 50));
        }
      }
    });
  }
}

TEST(Nonblocking, blocking_and_nonblocking_calls_mix_on_one_communicator) {
  const Layouts types;
  run_ranks(4, true, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    std::int32_t first = rank.rank == 0 ? 11 : 0;
    std::int32_t second = rank.rank == 0 ? 22 : 0;
    const auto request =
        *ibcast(t.runner, *t.comm, {.buffer = {&first, 1, &types.integer()}, .root = 0});
    ASSERT_TRUE(bcast(t.direct, *t.comm, {.buffer = {&second, 1, &types.integer()}}).ok());
    t.engine.wait(*request);
    EXPECT_EQ(first, 11);
    EXPECT_EQ(second, 22);
  });
}

TEST(Plan, callers_steps_run_in_their_place) {
  const Layouts types;
  run_ranks(3, false, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    const auto max = base::make_ref<Op>(core::OpCode::max);
    std::int32_t value = 10 * rank.rank;
    std::int32_t seen = -1;
    PlanBuilder builder = t.runner.builder();
    RecordingExecutor ex(builder, *t.comm);
    ex.call([&] { value += 1; });
    perform(ex, AllreduceArguments{.receive = &value,
                                   .count = 1,
                                   .type = &types.integer(),
                                   .op = max.get(),
                                   .in_place = true});
    ex.call([&] { seen = value; });
    EXPECT_EQ(seen, -1);
    const auto request = *t.runner.start(builder.finish());
    t.engine.wait(*request);
    EXPECT_EQ(seen, 21);
  });
}

TEST(Plan, error_of_a_step_becomes_the_requests) {
  const Layouts types;
  run_ranks(2, false, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    PlanBuilder builder = t.runner.builder();
    RecordingExecutor ex(builder, *t.comm);
    ex.call([]() -> Result<void> { return Error(ErrorClass::no_mem, "first"); });
    perform(ex, BarrierArguments{});
    ex.call([]() -> Result<void> { return Error(ErrorClass::other, "second"); });
    const auto request = *t.runner.start(builder.finish());
    t.engine.wait(*request);
    ASSERT_NE(request->error(), nullptr);
    EXPECT_EQ(request->error()->sentence(), "first");
    EXPECT_EQ(request->status().error, static_cast<int>(ErrorClass::no_mem));
    EXPECT_EQ(request->error_object(), t.comm.get());
  });
}

TEST(Plan, runs_again_after_it_has_completed) {
  const Layouts types;
  run_ranks(4, false, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    const auto sum = base::make_ref<Op>(core::OpCode::sum);
    std::vector<std::int32_t> in(100), out(100);
    PlanBuilder builder = t.runner.builder();
    perform(RecordingExecutor(builder, *t.comm), AllreduceArguments{.send = in.data(),
                                                                    .receive = out.data(),
                                                                    .count = 100,
                                                                    .type = &types.integer(),
                                                                    .op = sum.get()});
    const auto plan = builder.finish();
    for (int round = 0; round < 20; ++round) {
      std::ranges::copy(samples(rank.rank, round, 100), in.begin());  // the plan has its address
      t.engine.wait(**t.runner.start(plan));
      const Reduction reduction{"sum", sum, &types.integer(), add};
      EXPECT_EQ(out, reduction.expected(0, 3, round, 100));
    }
  });
}

TEST(Errors, a_message_that_is_too_long_fails_its_receiver_and_hangs_nobody) {
  const Layouts types;
  for (const auto algorithm : algorithms_of("bcast")) {
    if (algorithm == "scatter_allgather") continue;  // cuts the message by its length
    run_ranks(4, false, [&](Rank& rank) {
      Tester t(rank, rank.world(), types);
      std::vector<std::int32_t> data(100);
      const Count count = rank.rank == 3 ? 10 : 100;
      const auto result =
          bcast(t.direct, *t.comm,
                {.buffer = {data.data(), count, &types.integer()}, .algorithm = algorithm});
      EXPECT_EQ(result.ok(), rank.rank != 3) << algorithm;
      if (!result.ok()) {
        EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::truncate));
      }
    });
  }
}

TEST(Errors, an_own_block_that_is_too_long_fails_its_process_and_hangs_nobody) {
  const Layouts types;
  run_ranks(4, false, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    const bool is_wrong = rank.rank == 3;
    std::vector<std::int32_t> in(800, rank.rank), out(400);
    const ConstBuffer send{in.data(), is_wrong ? 200 : 100, &types.integer()};
    const Buffer receive{out.data(), 100, &types.integer()};
    const auto expect_error = [&](const Result<void>& result, bool is_expected) {
      ASSERT_EQ(result.ok(), !is_expected);
      if (is_expected) {
        EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::truncate));
      }
    };
    const std::string_view algorithm = "shared";
    expect_error(
        allgather(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}),
        is_wrong);
    const std::array<int, 4> counts{100, 100, 100, 100}, places{0, 100, 200, 300};
    expect_error(allgatherv(t.direct, *t.comm,
                            {.send = send,
                             .receive = receive,
                             .counts = {counts.data()},
                             .displacements = {places.data()},
                             .algorithm = algorithm}),
                 is_wrong);
    for (int other = 0; other < 4; ++other)
      EXPECT_EQ(out[static_cast<std::size_t>(100 * other)], other);
    expect_error(
        alltoall(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}),
        is_wrong);
    expect_error(gather(t.direct, *t.comm,
                        {.send = send, .receive = receive, .root = 3, .algorithm = algorithm}),
                 is_wrong);
    expect_error(scatter(t.direct, *t.comm,
                         {.send = send, .receive = receive, .root = 3, .algorithm = algorithm}),
                 true);  // its blocks are too long for all
    const std::string_view by_reading = "direct";
    expect_error(
        allgather(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = by_reading}),
        is_wrong);
    expect_error(
        alltoall(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = by_reading}),
        is_wrong);
    expect_error(barrier(t.direct, *t.comm, {}), false);
  });
}

TEST(Errors, counts_that_differ_on_a_board_are_found_and_hang_nobody) {
  const Layouts types;
  for (const bool oversubscribed : {false, true}) {
    std::array<std::atomic<int>, 7> found{};
    run_ranks(4, oversubscribed, [&](Rank& rank) {
      Tester t(rank, rank.world(), types);
      const auto sum = base::make_ref<Op>(core::OpCode::sum);
      const std::string_view algorithm = "shared";
      std::vector<std::int32_t> in(80), out(80);
      const Count count = rank.rank == 3 ? 10 : 11;
      const ConstBuffer send{in.data(), count, &types.integer()};
      const Buffer receive{out.data(), count, &types.integer()};
      std::size_t call = 0;
      const auto note = [&](const Result<void>& result) {
        if (!result.ok()) {
          EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::truncate));
          ++found[call];
        }
        ++call;
      };
      const auto reduction = [&](auto arguments) {
        arguments.send = in.data();
        arguments.receive = out.data();
        arguments.count = count;
        arguments.type = &types.integer();
        arguments.op = sum.get();
        arguments.algorithm = algorithm;
        return arguments;
      };
      note(allreduce(t.direct, *t.comm, reduction(AllreduceArguments{})));
      note(reduce(t.direct, *t.comm, reduction(ReduceArguments{})));
      note(scan(t.direct, *t.comm, reduction(ScanArguments{})));
      note(
          allgather(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}));
      note(alltoall(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}));
      note(gather(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}));
      note(scatter(t.direct, *t.comm, {.send = send, .receive = receive, .algorithm = algorithm}));
    });
    for (std::size_t call = 0; call < found.size(); ++call)
      EXPECT_GE(found[call].load(), 1) << call;
  }
}

TEST(Selection, unknown_algorithm_is_refused_with_the_known_ones) {
  const Layouts types;
  run_ranks(2, false, [&](Rank& rank) {
    Tester t(rank, rank.world(), types);
    const auto result = barrier(t.direct, *t.comm, {.algorithm = "telepathy"});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().sentence(),
              "there is no algorithm 'telepathy' for this collective; known are: shared linear "
              "recursive_doubling dissemination");
    const auto request = ibarrier(t.runner, *t.comm, {.algorithm = "telepathy"});
    EXPECT_FALSE(request.ok());
  });
  EXPECT_TRUE(algorithms_of("nonsense").empty());
}

}  // namespace
}  // namespace hawser::collective
