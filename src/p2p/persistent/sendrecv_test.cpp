#include "p2p/persistent/sendrecv.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/support/manual_backend.hpp"
#include "tests/support/thread_backend.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::p2p {
namespace {

using base::ErrorClass;

constexpr int code_of(ErrorClass error_class) { return static_cast<int>(error_class); }

/// The four forms, as one call that waits.
enum class Form { blocking, nonblocking, replace, nonblocking_replace };

struct Caller {
  Engine& engine;
  Datatype& byte_type;
  Orphans& orphans;

  Result<void> finish(Result<Ref<Request>> request, Status& status) const {
    if (!request) return request.take_error();
    engine.wait(**request);
    status = (*request)->status();
    (*request)->finish_status(status);
    if ((*request)->error() != nullptr) return *(*request)->error();
    return {};
  }
  /// OUT goes to DESTINATION, and what comes from SOURCE to IN; the replacing forms use IN alone.
  Result<void> call(Form form, const ConstBuffer& out, const Buffer& in,
                    const Envelope& destination, const Envelope& source, Status& status) const {
    switch (form) {
      case Form::blocking:
        return sendrecv(engine, out, destination, in, source, &status);
      case Form::nonblocking:
        return finish(isendrecv(engine, out, destination, in, source), status);
      case Form::replace:
        return sendrecv_replace(engine, byte_type, in, destination, source, &status);
      case Form::nonblocking_replace:
        return finish(isendrecv_replace(engine, byte_type, orphans, in, destination, source),
                      status);
    }
    return {};
  }
};

constexpr Form forms[] = {Form::blocking, Form::nonblocking, Form::replace,
                          Form::nonblocking_replace};
bool replaces(Form form) { return form == Form::replace || form == Form::nonblocking_replace; }

TEST(Sendrecv, RandomShiftsInAllForms) {
  const test::Layouts layouts;
  const core::TypeTable types;
  for (const int ranks : {1, 2, 3, 5}) {
    test::run_ranks(ranks, true, [&](test::Rank& self) {
      const Ref<Comm> world = self.world();
      Orphans orphans;
      const Caller caller{self.engine, *types.find(0x247), orphans};
      std::mt19937 random(11);  // the same on all ranks
      for (int round = 0; round < 250; ++round) {
        const Form form = forms[random() % 4];
        const int shift = static_cast<int>(random() % 5) % self.size;
        const Count items = static_cast<Count>(random() % 4 == 0 ? 0 : random() % 400);
        Datatype& type = *layouts.all()[random() % 4];
        const Count integers = items * test::integers_per_item(type);
        // An open chain: at its ends, there is no one to talk to.
        const bool is_open = random() % 4 == 0;
        const auto neighbour = [&](int rank) {
          if (rank >= 0 && rank < self.size) return rank;
          return is_open ? proc_null : (rank + self.size) % self.size;
        };
        const int right = neighbour(self.rank + shift);
        const int left = neighbour(self.rank - shift);
        test::TypedMemory out(type, items);
        test::TypedMemory in(type, items);
        out.write(0, test::samples(self.rank, round, integers));
        if (replaces(form)) in.write(0, test::samples(self.rank, round, integers));
        Status status;
        ASSERT_TRUE(caller
                        .call(form, out.const_buffer(), in.buffer(), {world.get(), right, round},
                              {world.get(), left, round}, status)
                        .ok());
        test::TypedMemory expected(type, items);
        if (left != proc_null) {
          expected.write(0, test::samples(left, round, integers));
          EXPECT_EQ(status.bytes, items * type.size());
        } else if (replaces(form)) {
          expected.write(0, test::samples(self.rank, round, integers));
        }
        EXPECT_EQ(status.source, left);
        EXPECT_TRUE(in == expected) << "round " << round;
      }
    });
  }
}

TEST(Sendrecv, AMessageThatIsTooLongIsAnError) {
  const test::Layouts layouts;
  const core::TypeTable types;
  for (const Form form : {Form::blocking, Form::nonblocking}) {
    test::run_ranks(2, true, [&](test::Rank& self) {
      const Ref<Comm> world = self.world();
      Orphans orphans;
      const Caller caller{self.engine, *types.find(0x247), orphans};
      test::TypedMemory out(layouts.integer(), 100);
      test::TypedMemory in(layouts.integer(), self.rank == 0 ? 10 : 100);
      const Envelope peer{world.get(), 1 - self.rank, 0};
      Status status;
      const auto result = caller.call(form, out.const_buffer(), in.buffer(), peer, peer, status);
      EXPECT_EQ(result.ok(), self.rank == 1);
      if (self.rank == 0) {
        EXPECT_EQ(result.error().code(), code_of(ErrorClass::truncate));
        EXPECT_EQ(status.error, code_of(ErrorClass::truncate));
      }
    });
  }
}

TEST(Sendrecv, ASendThatCannotStartTakesTheReceiveBack) {
  const test::Layouts layouts;
  const core::TypeTable types;
  const Ref<Comm> comm = test::manual_comm(2);
  for (const Form form : forms) {
    test::ManualProcess process;
    process.backend.refuses_sends = true;
    Orphans orphans;
    test::TypedMemory memory(layouts.integer(), 10);
    Status status;
    const auto result = Caller{process.engine, *types.find(0x247), orphans}.call(
        form, memory.const_buffer(), memory.buffer(), {comm.get(), 1, 0}, {comm.get(), 1, 0},
        status);
    EXPECT_EQ(result.error().code(), code_of(ErrorClass::proc_failed));
    ASSERT_EQ(process.backend.receives.size(), 1U);
    EXPECT_TRUE(process.backend.receives[0].request->status().cancelled);
  }
}

TEST(Sendrecv, TheErrorOfTheSendHalfIsReported) {
  const test::Layouts layouts;
  const Ref<Comm> comm = test::manual_comm(2);
  test::ManualProcess process;
  test::TypedMemory memory(layouts.integer(), 10);
  const auto request = isendrecv(process.engine, memory.const_buffer(), {comm.get(), 1, 0},
                                 memory.buffer(), {comm.get(), 1, 0});
  process.backend.receives[0].request->finish({.source = 1, .tag = 0, .bytes = 40});
  EXPECT_FALSE((*request)->is_complete());
  process.backend.sends[0].request->finish_with({ErrorClass::proc_failed, "rank 1 died"});
  ASSERT_TRUE((*request)->is_complete());
  Status status;
  (*request)->finish_status(status);
  EXPECT_EQ(status.bytes, 40);
  EXPECT_EQ(status.error, code_of(ErrorClass::proc_failed));
  EXPECT_EQ((*request)->error_object(), comm.get());
}

TEST(Sendrecv, AFreedReplacementKeepsItsCopyUntilItWasSent) {
  const test::Layouts layouts;
  const core::TypeTable types;
  const Ref<Comm> comm = test::manual_comm(2);
  test::ManualProcess process;
  Orphans orphans;
  test::TypedMemory memory(layouts.integer(), 1000);
  memory.write(0, test::samples(0, 0, 1000));
  const auto start_and_free = [&] {
    auto request = isendrecv_replace(process.engine, *types.find(0x247), orphans, memory.buffer(),
                                     {comm.get(), 1, 0}, {comm.get(), 1, 0});
    EXPECT_TRUE((*request)->detach().ok());
  };
  start_and_free();
  memory.write(0, std::vector<std::int32_t>(1000, -1));
  EXPECT_EQ(orphans.size(), 1U);
  const auto sent = process.backend.sends[0].data();
  const auto expected = test::samples(0, 0, 1000);
  EXPECT_EQ(std::memcmp(sent.data(), expected.data(), sent.size()), 0);
  process.backend.sends[0].request->finish();
  start_and_free();
  EXPECT_EQ(orphans.size(), 2U);  // the receive of the first one is still open
  process.backend.receives[0].request->finish();
  start_and_free();
  EXPECT_EQ(orphans.size(), 2U);
}

}  // namespace
}  // namespace hawser::p2p
